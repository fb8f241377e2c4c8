"""`Counts`: the weight of each category of a column, by class.

The levels of a column are those of its rows with a weight above 0, in canonical order. They do not depend on the order
of the rows, so summaries of parts merge to the summary of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats, Ints
from foldwise.data.cells import ChunkedCells, read_only
from foldwise.data.levels import as_level, sort_levels
from foldwise.data.schema import Level
from foldwise.data.view import View
from foldwise.errors import ForgetError, InputError
from foldwise.summaries.alignment import rows_left, spread, stored_array, weight_kept
from foldwise.summaries.code_kernels import counts_by_column, counts_by_row
from foldwise.summaries.number_kernels import own_lines
from foldwise.summaries.passes import ThreadShare, windows
from foldwise.summaries.per_column import PerColumn

HEAD = 1024  # rows from which the ranges are guessed
DIRECT_RANGE = 1 << 16  # integers in a shorter range are their own codes,
DIRECT_CELLS = 1 << 21  # unless the table of all columns and classes would have more cells


@dataclass(frozen=True)
class CategoryCounts:
    """The weight and the number of rows of each level of one column, by class.

    Examples
    --------
    >>> a = CategoryCounts.of(("x",), np.array([[1.0, 2.0]]))
    >>> b = CategoryCounts.of(("w", "x"), np.array([[1.0, 0.0], [0.0, 5.0]]))
    >>> (a + b).levels, (a + b).weight.tolist()
    (('w', 'x'), [[1.0, 0.0], [1.0, 7.0]])
    """

    levels: tuple[Level, ...]
    weight: Floats  # (levels, K)
    rows: Floats  # (levels, K), with a weight above 0; exact, as they are integers

    @classmethod
    def of(cls, levels: tuple[Level, ...], weight: Floats, rows: Floats | None = None) -> CategoryCounts:
        """Return the counts without levels that occur in no row; without `rows` each row has the weight 1."""
        rows = weight if rows is None else rows
        held = np.flatnonzero(rows.any(axis=1))
        if len(held) < len(levels):
            return cls(tuple(levels[i] for i in held), weight[held], rows[held])
        return cls(levels, weight, rows)

    def __add__(self, other: CategoryCounts) -> CategoryCounts:
        if self.levels == other.levels:
            return CategoryCounts(self.levels, self.weight + other.weight, self.rows + other.rows)
        levels = sort_levels([*self.levels, *other.levels])
        (w, r), (v, s) = self.on(levels), other.on(levels)
        return CategoryCounts(levels, w + v, r + s)

    def __sub__(self, other: CategoryCounts) -> CategoryCounts:
        unknown = set(other.levels).difference(self.levels)
        if unknown:
            raise ForgetError(f"{sort_levels(unknown)[0]!r} cannot be removed, because it was not learned.")
        weight, rows = other.on(self.levels)
        left = rows_left(self.rows, rows, class_axis=1)
        return CategoryCounts.of(self.levels, weight_kept(self.weight, weight, left, class_axis=1), left)

    def on(self, levels: Sequence[Level]) -> tuple[Floats, Floats]:
        """Return the weights and rows in the order of other levels, 0 for levels that do not occur."""
        index = {level: i for i, level in enumerate(self.levels)}
        found = np.array([index.get(level, -1) for level in levels], dtype=np.intp)
        padding = np.zeros((1, self.weight.shape[1]))
        return np.vstack([self.weight, padding])[found], np.vstack([self.rows, padding])[found]

    def expand(self, indices: NDArray[np.int64], n_classes: int) -> CategoryCounts:
        """Return the same summary for `n_classes` classes; class i moves to `indices[i]`."""
        weight, rows = (spread(array.T, indices, n_classes).T for array in (self.weight, self.rows))
        return CategoryCounts(self.levels, weight, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON values."""
        return {"levels": list(self.levels), "weight": self.weight.tolist(), "rows": self.rows.tolist()}

    @classmethod
    def from_dict(cls, facts: dict[str, Any], n_classes: int) -> CategoryCounts:
        """Check and return the summary that `to_dict` wrote."""
        levels = tuple(as_level(level, "stored") for level in facts["levels"])
        if len(set(levels)) < len(levels):
            raise InputError(f"the stored levels must be unique, got {list(levels)!r}.")
        weight, rows = (stored_array(facts, name, (len(levels), n_classes), 0.0) for name in ("weight", "rows"))
        return cls(levels, weight, rows)


@dataclass(frozen=True)
class Counts(PerColumn[CategoryCounts]):
    """The category counts of several columns."""

    COLUMN = CategoryCounts


