"""Exact search for the nearest training rows. Threads divide the queries or, if they are few, the training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KDTree

from foldwise.arrays import Floats, Indices
from foldwise.neighbors.blocks import block_rows, prepare_queries, rows_of, take_blocks, take_queries
from foldwise.neighbors.distance import DistanceSpec
from foldwise.neighbors.encoding import EncodedRows
from foldwise.neighbors.kernels import TILE, CompiledDistance, Queries
from foldwise.neighbors.selection import find_nearest, measure_all, sort_candidates
from foldwise.neighbors.space import MetricSpace

SearchResult = TypeVar("SearchResult")
Part = TypeVar("Part")

QUERIES = 128  # searched together, so that fetching a block of training rows pays
HELD = 1 << 20  # neighbors that the queries of one thread may hold at a time
MANY_QUERIES = 256  # with fewer, building a tree does not pay
SMALL = 1 << 22  # compared values; with fewer, starting threads costs more than it saves

TREE_METRICS = ("euclidean", "manhattan", "minkowski", "chebyshev")
# thresholds measured on random noise, the worst case: below them, the search of all rows is as fast
MOST_COLUMNS = 5
LEAST_ROWS = 2000  # doubles with every column
ROWS_PER_NEIGHBOR = 200
SPARE = 4  # candidates beyond k: to see that a tie at the k-th neighbor has ended
CERTAIN = 1.0 - 1e-9  # distances of the tree and of the kernels differ by a few roundings


class NeighborIndex:
    """Training rows, ready to be searched.

    Neighbors are ordered by (distance, index). Results do not depend on the number of threads or on the other queries.
    """

    def __init__(self, space: MetricSpace, rows: EncodedRows) -> None:
        self.space = space
        self.n_rows = rows.n_rows
        self._blocks = block_rows(space, rows)
        self._tree: CertifiedTree | None = None  # built at the first search that it speeds up

    def nearest(
        self, rows: EncodedRows, k: int, leave_out: Indices | None = None, threads: int = 1
    ) -> tuple[Floats, Indices]:
        """Find distances and indices (m, k) of the k nearest training rows of each query.

        `leave_out` is, for each query, the index of a training row to exclude, or -1.
        """
        queries = prepare_queries(self.space, rows, leave_out)
        m = rows.n_rows
        n_found = self.n_rows - bool((queries.leave_out >= 0).any())
        if not 1 <= k <= n_found:
            raise ValueError(f"k must be from 1 to {n_found}, the number of training rows, got {k}.")
        distances, indices = np.empty((m, k)), np.full((m, k), -1, dtype=np.intp)
        threads = self._useful_threads(threads, m)
        if m < TILE * threads and 1 < threads <= len(self._blocks.numbers):
            distances, indices = self._by_training_rows(queries, k, threads)
        elif m >= MANY_QUERIES and tree_helps(self.space.distance, self.space.dist, self.n_rows, k):
            self._by_tree(queries, distances, indices, threads)
        else:
            self._by_queries(queries, distances, indices, threads)
        if m and indices[:, -1].min() < 0:
            raise ValueError("a distance is NaN. Hint: numeric distances need finite values.")
        return distances, indices

    def distances(self, rows: EncodedRows, dtype: type[np.floating[Any]] = np.float64) -> NDArray[Any]:
        """Measure the distances (m, n) of some rows to all training rows."""
        found = np.empty((rows.n_rows, self.n_rows), dtype=dtype)
        queries = prepare_queries(self.space, rows, None)
        for start in range(0, rows.n_rows, QUERIES):
            part = slice(start, start + QUERIES)
            found[part] = measure_all(self.space.dist, self._blocks, take_queries(queries, part))
        return found

    def within(
        self, rows: EncodedRows, radius: float, leave_out: Indices | None = None, threads: int = 1
    ) -> tuple[Floats, Indices, Indices]:
        """Find distances and indices of all training rows within `radius`, and the offsets (m + 1,) of the queries."""
        queries = prepare_queries(self.space, rows, leave_out)
        threads = self._useful_threads(threads, rows.n_rows)

        def search(part: slice) -> tuple[Floats, Indices, Indices]:
            some = take_queries(queries, part)
            distances = measure_all(self.space.dist, self._blocks, some)
            hit = (distances <= radius) & (np.arange(self.n_rows) != some.leave_out[:, None])
            query, index = np.nonzero(hit)
            order = np.lexsort((index, distances[hit], query))
            return distances[hit][order], index[order], hit.sum(axis=1)

        nothing = np.empty(0), np.empty(0, dtype=np.intp), np.zeros(1, dtype=np.intp)
        found = [nothing, *_map(search, _parts(rows.n_rows, self.n_rows, threads), threads)]
        distances, indices, counts = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return distances, indices, counts.cumsum()

    def _useful_threads(self, threads: int, m: int) -> int:
        """Use one thread if there is too little work for several."""
        n_columns = len(self.space.number_columns) + len(self.space.code_columns)
        return threads if m * self.n_rows * n_columns >= SMALL else 1

    def _by_queries(self, queries: Queries, distances: Floats, indices: Indices, threads: int) -> None:
        """Search with the queries divided among threads."""

        def search(part: slice) -> None:
            some = take_queries(queries, part)
            find_nearest(self.space.dist, self._blocks, some, distances[part], indices[part])

        _map(search, _parts(len(distances), distances.shape[1], threads), threads)

    def _by_tree(self, queries: Queries, distances: Floats, indices: Indices, threads: int) -> None:
        """Search with a tree; queries with uncertain results search all rows."""
        if self._tree is None:
            numbers = rows_of(self._blocks, self.space.dist.factors.size)
            self._tree = CertifiedTree(self.space.distance, self.space.dist, numbers)
        tree = self._tree
        certain = np.zeros(len(distances), dtype=np.bool_)

        def search(part: slice) -> None:
            certain[part] = tree.nearest(take_queries(queries, part), distances[part], indices[part])

        pilot, *others = _parts(len(distances), distances.shape[1], threads)
        search(pilot)
        if certain[pilot].mean() > 0.5:
            _map(search, others, threads)
        rest = np.flatnonzero(~certain)
        if rest.size:
            some = np.empty((rest.size, distances.shape[1])), np.full((rest.size, distances.shape[1]), -1, np.intp)
            self._by_queries(take_queries(queries, rest), *some, threads)
            distances[rest], indices[rest] = some

    def _by_training_rows(self, queries: Queries, k: int, threads: int) -> tuple[Floats, Indices]:
        """Search with the training rows divided among threads, and keep the nearest of all parts."""
        edges = np.linspace(0, len(self._blocks.numbers), threads + 1).astype(int).tolist()
        shares = [take_blocks(self._blocks, a, b) for a, b in pairwise(edges)]
        m = len(queries.leave_out)
        distances: Floats = np.full((threads, m, k), np.inf)
        indices: Indices = np.full((threads, m, k), -1, dtype=np.intp)

        def search(t: int) -> None:
            find_nearest(self.space.dist, shares[t], queries, distances[t], indices[t])

        _map(search, range(threads), threads)
        distances = distances.transpose(1, 0, 2).reshape(m, threads * k)
        indices = indices.transpose(1, 0, 2).reshape(m, threads * k)
        order = np.lexsort((indices, distances, indices < 0), axis=1)[:, :k]  # index -1 means empty
        return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)


def _parts(m: int, k: int, threads: int) -> list[slice]:
    """Divide queries into ranges of whole tiles: enough for all threads, and small enough for memory."""
    size = min(QUERIES, HELD // (2 * k + 64), -(-m // threads))
    size = max(TILE, -(-size // TILE) * TILE)
    return [slice(first, min(first + size, m)) for first in range(0, m, size)]


def _map(search: Callable[[Part], SearchResult], parts: Sequence[Part], threads: int) -> list[SearchResult]:
    """Run `search` on every part, in threads: the kernels release the GIL."""
    if threads == 1 or len(parts) < 2:
        return [search(part) for part in parts]
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        return list(pool.map(search, parts))


def array_per_query(flat: NDArray[Any], offsets: NDArray[np.intp]) -> NDArray[Any]:
    """Split flat results into one array per query, in an array of objects as scikit-learn returns it."""
    found = np.empty(len(offsets) - 1, dtype=object)
    for i in range(len(found)):
        found[i] = flat[offsets[i] : offsets[i + 1]]
    return found


def tree_helps(distance: DistanceSpec, dist: CompiledDistance, n_rows: int, k: int) -> bool:
    """Decide whether a k-d tree is likely to be faster than the search of all rows.

    Not for weighted columns: differences of stretched axes round differently from weighted differences.
    """
    return (
        distance.metric in TREE_METRICS
        and 0 < dist.factors.size <= MOST_COLUMNS
        and bool((dist.factors == 1.0).all())
        and n_rows >= max(LEAST_ROWS << dist.factors.size, ROWS_PER_NEIGHBOR * k)
    )


class CertifiedTree:
    """scikit-learn's k-d tree proposes neighbors; they are measured again by the kernels and certified.

    A result is used only if all rows that were not proposed are certainly farther away. Otherwise, mostly because of
    ties, the caller searches all rows.
    """

    def __init__(self, distance: DistanceSpec, dist: CompiledDistance, numbers: Floats) -> None:
        options = {"p": distance.p} if distance.metric == "minkowski" else {}
        self._tree = KDTree(numbers, metric=distance.metric, **options)
        self._numbers = numbers
        self._dist = dist

    def nearest(self, queries: Queries, distances: Floats, indices: Indices) -> NDArray[np.bool_]:
        """Fill `distances` and `indices` (m, k), and mark the queries for which they are certain."""
        k = distances.shape[1]
        n_candidates = k + SPARE + bool((queries.leave_out >= 0).any())
        proposed, candidates = self._tree.query(queries.numbers, n_candidates, sort_results=False)
        measured = sort_candidates(self._dist, queries, self._numbers, candidates)
        distances[:], indices[:] = measured[:, :k], candidates[:, :k]
        return np.asarray(distances[:, -1] < proposed.max(axis=1) * CERTAIN)
