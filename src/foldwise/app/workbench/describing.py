"""What the page of a table shows: how it was read, its first rows and its columns. Runs in a worker process."""

from __future__ import annotations

import math
import re
from typing import Any

import polars as pl

from foldwise.app.timing import PAGE_AUDIT
from foldwise.app.workbench.column_cards import MOST_CATEGORIES
from foldwise.app.workbench.control_words import with_controls
from foldwise.data import read_table
from foldwise.data.audit import CHECKS, n_missing
from foldwise.data.reading.dates import dates_of
from foldwise.data.table import Table
from foldwise.data.target import task_of
from foldwise.errors import FoldwiseError
from foldwise.evaluation.metrics.registry import find_metric

N_BINS = 24
MOST_COLUMNS = 200
MOST_CLASSES = 20
HEAD = 6
LONGEST_CELL = 60
LARGEST_WHOLE = 1e15  # larger numbers are written with an exponent
METRICS = {
    "two classes": ("log_loss", "roc_auc", "accuracy", "balanced_accuracy", "f1", "brier_score"),
    "classes": ("log_loss", "roc_auc_ovr", "accuracy", "balanced_accuracy", "f1_macro", "brier_score"),
    "regression": ("rmse", "mae", "r2"),
}
SAID = {"encoding": r"encoded as (\S+)", "header": r"the (first row|first \d+ rows)"}  # in notes


def describe(path: str, options: dict[str, Any], target: str = "") -> dict[str, Any]:
    """Describe a table file, and if there is a target also what to look at before a run."""
    table = read_table(path, **options)
    shown = list(table.findings)[:MOST_COLUMNS]
    columns = [describe_column(table.X[one.column], one.kind, one.reason) for one in shown]
    facts: dict[str, Any] = {
        "n_rows": table.X.height,
        "n_columns": table.X.width,
        "names": table.X.columns,
        "columns": columns,
        "head": [[cell_text(cell) for cell in row] for row in table.X[:HEAD, :MOST_COLUMNS].iter_rows()],
        "notes": [{"topic": one.topic, "text": with_controls(one.text), "column": one.column} for one in table.notes],
        "detected": detected_of(table),
        "target": None,
        "metrics": {},
        "audit": [],
    }
    if target in table.X.columns:
        facts |= describe_target(read_table(path, target=target, **options))
    return facts


def detected_of(table: Table) -> dict[str, str]:
    """What was decided about the file, by the names of the controls."""
    found = {name: str(value) for name, value in table.detected.items()}
    for note in table.notes:
        if note.topic in SAID and (match := re.search(SAID[note.topic], note.text)):
            found.setdefault(note.topic, match[1])
    return found


def describe_target(table: Table) -> dict[str, Any]:
    """What the target is, and what the audit found."""
    assert table.y is not None
    task, audit = task_of(table.y), table.audit(seconds=PAGE_AUDIT)
    labels = pl.Series(table.y.tolist(), strict=False).drop_nulls()
    classes = []
    if task == "classification":
        classes = [str(one) for one in labels.unique().sort().to_list()]
    concerns: list[dict[str, Any]] = [
        {"check": check, "about": about, "found": [vars(one) for one in audit.of(check)]}
        for check, about in CHECKS.items()
        if check != "balance" and audit.of(check)
    ]
    found = {"task": task, "classes": classes if len(classes) <= MOST_CLASSES else [], "n_classes": len(classes)}
    return {
        "target": found,
        "metrics": metrics_for(labels.n_unique()),
        "audit": [{**one, "about": with_controls(one["about"])} for one in concerns],
    }


def metrics_for(n_classes: int) -> dict[str, list[tuple[str, str]]]:
    """The metrics to choose from for each task, with their titles. Some are defined for two classes only."""
    names = {"classification": METRICS["two classes" if n_classes == 2 else "classes"]}
    names["regression"] = METRICS["regression"]
    return {task: [(name, find_metric(name).title) for name in some] for task, some in names.items()}


def describe_column(column: pl.Series, kind: str, reason: str) -> dict[str, Any]:
    """One column: its kind, its missing share and its distribution."""
    present = column.drop_nulls()
    if present.dtype.is_float():
        present = present.filter(present.is_finite())
    facts: dict[str, Any] = {
        "name": column.name,
        "kind": kind,
        "reason": reason,
        "missing": n_missing(column) / max(1, len(column)),
        "distinct": present.n_unique(),
    }
    if kind in ("date", "time") and present.dtype == pl.String:
        present = moments(present)
    is_scale = present.dtype.is_numeric() or present.dtype.is_temporal()
    if is_scale and facts["distinct"] > MOST_CATEGORIES:
        return {**facts, "bins": bins_of(present)}
    return {**facts, "values": values_of(present)}


def moments(text: pl.Series) -> pl.Series:
    """Dates or times that were written as text; the text itself where they cannot be read."""
    try:
        found = dates_of(text).drop_nulls()
    except FoldwiseError:  # either number may be the day
        return text
    return found if len(found) else text


def bins_of(present: pl.Series) -> dict[str, Any]:
    """Counts in bins of equal width, with the ends of the scale as text."""
    numbers = present.to_physical().cast(pl.Float64)
    low, high = float(numbers.min() or 0.0), float(numbers.max() or 0.0)  # type: ignore[arg-type]
    width = (high - low) / N_BINS
    if not math.isfinite(width) or width <= 0:
        return {"counts": [len(numbers)], "low": cell_text(present.min()), "high": cell_text(present.max())}
    index = ((numbers - low) / width).floor().clip(0, N_BINS - 1).cast(pl.Int64)
    counts = [0] * N_BINS
    for bin_index, count in index.value_counts().iter_rows():
        counts[bin_index] = count
    return {
        "counts": counts,
        "low": cell_text(present.min()),
        "median": cell_text(present.median()),
        "high": cell_text(present.max()),
    }


def values_of(present: pl.Series) -> list[tuple[str, int]]:
    """The most frequent values with their counts; what is left is counted together."""
    counts = present.cast(pl.String).alias("value").value_counts(name="n").sort("n", "value", descending=[True, False])
    top = [(cell_text(value), n) for value, n in counts.head(MOST_CATEGORIES).iter_rows()]
    others = counts["n"].tail(max(0, counts.height - MOST_CATEGORIES))
    return [*top, *([(f"{len(others):,} others", int(others.sum()))] if len(others) else [])]


def cell_text(cell: Any) -> str:
    """A cell as text, cut where it is long; a missing one is empty."""
    if cell is None:
        return ""
    is_whole = isinstance(cell, float) and abs(cell) < LARGEST_WHOLE and cell == int(cell)
    text = str(int(cell)) if is_whole else f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
