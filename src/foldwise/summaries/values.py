"""`Values`: the distinct values of numeric columns with their weights, by class; `+` and `-` are exact.

No information is lost, so any density or cut point can be computed from it. Its size is the number of distinct values.
A column of a database may have too many. Then it has edges, and rows between two edges are counted at the upper one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats, Ints
from foldwise.data.cells import read_only
from foldwise.data.view import View
from foldwise.errors import ForgetError, InputError
from foldwise.summaries.alignment import check_kept, stored_array
from foldwise.summaries.passes import ThreadShare, windows
from foldwise.summaries.per_column import PerColumn
from foldwise.summaries.sums import Check

FIELDS = ("y", "x", "weight", "rows")


@dataclass(frozen=True)
class ValueWeights:
    """The distinct values of one column in each class, sorted by class and then by value.

    Examples
    --------
    >>> a = ValueWeights.of([0, 1, 0], [2.0, 2.0, 1.0], [1.0, 1.0, 3.0])
    >>> (a + a).x.tolist(), (a + a).weight.tolist()
    ([1.0, 2.0, 2.0], [6.0, 2.0, 2.0])
    """

    y: Ints  # (m,), the class of each
    x: Floats  # (m,)
    weight: Floats  # (m,)
    rows: Floats  # (m,), with a weight above 0
    edges: Floats | None = None  # from the least to the largest value, if only the rows between them are known

    @classmethod
    def of(cls, y: Any, x: Any, weight: Any, rows: Any = None) -> ValueWeights:
        """Sort and merge values, which may be repeated; without `rows` each one stands for one row."""
        y, x, weight = np.asarray(y, np.int64), np.asarray(x, np.float64) + 0.0, np.asarray(weight, np.float64)
        rows = np.ones(len(x)) if rows is None else np.asarray(rows, np.float64)
        if not len(x):
            return cls(y, x, weight, rows)
        order = np.lexsort((x, y))
        y, x = y[order], x[order]
        first = np.flatnonzero(np.concatenate([[True], (x[1:] != x[:-1]) | (y[1:] != y[:-1])]))
        return cls(y[first], x[first], np.add.reduceat(weight[order], first), np.add.reduceat(rows[order], first))

    def __add__(self, other: ValueWeights) -> ValueWeights:
        if self.edges is None and other.edges is not None:
            return other + self
        other = other.between(self.edges)
        room = len(self.x) + len(other.x)
        y, x, weight, rows = np.empty(room, np.int64), np.empty(room), np.empty(room), np.empty(room)
        n = merge_sorted(*self.arrays, *other.arrays, y, x, weight, rows)
        return ValueWeights(y[:n], x[:n], weight[:n], rows[:n], self.edges)

    def between(self, edges: Floats | None) -> ValueWeights:
        """Count the rows between edges, and those beyond the last one with the last; None changes nothing."""
        if edges is None or (self.edges is not None and np.array_equal(self.edges, edges)):
            return self
        if self.edges is not None:
            raise InputError(
                "facts with different cut points cannot be combined.",
                "pass the same cuts= to facts_of for both.",
            )
        upper = edges[1 + np.searchsorted(edges[1:-1], self.x)]
        return replace(ValueWeights.of(self.y, upper, self.weight, self.rows), edges=edges)

    @property
    def arrays(self) -> tuple[Ints, Floats, Floats, Floats]:
        """All fields, as kernels need them."""
        return read_only(self.y), read_only(self.x), read_only(self.weight), read_only(self.rows)

    def __sub__(self, other: ValueWeights) -> ValueWeights:
        other = other.between(self.edges)
        gone = ValueWeights(other.y, other.x, -other.weight, -other.rows, other.edges)
        left = self + gone
        if (left.rows < 0).any():
            i = int(np.argmax(left.rows < 0))
            raise ForgetError(
                f"the value {left.x[i]:g} would be removed more often than it was learned.",
                index=(int(left.y[i]), 0),
            )
        kept = left.rows > 0  # all removed values are among ours, so the arrays have the same length
        weight = np.maximum(left.weight, 0.0)
        try:
            check_kept(self.weight, weight, left.rows)
        except ForgetError as error:
            i = error.index[0] if error.index and error.index[0] is not None else 0
            raise ForgetError(error.message, error.hint, index=(int(left.y[i]), 0)) from error
        return ValueWeights(left.y[kept], left.x[kept], weight[kept], left.rows[kept], self.edges)

    def expand(self, indices: NDArray[np.int64], n_classes: int) -> ValueWeights:
        """Return the same summary for `n_classes` classes; class i moves to `indices[i]`."""
        return replace(ValueWeights.of(indices[self.y], self.x, self.weight, self.rows), edges=self.edges)

    def of_class(self, c: int) -> tuple[Floats, Floats]:
        """Return the sorted values of one class and their weights."""
        a, b = np.searchsorted(self.y, [c, c + 1])
        return self.x[a:b], self.weight[a:b]

    def pooled(self) -> tuple[Floats, Floats]:
        """Return the sorted values of all classes and their weights."""
        everything = ValueWeights.of(np.zeros(len(self.y)), self.x, self.weight)
        return everything.x, everything.weight

    def by_bin(self, bins: NDArray[np.intp], n_bins: int, n_classes: int) -> tuple[Floats, Floats]:  # (bins, K)
        """Return the weights and rows of bins; `bins` is the bin of each value."""
        slots = bins * n_classes + self.y
        sums = [np.bincount(slots, values, n_bins * n_classes) for values in (self.weight, self.rows)]
        weight, rows = np.array(sums, dtype=np.float64).reshape(2, n_bins, n_classes)
        return weight, rows

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON values."""
        edges = {} if self.edges is None else {"edges": self.edges.tolist()}
        return {name: getattr(self, name).tolist() for name in FIELDS} | edges

    @classmethod
    def from_dict(cls, facts: dict[str, Any], n_classes: int) -> ValueWeights:
        """Check and return the summary that `to_dict` wrote."""
        least = {"y": 0.0, "weight": np.nextafter(0.0, 1.0), "rows": 1.0}
        shape = (len(facts["x"]),)
        y, x, weight, rows = (stored_array(facts, name, shape, least.get(name, -np.inf)) for name in FIELDS)
        column = cls.of(y, x, weight, rows)
        if (y >= n_classes).any() or (y % 1 != 0).any() or column.x.tolist() != x.tolist():
            raise InputError(
                "the stored values must be distinct and sorted by class and value.",
                "the file is damaged or was edited; write it again with to_json.",
            )
        if "edges" not in facts:
            return column
        edges = stored_array(facts, "edges", (len(facts["edges"]),))
        if len(edges) < 2 or (np.diff(edges) <= 0).any() or not np.isin(x, edges[1:]).all():
            raise InputError(
                "the stored edges must be sorted, and every stored value must be one of them.",
                "the file is damaged or was edited; write it again with to_json.",
            )
        return replace(column, edges=edges)


