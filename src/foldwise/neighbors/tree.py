"""Candidates from scikit-learn's k-d tree for tables of few columns, measured again and certified.

The tree only proposes rows. The kernels measure them as they measure every row, and a list is used only if all rows
that were not proposed are certainly farther; otherwise, mostly among ties, the caller searches all rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KDTree

from foldwise.neighbors.distance import DistanceSpec
from foldwise.neighbors.kernels import CompiledDistance, Floats, Ints, Queries
from foldwise.neighbors.selection import sort_candidates

METRICS = ("euclidean", "manhattan", "minkowski", "chebyshev")
# measured on noise, the worst case: below these the search of all rows is as fast
MOST_COLUMNS = 5
LEAST_ROWS = 2000  # times 2 for every column
ROWS_PER_NEIGHBOR = 200
SPARE = 4  # candidates beyond k: a tie at the k-th neighbor needs a farther row to show that it ends
CERTAIN = 1.0 - 1e-9  # the tree's distances and ours differ by a few roundings


def tree_helps(distance: DistanceSpec, dist: CompiledDistance, n_rows: int, k: int) -> bool:
    """Whether a tree is likely to be faster than the search of all rows, and its candidates can be certified.

    Weighted columns are left alone: stretched axes cancel differently from weighted differences.
    """
    return (
        distance.metric in METRICS
        and 0 < dist.factors.size <= MOST_COLUMNS
        and bool((dist.factors == 1.0).all())
        and n_rows >= max(LEAST_ROWS << dist.factors.size, ROWS_PER_NEIGHBOR * k)
    )


class CertifiedTree:
    """Training rows in a k-d tree, whose answers are certified."""

    def __init__(self, distance: DistanceSpec, dist: CompiledDistance, numbers: Floats) -> None:
        options = {"p": distance.p} if distance.metric == "minkowski" else {}
        self._tree = KDTree(numbers, metric=distance.metric, **options)
        self._numbers = numbers
        self._dist = dist

    def nearest(self, queries: Queries, distances: Floats, indices: Ints) -> NDArray[np.bool_]:
        """Fill in `distances` and `indices` (m, k), and say for which queries they are certain."""
        k = distances.shape[1]
        n_candidates = k + SPARE + bool((queries.leave_out >= 0).any())
        proposed, candidates = self._tree.query(queries.numbers, n_candidates, sort_results=False)
        measured = sort_candidates(self._dist, queries, self._numbers, candidates)
        distances[:], indices[:] = measured[:, :k], candidates[:, :k]
        return np.asarray(distances[:, -1] < proposed.max(axis=1) * CERTAIN)
