"""Weight of each category of a column, by class: one pass over codes, `+` and `-`.

The levels of a column are those its rows hold with a weight above 0, in canonical order: nothing about how they were
met is kept, so parts merge to the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.cells import Cells, read_only
from foldwise.data.levels import sort_levels
from foldwise.data.schema import Level
from foldwise.data.view import View
from foldwise.errors import ForgetError
from foldwise.summaries.code_kernels import counts_by_column, counts_by_row
from foldwise.summaries.moments import snap_to_zero
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import map_rows, windows

HEAD = 1024  # rows from which the ranges are guessed
DIRECT_RANGE = 1 << 16  # whole numbers in so short a range are their own codes


@dataclass(frozen=True)
class CategoryCounts:
    """Per level of one column and class: the total weight of the rows that hold it.

    >>> a = CategoryCounts(("x",), np.array([[1.0, 2.0]]))
    >>> b = CategoryCounts(("w", "x"), np.array([[1.0, 0.0], [0.0, 5.0]]))
    >>> (a + b).levels, (a + b).weight.tolist()
    (('w', 'x'), [[1.0, 0.0], [1.0, 7.0]])
    """

    levels: tuple[Level, ...]
    weight: Floats  # (levels, K)

    def __add__(self, other: CategoryCounts) -> CategoryCounts:
        if self.levels == other.levels:
            return CategoryCounts(self.levels, self.weight + other.weight)
        levels = sort_levels([*self.levels, *other.levels])
        return CategoryCounts(levels, self.on(levels) + other.on(levels))

    def __sub__(self, other: CategoryCounts) -> CategoryCounts:
        known = set(self.levels)
        unknown = [level for level in other.levels if level not in known]
        left = snap_to_zero(self.weight - other.on(self.levels), self.weight)
        if unknown or (left < 0).any():
            what = f"the category {unknown[0]!r}" if unknown else "more rows of a category"
            raise ForgetError(f"{what} was taken away, but had not been learned.")
        return CategoryCounts(self.levels, left).trimmed()

    def on(self, levels: Sequence[Level]) -> Floats:
        """The weights in the order of other levels, 0 for those not held."""
        place = {level: i for i, level in enumerate(self.levels)}
        found = [place.get(level, -1) for level in levels]
        padded = np.vstack([self.weight, np.zeros((1, self.weight.shape[1]))])
        return padded[found] if found else padded[:0]

    def trimmed(self) -> CategoryCounts:
        """Without the levels that no row holds."""
        held = self.weight.any(axis=1)
        if held.all():
            return self
        return CategoryCounts(tuple(v for v, keep in zip(self.levels, held, strict=True) if keep), self.weight[held])

    def expand(self, places: NDArray[np.int64], n_classes: int) -> CategoryCounts:
        """The same facts with class i at `places[i]` among `n_classes`."""
        weight = np.zeros((len(self.levels), n_classes))
        weight[:, places] = self.weight
        return CategoryCounts(self.levels, weight)


@dataclass(frozen=True)
class Counts:
    """The category counts of several columns."""

    columns: tuple[CategoryCounts, ...]

    def __add__(self, other: Counts) -> Counts:
        return Counts(tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)))

    def __sub__(self, other: Counts) -> Counts:
        return Counts(tuple(a - b for a, b in zip(self.columns, other.columns, strict=True)))

    def expand(self, places: NDArray[np.int64], n_classes: int) -> Counts:
        """The same facts with class i at `places[i]` among `n_classes`."""
        return Counts(tuple(column.expand(places, n_classes) for column in self.columns))

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain JSON values."""
        return {"columns": [{"levels": list(c.levels), "weight": c.weight.T.tolist()} for c in self.columns]}

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Counts:
        """The facts that `to_dict` wrote."""
        return cls(
            tuple(
                CategoryCounts(tuple(c["levels"]), np.array(c["weight"], dtype=np.float64).T.copy())
                for c in facts["columns"]
            )
        )


@dataclass(frozen=True)
class SlotLayout:
    """Where the codes of each column are counted: column j from `base[j]`, `width[j]` slots and one for the rest."""

    low: NDArray[np.int64]
    width: NDArray[np.uint64]
    base: NDArray[np.uint64]
    size: int

    @classmethod
    def of(cls, low: Any, width: Any) -> SlotLayout:
        lows, widths = np.asarray(low, dtype=np.int64), np.asarray(width, dtype=np.uint64)
        ends = np.cumsum(widths + np.uint64(1))
        return cls(
            lows,
            widths,
            np.concatenate([[0], ends[:-1]]).astype(np.uint64),
            int(ends[-1]) if len(ends) else 0,
        )

    def slots(self, j: int) -> slice:
        """The slots of column j, without the one for the rest."""
        start = int(self.base[j])
        return slice(start, start + int(self.width[j]))