@njit(nogil=True, cache=True)
def merge_sorted(
    y_a: Ints, x_a: Floats, w_a: Floats, r_a: Floats,
    y_b: Ints, x_b: Floats, w_b: Floats, r_b: Floats,
    y: Ints, x: Floats, w: Floats, r: Floats,
) -> int:  # fmt: skip
    """Merge two sorted lists into a third, sum the weights of equal values, and return the number of values."""
    i, j, n = 0, 0, 0
    while i < x_a.size or j < x_b.size:
        in_a = j == x_b.size or (i < x_a.size and (y_a[i] < y_b[j] or (y_a[i] == y_b[j] and x_a[i] <= x_b[j])))
        in_b = i == x_a.size or (j < x_b.size and (y_b[j] < y_a[i] or (y_b[j] == y_a[i] and x_b[j] <= x_a[i])))
        w[n], r[n] = 0.0, 0.0
        if in_a:
            y[n], x[n], w[n], r[n] = y_a[i], x_a[i], w_a[i], r_a[i]
            i += 1
        if in_b:
            y[n], x[n], w[n], r[n] = y_b[j], x_b[j], w[n] + w_b[j], r[n] + r_b[j]
            j += 1
        n += 1
    return n


@dataclass(frozen=True)
class Values(PerColumn[ValueWeights]):
    """The distinct values of several columns."""

    COLUMN = ValueWeights

    n_classes: int = 0

    @property
    def weight(self) -> Floats:  # (K, d)
        """Weight of the cells that are not missing."""
        return self._sums([column.weight for column in self.columns])

    @property
    def rows(self) -> Floats:  # (K, d)
        """Number of rows with a weight above 0 whose cell is not missing."""
        return self._sums([column.rows for column in self.columns])

    @property
    def total(self) -> Floats:  # (K, d)
        """Σw·x."""
        return self._sums([column.weight * column.x for column in self.columns])

    def shortfall(self, most: Floats) -> Floats:  # (d,) -> (K, d)
        """Compute Σw·(most - x), by how much the values of each column fall short of a bound."""
        pairs = zip(self.columns, most.tolist(), strict=True)
        return self._sums([column.weight * (bound - column.x) for column, bound in pairs])

    def _sums(self, entries: list[Floats]) -> Floats:
        pairs = zip(self.columns, entries, strict=True)
        sums = [np.bincount(column.y, values, self.n_classes) for column, values in pairs]
        return np.array(sums, dtype=np.float64).reshape(len(sums), self.n_classes).T

    def expand(self, indices: NDArray[np.int64], n_classes: int) -> Values:
        """Return the same summary for `n_classes` classes; class i moves to `indices[i]`."""
        return replace(super().expand(indices, n_classes), n_classes=n_classes)

    @classmethod
    def from_dict(cls, facts: dict[str, Any], n_classes: int, n_columns: int) -> Values:
        """Check and return the summary that `to_dict` wrote."""
        return replace(super().from_dict(facts, n_classes, n_columns), n_classes=n_classes)


