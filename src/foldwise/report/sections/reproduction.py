"""How the run was made and how to repeat it: command, configuration, final model, versions."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts, is_number
from foldwise.report.formatting import NOTHING, counted, duration, percent, settings_text, short
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.intervals import shares_bar
from foldwise.report.sections.elements import Section, details, figure, paragraph, table

WORDS = (
    "The same command on the same table, with the same versions and seed, uses the same folds, and draws settings "
    "in the same order. How far it gets depends on how long each setting takes, so results may differ."
)
RESUMED_WORDS = "This run was resumed, so the commands of all sessions follow in their order."
TUNE_WORDS = (
    "The same command on the same table, with the same versions and seed, uses the same folds. With --trials it also "
    "tries the same settings."
)
EXPLORE_WORDS = (
    "The same command on the same table, with the same versions and seed, gives the same answers. For a large "
    "table they may differ, because the number of rows used depends on the time that each answer takes."
)


def reproduction(facts: ReportFacts) -> Section | None:
    """The exact command, and what it ran on."""
    made = facts.part("made")
    if not made:
        return None
    shown = commands(facts)
    body = [
        paragraph({"explore": EXPLORE_WORDS, "tune": TUNE_WORDS}.get(facts.text("kind"), WORDS)),
        paragraph(RESUMED_WORDS) if len(shown) > 1 else None,
        el("pre", el("code", "\n".join(shown))),
        configuration(facts),
        costs(facts.part("task")),
        phases(made),
        final(facts.part("final")),
        versions(made),
    ]
    return Section("repeat", "Reproduce this run", join(body))


def commands(facts: ReportFacts) -> list[str]:
    """The commands that made the run: of a resumed run those of all sessions."""
    made, sessions = facts.part("made"), facts.records("history")
    found = [one.text("command") for one in sessions]
    return found if len(found) > 1 and all(found) else [made.text("command") or made.text("python")]


def configuration(facts: ReportFacts) -> Html:
    """The configuration of the run, as a list of terms."""
    made, task = facts.part("made"), facts.part("task")
    pairs = [
        ("seed", short(made.number("seed"))),
        ("budget", duration(made.number("budget"))),
        ("time taken", time_taken(made)),
        ("date", made.text("when").replace("T", " ")[:16]),
        ("tried", tried(made)),
        ("metric", task.text("metric_title")),
        ("folds", f"{task.text('splitter')}. {task.text('scored_folds')}".strip(". ")),
        ("groups", task.text("groups")),
        ("time column", task.text("time")),
        ("weights", task.text("weights")),
        ("positive class", task.text("positive")),
        ("rows of data in this file", "" if made.flag("rows_included", True) else "none"),
    ]
    return el(
        "dl", *(el("div", el("dt", name), el("dd", value)) for name, value in pairs if value not in ("", NOTHING))
    )


def time_taken(made: ReportFacts) -> str:
    """The time of the run, or of its last session and of all."""
    seconds, before = made.number("seconds"), made.number("seconds_before")
    if seconds is None or not before:
        return duration(seconds)
    return f"{duration(seconds)} in the last session, {duration(seconds + before)} in all"


def tried(made: ReportFacts) -> str:
    """The number of settings, and how often a setting was evaluated on a fold."""
    settings, scores = made.number("n_settings"), made.number("n_models")
    if settings is None or scores is None:
        return ""
    return (
        f"{counted(settings, 'setting', 'settings')}, {counted(scores, 'evaluation', 'evaluations')} on one fold each"
    )


def costs(task: ReportFacts) -> Html | None:
    """The cost matrix."""
    given = task.part("costs")
    actions, classes = given.texts("actions"), given.texts("classes")
    matrix = given.matrix("matrix", len(actions), len(classes))
    if not matrix:
        return None
    rows = [[action, *map(short, line)] for action, line in zip(actions, matrix, strict=True)]
    return details(
        "Cost of each action", table(["action", *(f"true {name}" for name in classes)], rows, class_="small")
    )


def phases(made: ReportFacts) -> Html | None:
    """How the time was spent."""
    pairs = [phase for phase in made.items("phases") if isinstance(phase, list | tuple) and len(phase) == 2]
    found = [(str(name), float(seconds)) for name, seconds in pairs if is_number(seconds) and seconds > 0]
    if not found:
        return None
    entries = [el("li", el("i", class_=f"b{i % 6}"), f"{n} {duration(s)}") for i, (n, s) in enumerate(found)]
    bar = shares_bar([(f"{name}: {duration(seconds)}", seconds) for name, seconds in found])
    return figure("Time spent", bar, el("ul", *entries, class_="legend"), class_="card")


def final(model: ReportFacts) -> Html | None:
    """What the model file holds."""
    found = model.records("members")
    rows = [[one.text("title"), percent(one.number("weight")), settings_text(one.part("settings"))] for one in found]
    heads = ["member", "weight", "settings"]
    if any(one.number("rows") is not None for one in found):  # of a table that is larger than memory
        rows = [
            [*row, short(one.number("rows")), one.text("only_sample")] for row, one in zip(rows, found, strict=True)
        ]
        heads += ["training rows", "why not more"]
    words = [paragraph(model.text("words")), paragraph(model.text("calibration"))]
    if not rows and not any(words):
        return None
    members = table(heads, rows, left=(0, 2, 4)) if rows else None
    return details("The final model", *words, members)


def versions(made: ReportFacts) -> Html | None:
    rows = [[str(name), str(version)] for name, version in made.part("versions").values.items()]
    return details("Versions", table(["library", "version"], rows, left=(0, 1), class_="small")) if rows else None
