"""What ties leave open, asked of scikit-learn's own search on the training rows, for as few rows as give its answer.

Which of several tied rows scikit-learn takes depends on how it searches. A tree looks at one query alone, as does the
partition of a row of distances. Its compiled brute force takes 256 queries at a time, and products of matrices round as
their shape has it; where queries are few, it shares out the training rows over threads, else the queries. A batch must
keep both as they are with all test rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.metrics import pairwise_distances
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from foldwise.folds.nearest.distances import Distance, NumericTable
from foldwise.folds.protocol import Rows

BATCH_CELLS = 1 << 21  # distances at a time
CHUNK = 256


@dataclass(frozen=True)
class Nearest:
    """The k nearest of some test rows, by scikit-learn."""

    rows: Rows  # places in the test rows
    distances: NDArray[Any]  # (rows, k)
    places: NDArray[np.intp]  # (rows, k): places in the training rows

    def of(self, mine: NDArray[np.bool_]) -> Nearest:
        """Those of some of the rows."""
        return self if mine.all() else Nearest(self.rows[mine], self.distances[mine], self.places[mine])


@dataclass(frozen=True)
class TieSearch:
    """A search among the training rows, and the test rows that are asked about."""

    search: Any  # scikit-learn's NearestNeighbors, fitted: what its estimators inherit, without a target
    cells: NumericTable
    distance: Distance
    train: Rows
    test: Rows

    def nearest(self, wanted: Mapping[int, Rows]) -> Iterator[tuple[int, Nearest]]:
        """The k nearest of `wanted[k]`, places in the test rows in ascending order, for every k."""
        with config_context(assume_finite=True, skip_parameter_validation=True):
            if self._partitions and not self._rounds:
                yield from self._partitioned(wanted)
                return
            for k, rows in wanted.items():
                batch = self.batch(rows)
                distances, places = self.search.kneighbors(self.cells.X[self.test[batch]], n_neighbors=k)
                at = last_places(batch, rows, len(self.test))
                yield k, Nearest(rows, distances[at], places[at])

    @cached_property
    def _rounds(self) -> bool:
        """Whether distances depend on the shape of a product of matrices."""
        return self.distance.expanded and not self.distance.is_exact(self.cells)

    @cached_property
    def _partitions(self) -> bool:
        """Whether rows of distances are partitioned by numpy: tables of whole numbers, cosine."""
        if self.distance.tree:
            return False
        return self.cells.X.dtype.kind != "f" or self.distance.resolved == "cosine"

    def _partitioned(self, wanted: Mapping[int, Rows]) -> Iterator[tuple[int, Nearest]]:
        """Distances are found once for all k."""
        search, X = self.search, self.cells.numbers
        squared = search.effective_metric_ == "euclidean"
        union = np.unique(np.concatenate(list(wanted.values())))
        learned = X[self.train]
        columns = np.ascontiguousarray(learned.T)
        size = max(1, BATCH_CELLS // len(learned))
        for start in range(0, len(union), size):
            some = union[start : start + size]
            asked = X[self.test[some]]
            if squared:
                table = np.empty((len(asked), len(learned)), dtype=X.dtype)
                whole_squares(asked, columns, table)
            else:
                options = search.effective_metric_params_
                table = pairwise_distances(asked, learned, metric=search.effective_metric_, **options)
            for k, rows in wanted.items():
                mine = rows[np.searchsorted(rows, some[0]) : np.searchsorted(rows, some[-1], "right")]
                if mine.size:
                    part = table[np.searchsorted(some, mine)]
                    yield k, Nearest(mine, *search._kneighbors_reduce_func(part, 0, k, True))

    def batch(self, rows: Rows) -> Rows:
        """Test rows that, asked together, are answered as among all test rows."""
        every = np.arange(len(self.test))
        if self.distance.tree:
            return rows
        if self._partitions:
            return every  # only where a product of matrices rounds
        if self._rounds:  # whole chunks; a short one stays the last
            chunks = np.unique(rows // CHUNK)
            rows = np.concatenate([every[c * CHUNK : (c + 1) * CHUNK] for c in chunks])
        n_threads = int(_openmp_effective_n_threads())
        if n_threads == 1:
            return rows  # on which side the work is shared out makes no difference
        over_queries = min(len(self.train), 4 * CHUNK * n_threads)
        if len(self.test) <= over_queries or len(rows) > over_queries:
            return rows
        missing = over_queries + 1 - len(rows)
        padding = every[: -(-missing // CHUNK) * CHUNK]  # whole chunks in front
        return every if len(padding) + len(rows) >= len(every) else np.concatenate([padding, rows])


@njit(nogil=True, cache=True)
def whole_squares(rows: NDArray[Any], columns: NDArray[Any], out: NDArray[Any]) -> None:
    """Squared distances of whole numbers: exact in any order, so these are the bits of scikit-learn's expansion.

    A product of matrices would be as fast, but leaves threads of its own behind that wait in a loop on a core.
    """
    for i in range(out.shape[0]):
        out[i] = 0.0
        for c in range(columns.shape[0]):
            for j in range(out.shape[1]):
                gap = rows[i, c] - columns[c, j]
                out[i, j] += gap * gap


def last_places(batch: Rows, rows: Rows, n: int) -> Rows:
    """Where rows stand in a batch."""
    at = np.empty(n, dtype=np.intp)
    at[batch] = np.arange(len(batch))
    found: Rows = at[rows]
    return found


def is_usual() -> bool:
    """Whether scikit-learn's search is configured as it comes."""
    config = get_config()
    return (
        config.get("enable_cython_pairwise_dist", True)
        and config.get("pairwise_dist_chunk_size", CHUNK) == CHUNK
        and config.get("pairwise_dist_parallel_strategy", "auto") == "auto"
        and not config["array_api_dispatch"]
    )