def values_of(view: View, columns: Sequence[int], share: ThreadShare, check: Check) -> Values:
    """Summarize a share of the rows, column by column; `check(rows, names, first row)` refuses cells."""
    rows = slice(share.start, share.stop)
    by_class = np.argsort(share.y[rows], kind="stable")
    if share.weights is not None:
        by_class = by_class[share.weights[rows][by_class] > 0]
    y = share.y[rows][by_class]
    w = None if share.weights is None else share.weights[rows][by_class]
    found = []
    for j in columns:
        x = column_of(view, j, share, check)[by_class]
        there: Any = ~np.isnan(x)
        if there.all():
            there = slice(None)  # no copy
        found.append(distinct(x[there], y[there], None if w is None else w[there], share.n_classes))
    return Values(tuple(found), share.n_classes)


def column_of(view: View, j: int, share: ThreadShare, check: Check) -> Floats:
    """Copy the cells of one column of a share."""
    cells = view.numbers([j])
    column = np.empty(share.stop - share.start)
    for a, b in windows(share.start, share.stop, cells.chunk_rows):
        chunk = cells.chunk(a, b).rows
        check(chunk, cells.names, a)
        column[a - share.start : b - share.start] = chunk[:, 0]
    return column


def distinct(x: Floats, y: Ints, w: Floats | None, n_classes: int) -> ValueWeights:
    """Return the distinct values of rows grouped by class; sorting within a class is cheaper than sorting pairs."""
    bounds = np.searchsorted(y, np.arange(n_classes + 1))
    ys, xs, weights, rows = [], [], [], []
    for c in range(n_classes):
        part = x[bounds[c] : bounds[c + 1]] + 0.0  # -0.0 is 0.0
        if not part.size:
            continue
        if w is None:
            part.sort()
        else:
            order = np.argsort(part, kind="stable")
            part = part[order]
        first = np.flatnonzero(np.concatenate([[True], part[1:] != part[:-1]]))
        counts = np.diff(np.append(first, len(part))).astype(np.float64)
        ys.append(np.full(len(first), c, dtype=np.int64))
        xs.append(part[first])
        rows.append(counts)
        weights.append(counts if w is None else np.add.reduceat(w[bounds[c] : bounds[c + 1]][order], first))
    if not xs:
        return ValueWeights.of([], [], [])
    return ValueWeights(*(np.concatenate(parts) for parts in (ys, xs, weights, rows)))
