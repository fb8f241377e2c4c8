"""Decides ties with scikit-learn's own search on the training rows, for as few test rows as possible.

Which of several tied rows scikit-learn takes depends on its search. A tree handles each query separately, and so does
the partition of a row of distances. Compiled brute force handles 256 queries at a time, with matrix products whose
rounding depends on their shape. It distributes the training rows over threads if queries are few, and the queries
otherwise. A batch of test rows must lead to the same shapes and the same distribution as all test rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.metrics import pairwise_distances

from foldwise.adapters.nearest.distances import Distance, NumericTable
from foldwise.folds.protocol import Rows

BATCH_CELLS = 1 << 21  # distances at a time
CHUNK = 256
THREADS = "sklearn.utils._openmp_helpers._openmp_effective_n_threads"  # private: found when it is used


@dataclass(frozen=True)
class Nearest:
    """The k nearest neighbors of some test rows, found by scikit-learn."""

    rows: Rows  # indices into the test rows
    distances: NDArray[Any]  # (rows, k)
    indices: NDArray[np.intp]  # (rows, k): indices into the training rows

    def of(self, mine: NDArray[np.bool_]) -> Nearest:
        """The neighbors of some of the rows."""
        return self if mine.all() else Nearest(self.rows[mine], self.distances[mine], self.indices[mine])


@dataclass(frozen=True)
class TieSearch:
    """A search among the training rows, and the test rows."""

    search: Any  # a fitted NearestNeighbors, whose search the estimators inherit
    cells: NumericTable
    distance: Distance
    train: Rows
    test: Rows

    def nearest(self, wanted: Mapping[int, Rows]) -> Iterator[tuple[int, Nearest]]:
        """The k nearest neighbors of the test rows `wanted[k]` (ascending indices), for every k."""
        with config_context(assume_finite=True, skip_parameter_validation=True):
            if self._partitions and not self._rounds:
                yield from self._partitioned(wanted)
                return
            for k, rows in wanted.items():
                batch = self.batch(rows)
                distances, indices = self.search.kneighbors(self.cells.X[self.test[batch]], n_neighbors=k)
                at = positions_in(batch, rows, len(self.test))
                yield k, Nearest(rows, distances[at], indices[at])

    @cached_property
    def _rounds(self) -> bool:
        """Whether distances depend on the shape of a matrix product."""
        return self.distance.expanded and not self.distance.is_exact(self.cells)

    @cached_property
    def _partitions(self) -> bool:
        """Whether numpy partitions rows of distances: for integer tables and the cosine distance."""
        if self.distance.tree:
            return False
        return self.cells.X.dtype.kind != "f" or self.distance.resolved == "cosine"

    def _partitioned(self, wanted: Mapping[int, Rows]) -> Iterator[tuple[int, Nearest]]:
        """The same, with distances computed once for all k."""
        search, X = self.search, self.cells.numbers
        squared = search.effective_metric_ == "euclidean"
        union = np.unique(np.concatenate(list(wanted.values())))
        learned = X[self.train]
        columns = np.ascontiguousarray(learned.T)
        size = max(1, BATCH_CELLS // len(learned))
        for start in range(0, len(union), size):
            some = union[start : start + size]
            queries = X[self.test[some]]
            if squared:
                table = np.empty((len(queries), len(learned)), dtype=X.dtype)
                whole_squares(queries, columns, table)
            else:
                options = search.effective_metric_params_
                table = pairwise_distances(queries, learned, metric=search.effective_metric_, **options)
            for k, rows in wanted.items():
                mine = rows[np.searchsorted(rows, some[0]) : np.searchsorted(rows, some[-1], "right")]
                if mine.size:
                    part = table[np.searchsorted(some, mine)]
                    yield k, Nearest(mine, *search._kneighbors_reduce_func(part, 0, k, True))

    def batch(self, rows: Rows) -> Rows:
        """Test rows which, searched together, have the same neighbors as in a search of all test rows."""
        every = np.arange(len(self.test))
        if self.distance.tree:
            return rows
        if self._partitions:
            return every  # only if a matrix product rounds
        if self._rounds:  # complete chunks; an incomplete one stays last
            chunks = np.unique(rows // CHUNK)
            rows = np.concatenate([every[c * CHUNK : (c + 1) * CHUNK] for c in chunks])
        n_threads = openmp_threads()
        if n_threads == 1:
            return rows  # the distribution of the work makes no difference
        over_queries = min(len(self.train), 4 * CHUNK * n_threads)
        if len(self.test) <= over_queries or len(rows) > over_queries:
            return rows
        missing = over_queries + 1 - len(rows)
        padding = every[: -(-missing // CHUNK) * CHUNK]  # complete chunks in front
        return every if len(padding) + len(rows) >= len(every) else np.concatenate([padding, rows])


@njit(nogil=True, cache=True)
def whole_squares(rows: NDArray[Any], columns: NDArray[Any], out: NDArray[Any]) -> None:
    """Squared distances of integers: exact in any order, so bitwise equal to those of scikit-learn.

    A matrix product would be as fast, but its threads keep a core busy while they wait.
    """
    for i in range(out.shape[0]):
        out[i] = 0.0
        for c in range(columns.shape[0]):
            for j in range(out.shape[1]):
                gap = rows[i, c] - columns[c, j]
                out[i, j] += gap * gap


def positions_in(batch: Rows, rows: Rows, n: int) -> Rows:
    """The position of each row in a batch; of several, the last."""
    at = np.empty(n, dtype=np.intp)
    at[batch] = np.arange(len(batch))
    found: Rows = at[rows]
    return found


def openmp_threads() -> int:
    """The number of threads that scikit-learn distributes a search over."""
    return int(resolve_name(THREADS)())


def is_usual() -> bool:
    """Whether scikit-learn's search has its default configuration."""
    config = get_config()
    return (
        config.get("enable_cython_pairwise_dist", True)
        and config.get("pairwise_dist_chunk_size", CHUNK) == CHUNK
        and config.get("pairwise_dist_parallel_strategy", "auto") == "auto"
        and not config["array_api_dispatch"]
    )
