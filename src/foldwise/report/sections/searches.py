"""What each search tried: score against each setting, and over time."""

from __future__ import annotations

from typing import Any

from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.trials import against_category, against_number, over_time
from foldwise.report.reading import Facts, counted, defined, number, part, records, short, text
from foldwise.report.sections.blocks import Section, figure, folded, paragraph, table

BEST = 5  # settings of the table
SETTINGS = 8  # pictures of a search


def searches(facts: Facts) -> Section | None:
    """One fold a family."""
    task = part(facts, "task")
    metric, greater = text(task, "metric_title") or "score", bool(task.get("greater"))
    found = [search(entry, metric, greater) for entry in records(facts, "searches")]
    drawn = [entry for entry in found if entry is not None]
    if not drawn:
        return None
    words = "Each dot is a setting that was tried; the ringed one is the best."
    return Section("searches", "What was tried", join([paragraph(words), *drawn]))


def search(entry: Facts, metric: str, greater: bool) -> Html | None:
    """The pictures of one family."""
    trials = [trial for trial in records(entry, "trials") if defined(trial.get("score"))]
    if not trials:
        return None
    pictures = [
        picture for name in settings_of(trials)[:SETTINGS] if (picture := of_setting(name, trials, metric, greater))
    ]
    timed = [(float(trial["at"]), float(trial["score"])) for trial in trials if defined(trial.get("at"))]
    if len(timed) > 1:
        pictures.append(figure("over time", over_time(timed, metric, greater)))
    best = (max if greater else min)(float(trial["score"]) for trial in trials)
    title = f"{text(entry, 'title')}: {counted(len(trials), 'setting', 'settings')}, best {number(best)}"
    return folded(title, el("div", *pictures, class_="grid small") if pictures else None, best_trials(trials, greater))


def settings_of(trials: list[Facts]) -> list[str]:
    """The settings that took more than one value."""
    values: dict[str, set[str]] = {}
    for trial in trials:
        for name, value in part(trial, "settings").items():
            values.setdefault(name, set()).add(str(value))
    return [name for name, found in values.items() if len(found) > 1]


def of_setting(name: str, trials: list[Facts], metric: str, greater: bool) -> Html | None:
    """The picture of one setting: by its numbers, or by its names."""
    told: list[tuple[Any, float]] = [
        (part(trial, "settings")[name], float(trial["score"])) for trial in trials if name in part(trial, "settings")
    ]
    figures = [(float(value), score) for value, score in told if defined(value)]
    if len(figures) == len(told):
        return figure(name, against_number(name, figures, metric, greater))
    return figure(name, against_category(name, [(short(value), score) for value, score in told], metric, greater))


def best_trials(trials: list[Facts], greater: bool) -> Html:
    """The best settings in figures."""
    ranked = sorted(trials, key=lambda trial: -trial["score"] if greater else trial["score"])[:BEST]
    rows = []
    for trial in ranked:
        settings = ", ".join(f"{name} = {short(value)}" for name, value in part(trial, "settings").items())
        rows.append([number(trial["score"]), number(trial.get("folds")), settings or "as it comes"])
    return table(["score", "folds", "settings"], rows, left=(2,), class_="small")
