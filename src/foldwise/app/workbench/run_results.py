"""What the page of a result shows, read from its run folder. Runs in a worker process.

The sections are those of the report. The decisions at every threshold are counted here, so that the page only adds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foldwise.app.run_folder import HELD_OUT, current, read_facts
from foldwise.app.safe_cells import without_formulas
from foldwise.data.reading.protocol import READ_ERRORS, first_line
from foldwise.errors import InputError
from foldwise.report.facts import ReportFacts
from foldwise.report.html import EXPLORATION, SECTIONS
from foldwise.report.sections.elements import Section
from foldwise.report.sections.exploration.answers import top
from foldwise.report.sections.headline import headline

LEFT_OUT = ("glossary", "repeat", "history", "searches", "nomogram", "data", "mistakes")  # the report has them
LEVELS = 1000  # thresholds from 0 to 1


def result_facts(folder: str) -> dict[str, Any]:
    """The result of a run: the top of its report, its sections, decisions by threshold, and the largest mistakes."""
    facts = read_facts(Path(folder))
    read = ReportFacts(facts)
    is_fit = read.text("kind") == ""
    first, sections = (headline, SECTIONS) if is_fit else (top, EXPLORATION)
    made: list[Section] = [one for section in sections if (one := section(read)) is not None]
    decision = threshold_facts(Path(folder), read) if is_fit else None
    hidden = LEFT_OUT if decision is not None else LEFT_OUT[:-1]
    shown = [one for one in made if one.name not in hidden]
    return {
        "is_fit": is_fit,
        "top": str(first(read)),
        "sections": [{"name": one.name, "title": one.title, "body": str(one.body)} for one in shown],
        "decision": decision,
        "mistakes": facts.get("largest_mistakes") or [],
        "target": read.part("task").text("target"),
        "has_held_out": current(Path(folder), HELD_OUT).is_file(),
    }


def threshold_facts(folder: Path, facts: ReportFacts) -> dict[str, Any] | None:
    """Weights of positive and negative rows at or above each threshold; None unless there are two classes."""
    classes, path = facts.part("task").texts("classes"), current(folder, HELD_OUT)
    if len(classes) != 2 or not path.is_file():
        return None
    positive = facts.part("task").text("positive")
    k = classes.index(positive) if positive in classes else 1
    frame = read_held_out(path, ["truth", f"probability_{k}"])
    weights = frame["weight"].to_numpy() if "weight" in frame.columns else np.ones(frame.height)
    return {
        "positive": classes[k],
        "negative": classes[1 - k],
        "above": above(frame[f"probability_{k}"].to_numpy(), frame["truth"].to_numpy() == k, weights),
        "costs": binary_costs(facts, classes, k),
        "weighted": "weight" in frame.columns,
    }


def above(
    proba: np.ndarray[Any, Any], is_positive: np.ndarray[Any, Any], weights: np.ndarray[Any, Any]
) -> dict[str, list[float]]:
    """For each threshold, the weight of the positive and the negative rows whose probability is at least that."""
    levels = np.arange(LEVELS + 1) / LEVELS
    found = {}
    for name, here in (("positive", is_positive), ("negative", ~is_positive)):
        order = np.argsort(proba[here], kind="stable")
        before = np.concatenate([[0.0], np.cumsum(weights[here][order])])
        at = np.searchsorted(proba[here][order], levels, side="left")
        found[name] = [round(float(one), 6) for one in before[-1] - before[at]]
    return found


def binary_costs(facts: ReportFacts, classes: list[str], k: int) -> list[list[float]]:
    """Costs by decision and truth, the positive class first; an error costs 1 where the run had no costs."""
    costs = facts.part("task", "costs")
    actions = costs.texts("actions")
    matrix = costs.matrix("matrix", len(actions), 2) if actions else []
    order = [k, 1 - k]
    if not matrix or sorted(actions) != sorted(classes):
        return [[0.0, 1.0], [1.0, 0.0]]
    return [[matrix[actions.index(classes[i])][j] for j in order] for i in order]


def read_held_out(path: Path, needed: list[str]) -> pl.DataFrame:
    """Read the held-out predictions of a run, which are columns of numbers."""
    try:
        frame = pl.read_parquet(path)
        if not all(frame[name].dtype.is_numeric() for name in needed):
            raise InputError(f"{HELD_OUT} must contain numbers only.", "run fit again.")
    except READ_ERRORS as error:
        raise InputError(f"{HELD_OUT} cannot be read: {first_line(error)}.", "run fit again.") from error
    return frame


def write_predictions(folder: str, out: str) -> None:
    """Write the held-out predictions of a run as CSV, with the names of the classes."""
    facts = ReportFacts(read_facts(Path(folder))).part("task")
    classes = facts.texts("classes")
    frame = read_held_out(current(Path(folder), HELD_OUT), ["row", "fold", "truth"])
    if classes:
        names = pl.Series(classes)
        rename = {f"probability_{k}": f"probability_{one}" for k, one in enumerate(classes)}
        best = frame.select([name for name in rename if name in frame.columns]).to_numpy().argmax(axis=1)
        labels = [names[frame["truth"]].alias("truth"), names[pl.Series(best)].alias("predicted")]
        frame = frame.with_columns(labels).rename(rename, strict=False)
    without_formulas(frame.with_columns(pl.col("fold") + 1)).write_csv(out)
