"""`nomogram`: the data behind an interactive nomogram of a fitted naive Bayes. The report page draws it.

score(c) = prior(c) + rest(c) + Σ over columns of log P(value | c), each multiplied by the weight of its column and
divided by the temperature. The posterior is the softmax of the scores, as in
`predict_proba`. `rest` is the contribution of columns that are not shown, as if their values were missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.errors import InputError

if TYPE_CHECKING:
    from foldwise.bayes import NaiveBayes
    from foldwise.data.view import View


NUMBERS = 40_000  # in all tables together, because they are stored in the page
TABLE_LINES = 200
GRID = 60  # values per column
IMPOSSIBLE = -20.0  # log-likelihood that stands for -inf when columns are ranked


@dataclass(frozen=True)
class Axis:
    """The values of one column that can be selected."""

    name: str
    family: str
    cells: tuple[Any, ...]
    shares: Floats  # (cells + 1,): how often each value occurs, then missing
    whole: bool = False

    @property
    def kind(self) -> str:
        return "category" if self.family == "categorical" else "number"

    @property
    def start(self) -> int | None:
        """The index of the typical value (most frequent category, or median); None if most values are missing."""
        if not self.cells or self.shares[-1] > 0.5:
            return None
        seen = self.shares[:-1]
        if self.kind == "category":
            return int(seen.argmax())
        return int(np.searchsorted(np.cumsum(seen), seen.sum() / 2).clip(max=len(seen) - 1))


def nomogram(model: NaiveBayes, X: Any) -> dict[str, Any]:
    """Compute the contribution of each value of each column to each class.

    Parameters
    ----------
    model : NaiveBayes
        A fitted model.
    X : array or data frame of shape (n_rows, n_columns)
        The training rows. Their values can be selected in the nomogram; of many numbers, a grid of them.

    Returns
    -------
    dict
        Facts for the report page, ready for JSON. A contribution of None is -inf: the value does not occur in the
        class. Text columns are not shown.
    """
    from foldwise.data.view import View  # not above: a page can be written without the libraries that read tables

    table, families = model._view(X, reset=False), model.families_
    if not isinstance(table, View):
        raise InputError("a nomogram needs dense columns, but X is a sparse matrix.", "pass a data frame.")
    hidden = [{"name": name, "why": "text columns are not shown"} for name in families if families[name] == "text"]
    axes = [axis_of(table, j, family) for j, family in enumerate(families.values()) if family != "text"]
    tables = contributions(model, axes)
    used = [a for a in axes if a.name in tables]
    hidden += [{"name": a.name, "why": "the model does not use it"} for a in axes if a.name not in tables]
    shown, crowded = most_informative(used, tables)
    hidden += [{"name": a.name, "why": "it is less informative than the others"} for a in crowded]
    rest, temperature = np.zeros(len(model.classes_)), model._finished.setting.temperature
    for name, logs in tables.items():
        if name not in {a.name for a in shown}:
            rest = rest + logs[-1]
    return {
        "classes": [str(label) for label in model.classes_.tolist()],
        "log_prior": finite(model.class_log_prior_ / temperature),
        "rest": finite(rest),
        "columns": [column_facts(a, tables[a.name]) for a in shown],
        "not_shown": hidden,
        "table": table_facts(model),
    }


def axis_of(table: View, j: int, family: str) -> Axis:
    """Choose the values of a column: the most frequent categories, all numbers, or a grid of them."""
    from foldwise.data.levels import sort_levels

    source, n = table.sources[j], table.n_rows
    name = source.column.name
    if family == "categorical":
        levels = sort_levels(source.distinct(0, n))
        codes = np.empty(n, dtype=np.int64)
        source.codes(levels)(0, n, codes)
        counts = np.bincount(codes, minlength=len(levels) + 1)
        frequent = np.sort(np.argsort(-counts[:-1], kind="stable")[:GRID])
        return Axis(name, family, tuple(levels[i] for i in frequent), shares(counts[frequent], n))
    numbers = np.asarray(table.numbers([j]).chunk(0, n).rows, dtype=np.float64)[:, 0]
    numbers = numbers[np.isfinite(numbers)]
    cells, is_whole = grid(numbers)
    nearest = np.searchsorted((cells[1:] + cells[:-1]) / 2, numbers)
    counts = np.bincount(nearest, minlength=len(cells))
    return Axis(name, family, tuple(cells.tolist()), shares(counts, n), is_whole)


def shares(counts: NDArray[Any], n: int) -> Floats:
    """Divide counts by the number of rows, and append the share of all other rows."""
    return np.append(counts, n - counts.sum()) / max(1, n)


def grid(numbers: Floats) -> tuple[Floats, bool]:
    """Choose sorted values: all, or half of them at quantiles and half evenly spaced, rounded to be readable."""
    if not len(numbers):
        return numbers, False
    is_whole = bool((numbers == np.floor(numbers)).all()) and float(np.abs(numbers).max()) < 2**53
    distinct = np.unique(numbers)
    if len(distinct) <= GRID:
        return distinct, is_whole
    low, high = float(distinct[0]), float(distinct[-1])
    points = np.concatenate([np.quantile(numbers, np.linspace(0, 1, GRID // 2)), np.linspace(low, high, GRID // 2)])
    digits = 0 if is_whole else 3 - math.floor(math.log10(high - low))
    return np.unique(np.clip(np.round(points, max(-300, min(digits, 300))), low, high)), is_whole


def contributions(model: NaiveBayes, axes: Sequence[Axis]) -> dict[str, Floats]:
    """Compute a table (values + 1, classes) for each column in use; its last row is for a missing value.

    One table is explained in which each column runs through its values, because the factor of a column does not depend
    on the other columns. A column without an axis is missing in all rows.
    """
    from foldwise.data.columns import ArrayColumn, ObjectColumn
    from foldwise.data.view import View

    by_name = {a.name: a for a in axes}
    n_rows = max((len(a.cells) for a in axes), default=0) + 1
    sources: list[Any] = []
    for name in model.schema_.names:
        is_number = name in by_name and by_name[name].kind == "number"
        cells = np.full(n_rows, np.nan if is_number else None, dtype=np.float64 if is_number else object)
        if name in by_name:
            cells[: len(by_name[name].cells)] = by_name[name].cells
        sources.append((ArrayColumn if is_number else ObjectColumn)(name, cells))
    rows = model._finished.factors(View(sources, n_rows))
    tables: dict[str, Floats] = {}
    for i, factor in enumerate(rows[0]):
        log = np.array([row[i].log for row in rows]) / model._finished.setting.temperature
        n_cells = len(by_name[factor.column].cells) if factor.column in by_name else 0
        tables[factor.column] = np.vstack([log[:n_cells], log[-1:]])
    return tables


def most_informative(axes: Sequence[Axis], tables: dict[str, Floats]) -> tuple[list[Axis], list[Axis]]:
    """Rank columns by how far their typical values separate the classes; also return those that do not fit."""

    def spread(a: Axis) -> float:
        return float(a.shares @ np.maximum(tables[a.name], IMPOSSIBLE).std(axis=1))

    shown: list[Axis] = []
    crowded: list[Axis] = []
    room = NUMBERS
    for a in sorted(axes, key=spread, reverse=True):
        room -= tables[a.name].size
        (shown if room >= 0 else crowded).append(a)
    return shown, crowded


def column_facts(a: Axis, table: Floats) -> dict[str, Any]:
    """Describe one axis: its values with their contributions to each class."""
    cells: list[Any] = [float(cell) for cell in a.cells] if a.kind == "number" else [str(cell) for cell in a.cells]
    return {
        "name": a.name,
        "kind": a.kind,
        "family": a.family,
        "whole": a.whole,
        "cells": cells,
        "log": [finite(line) for line in table[:-1]],
        "missing": finite(table[-1]),
        "start": a.start,
    }


def finite(logs: Floats) -> list[float | None]:
    """Replace -inf with None, because JSON has no infinity."""
    return [None if log == -math.inf else log for log in logs.tolist()]


def table_facts(model: NaiveBayes) -> dict[str, Any]:
    """Return the lines of the probability table."""
    from foldwise.bayes.probability_table import cell_text

    lines = model.table().lines
    shown = [
        [line.column, line.name, *(cell_text(line, c) for c in range(len(model.classes_)))]
        for line in lines[:TABLE_LINES]
    ]
    return {"lines": shown, "hidden": max(0, len(lines) - TABLE_LINES)}
