"""Lists of the nearest rows of every row among all rows of a table: searched on first use, and extended if needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import Rows

SearchRows = Callable[[Rows, int], Iterator[tuple[Rows, NDArray[Any], NDArray[Any]]]]
"""From rows of a table and a depth to batches of rows, their distances and the indices of their neighbors."""

MOST_BYTES = 1 << 28  # larger lists are searched for each split separately
SPREAD = 5.0  # standard deviations of the number of neighbors in a training set
SMALL = 1 << 13  # rows; a smaller table is searched completely for the second split
LEAST_SHARE = 0.25  # of the rows in a training set; with fewer, most of each list would be removed


@dataclass(frozen=True)
class NeighborLists:
    """Lists of neighbors of some rows; the list of row i of the table has the index `at[i]`."""

    indices: NDArray[np.int32]  # (lists, depth): neighbors, as rows of the table
    distances: NDArray[np.float64]  # (lists, depth), ascending
    at: NDArray[np.int64]
    whole: bool  # whether each list contains all rows

    @property
    def depth(self) -> int:
        return int(self.indices.shape[1])


def depth_for(k: int, n_train: int, n_rows: int, spread: float = SPREAD) -> int:
    """The depth at which a list very likely contains k + 1 rows of a random training set."""
    share = min(1.0, n_train / n_rows)
    return min(n_rows, math.ceil((k + 2 + spread * math.sqrt(k * (1.0 - share))) / share) + 1)


Item = TypeVar("Item")


class ListStore(Generic[Item]):
    """Lists of several distances; the least recently used are dropped if they take too much memory together."""

    def __init__(self) -> None:
        self._kept: dict[Any, tuple[Item, LazyLists | None]] = {}
        self._lock = Lock()

    def get(self, key: Any, make: Callable[[], tuple[Item, LazyLists | None]]) -> Item:
        with self._lock:
            entry = self._kept.pop(key, None) or make()
            self._kept[key] = entry  # the most recently used comes last
            held = sum(lists.n_bytes for _, lists in self._kept.values() if lists is not None)
            for old, (_, lists) in list(self._kept.items())[:-1]:
                if held <= MOST_BYTES:
                    break
                if lists is not None:
                    held -= lists.n_bytes
                    del self._kept[old]
            return entry[0]


class LazyLists:
    """The lists of one table for one distance, searched on first use, also from several threads."""

    def __init__(self, n_rows: int, open_search: Callable[[], SearchRows]) -> None:
        self.n_rows, self._open_search = n_rows, open_search
        self._lock = Lock()
        self._search: SearchRows | None = None
        self._found: NeighborLists | None = None
        self._known = np.zeros(n_rows, dtype=bool)
        self._identity = np.arange(n_rows)

    @property
    def n_bytes(self) -> int:
        return 0 if self._found is None else self._found.indices.nbytes + self._found.distances.nbytes

    def of(self, k: int, n_train: int, test: Rows) -> NeighborLists | None:
        """Lists of the test rows, most of them with more than k training rows; None if a direct search is cheaper."""
        n_rows = self.n_rows
        depth = depth_for(k, n_train, n_rows)
        if n_train < LEAST_SHARE * n_rows or 12 * n_rows * depth > MOST_BYTES:
            return None
        with self._lock:
            # slightly shorter lists are accepted: the few rows with too few neighbors are searched separately
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
            self._search = self._open_search()
        elif self._found is not None:
            depth = min(n_rows, max(depth, self._found.depth * 3 // 2))
        shape = (n_rows, depth)
        self._found = NeighborLists(np.empty(shape, np.int32), np.empty(shape), self._identity, depth == n_rows)
        self._known = np.zeros(n_rows, dtype=bool)

    def _find(self, found: NeighborLists, rows: Rows) -> None:
        """Search these rows and, if some are known already, as many more, which later splits will need."""
        n_known = int(self._known.sum())
        if n_known:
            unknown = ~self._known
            unknown[rows] = False
            ahead = np.flatnonzero(unknown)[: n_known if len(self._known) > SMALL else None]
            rows = np.sort(np.concatenate([rows, ahead]))
        assert self._search is not None
        for some, distances, indices in self._search(rows, found.depth):
            found.indices[some] = indices
            found.distances[some] = distances
        self._known[rows] = True
