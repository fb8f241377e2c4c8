"""The axes of a nomogram: which cells of a column can be chosen, and a table that runs through all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.levels import is_missing, plain, sort_levels
from foldwise.errors import InputError

Floats = NDArray[np.float64]

GRID = 60  # cells of a column
ROWS_LOOKED_AT = 5_000  # for how often cells occur


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


def columns_of(names: Sequence[str], X: Any) -> dict[str, pl.Series]:
    """The columns of X by their names; an array's are given in their order."""
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
        indices = {level: i for i, level in enumerate(levels)}
        found = [indices.get(cell, -1) for cell in looked.to_list() if not is_missing(cell)]
        return Axis(name, family, levels, shares([i for i in found if i >= 0], len(levels), looked))
    numbers = column.cast(pl.Float64).drop_nulls().to_numpy()
    numbers = numbers[np.isfinite(numbers)]
    cells, is_whole = grid(numbers)
    near = looked.cast(pl.Float64).drop_nulls().to_numpy()
    near = near[np.isfinite(near)]
    nearest = np.searchsorted((cells[1:] + cells[:-1]) / 2, near) if len(cells) else np.zeros(0, dtype=np.intp)
    return Axis(name, family, tuple(cells.tolist()), shares(nearest.tolist(), len(cells), looked), is_whole)


def shares(indices: Sequence[int], n_cells: int, looked: pl.Series) -> Floats:
    """How often each cell occurs, then a missing one."""
    counts = np.bincount(np.asarray(indices, dtype=np.intp), minlength=n_cells).astype(np.float64)
    return np.append(counts, max(0, len(looked) - len(indices))) / max(1, len(looked))


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


def through_all(axes: Sequence[Axis], names: Sequence[str], X: Any) -> Any:
    """Rows in which each column runs through its cells, then is missing; one without an axis is missing throughout."""
    n_rows = max((len(a.cells) for a in axes), default=0) + 1
    by_name = {a.name: a for a in axes}
    filled: dict[str, pl.Series] = {}
    for name in names:
        cells = list(by_name[name].cells) if name in by_name else []
        cells += [None] * (n_rows - len(cells))
        filled[name] = pl.Series(name, cells, dtype=kept_type(by_name.get(name), X, name))
    return as_given(pl.DataFrame(filled), X)


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
