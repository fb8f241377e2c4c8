"""Searches for the nearest rows by scikit-learn, among all rows of a table or among a training set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from foldwise.adapters.nearest.distances import Distance, NumericTable
from foldwise.folds.neighbor_lists import LazyLists, NeighborLists, SearchRows
from foldwise.folds.protocol import Rows

BATCH_CELLS = 1 << 20  # neighbors per call of scikit-learn, 16 bytes each


def lists_by(distance: Distance, cells: NumericTable) -> LazyLists:
    """The lists of a table for one distance."""

    def open_search() -> SearchRows:
        search = searcher(distance, cells.numbers)
        return lambda rows, depth: searched(search, cells.numbers, rows, depth)

    return LazyLists(len(cells.X), open_search)


def among_train(cells: NumericTable, distance: Distance, k: int, train: Rows, test: Rows) -> NeighborLists:
    """Lists of the test rows among the training rows alone."""
    kept = np.unique(train)
    depth = min(len(kept), k + 16)  # some more, to detect ties
    search = searcher(distance, cells.numbers[kept])
    found = NeighborLists(
        np.empty((len(test), depth), np.int32),
        np.empty((len(test), depth)),
        np.arange(len(test)),
        depth == len(kept),
    )
    at = 0
    for some, distances, indices in searched(search, cells.numbers, test, depth):
        found.indices[at : at + len(some)] = kept[indices]
        found.distances[at : at + len(some)] = distances
        at += len(some)
    return found


def searcher(distance: Distance, X: NDArray[Any]) -> Any:
    """A fitted NearestNeighbors of scikit-learn."""
    algorithm = "kd_tree" if distance.tree else "brute"
    with config_context(assume_finite=True):
        return NearestNeighbors(algorithm=algorithm, metric=distance.metric, p=distance.p).fit(X)


def searched(search: Any, X: NDArray[Any], rows: Rows, depth: int) -> Iterator[tuple[Rows, NDArray[Any], NDArray[Any]]]:
    """Rows, their distances and the indices of their neighbors, in batches."""
    size = max(256, BATCH_CELLS // depth // 256 * 256)
    with config_context(assume_finite=True):
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            distances, indices = search.kneighbors(X[some], n_neighbors=depth)
            yield some, distances, indices
