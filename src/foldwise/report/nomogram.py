"""`nomogram`: a fitted naive Bayes as sums that a page can do by itself. It computes and draws nothing.

score(c) = prior(c) + rest(c) + Σ over columns of log P(cell | c); the posterior is the softmax of the scores over the
classes, as in `predict_proba`. `rest` holds what columns that are not shown say when their cell is missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.levels import is_missing, plain, sort_levels
from foldwise.errors import InputError

if TYPE_CHECKING:
    from foldwise.bayes import NaiveBayes

Floats = NDArray[np.float64]

GRID = 60  # cells of a column
NUMBERS = 40_000  # in all tables: they lie in the page
TABLE_LINES = 200
ROWS_LOOKED_AT = 5_000  # for how often cells occur
IMPOSSIBLE = -20.0  # how telling a cell is that a class cannot have


@dataclass(frozen=True)
class Axis:
    """The cells of one column that can be chosen."""

    name: str
    family: str
    cells: tuple[Any, ...]
    shares: Floats  # (cells + 1,): how often each occurs, the last a missing one
    whole: bool = False

    @property
    def kind(self) -> str:
        return "category" if self.family == "categorical" else "number"

    @property
    def start(self) -> int | None:
        """The typical cell: the most frequent category, the median; None where most are missing."""
        if not self.cells or self.shares[-1] > 0.5:
            return None
        seen = self.shares[:-1]
        if self.kind == "category":
            return int(seen.argmax())
        return int(np.searchsorted(np.cumsum(seen), seen.sum() / 2).clip(max=len(seen) - 1))


def nomogram(model: NaiveBayes, X: Any) -> dict[str, Any]:
    """The facts of a nomogram: what each cell of each column says of each class.

    `X` are the rows the model was fitted on; its values are the cells that can be chosen, of numbers a grid of them.
    A contribution of None is -inf: the cell does not occur in that class. Columns of text are not shown.
    """
    columns = columns_of(model, X)
    families = model.families_
    hidden = [{"name": name, "why": "it holds text"} for name, family in families.items() if family == "text"]
    axes = [axis(name, families[name], cells) for name, cells in columns.items() if families[name] != "text"]
    said = contributions(model, axes, X)
    used = [a for a in axes if a.name in said]
    hidden += [{"name": a.name, "why": "the model does not use it"} for a in axes if a.name not in said]
    shown, crowded = most_telling(used, said)
    hidden += [{"name": a.name, "why": "it says less than the others"} for a in crowded]
    rest = np.zeros(len(model.classes_))
    for name, table in said.items():
        if name not in {a.name for a in shown}:
            rest = rest + table[-1]
    return {
        "classes": [str(plain(label)) for label in model.classes_.tolist()],
        "log_prior": finite(model.class_log_prior_),
        "rest": finite(rest),
        "columns": [column_facts(a, said[a.name]) for a in shown],
        "not_shown": hidden,
        "table": table_facts(model),
    }


def columns_of(model: NaiveBayes, X: Any) -> dict[str, pl.Series]:
    """The columns of X by the model's names for them."""
    names = model.schema_.names
    if isinstance(X, pl.DataFrame):
        return {name: X[name] for name in names}
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        columns = {str(name): frame.get_column(name).to_list() for name in frame.columns}
        return {name: series(name, columns[name]) for name in names}
    if hasattr(X, "toarray"):
        raise InputError("a nomogram has an axis a column, which a sparse matrix has too many of.", "pass a frame.")
    rows = np.asarray(X)
    return {name: series(name, rows[:, j].tolist()) for j, name in enumerate(names)}


def series(name: str, cells: Sequence[Any]) -> pl.Series:
    """Cells of any library as a series; what is missing is null."""
    return pl.Series(name, [None if is_missing(cell) else plain(cell) for cell in cells], strict=False)


