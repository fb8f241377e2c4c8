"""The nearest rows of every row among all rows of a table: found when first asked for, kept, deepened if need be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import Rows

Search = Callable[[Rows, int], Iterator[tuple[Rows, NDArray[Any], NDArray[Any]]]]
"""Some rows of a table and a depth -> rows, distances and places among all rows, in batches that together are all."""

MOST_BYTES = 1 << 28  # lists that would take more are found for each split by itself
SPREAD = 5.0  # standard deviations of the number of neighbors in a training set
SMALL = 1 << 13  # rows of a table that is searched whole when a second split asks
LEAST_SHARE = 0.25  # of the rows in a training set: with fewer, lists would be mostly struck out


@dataclass(frozen=True)
class NeighborLists:
    """LazyLists of some rows: those of row i of the table are at `at[i]`."""

    places: NDArray[np.int32]  # (lists, depth): rows of the table
    distances: NDArray[np.float64]  # (lists, depth), ascending
    at: NDArray[np.int64]
    whole: bool  # whether no row is missing from a list

    @property
    def depth(self) -> int:
        return int(self.places.shape[1])


def depth_for(k: int, n_train: int, n_rows: int, spread: float = SPREAD) -> int:
    """How deep a list must be for k of its rows, and one more, to lie in a random training set."""
    share = min(1.0, n_train / n_rows)
    return min(n_rows, math.ceil((k + 2 + spread * math.sqrt(k * (1.0 - share))) / share) + 1)


Item = TypeVar("Item")


class ListStore(Generic[Item]):
    """Lists of several distances. The least recently used are dropped if all together take too much memory."""

    def __init__(self) -> None:
        self._kept: dict[Any, tuple[Item, LazyLists | None]] = {}
        self._lock = Lock()

    def get(self, key: Any, make: Callable[[], tuple[Item, LazyLists | None]]) -> Item:
        with self._lock:
            entry = self._kept.pop(key, None) or make()
            self._kept[key] = entry  # the last asked for stands last
            held = sum(lists.n_bytes for _, lists in self._kept.values() if lists is not None)
            for old, (_, lists) in list(self._kept.items())[:-1]:
                if held <= MOST_BYTES:
                    break
                if lists is not None:
                    held -= lists.n_bytes
                    del self._kept[old]
            return entry[0]


class LazyLists:
    """The lists of one table by one distance, searched when first asked for. Several threads may ask."""

    def __init__(self, n_rows: int, opened: Callable[[], Search]) -> None:
        self.n_rows, self._opened = n_rows, opened
        self._lock = Lock()
        self._search: Search | None = None
        self._found: NeighborLists | None = None
        self._known = np.zeros(n_rows, dtype=bool)
        self._places = np.arange(n_rows)

    @property
    def n_bytes(self) -> int:
        return 0 if self._found is None else self._found.places.nbytes + self._found.distances.nbytes

    def of(self, k: int, n_train: int, test: Rows) -> NeighborLists | None:
        """LazyLists of the test rows with, mostly, more than k of `n_train` rows; None where lists would not pay."""
        n_rows = self.n_rows
        depth = depth_for(k, n_train, n_rows)
        if n_train < LEAST_SHARE * n_rows or 12 * n_rows * depth > MOST_BYTES:
            return None
        with self._lock:
            # a little too short is no reason to search again: the few rows that run short are searched by themselves
            if self._found is None or self._found.depth < depth_for(k, n_train, n_rows, SPREAD / 2):
                self._begin(depth)
            assert self._found is not None
            missing = test[~self._known[test]]
            if missing.size:
                self._find(self._found, np.unique(missing))
            return self._found

    def _begin(self, depth: int) -> None:
        n_rows = self.n_rows
        if self._search is None:
            self._search = self._opened()
        elif self._found is not None:
            depth = min(n_rows, max(depth, self._found.depth * 3 // 2))
        shape = (n_rows, depth)
        self._found = NeighborLists(np.empty(shape, np.int32), np.empty(shape), self._places, depth == n_rows)
        self._known = np.zeros(n_rows, dtype=bool)

    def _find(self, found: NeighborLists, rows: Rows) -> None:
        """Search for these rows and, if others are known already, for as many more: later splits will ask for them."""
        n_known = int(self._known.sum())
        if n_known:
            unknown = ~self._known
            unknown[rows] = False
            ahead = np.flatnonzero(unknown)[: n_known if len(self._known) > SMALL else None]
            rows = np.sort(np.concatenate([rows, ahead]))
        assert self._search is not None
        for some, distances, places in self._search(rows, found.depth):
            found.places[some] = places
            found.distances[some] = distances
        self._known[rows] = True