def counts_of(
    view: View,
    columns: Sequence[int],
    y: Ints,
    weights: Floats | None,
    n_classes: int,
    n_jobs: int | None = None,
) -> Counts:
    """One pass over columns of categories: whole numbers of a short range directly, others by their codes."""
    whole = view.integers(columns)
    if whole is not None and view.n_rows:
        counts = counts_of_integers(lambda: view.integers(columns), y, weights, n_classes, n_jobs)  # type: ignore[arg-type,return-value]
        if counts is not None:
            return counts
    levels = [sort_levels(view.sources[j].distinct()) for j in columns]
    layout = SlotLayout.of(np.zeros(len(levels)), [len(known) + 1 for known in levels])
    table = count(lambda: view.codes(columns, levels), layout, y, weights, n_classes, n_jobs)
    found = []
    for j, known in enumerate(levels):
        start = int(layout.base[j])
        found.append(CategoryCounts(known, table[start : start + len(known)].copy()).trimmed())
    return Counts(tuple(found))


def counts_of_integers(
    open_cells: Callable[[], Cells], y: Ints, weights: Floats | None, n_classes: int, n_jobs: int | None
) -> Counts | None:
    """Counts of whole numbers by their own value; None where some column's range is long.

    The ranges are guessed from the first rows. Whatever falls outside is counted as the rest, so a wrong guess shows
    and is made good by looking at all rows.
    """
    cells = open_cells()
    low, high = cell_range(cells.chunk(0, min(cells.n_rows, HEAD)).rows)
    table, layout = count_range(open_cells, low, high, y, weights, n_classes, n_jobs)
    if table is not None and table[(layout.base + layout.width).astype(np.int64)].any():
        low, high = range_of(open_cells, n_jobs)
        table, layout = count_range(open_cells, low, high, y, weights, n_classes, n_jobs)
    if table is None:
        return None
    found = []
    for j in range(len(cells.names)):
        levels = tuple(range(int(low[j]), int(high[j]) + 1))
        found.append(CategoryCounts(levels, table[layout.slots(j)].copy()).trimmed())
    return Counts(tuple(found))


def count_range(
    open_cells: Callable[[], Cells],
    low: Ints,
    high: Ints,
    y: Ints,
    weights: Floats | None,
    n_classes: int,
    n_jobs: int | None,
) -> tuple[Floats | None, SlotLayout]:
    """The counts by value and their layout; no counts where a range is long."""
    span = high.astype(np.float64) - low + 1
    if span.max() > DIRECT_RANGE:
        return None, SlotLayout.of([], [])
    layout = SlotLayout.of(low, span)
    return count(open_cells, layout, y, weights, n_classes, n_jobs), layout


def count(
    open_cells: Callable[[], Cells],
    layout: SlotLayout,
    y: Ints,
    weights: Floats | None,
    n_classes: int,
    n_jobs: int | None,
) -> Floats:  # (slots, K)
    """One pass of the counting kernels."""

    def part(start: int, stop: int) -> Floats:
        cells = open_cells()
        size, table = cells.chunk_rows, np.zeros((layout.size, n_classes))
        ones = np.ones(min(size, stop - start)) if weights is None else None
        for a, b in windows(start, stop, size):
            w = weights[a:b] if weights is not None else ones[: b - a]  # type: ignore[index]
            chunk = cells.chunk(a, b)
            where = (layout.low, layout.width, layout.base, table)
            if chunk.by_column:
                counts_by_column(chunk.cells, chunk.start, chunk.stop, y[a:b], read_only(w), *where)
            else:
                counts_by_row(chunk.rows, y[a:b], read_only(w), *where)
        return table

    first = open_cells()
    return reduce(add, map_rows(first.n_rows, len(first.names), n_jobs, part))


def range_of(open_cells: Callable[[], Cells], n_jobs: int | None) -> tuple[Ints, Ints]:
    """The least and the greatest value of each column."""

    def part(start: int, stop: int) -> list[tuple[Ints, Ints]]:
        cells = open_cells()
        return [cell_range(cells.chunk(a, b).rows) for a, b in windows(start, stop, cells.chunk_rows)]

    first = open_cells()
    found = [pair for pairs in map_rows(first.n_rows, len(first.names), n_jobs, part) for pair in pairs]
    return np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)


def cell_range(rows: Ints) -> tuple[Ints, Ints]:
    """The least and the greatest value of each column of some rows."""
    return rows.min(axis=0), rows.max(axis=0)
