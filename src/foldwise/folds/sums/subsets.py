"""Scores of many subsets of columns at once, where a score is a sum of one term a column.

`terms` (d, K, n) hold what each column adds to each class of each row. Subsets that all grow out of one share its sum,
so each costs one addition a cell; of subsets that each lack one column of the same set, the sums before and behind that
column are shared. Nothing is ever subtracted: of infinite terms nothing would be left, of large ones little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from foldwise.folds.sums.kernels import Choices
from foldwise.summaries.number_kernels import Floats, Ints

Subset = tuple[int, ...]  # places of columns, ascending
TILE_CELLS = 1 << 15  # sums held at a time: they stay in a near cache


@dataclass(frozen=True)
class Shared:
    """Subsets, and the sums that serve several of them."""

    base: Ints  # columns that all have; where one is dropped from each, those of all together
    first: Ints  # (S + 1,), where the columns that subset s adds begin in `added`
    added: Ints  # where one is dropped: its place in `base`
    drops: bool

    @classmethod
    def of(cls, subsets: Sequence[Subset]) -> Shared:
        sets = [set(subset) for subset in subsets]
        union, common = sorted(set.union(*sets)), set.intersection(*sets)
        if len(sets) > 1 and all(len(one) == len(union) - 1 for one in sets):
            lacking = [union.index(next(iter(set(union) - one))) for one in sets]
            return cls(places(union), places(range(len(sets) + 1)), places(lacking), True)
        extra = [sorted(one - common) for one in sets]
        first = np.cumsum([0, *map(len, extra)])
        return cls(places(sorted(common)), places(first), places([j for one in extra for j in one]), False)

    @property
    def columns(self) -> list[int]:
        """All columns that some subset has."""
        return sorted({*self.base.tolist(), *(() if self.drops else self.added.tolist())})

    def among(self, columns: Sequence[int]) -> Shared:
        """The same where terms are those of these columns only."""
        if self.drops:
            return Shared(places(np.searchsorted(columns, self.base)), self.first, self.added, True)
        base, added = (places(np.searchsorted(columns, part)) for part in (self.base, self.added))
        return Shared(base, self.first, added, False)

    @property
    def n_subsets(self) -> int:
        return len(self.first) - 1

    def labels(self, terms: Floats, log_prior: Floats, labels: Choices) -> None:
        """The place of the most probable class into `labels` (S, n); where all are impossible the prior answers."""
        choose_of_subsets(terms, log_prior, self.base, self.first, self.added, self.drops, labels)

    def scores(self, terms: Floats, log_prior: Floats, scores: Floats) -> None:
        """Joint log-probabilities into `scores` (S, n, K)."""
        scores_of_subsets(terms, log_prior, self.base, self.first, self.added, self.drops, scores)


def places(values: object) -> Ints:
    return np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.int64)  # type: ignore[call-overload]


@njit(nogil=True, cache=True)
def tile_rows(n_sums: int, n_classes: int) -> int:
    """How many rows are summed at a time."""
    return max(16, TILE_CELLS // (n_sums * n_classes))


@njit(nogil=True, cache=True)
def add_up(
    terms: Floats, log_prior: Floats, base: Ints, first: Ints, added: Ints, start: int, stop: int, sums: Floats
) -> None:
    """`sums` (S, K, ·) of rows start..stop: the prior, the columns that all subsets have, and those of each."""
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
    """`sums` (S, K, ·) of rows start..stop: the prior and all columns of `base` but one, another in each subset."""
    n_classes, width, n_base = log_prior.size, stop - start, base.size
    behind = np.empty((n_base + 1, width))  # sums of the columns from the k-th on
    before = np.empty((n_base + 1, width))  # the prior, and those before it
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
    """The class of the greatest score of each subset and row into `labels` (S, n); the first of equals."""
    n_subsets, n = labels.shape
    n_classes = log_prior.size
    likely = 0
    for c in range(1, n_classes):
        if log_prior[c] > log_prior[likely]:
            likely = c
    tile = tile_rows(max(n_subsets, base.size + 1), n_classes)
    sums = np.empty((n_subsets, n_classes, tile))
    best, place = np.empty(tile), np.empty(tile)
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
                place[r] = 0.0  # as a float: compared and chosen in vectors of one width
            for c in range(1, n_classes):
                here = sums[s, c]
                for r in range(width):
                    above = here[r] > best[r]
                    best[r] = here[r] if above else best[r]
                    place[r] = c if above else place[r]
            out = labels[s, start:stop]
            for r in range(width):
                out[r] = np.int16(place[r] if best[r] > -np.inf else likely)


@njit(nogil=True, cache=True)
def scores_of_subsets(
    terms: Floats, log_prior: Floats, base: Ints, first: Ints, added: Ints, drops: bool, scores: Floats
) -> None:
    """The scores of each subset and row into `scores` (S, n, K)."""
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
