"""Candidates from scikit-learn's k-d tree for tables of few columns, measured again and certified.

The tree only proposes rows. The kernels measure them as they measure every row, and a list stands where all rows
that were not proposed are certainly farther; elsewhere, mostly among ties, the caller searches all rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.neighbors import KDTree

from foldwise.neighbors.distance import Distance
from foldwise.neighbors.kernels import BLOCK, TILE, Asked, Floats, Ints, Law, distance_of, sum_numbers
from foldwise.neighbors.selection import sort_rows

METRICS = ("euclidean", "manhattan", "minkowski", "chebyshev")
# measured on noise, the worst case: below these the search of all rows is as fast
MOST_COLUMNS = 5
LEAST_ROWS = 2000  # times 2 for every column
ROWS_A_NEIGHBOUR = 200
SPARE = 4  # candidates beyond k: a tie at the k-th place needs a farther row to show that it ends
CERTAIN = 1.0 - 1e-9  # the tree's distances and ours differ by a few roundings


def helps(distance: Distance, law: Law, n_rows: int, k: int) -> bool:
    """Whether a tree is likely to be faster than the search of all rows, and its candidates can be certified.

    Weighted columns are left alone: stretched axes cancel differently from weighted differences.
    """
    return (
        distance.metric in METRICS
        and 0 < law.factors.size <= MOST_COLUMNS
        and bool((law.factors == 1.0).all())
        and n_rows >= max(LEAST_ROWS << law.factors.size, ROWS_A_NEIGHBOUR * k)
        and k + SPARE + 1 <= BLOCK
    )


class Tree:
    """Training rows in a k-d tree."""

    def __init__(self, distance: Distance, law: Law, numbers: Floats) -> None:
        options = {"p": distance.p} if distance.metric == "minkowski" else {}
        self._tree = KDTree(numbers, metric=distance.metric, **options)
        self._numbers = numbers
        self._law = law

    def nearest(self, asked: Asked, distances: Floats, places: Ints) -> NDArray[np.bool_]:
        """Fills in `distances` and `places` (m, k) of the queries for which they are certain, and says which."""
        n_candidates = distances.shape[1] + SPARE + bool((asked.leave_out >= 0).any())
        proposed, candidates = self._tree.query(asked.numbers, n_candidates, sort_results=False)
        certain = np.zeros(len(distances), dtype=np.bool_)
        farthest = proposed.max(axis=1) * CERTAIN
        find_among(self._law, asked, self._numbers, candidates, farthest, distances, places, certain)
        return certain


@njit(nogil=True, cache=True)
def find_among(
    law: Law,
    asked: Asked,
    numbers: Floats,
    candidates: Ints,
    farthest: Floats,
    distances: Floats,
    places: Ints,
    certain: NDArray[np.bool_],
) -> None:
    """The k first of the candidates (m, c) of each query; `certain` (m,) where the k-th is nearer than `farthest`.

    Candidates of several queries share a block: terms depend on a - b alone, and 0 - (b - a) has the same bits.
    """
    (m, n_candidates), n_columns, k = candidates.shape, numbers.shape[1], distances.shape[1]
    q, block, sums = np.empty((TILE, n_columns)), np.zeros(n_columns * BLOCK), np.empty(TILE * BLOCK)
    q[:] = np.nan  # one query of zeros, and no other
    q[0] = 0.0
    found, at = np.empty(n_candidates), np.empty(n_candidates, dtype=np.int64)
    spare, spare_at = np.empty(n_candidates), np.empty(n_candidates, dtype=np.int64)
    at_once = BLOCK // n_candidates
    for first in range(0, m, at_once):
        last = min(first + at_once, m)
        for query in range(first, last):
            for c in range(n_candidates):
                row, lane = candidates[query, c], (query - first) * n_candidates + c
                for j in range(n_columns):
                    block[j * BLOCK + lane] = numbers[row, j] - asked.numbers[query, j]
        sum_numbers(law, q, block, sums)
        for query in range(first, last):
            n = 0
            for c in range(n_candidates):
                if candidates[query, c] != asked.leave_out[query]:
                    total = sums[(query - first) * n_candidates + c]
                    found[n], at[n] = distance_of(law, total, 0.0), candidates[query, c]
                    n += 1
            sort_rows(found[:n], at[:n], spare, spare_at)
            certain[query] = n >= k and found[k - 1] < farthest[query]
            if certain[query]:
                for i in range(k):
                    distances[query, i], places[query, i] = found[i], at[i]
