"""What each search tried: score against each hyperparameter, and over time."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts, is_number
from foldwise.report.formatting import counted, number, settings_text, short
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.trials import TrialDot, against_category, against_number, over_time
from foldwise.report.sections.elements import Section, details, figure, paragraph, table

BEST = 5  # settings in the table
PICTURES = 8  # per search

WORDS = (
    "Each dot is the mean score of one setting over the folds it was evaluated on. Some settings may have been "
    "evaluated on fewer folds, because they looked weak or the time was up. {other} so they can differ from the search "
    "scores above. A ring marks the best of the settings evaluated on the most folds. Settings on fewer folds are "
    "drawn lighter. A setting that leaves a hyperparameter at its default is not in the picture of that hyperparameter."
)
OF_CLASSES = "These scores are computed before calibration,"
OF_VALUES = "These scores are means over folds and are not computed from all held-out rows together,"
TUNE_WORDS = (
    "Each dot is the mean score of one setting over the folds. A ring marks the best setting. A setting that leaves a "
    "hyperparameter at its default is not in the picture of that hyperparameter."
)
FIRST_FOLD = "These scores include fold 1, which the estimates leave out."

ScoredTrial = tuple[ReportFacts, float]  # with its score


def searches(facts: ReportFacts) -> Section | None:
    """One part per model."""
    task = facts.part("task")
    metric = task.text("metric_title") or "score"
    greater, n_folds = task.flag("greater_is_better"), task.number("n_folds") or 0
    is_only = facts.text("kind") == "tune"
    found = [search(entry, metric, greater, n_folds, is_only) for entry in facts.records("searches")]
    other = OF_VALUES if task.text("task") == "regression" else OF_CLASSES
    words = f"{WORDS.format(other=other)} {FIRST_FOLD if task.text('scored_folds') else ''}".strip()
    words = TUNE_WORDS if is_only else words
    title = "Settings that were tried" if is_only else "Hyperparameter searches"
    return Section("searches", title, join([paragraph(words), *found])) if any(found) else None


def search(entry: ReportFacts, metric: str, greater: bool, n_folds: float, is_open: bool) -> Html | None:
    """The pictures of one model."""
    scored = ((trial, trial.number("score")) for trial in entry.records("trials"))
    trials = [(trial, float(score)) for trial, score in scored if score is not None]
    if not trials:
        return None
    most = max(trial.number("folds") or 0 for trial, _ in trials)
    whole = [pair for pair in trials if (pair[0].number("folds") or 0) == most]  # on fewer folds, luck decides
    ranked = sorted(whole, key=lambda pair: -pair[1] if greater else pair[1])
    named = ranked[0][0]
    shown = [
        (trial, TrialDot(0.0, score, (trial.number("folds") or 0) == most, trial is named)) for trial, score in trials
    ]
    pictures = [picture_of(name, shown, metric, greater) for name in varied(trials)[:PICTURES]]
    timed = [one._replace(at=at) for trial, one in shown if (at := trial.number("at")) is not None]
    if len(timed) > 1 and any(one.whole for one in timed):
        pictures.append(figure("over time", over_time(timed, metric, greater)))
    tried = entry.number("n_settings") or len(trials)
    hidden = f" ({len(trials):,} of them shown)" if len(trials) < tried else ""
    settings = counted(tried, "setting", "settings")
    on = f" on {most:.0f} of {n_folds:.0f} folds" if n_folds else ""
    title = f"{entry.text('title')}: {settings} tried{hidden}, best {metric} {number(ranked[0][1])}{on}"
    rows = [
        [number(score), number(trial.number("folds")), settings_text(trial.part("settings"))]
        for trial, score in ranked[:BEST]
    ]
    best = table(["score", "folds", "settings"], rows, left=(2,), class_="small")
    return details(title, el("div", *pictures, class_="grid small") if pictures else None, best, is_open=is_open)


def varied(trials: list[ScoredTrial]) -> list[str]:
    """The hyperparameters that took more than one value."""
    values: dict[str, set[str]] = {}
    for trial, _ in trials:
        for name, value in trial.part("settings").values.items():
            values.setdefault(name, set()).add(str(value))
    return [name for name, found in values.items() if len(found) > 1]


def picture_of(name: str, trials: list[tuple[ReportFacts, TrialDot]], metric: str, greater: bool) -> Html:
    """Score against one hyperparameter, numeric or categorical."""
    found = [(trial.part("settings").values, dot) for trial, dot in trials]
    values = [settings[name] for settings, _ in found if name in settings]
    dots = [dot for settings, dot in found if name in settings]
    if all(is_number(value) for value in values):
        dots_by_value = [dot._replace(at=float(value)) for value, dot in zip(values, dots, strict=True)]
        return figure(name, against_number(name, dots_by_value, metric, greater))
    return figure(name, against_category(name, dots, [short(value) for value in values], metric, greater))
