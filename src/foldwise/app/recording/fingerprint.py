"""What must be the same when a run is resumed: rows, target, splits, options and library versions.

Each part is a digest to compare, and words for the sentence that names a difference. Budget and number of workers are
not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.app.recording.options import refuse_other
from foldwise.app.setup import RunSetup
from foldwise.app.task import FitTask
from foldwise.data.notes import counted
from foldwise.storage.model_file import versions
from foldwise.tuning.store.digests import described, digest_of, digest_of_array

FingerprintParts = Mapping[str, tuple[str, str]]  # by name: digest and words

ROWS, SPLITS = "training rows", "splits"
ENTAILED = (SPLITS, "pipelines")  # differ also where rows or options do, which says more


def fingerprint(setup: RunSetup) -> dict[str, tuple[str, str]]:
    """Describe a run by what must not change."""
    task, config = setup.task, setup.config
    named = task.named or {}
    texts = {
        "target": repr(task.table.target),
        "task": task.outline.task,
        "metric": setup.metric.name,
        "seed": str(config.seed),
        "groups": repr(named.get("groups")),
        "time": repr(named.get("time")),
        "weights": repr(named.get("weights")),
        "positive class": repr(None if task.positive is None else task.classes.tolist()[task.positive]),
        "models": ", ".join(setup.specs),
        "rows in the report": "yes" if config.rows else "no",
        **{f"version of {name}": number for name, number in versions().items() if name != "python"},
    }
    rows_of_splits = [rows for one in setup.splits for rows in (one.train, one.test)]
    digests = {
        ROWS: (digest_of_training(task), shape_of(task.table.X)),
        "test rows": (digest_of_test(task), "no test table" if task.test is None else shape_of(task.test.X)),
        "costs": (digest_of(described(costs_of(task))), "none" if task.costs is None else "a cost matrix"),
        "pipelines": (digest_of(described(dict(setup.pipelines))), ""),
        SPLITS: (digest_of(*map(digest_of_array, rows_of_splits)), setup.splitter),
    }
    return {**digests, **{name: (digest_of(text), text) for name, text in texts.items()}}


def digest_of_training(task: FitTask) -> str:
    """A digest of the rows that models learn from, with everything that splits depend on."""
    labels = task.y if task.is_quantity else task.classes[task.y]
    return digest_of_table(task.table.X, {"y": labels, **special_columns(task)})


def special_columns(task: FitTask) -> dict[str, Any]:
    return {"groups": task.groups, "moments": task.moments, "weights": task.weights}


def digest_of_test(task: FitTask) -> str:
    if task.test is None:
        return digest_of("none")
    return digest_of_table(task.test.X, {"y": task.test.y, "weights": task.test.weights})


def digest_of_table(frame: pl.DataFrame, more: Mapping[str, Any]) -> str:
    """A digest of columns and further values of the rows.

    `digest_of_rows` of the trial store would first prepare numba, which takes 0.3 s.
    """
    series = [*frame.iter_columns(), *(pl.Series(name, values) for name, values in more.items() if values is not None)]
    return digest_of(*(part for one in series for part in (one.name, digest_of_column(one))))


def digest_of_column(column: pl.Series) -> str:
    """A digest of the cells of a column, and of which are missing."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    missing = digest_of_array(column.is_null().to_numpy())
    if column.dtype == pl.String:
        lengths = column.str.len_bytes().fill_null(0).to_numpy()
        return digest_of("text", missing, digest_of_array(lengths), column.str.join("").item() or "")
    if column.dtype.is_numeric() or column.dtype == pl.Boolean or column.dtype.is_temporal():
        numbers = column.to_physical() if column.dtype.is_temporal() else column
        filled = numbers.fill_null(value=False if column.dtype == pl.Boolean else 0)
        return digest_of("numbers", missing, digest_of_array(filled.to_numpy()))
    return digest_of("values", repr(column.to_list()))


def costs_of(task: FitTask) -> dict[str, Any]:
    if task.costs is None:
        return {}
    return {"actions": [str(one) for one in task.costs.actions], "costs": task.costs.costs_of(task.classes).tolist()}


def shape_of(frame: Any) -> str:
    return f"{counted(frame.height, 'row')} and {counted(frame.width, 'column')}"


def check_same(folder: Path, before: FingerprintParts, now: FingerprintParts) -> None:
    """Raise if a run that is resumed differs from what it was before, and name every difference."""
    names = [name for name in dict.fromkeys([*now, *before]) if before.get(name, "?")[0] != now.get(name, "?")[0]]
    if any(name not in ENTAILED for name in names):
        names = [name for name in names if name not in ENTAILED]
    if names:
        refuse_other(folder, [difference(name, before, now) for name in names])


def difference(name: str, before: FingerprintParts, now: FingerprintParts) -> str:
    """Say how a part differs."""
    old, new = (parts[name][1] if name in parts else "none" for parts in (before, now))
    return f"{name} (other values)" if old == new else f"{name} ({old} before, {new} now)"
