"""Exact nearest rows: queries, or training rows where queries are few, are shared out among threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from foldwise.neighbors.cells import Cells
from foldwise.neighbors.kernels import TILE, Asked
from foldwise.neighbors.placing import n_blocks, place_queries, place_rows, rows_of, some_blocks, some_queries
from foldwise.neighbors.selection import find_nearest, find_within
from foldwise.neighbors.space import Space
from foldwise.neighbors.tree import Tree, helps

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Part = TypeVar("Part")

QUERIES = 128  # searched in one go: often enough that a block of training rows is worth fetching
HELD = 1 << 20  # rows held at once by the queries of one thread
MANY_QUERIES = 256  # from here on a tree may be worth building
SMALL = 1 << 22  # pairs of cells compared in less time than threads take to start


class Index:
    """Training rows placed in a space, to be searched.

    Neighbours come in the order of (distance, place). Order and bits do not depend on threads, on the other queries
    or on the other training rows.
    """

    def __init__(self, space: Space, cells: Cells) -> None:
        self.space = space
        self.n_rows = cells.n_rows
        self._blocks = place_rows(space, cells)
        self._tree: Tree | None = None  # built when it first helps

    def nearest(
        self, queries: Cells, k: int, leave_out: Places | None = None, threads: int = 1
    ) -> tuple[Floats, Places]:
        """Distances and places (m, k) of the k nearest training rows; `leave_out` names one row not to be found.

        A `leave_out` of -1 leaves out none.
        """
        asked = place_queries(self.space, queries, leave_out)
        m = queries.n_rows
        n_found = self.n_rows - bool((asked.leave_out >= 0).any())
        if not 1 <= k <= n_found:
            raise ValueError(f"k must be from 1 to {n_found}, the rows that can be found, but is {k}.")
        distances, places = np.empty((m, k)), np.full((m, k), -1, dtype=np.intp)
        threads = self._worth(threads, m)
        if m < TILE * threads and 1 < threads <= n_blocks(self._blocks):
            distances, places = self._by_training_rows(asked, k, threads)
        elif m >= MANY_QUERIES and helps(self.space.distance, self.space.law, self.n_rows, k):
            self._by_tree(asked, distances, places, threads)
        else:
            self._by_queries(asked, distances, places, threads)
        if m and places[:, -1].min() < 0:
            raise ValueError("a distance is not a number. Hint: numeric metrics need finite cells.")
        return distances, places

    def within(
        self, queries: Cells, radius: float, leave_out: Places | None = None, threads: int = 1
    ) -> tuple[Floats, Places, Places]:
        """Distances and places of all training rows at most `radius` away, and offsets (m + 1,) of the queries."""
        asked = place_queries(self.space, queries, leave_out)
        m = queries.n_rows
        threads = self._worth(threads, m)
        parts = _parts(m, 1, threads)
        found: list[tuple[Floats, Places, Places]] = [
            (np.empty(0), np.empty(0, dtype=np.intp), np.zeros(1, dtype=np.intp))
        ] * len(parts)

        def search(part: slice) -> None:
            some = some_queries(asked, part)
            found[parts.index(part)] = find_within(self.space.law, self._blocks, some, float(radius))

        _share_out(search, parts, threads)
        counts = [np.diff(starts) for _, _, starts in found]
        offsets = np.concatenate([np.zeros(1, dtype=np.intp), *counts]).cumsum()
        distances = np.concatenate([np.empty(0), *(d for d, _, _ in found)])
        return distances, np.concatenate([np.empty(0, dtype=np.intp), *(p for _, p, _ in found)]), offsets

    def _worth(self, threads: int, m: int) -> int:
        """The threads that `m` queries are worth."""
        n_columns = len(self.space.number_columns) + len(self.space.code_columns)
        return threads if m * self.n_rows * n_columns >= SMALL else 1

    def _by_queries(self, asked: Asked, distances: Floats, places: Places, threads: int) -> None:
        """Every thread searches all training rows for some of the queries."""

        def search(part: slice) -> None:
            some = some_queries(asked, part)
            find_nearest(self.space.law, self._blocks, some, distances[part], places[part])

        _share_out(search, _parts(len(distances), distances.shape[1], threads), threads)

    def _by_tree(self, asked: Asked, distances: Floats, places: Places, threads: int) -> None:
        """A tree proposes rows; queries for which they are not certain, and all where few are, search all rows."""
        if self._tree is None:
            self._tree = Tree(self.space.distance, self.space.law, rows_of(self._blocks, self.space.law.factors.size))
        tree = self._tree
        certain = np.zeros(len(distances), dtype=np.bool_)

        def search(part: slice) -> None:
            certain[part] = tree.nearest(some_queries(asked, part), distances[part], places[part])

        pilot, *others = _parts(len(distances), distances.shape[1], threads)
        search(pilot)
        if certain[pilot].mean() > 0.5:
            _share_out(search, others, threads)
        rest = np.flatnonzero(~certain)
        if rest.size:
            some = np.empty((rest.size, distances.shape[1])), np.full((rest.size, distances.shape[1]), -1, np.intp)
            self._by_queries(some_queries(asked, rest), *some, threads)
            distances[rest], places[rest] = some

    def _by_training_rows(self, asked: Asked, k: int, threads: int) -> tuple[Floats, Places]:
        """Few queries: every thread searches a share of the training rows, and the best of all shares remain."""
        edges = np.linspace(0, n_blocks(self._blocks), threads + 1).astype(int).tolist()
        shares = [some_blocks(self._blocks, a, b) for a, b in pairwise(edges)]
        m = len(asked.leave_out)
        distances = np.full((threads, m, k), np.inf)
        places = np.full((threads, m, k), -1, dtype=np.intp)

        def search(t: int) -> None:
            find_nearest(self.space.law, shares[t], asked, distances[t], places[t])

        _share_out(search, list(range(threads)), threads)
        return _merge(distances, places, k)


def _merge(distances: Floats, places: Places, k: int) -> tuple[Floats, Places]:  # (shares, m, k) -> (m, k)
    """The k first of several lists a query; those of place -1 are empty and come last."""
    shares, m, _ = distances.shape
    distances = distances.transpose(1, 0, 2).reshape(m, shares * k)
    places = places.transpose(1, 0, 2).reshape(m, shares * k)
    order = np.lexsort((places, distances, places < 0), axis=1)[:, :k]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(places, order, axis=1)


def _parts(m: int, k: int, threads: int) -> list[slice]:
    """Runs of queries: whole tiles, enough for all threads, and within the memory allowed."""
    size = min(QUERIES, HELD // (2 * k + 64), -(-m // threads))
    size = max(TILE, -(-size // TILE) * TILE)
    return [slice(first, min(first + size, m)) for first in range(0, m, size)]


def _share_out(search: Callable[[Part], None], parts: Sequence[Part], threads: int) -> None:
    """Calls `search` with every part; the kernels run without the GIL."""
    if threads == 1 or len(parts) < 2:
        for part in parts:
            search(part)
        return
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        for _ in pool.map(search, parts):
            pass