def axis(name: str, family: str, column: pl.Series) -> Axis:
    """The cells to choose from: of categories the most frequent, of numbers all or a grid."""
    looked = column.gather_every(max(1, math.ceil(len(column) / ROWS_LOOKED_AT)))
    if family == "categorical":
        counts = column.drop_nulls().value_counts(sort=True)
        levels = sort_levels(counts[column.name].head(GRID).to_list())
        places = {level: i for i, level in enumerate(levels)}
        found = [places.get(cell, -1) for cell in looked.to_list() if not is_missing(cell)]
        return Axis(name, family, levels, shares([place for place in found if place >= 0], len(levels), looked))
    numbers = column.cast(pl.Float64).drop_nulls().to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    cells, is_whole = grid(numbers)
    near = looked.cast(pl.Float64).drop_nulls().to_numpy()
    near = near[np.isfinite(near)]
    places_near = np.searchsorted((cells[1:] + cells[:-1]) / 2, near) if len(cells) else np.zeros(0, dtype=np.intp)
    return Axis(name, family, tuple(cells.tolist()), shares(places_near.tolist(), len(cells), looked), is_whole)


def shares(places: Sequence[int], n_cells: int, looked: pl.Series) -> Floats:
    """How often each cell occurs, then a missing one."""
    counts = np.bincount(np.asarray(places, dtype=np.intp), minlength=n_cells).astype(np.float64)
    return np.append(counts, max(0, len(looked) - len(places))) / max(1, len(looked))


def grid(numbers: Floats) -> tuple[Floats, bool]:
    """Values to choose from, sorted: all, or half of them by rank and half evenly spaced, rounded to be read."""
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


def contributions(model: NaiveBayes, axes: Sequence[Axis], X: Any) -> dict[str, Floats]:
    """For each column in use a table (cells + 1, classes); its last row is that of a missing cell.

    One table is explained in which each column runs through its cells: a column's factor does not depend on the others.
    """
    n_rows = max((len(a.cells) for a in axes), default=0) + 1
    by_name = {a.name: a for a in axes}
    filled: dict[str, pl.Series] = {}
    for name in model.schema_.names:
        cells = list(by_name[name].cells) if name in by_name else []
        cells += [None] * (n_rows - len(cells))
        filled[name] = pl.Series(name, cells, dtype=kept_type(by_name.get(name), X, name))
    rows = model.explain(as_given(pl.DataFrame(filled), X))
    tables: dict[str, Floats] = {}
    for place, factor in enumerate(rows[0].factors):
        log = np.array([row.factors[place].log for row in rows])
        n_cells = len(by_name[factor.column].cells) if factor.column in by_name else 0
        tables[factor.column] = np.vstack([log[:n_cells], log[-1:]])
    return tables


def kept_type(a: Axis | None, X: Any, name: str) -> Any:
    """Numbers are floats, categories stay as they were."""
    if a is not None and a.kind == "number":
        return pl.Float64
    if isinstance(X, pl.DataFrame):
        return X[name].dtype
    return pl.String if a is None else None


def as_given(frame: pl.DataFrame, X: Any) -> Any:
    """Rows in the shape the model was fitted on: a frame, or an array without names."""
    if nw.dependencies.is_into_dataframe(X):
        return frame
    numeric = all(dtype.is_numeric() for dtype in frame.dtypes)
    return frame.cast(pl.Float64).to_numpy() if numeric else np.array(frame.rows(), dtype=object)


def most_telling(axes: Sequence[Axis], said: dict[str, Floats]) -> tuple[list[Axis], list[Axis]]:
    """The columns by how far their usual cells set the classes apart, and those for which there is no room."""

    def tells(a: Axis) -> float:
        return float(a.shares @ np.maximum(said[a.name], IMPOSSIBLE).std(axis=1))

    shown: list[Axis] = []
    crowded: list[Axis] = []
    room = NUMBERS
    for a in sorted(axes, key=tells, reverse=True):
        room -= said[a.name].size
        (shown if room >= 0 else crowded).append(a)
    return shown, crowded


def column_facts(a: Axis, table: Floats) -> dict[str, Any]:
    """One axis: its cells with what each says of each class."""
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
    """Logarithms for JSON, which knows no infinity: None is -inf."""
    return [None if log == -math.inf else log for log in logs.tolist()]


def table_facts(model: NaiveBayes) -> dict[str, Any]:
    """The probability distribution table as a textbook prints it."""
    from foldwise.bayes.probability_table import cell_text

    lines = model.table().lines
    shown = [
        [line.column, line.name, *(cell_text(line, c) for c in range(len(model.classes_)))]
        for line in lines[:TABLE_LINES]
    ]
    return {"lines": shown, "hidden": max(0, len(lines) - TABLE_LINES)}
