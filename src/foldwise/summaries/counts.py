"""Weight of each category of a column, by class: one pass over codes, `+` and `-`.

The levels of a column are those its rows hold with a weight above 0, in canonical order: nothing about how they were
met is kept, so parts merge to the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.cells import Cells
from foldwise.data.levels import sort_levels
from foldwise.data.schema import Level
from foldwise.data.view import View
from foldwise.errors import ForgetError
from foldwise.summaries.code_kernels import counts_by_column, counts_by_row
from foldwise.summaries.moments import snap_to_zero
from foldwise.summaries.number_kernels import Floats, Ints, own_lines
from foldwise.summaries.passes import Share, windows

HEAD = 1024  # rows from which the ranges are guessed
DIRECT_RANGE = 1 << 16  # whole numbers in so short a range are their own codes,
DIRECT_CELLS = 1 << 21  # unless the table of all columns and classes would be longer than this


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
        held = np.asarray(self.weight.any(axis=1))
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


def counts_of(view: View, columns: Sequence[int], share: Share) -> Counts:
    """One pass over a share of the rows: whole numbers of a short range directly, others by their codes."""
    whole = view.integers(columns)
    counts = counts_of_integers(whole, share) if whole is not None else None
    if counts is not None:
        return counts
    levels = [sort_levels(view.sources[j].distinct(share.start, share.stop)) for j in columns]
    layout = SlotLayout.of(np.zeros(len(levels)), [len(known) + 1 for known in levels])
    table = count(view.codes(columns, levels), layout, share)
    found = []
    for j, known in enumerate(levels):
        first = int(layout.base[j])
        found.append(CategoryCounts(known, table[first : first + len(known)].copy()).trimmed())
    return Counts(tuple(found))


def counts_of_integers(cells: Cells, share: Share) -> Counts | None:
    """Counts of whole numbers by their own value; None where their ranges are long.

    The ranges are guessed from the first rows. Whatever falls outside is counted as the rest, so a wrong guess shows
    and is made good by looking at all rows.
    """
    for last in (min(share.start + HEAD, share.stop), share.stop):
        low, high = range_of(cells, share.start, last)
        span = high.astype(np.float64) - low + 1
        if not worth_direct(span, share.n_classes):
            return None
        layout = SlotLayout.of(low, span)
        table = count(cells, layout, share)
        if not table[(layout.base + layout.width).astype(np.int64)].any():
            break
    found = []
    for j in range(len(cells.names)):
        weight = table[layout.slots(j)]
        held = np.flatnonzero(weight.any(axis=1))
        found.append(CategoryCounts(tuple((held + int(low[j])).tolist()), weight[held]))
    return Counts(tuple(found))


def worth_direct(span: NDArray[np.float64], n_classes: int) -> bool:
    """Whether columns that span so many whole numbers are looked up by value: not where that takes much memory."""
    return bool(span.max() <= DIRECT_RANGE and span.sum() * n_classes <= DIRECT_CELLS)


def count(cells: Cells, layout: SlotLayout, share: Share) -> Floats:  # (slots, K)
    """One pass of the counting kernels."""
    table = own_lines((layout.size, share.n_classes))
    where = (layout.low, layout.width, layout.base, table)
    for a, b, y, w in share.windows(cells.chunk_rows):
        chunk = cells.chunk(a, b)
        if chunk.by_column:
            counts_by_column(chunk.cells, chunk.start, chunk.stop, y, w, *where)
        else:
            counts_by_row(chunk.rows, y, w, *where)
    return table


def range_of(cells: Cells, start: int, stop: int) -> tuple[Ints, Ints]:
    """The least and the greatest value of each column in rows start..stop."""
    lows, highs = [], []
    for a, b in windows(start, stop, cells.chunk_rows):
        rows = cells.chunk(a, b).rows
        lows.append(rows.min(axis=0))
        highs.append(rows.max(axis=0))
    return np.min(lows, axis=0), np.max(highs, axis=0)
