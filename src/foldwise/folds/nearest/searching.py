"""scikit-learn's own search for the nearest rows: among all rows of a table, or among those of a training set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from foldwise.folds.nearest.distances import Distance, NumericTable
from foldwise.folds.nearest.lists import LazyLists, NeighborLists, Search
from foldwise.folds.protocol import Rows

BATCH_CELLS = 1 << 20  # neighbors that scikit-learn hands over at a time, 16 bytes each


def lists_by(distance: Distance, cells: NumericTable) -> LazyLists:
    """The lists of a table."""

    def opened() -> Search:
        search = searcher(distance, cells.numbers)
        return lambda rows, depth: searched(search, cells.numbers, rows, depth)

    return LazyLists(len(cells.X), opened)


def among_train(cells: NumericTable, distance: Distance, k: int, train: Rows, test: Rows) -> NeighborLists:
    """LazyLists of the test rows among the training rows alone."""
    kept = np.unique(train)
    depth = min(len(kept), k + 16)  # some more, to see where ties end
    search = searcher(distance, cells.numbers[kept])
    found = NeighborLists(
        np.empty((len(test), depth), np.int32),
        np.empty((len(test), depth)),
        np.arange(len(test)),
        depth == len(kept),
    )
    at = 0
    for some, distances, places in searched(search, cells.numbers, test, depth):
        found.places[at : at + len(some)] = kept[places]
        found.distances[at : at + len(some)] = distances
        at += len(some)
    return found


def searcher(distance: Distance, X: NDArray[Any]) -> Any:
    """scikit-learn's own search, fitted."""
    algorithm = "kd_tree" if distance.tree else "brute"
    with config_context(assume_finite=True):
        return NearestNeighbors(algorithm=algorithm, metric=distance.metric, p=distance.p).fit(X)


def searched(search: Any, X: NDArray[Any], rows: Rows, depth: int) -> Iterator[tuple[Rows, NDArray[Any], NDArray[Any]]]:
    """Rows, distances and places, in batches."""
    size = max(256, BATCH_CELLS // depth // 256 * 256)
    with config_context(assume_finite=True):
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            distances, places = search.kneighbors(X[some], n_neighbors=depth)
            yield some, distances, places
