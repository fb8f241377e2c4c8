"""Exact search for the nearest rows: threads share the queries or, where queries are few, the training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from foldwise.neighbors.blocks import block_rows, prepare_queries, rows_of, take_blocks, take_queries
from foldwise.neighbors.encoding import EncodedRows
from foldwise.neighbors.kernels import TILE, Queries
from foldwise.neighbors.selection import find_nearest, measure_all
from foldwise.neighbors.space import Space
from foldwise.neighbors.tree import CertifiedTree, tree_helps

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Found = TypeVar("Found")
Part = TypeVar("Part")

QUERIES = 128  # searched in one go: often enough that a block of training rows is worth fetching
HELD = 1 << 20  # rows held at once by the queries of one thread
MANY_QUERIES = 256  # from here on a tree may be worth building
SMALL = 1 << 22  # pairs of cells compared in less time than threads take to start


class NeighborIndex:
    """Training rows in a space, ready to be searched.

    Neighbors come in the order of (distance, index). They depend neither on threads, nor on the other queries, nor on
    the other training rows.
    """

    def __init__(self, space: Space, rows: EncodedRows) -> None:
        self.space = space
        self.n_rows = rows.n_rows
        self._blocks = block_rows(space, rows)
        self._tree: CertifiedTree | None = None  # built when it first helps

    def nearest(
        self, rows: EncodedRows, k: int, leave_out: Indices | None = None, threads: int = 1
    ) -> tuple[Floats, Indices]:
        """Distances and indices (m, k) of the k nearest training rows of each query.

        `leave_out` holds, for each query, the index of a training row that must not be found, or -1.
        """
        queries = prepare_queries(self.space, rows, leave_out)
        m = rows.n_rows
        n_found = self.n_rows - bool((queries.leave_out >= 0).any())
        if not 1 <= k <= n_found:
            raise ValueError(f"k must be from 1 to {n_found}, the rows that can be found, but is {k}.")
        distances, indices = np.empty((m, k)), np.full((m, k), -1, dtype=np.intp)
        threads = self._useful_threads(threads, m)
        if m < TILE * threads and 1 < threads <= len(self._blocks.numbers):
            distances, indices = self._by_training_rows(queries, k, threads)
        elif m >= MANY_QUERIES and tree_helps(self.space.distance, self.space.dist, self.n_rows, k):
            self._by_tree(queries, distances, indices, threads)
        else:
            self._by_queries(queries, distances, indices, threads)
        if m and indices[:, -1].min() < 0:
            raise ValueError("a distance is not a number. Hint: numeric metrics need finite cells.")
        return distances, indices

    def within(
        self, rows: EncodedRows, radius: float, leave_out: Indices | None = None, threads: int = 1
    ) -> tuple[Floats, Indices, Indices]:
        """Distances and indices of all training rows within `radius`, and the offsets (m + 1,) of the queries."""
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
        """The number of threads that pays for `m` queries."""
        n_columns = len(self.space.number_columns) + len(self.space.code_columns)
        return threads if m * self.n_rows * n_columns >= SMALL else 1

    def _by_queries(self, queries: Queries, distances: Floats, indices: Indices, threads: int) -> None:
        """Every thread searches all training rows for some of the queries."""

        def search(part: slice) -> None:
            some = take_queries(queries, part)
            find_nearest(self.space.dist, self._blocks, some, distances[part], indices[part])

        _map(search, _parts(len(distances), distances.shape[1], threads), threads)

    def _by_tree(self, queries: Queries, distances: Floats, indices: Indices, threads: int) -> None:
        """A tree proposes rows; queries whose answers are not certain search all rows."""
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
        """Few queries: every thread searches a share of the training rows, and the nearest of all shares remain."""
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
    """Ranges of queries: whole tiles, enough for all threads, and within the memory allowed."""
    size = min(QUERIES, HELD // (2 * k + 64), -(-m // threads))
    size = max(TILE, -(-size // TILE) * TILE)
    return [slice(first, min(first + size, m)) for first in range(0, m, size)]


def _map(search: Callable[[Part], Found], parts: Sequence[Part], threads: int) -> list[Found]:
    """The results of `search` for every part; the kernels run without the GIL."""
    if threads == 1 or len(parts) < 2:
        return [search(part) for part in parts]
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        return list(pool.map(search, parts))
