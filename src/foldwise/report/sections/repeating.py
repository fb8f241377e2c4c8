"""How it was made and how to make it again: the final model, the command, the versions, the seed."""

from __future__ import annotations

from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.intervals import shares_bar
from foldwise.report.reading import (
    Facts,
    counted,
    defined,
    duration,
    items,
    part,
    percent,
    records,
    short,
    text,
)
from foldwise.report.sections.blocks import Section, folded, paragraph, table


def repeating(facts: Facts) -> Section | None:
    """The exact command, and what it ran on."""
    made = part(facts, "made")
    if not made:
        return None
    command = text(made, "command")
    body = [
        paragraph(
            "The same command on the same table, with the same versions and seed, draws the same folds and settings; "
            "how many of them are tried depends on the time each takes:"
        ),
        el("pre", el("code", command or text(made, "python"))),
        how(facts),
        phases(made),
        final(facts),
        versions(made),
    ]
    return Section("repeat", "How to repeat it", join(body))


def how(facts: Facts) -> Html:
    """The frame of the run, as a list of terms."""
    made, task = part(facts, "made"), part(facts, "task")
    pairs = [
        ("seed", short(made.get("seed"))),
        ("budget", duration(made.get("budget"))),
        ("time taken", duration(made.get("seconds"))),
        ("made", text(made, "when").replace("T", " ")[:16]),
        ("tried", tried(made)),
        ("measured by", text(task, "metric_title")),
        ("folds", text(task, "splitter")),
        ("groups", text(task, "groups")),
        ("time order", text(task, "time")),
        ("weights", text(task, "weights")),
        ("positive class", text(task, "positive")),
        ("rows of data in this file", "" if made.get("rows_included", True) else "none"),
    ]
    shown = [el("div", el("dt", name), el("dd", value)) for name, value in pairs if value and value != "–"]
    return join([el("dl", *shown), costs(task)])


def tried(made: Facts) -> str:
    """Settings, and the models that were fitted of them."""
    settings, models = made.get("n_settings"), made.get("n_models")
    if not defined(settings) or not defined(models):
        return ""
    return f"{counted(settings, 'setting', 'settings')}, in {counted(models, 'model', 'models')} of single folds"


def costs(task: Facts) -> Html | None:
    """The cost matrix in force."""
    given = part(task, "costs")
    actions, classes, matrix = (items(given, name) for name in ("actions", "classes", "matrix"))
    if not actions or [len(line or ()) for line in matrix] != [len(classes)] * len(actions):
        return None
    rows = [[str(action), *(short(cost) for cost in line)] for action, line in zip(actions, matrix, strict=True)]
    heads = ["action", *(f"truth {name}" for name in classes)]
    return folded("What each action costs", table(heads, rows, class_="small"))


def phases(made: Facts) -> Html | None:
    """Where the time went."""
    found = [
        (str(phase[0]), float(phase[1]))
        for phase in items(made, "phases")
        if phase and defined(phase[1]) and phase[1] > 0
    ]
    if not found:
        return None
    marks = el(
        "ul",
        *(
            el("li", el("i", class_=f"b{i % 6}"), f"{name} {duration(seconds)}")
            for i, (name, seconds) in enumerate(found)
        ),
        class_="legend",
    )
    words = "{name}: {value} s"
    return el("figure", el("figcaption", "Where the time went"), shares_bar(found, words), marks, class_="card")


def final(facts: Facts) -> Html | None:
    """What the model file holds."""
    model = part(facts, "final")
    rows = []
    for member in records(model, "members"):
        settings = ", ".join(f"{name} = {short(value)}" for name, value in part(member, "settings").items())
        rows.append([text(member, "title"), percent(member.get("weight")), settings or "as it comes"])
    words = [text(model, "calibration")]
    if defined(model.get("n_rows")):
        words.append(f"Fitted on {counted(model['n_rows'], 'row', 'rows')}.")
    if not rows and not any(words):
        return None
    members = table(["member", "weight", "settings"], rows, left=(0, 2)) if rows else None
    return folded("The final model", *(paragraph(word) for word in words), members)


def versions(made: Facts) -> Html | None:
    rows = [[str(name), str(version)] for name, version in part(made, "versions").items()]
    return folded("Versions", table(["library", "version"], rows, left=(0, 1), class_="small")) if rows else None
