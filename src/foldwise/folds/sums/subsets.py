"""Scores of many subsets of columns, where a score is a sum of one term per column.

`terms` (d, K, n) are the contributions of each column to each class of each row. Subsets that extend a common subset
share its sum. Subsets that each drop one column of a common set share the sums of the columns before and after it.
Nothing is subtracted: infinite terms would become NaN, and large ones would lose precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.folds.sums.kernels import Choices

Subset = tuple[int, ...]  # indices of columns, ascending
TILE_CELLS = 1 << 15  # sums that are held at a time, so that they fit into the processor's cache


@dataclass(frozen=True)
class SharedSums:
    """Subsets, and the sums that they share."""

    base: Ints  # columns of all subsets; with `drops`, the columns of any subset
    first: Ints  # (S + 1,), the index in `added` of the first column that subset s adds
    added: Ints  # with `drops`, the index in `base` of the column that subset s drops
    drops: bool

    @classmethod
    def of(cls, subsets: Sequence[Subset]) -> SharedSums:
        sets = [set(subset) for subset in subsets]
        union, common = sorted(set.union(*sets)), set.intersection(*sets)
        if len(sets) > 1 and all(len(one) == len(union) - 1 for one in sets):
            lacking = [union.index(next(iter(set(union) - one))) for one in sets]
            return cls(as_ints(union), as_ints(range(len(sets) + 1)), as_ints(lacking), True)
        extra = [sorted(one - common) for one in sets]
        first = np.cumsum([0, *map(len, extra)])
        return cls(as_ints(sorted(common)), as_ints(first), as_ints([j for one in extra for j in one]), False)

    @property
    def columns(self) -> list[int]:
        """The columns of any subset."""
        return sorted({*self.base.tolist(), *(() if self.drops else self.added.tolist())})

    def among(self, columns: Sequence[int]) -> SharedSums:
        """The same subsets in terms of these columns only."""
        if self.drops:
            return SharedSums(as_ints(np.searchsorted(columns, self.base)), self.first, self.added, True)
        base, added = (as_ints(np.searchsorted(columns, part)) for part in (self.base, self.added))
        return SharedSums(base, self.first, added, False)

    @property
    def n_subsets(self) -> int:
        return len(self.first) - 1

    def labels(self, terms: Floats, log_prior: Floats, labels: Choices) -> None:
        """Write the most probable class to `labels` (S, n); the prior decides if all are impossible."""
        choose_of_subsets(terms, log_prior, self.base, self.first, self.added, self.drops, labels)

    def scores(self, terms: Floats, log_prior: Floats, scores: Floats) -> None:
        """Write joint log-probabilities to `scores` (S, n, K)."""
        scores_of_subsets(terms, log_prior, self.base, self.first, self.added, self.drops, scores)


def as_ints(values: object) -> Ints:
    return np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.int64)  # type: ignore[call-overload]


@njit(nogil=True, cache=True)
def tile_rows(n_sums: int, n_classes: int) -> int:
    """The number of rows that are summed at a time."""
    return max(16, TILE_CELLS // (n_sums * n_classes))


@njit(nogil=True, cache=True)
def add_up(
    terms: Floats, log_prior: Floats, base: Ints, first: Ints, added: Ints, start: int, stop: int, sums: Floats
) -> None:
    """Write `sums` (S, K, ·) of rows start to stop - 1: the prior, the common columns, and those of each subset."""
    n_classes, width = log_prior.size, stop - start
    shared = np.empty((n_classes, width))
    for c in range(n_classes):
        here = shared[c]
        here[:] = log_prior[c]
        for j in base:
            term = terms[j, c, start:stop]
            for r in range(width):
                here[r] += term[r]
        for s in range(first.size - 1):
            out = sums[s, c]
            for r in range(width):
                out[r] = here[r]
            for k in range(first[s], first[s + 1]):
                term = terms[added[k], c, start:stop]
                for r in range(width):
                    out[r] += term[r]


@njit(nogil=True, cache=True)
def leave_out(terms: Floats, log_prior: Floats, base: Ints, dropped: Ints, start: int, stop: int, sums: Floats) -> None:
    """Write `sums` (S, K, ·) of rows start to stop - 1: the prior and all columns of `base` except one."""
    n_classes, width, n_base = log_prior.size, stop - start, base.size
    behind = np.empty((n_base + 1, width))  # sums of the columns from the k-th on
    before = np.empty((n_base + 1, width))  # the prior, and the columns before the k-th
    for c in range(n_classes):
        behind[n_base] = 0.0
        before[0] = log_prior[c]
        for k in range(n_base - 1, -1, -1):
            term = terms[base[k], c, start:stop]
            for r in range(width):
                behind[k, r] = behind[k + 1, r] + term[r]
        for k in range(n_base):
            term = terms[base[k], c, start:stop]
            for r in range(width):
                before[k + 1, r] = before[k, r] + term[r]
        for s in range(dropped.size):
            k = dropped[s]
            out = sums[s, c]
            for r in range(width):
                out[r] = before[k, r] + behind[k + 1, r]


@njit(nogil=True, cache=True)
def choose_of_subsets(
    terms: Floats, log_prior: Floats, base: Ints, first: Ints, added: Ints, drops: bool, labels: Choices
) -> None:
    """Write the class with the largest score of each subset and row to `labels` (S, n); ties go to the first."""
    n_subsets, n = labels.shape
    n_classes = log_prior.size
    likely = 0
    for c in range(1, n_classes):
        if log_prior[c] > log_prior[likely]:
            likely = c
    tile = tile_rows(max(n_subsets, base.size + 1), n_classes)
    sums = np.empty((n_subsets, n_classes, tile))
    best, winner = np.empty(tile), np.empty(tile)
    for start in range(0, n, tile):
        stop = min(start + tile, n)
        width = stop - start
        if drops:
            leave_out(terms, log_prior, base, added, start, stop, sums)
        else:
            add_up(terms, log_prior, base, first, added, start, stop, sums)
        for s in range(n_subsets):
            here = sums[s, 0]
            for r in range(width):
                best[r] = here[r]
                winner[r] = 0.0  # as a float, so that all vectors have the same width
            for c in range(1, n_classes):
                here = sums[s, c]
                for r in range(width):
                    above = here[r] > best[r]
                    best[r] = here[r] if above else best[r]
                    winner[r] = c if above else winner[r]
            out = labels[s, start:stop]
            for r in range(width):
                out[r] = np.int16(winner[r] if best[r] > -np.inf else likely)


@njit(nogil=True, cache=True)
def scores_of_subsets(
    terms: Floats, log_prior: Floats, base: Ints, first: Ints, added: Ints, drops: bool, scores: Floats
) -> None:
    """Write the scores of each subset and row to `scores` (S, n, K)."""
    n_subsets, n, n_classes = scores.shape
    tile = tile_rows(max(n_subsets, base.size + 1), n_classes)
    sums = np.empty((n_subsets, n_classes, tile))
    for start in range(0, n, tile):
        stop = min(start + tile, n)
        if drops:
            leave_out(terms, log_prior, base, added, start, stop, sums)
        else:
            add_up(terms, log_prior, base, first, added, start, stop, sums)
        for s in range(n_subsets):
            for r in range(stop - start):
                for c in range(n_classes):
                    scores[s, start + r, c] = sums[s, c, r]