@dataclass(frozen=True)
class SlotLayout:
    """The slots in which the codes of each column are counted: from `base[j]`, `width[j]` slots and one more."""

    low: NDArray[np.int64]
    width: NDArray[np.uint64]
    base: NDArray[np.uint64]
    size: int

    @classmethod
    def of(cls, low: Any, width: Any) -> SlotLayout:
        lows, widths = np.asarray(low, dtype=np.int64), np.asarray(width, dtype=np.uint64)
        ends = np.cumsum(widths + np.uint64(1))
        base = np.concatenate([[0], ends[:-1]]).astype(np.uint64)
        return cls(lows, widths, base, int(ends[-1]) if len(ends) else 0)

    def slots(self, j: int) -> slice:
        """Return the slots of column j, without the one for codes out of range."""
        start = int(self.base[j])
        return slice(start, start + int(self.width[j]))


def counts_of(view: View, columns: Sequence[int], share: ThreadShare) -> Counts:
    """Count a share of the rows in one pass: integers of a short range directly, others by their codes."""
    whole = view.integers(columns)
    counts = counts_of_integers(whole, share) if whole is not None else None
    if counts is not None:
        return counts
    levels = [sort_levels(view.sources[j].distinct(share.start, share.stop)) for j in columns]
    layout = SlotLayout.of(np.zeros(len(levels)), [len(known) + 1 for known in levels])
    weight, rows = count(view.codes(columns, levels), layout, share)
    found = []
    for j, known in enumerate(levels):
        first = int(layout.base[j])
        slots = slice(first, first + len(known))
        found.append(CategoryCounts.of(known, weight[slots].copy(), rows[slots].copy()))
    return Counts(tuple(found))


def counts_of_integers(cells: ChunkedCells, share: ThreadShare) -> Counts | None:
    """Count integers by their value; None if their ranges are long.

    The ranges are guessed from the first rows. If any value turns out to be out of range, the ranges are taken from all
    rows and the values are counted again.
    """
    for last in (min(share.start + HEAD, share.stop), share.stop):
        low, high = range_of(cells, share.start, last)
        span = high.astype(np.uint64) - low.astype(np.uint64)  # exact: differences of int64 fit in uint64
        if not can_count_by_value(span, share.n_classes):
            return None
        layout = SlotLayout.of(low, span + np.uint64(1))
        weight, rows = count(cells, layout, share)
        if not rows[(layout.base + layout.width).astype(np.int64)].any():
            break
    else:
        return None
    found = []
    for j in range(len(cells.names)):
        slots = layout.slots(j)
        held = np.flatnonzero(rows[slots].any(axis=1))
        levels = tuple(int(low[j]) + i for i in held.tolist())
        found.append(CategoryCounts(levels, weight[slots][held], rows[slots][held]))
    return Counts(tuple(found))


def can_count_by_value(span: NDArray[Any], n_classes: int) -> bool:
    """Whether integers are counted by value: not if their ranges are so long that it takes much memory."""
    short = span.size == 0 or int(span.max()) < DIRECT_RANGE
    return short and (int(span.sum()) + 2 * span.size) * n_classes <= DIRECT_CELLS


def count(cells: ChunkedCells, layout: SlotLayout, share: ThreadShare) -> tuple[Floats, Floats]:  # (slots, K) both
    """Run the counting kernels: weights, and rows with a weight above 0."""
    weight = own_lines((layout.size, share.n_classes))
    rows = weight if share.weights is None else own_lines((layout.size, share.n_classes))
    where = (layout.low, layout.width, layout.base)
    for window in share.windows(cells.chunk_rows):
        chunk, y = cells.chunk(window.start, window.stop), window.y
        targets = [(window.w, weight)]
        if not window.unit:
            targets.append((read_only((window.w > 0).astype(np.float64)), rows))
        for values, table in targets:
            if chunk.by_column:
                counts_by_column(chunk.cells, chunk.start, chunk.stop, y, values, *where, table)
            else:
                counts_by_row(chunk.rows, y, values, *where, table)
    return weight, rows


def range_of(cells: ChunkedCells, start: int, stop: int) -> tuple[Ints, Ints]:
    """Return the smallest and largest value of each column in rows start..stop."""
    lows, highs = [], []
    for a, b in windows(start, stop, cells.chunk_rows):
        rows = cells.chunk(a, b).rows
        lows.append(rows.min(axis=0))
        highs.append(rows.max(axis=0))
    return np.min(lows, axis=0), np.max(highs, axis=0)
