"""Binned numeric columns: cut into bins, which are then categories.

Cut points are computed from distinct values and their weights. A value equal to a cut point is below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats, Ints
from foldwise.bayes.families.base import NumericLikelihood, ValuesFamily, names_of
from foldwise.bayes.families.categorical import LevelTable
from foldwise.bayes.families.protocol import ClassTotals, Factor, Parameter, Setting, option
from foldwise.data.cells import Chunk, read_only
from foldwise.data.schema import Column
from foldwise.summaries.moments import refuse_infinite
from foldwise.summaries.values import Values, ValueWeights

TIE = 1e-12  # entropies in bits that differ by less are equal; the first of equal cuts is chosen


class Binned(ValuesFamily):
    """P(bin) = (N_bin + alpha) / (N_present + alpha · bins); the first and the last bin are unbounded."""

    name = "binned"

    def finish(
        self, summary: Values, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> BinnedLikelihood:
        pairs = list(zip(columns, summary.columns, strict=True))
        cuts = tuple(cuts_of(column.name, values, summary.n_classes, setting) for column, values in pairs)
        tables = tuple(
            finish_bins(column.name, values, own, totals, setting)
            for (column, values), own in zip(pairs, cuts, strict=True)
        )
        return BinnedLikelihood(names_of(columns), cuts, tables)

    def present(self, summary: Values) -> None:
        return None  # missing is one more bin


def cuts_of(name: str, values: ValueWeights, n_classes: int, setting: Setting) -> Floats:
    """Compute the cut points of a column."""
    how, n_bins = option(setting.cuts, name, "width"), int(option(setting.bins, name, 10))
    if how == "entropy":
        found = by_entropy(values, n_classes)
    else:
        found = (equal_width if how == "width" else equal_frequency)(values, n_bins)
    return found if values.edges is None else at_edges(found, values.edges[1:-1])


def at_edges(cuts: Floats, edges: Floats) -> Floats:
    """Move cut points down to the next edge: how many rows lie between edges is not known."""
    below = np.searchsorted(edges, cuts, side="right") - 1
    return np.unique(edges[below[below >= 0]])


def finish_bins(name: str, values: ValueWeights, cuts: Floats, totals: ClassTotals, setting: Setting) -> LevelTable:
    """Compute the shares of the bins of a column. Every number is in a bin, so none is unseen."""
    n_bins = len(cuts) + 1
    weight, rows = values.by_bin(np.searchsorted(cuts, values.x), n_bins, len(totals.weight))
    missing = totals.missing(weight.sum(axis=0), rows.sum(axis=0))
    return LevelTable.of(name, tuple(range(n_bins)), weight, missing, replace(setting, unseen="ignore"))


def bin_name(cuts: Floats, index: int) -> str:
    """Describe a bin."""
    if not len(cuts):
        return "any"
    if index == 0:
        return f"up to {cuts[0]:.6g}"
    return f"above {cuts[-1]:.6g}" if index == len(cuts) else f"{cuts[index - 1]:.6g} to {cuts[index]:.6g}"


@njit(nogil=True, cache=True)
def bins_by_row(cells: Floats, cuts: Floats, starts: Ints, base: Ints, table: Floats, scores: Floats) -> int:
    """Add the entries of `table` (slots, K) for each value; returns the first row with an infinite value, or -1."""
    n, d = cells.shape
    for i in range(n):
        for j in range(d):
            x = cells[i, j]
            own = cuts[starts[j] : starts[j + 1]]
            slot = base[j] + own.size + 1  # the slot of a missing value, after the bins
            if x == x:
                if np.isinf(x):
                    return i
                slot = base[j] + np.searchsorted(own, x)
            for c in range(table.shape[1]):
                scores[i, c] += table[slot, c]
    return -1


@dataclass(frozen=True)
class BinnedLikelihood(NumericLikelihood):
    """The cut points of a block of columns, and the shares of their bins."""

    family = Binned.name

    names: tuple[str, ...]
    cuts: tuple[Floats, ...]
    tables: tuple[LevelTable, ...]

    @cached_property
    def _flat(self) -> tuple[Floats, Ints, Ints, Floats]:
        """All cut points, the first cut point and first bin of each column, and the log-shares of bins (bins, K)."""
        starts, base = (np.cumsum([0, *(len(cuts) + more for cuts in self.cuts)], dtype=np.int64) for more in (0, 3))
        arrays = (np.concatenate(self.cuts), starts, base, np.vstack([table.log for table in self.tables]))
        cuts, starts, base, log = (read_only(array) for array in arrays)
        return cuts, starts, base, log

    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        rows = chunk.rows
        if bins_by_row(read_only(rows), *self._flat, scores) >= 0:
            refuse_infinite(rows, self.names, start)

    def logs(self, cells: Floats) -> Floats:
        found = zip(self.tables, self.cuts, cells, strict=True)
        return np.stack([table.log[np.searchsorted(cuts, x)] for table, cuts, x in found], axis=1)

    def factor(self, j: int, value: float, log: Floats) -> Factor:
        table, cuts = self.tables[j], self.cuts[j]
        if np.isnan(value):
            return table.factor(len(table.levels), None)
        index = int(np.searchsorted(cuts, value))
        return table.factor(index, value, f"{table.name} falls into the bin {bin_name(cuts, index)}")

    def parameters(self) -> list[Parameter]:
        pairs = zip(self.tables, self.cuts, strict=True)
        named = ((table, [bin_name(cuts, slot) for slot in range(len(table.levels))]) for table, cuts in pairs)
        return [row for table, names in named for row in table.parameters(names)]


def equal_width(values: ValueWeights, n_bins: int) -> Floats:
    """Cut the range of a column into intervals of equal width."""
    if not len(values.x):
        return np.empty(0)
    ends = values.x if values.edges is None else values.edges
    low, high = float(ends.min()), float(ends.max())
    if low == high:
        return np.empty(0)
    steps = np.arange(1, n_bins) / n_bins
    return np.unique(low * (1 - steps) + high * steps)


def equal_frequency(values: ValueWeights, n_bins: int) -> Floats:
    """Cut at the quantiles 1/n, 2/n, … of the weight, midway between two values; equal values stay together."""
    x, weight = values.pooled()
    if len(x) < 2:
        return np.empty(0)
    below = np.cumsum(weight)
    # exact for whole weights; the margin keeps rounding errors from moving a cut
    wanted = np.arange(1, n_bins) * below[-1] * (1 - 1e-12)
    if values.edges is not None:  # the nearest edge
        wanted -= n_bins * below[-1] / (2 * len(values.edges))
    indices = np.unique(np.searchsorted(below * n_bins, wanted))
    return midway(x, indices[indices < len(x) - 1])


def by_entropy(values: ValueWeights, n_classes: int) -> Floats:
    """Cut by the method of Fayyad and Irani (1993): recursively at the least class entropy, until MDL stops it."""
    x = np.unique(values.x)
    weight, _ = values.by_bin(np.searchsorted(x, values.x), len(x), n_classes)
    cuts, pending = [], [(0, len(x))]
    while pending:
        first, last = pending.pop()
        found = best_cut(weight[first:last])
        if found >= 0:
            middle = first + found + 1
            cuts.append(middle - 1)
            pending += [(first, middle), (middle, last)]
    return midway(x, np.sort(np.array(cuts, dtype=np.intp)))


@njit(nogil=True, cache=True)
def best_cut(weight: Floats) -> int:  # (values, K)
    """Find the index of the value after which to cut; -1 if no cut gains enough."""
    total = weight.sum(axis=0)
    n, k = total.sum(), np.count_nonzero(total)
    if k < 2 or n <= 1:
        return -1
    best, after, of_parts = -1, np.inf, 0.0
    left, right = np.zeros_like(total), np.zeros_like(total)
    for i in range(len(weight) - 1):
        n_near = 0  # classes of this value and the next
        for c in range(total.size):
            left[c] += weight[i, c]
            rest = total[c] - left[c]
            right[c] = rest if rest > TIE * total[c] else 0.0  # rounding errors leave no class behind
            n_near += weight[i, c] > 0 or weight[i + 1, c] > 0
        if n_near < 2:  # the best cut is never between two values of the same class
            continue
        h_left, h_right = entropy(left), entropy(right)
        bits = (left.sum() * h_left + right.sum() * h_right) / n
        if bits < after - TIE:
            best, after = i, bits
            of_parts = np.count_nonzero(left) * h_left + np.count_nonzero(right) * h_right
    before = entropy(total)
    # log2(3^k - 2), without the power, which overflows for many classes
    delta = k * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0 ** -float(k)) - (k * before - of_parts)
    return best if before - after > (np.log2(n - 1) + delta) / n else -1


@njit(nogil=True, cache=True)
def entropy(weight: Floats) -> float:  # (K,)
    """Compute the entropy in bits; 0 if the total weight is 0."""
    total, bits = weight.sum(), 0.0
    for w in weight:
        if w > 0:
            bits -= w / total * np.log2(w / total)
    return bits


def midway(x: Floats, indices: NDArray[np.intp]) -> Floats:
    """Compute points midway between the values at these indices and the next values, but below the latter."""
    low, high = x[indices], x[indices + 1]
    middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)
