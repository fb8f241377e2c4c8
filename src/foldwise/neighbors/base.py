"""What both estimators share: placing the training rows, and finding the nearest of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from foldwise.data.arguments import at_least_zero, check_jobs
from foldwise.data.schema import Schema
from foldwise.data.validation import validate_table
from foldwise.data.view import View
from foldwise.neighbors.cells import Cells
from foldwise.neighbors.distance import MIXED
from foldwise.neighbors.layout import Layout, lay_out
from foldwise.neighbors.parameters import Poll, check_count, check_distance, check_enough, check_metric
from foldwise.neighbors.search import Index
from foldwise.neighbors.space import learn_space
from foldwise.neighbors.votes import Neighbours
from foldwise.summaries.passes import n_threads

SMALL = 1 << 23  # cells compared; below, starting a thread costs more than it saves


class NearestRows(BaseEstimator):  # type: ignore[misc]
    """The training rows, placed so that the nearest of them are found; votes are a subclass's business."""

    n_neighbors: int
    weights: Any
    metric: str
    p: float
    scale: str | None
    column_weights: ArrayLike | Mapping[Any, float] | None
    pca: int | float | None
    categorical: Sequence[Any] | None
    n_jobs: int | None

    schema_: Schema
    effective_metric_: str
    n_samples_fit_: int
    n_features_in_: int
    _layout: Layout
    _cells: Cells
    _index: Index

    def _place(self, table: View, y: NDArray[np.int64] | None, n_classes: int) -> None:
        """Learn the space from the training rows and put them there."""
        check_jobs(self.n_jobs)
        layout = lay_out(table, check_metric(self.metric, self.scale, self.pca), self.categorical)
        distance = check_distance(layout, self.p, self.scale, self.column_weights, self.pca)
        cells = layout.cells(table, distance.p)
        space = learn_space(distance, cells, y, n_classes)
        self._layout, self._cells, self._index = layout, cells, Index(space, cells)
        self.schema_ = Schema(table.columns)
        self.effective_metric_ = distance.metric
        self.n_samples_fit_ = cells.n_rows

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest training rows: distances and places, both (rows, n_neighbors), nearest first.

        Rows at the same distance come in the order of the training rows. Without X the training rows themselves are
        asked, and none is its own neighbour.
        """
        check_is_fitted(self)
        k = check_count("n_neighbors", self.n_neighbors if n_neighbors is None else n_neighbors)
        queries, leave_out = self._queries(X)
        check_enough(k, self.n_samples_fit_, queries.n_rows, X is None)
        distances, places = self._index.nearest(queries, k, leave_out, self._threads(queries))
        return (distances, places) if return_distance else places

    def radius_neighbors(self, X: Any = None, radius: float = 1.0, return_distance: bool = True) -> Any:
        """The training rows within a radius: distances and places, each an array of arrays, nearest first."""
        check_is_fitted(self)
        radius = np.inf if radius == np.inf else at_least_zero("radius", radius)
        queries, leave_out = self._queries(X)
        distances, places, offsets = self._index.within(queries, radius, leave_out, self._threads(queries))
        found_places, found_distances = by_query(places, offsets), by_query(distances, offsets)
        return (found_distances, found_places) if return_distance else found_places

    def _poll(self, X: Any, poll: Poll) -> Neighbours:
        """The neighbours that a poll asks, and one more where there is one, which sets the bandwidth of a kernel."""
        check_is_fitted(self)
        queries, leave_out = self._queries(X)
        itself = X is None
        check_enough(poll.k, self.n_samples_fit_, queries.n_rows, itself)
        more = poll.k if poll.weights in ("uniform", "distance") else min(poll.k + 1, self.n_samples_fit_ - itself)
        return Neighbours(*self._index.nearest(queries, more, leave_out, self._threads(queries)))

    def _threads(self, queries: Cells) -> int:
        small = queries.n_rows * self.n_samples_fit_ * self.n_features_in_ < SMALL
        return 1 if small else n_threads(self.n_jobs)

    def _queries(self, X: Any) -> tuple[Cells, NDArray[np.intp] | None]:
        """The cells of rows that are asked about; of the training rows themselves, with what each must not find."""
        if X is None:
            return self._cells, np.arange(self.n_samples_fit_)
        table = validate_table(self, X, self.schema_.names).table
        assert isinstance(table, View)
        return self._layout.cells(table, self._index.space.distance.p), None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_index")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.metric in MIXED
        tags.input_tags.categorical = True
        return tags


def by_query(flat: NDArray[Any], offsets: NDArray[np.intp]) -> NDArray[Any]:
    """An array with one array a query, as scikit-learn gives what differs in length."""
    found = np.empty(len(offsets) - 1, dtype=object)
    for i in range(len(found)):
        found[i] = flat[offsets[i] : offsets[i + 1]]
    return found


Weights = str | Callable[[NDArray[np.float64]], NDArray[np.float64]] | None
