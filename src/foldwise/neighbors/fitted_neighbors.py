"""`NeighborsBase`: the parameters, the training rows and the search that both estimators share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.data.arguments import at_least_zero, check_jobs, one_of, whole_at_least
from foldwise.data.schema import Level, Schema
from foldwise.data.target import Target
from foldwise.data.view import View
from foldwise.neighbors.distance import MIXED
from foldwise.neighbors.encoding import ColumnRoles, EncodedRows, column_roles, dense_table, warn_of_objects
from foldwise.neighbors.parameters import (
    VotingParams,
    check_distance,
    check_enough,
    check_metric,
    check_voting,
)
from foldwise.neighbors.row_weights import (
    CountedNeighbors,
    RowWeights,
    counted_neighbors,
    learned_space,
    observed_target,
)
from foldwise.neighbors.search import NeighborIndex, array_per_query
from foldwise.neighbors.votes import Neighbors, Weights
from foldwise.summaries.passes import n_threads

SMALL = 1 << 23  # compared values; with fewer, starting threads costs more than it saves


class NeighborsBase(BaseEstimator):  # type: ignore[misc]
    """Parameters, training rows and search that both estimators share."""

    schema_: Schema
    effective_metric_: str
    n_samples_fit_: int
    n_features_in_: int
    _roles: ColumnRoles
    _rows: EncodedRows
    _index: NeighborIndex
    _row_weights: RowWeights | None

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Weights = "uniform",
        metric: str = "auto",
        p: float = 2,
        scale: str | None = None,
        column_weights: ArrayLike | Mapping[Any, float] | None = None,
        pca: int | float | None = None,
        categorical: Sequence[Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.p = p
        self.scale = scale
        self.column_weights = column_weights
        self.pca = pca
        self.categorical = categorical
        self.n_jobs = n_jobs

    def _validated(self, X: Any) -> View:
        """Check the parameters and the table given to `fit`."""
        self._voting()
        return dense_table(self, X, None)

    def _index_rows(self, table: View, target: Target | None, weights: RowWeights | None) -> Target | None:
        """Learn the distance from the training rows and index those that count; return their classes."""
        check_jobs(self.n_jobs)
        roles = column_roles(table, check_metric(self.metric, self.scale, self.pca), self.categorical)
        distance = check_distance(roles, self.p, self.scale, self.column_weights, self.pca)
        warn_of_objects(table, self.metric, self.categorical)
        rows = roles.encode(table, distance.p)
        if weights is not None:
            rows = rows.take(weights.rows)
            target = None if target is None else observed_target(target, weights.rows)
        self._roles, self._rows, self._row_weights = roles, rows, weights
        self._index = NeighborIndex(learned_space(distance, rows, target, weights), rows)
        self.schema_ = Schema(table.columns)
        self.effective_metric_ = distance.metric
        self.n_samples_fit_ = table.n_rows
        return target

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest training rows of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns), or None
            Query rows. None queries the training rows; no row is then its own neighbor.
        n_neighbors : int, optional
            Number of neighbors; by default that of the estimator.
        return_distance : bool, default True
            Whether to return distances as well.

        Returns
        -------
        distances, indices : ndarray of shape (n_rows, n_neighbors)
            Nearest first. Training rows at equal distances are ordered by index. Only `indices` if `return_distance`
            is False.
        """
        check_is_fitted(self)
        k = whole_at_least("n_neighbors", self.n_neighbors if n_neighbors is None else n_neighbors, 1)
        queries, leave_out = self._queries(X)
        check_enough(k, self._rows.n_rows, queries.n_rows, X is None)
        distances, indices = self._index.nearest(queries, k, leave_out, self._threads(queries))
        indices = self._among_all(indices)
        return (distances, indices) if return_distance else indices

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """Return the nearest training rows of each row as a sparse matrix.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns), or None
            Query rows. None queries the training rows; no row is then its own neighbor.
        n_neighbors : int, optional
            Number of neighbors; by default that of the estimator.
        mode : {"connectivity", "distance"}, default "connectivity"
            Whether the matrix contains 1 for each neighbor, or its distance.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_rows, n_samples_fit_)
            One entry per row and neighbor, nearest first.
        """
        one_of("mode", mode, ("connectivity", "distance"))
        distances, indices = self.kneighbors(X, n_neighbors)
        n_rows, k = indices.shape
        values = np.ones(n_rows * k) if mode == "connectivity" else distances.ravel()
        starts = np.arange(0, n_rows * k + 1, k)
        return sp.csr_matrix((values, indices.ravel(), starts), shape=(n_rows, self.n_samples_fit_))

    def radius_neighbors(self, X: Any = None, radius: float = 1.0, return_distance: bool = True) -> Any:
        """Find all training rows within a radius of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns), or None
            Query rows. None queries the training rows; no row is then its own neighbor.
        radius : float, default 1.0
            Greatest distance; may be infinite.
        return_distance : bool, default True
            Whether to return distances as well.

        Returns
        -------
        distances, indices : ndarray of shape (n_rows,) of arrays
            Nearest first. Only `indices` if `return_distance` is False.
        """
        check_is_fitted(self)
        radius = np.inf if radius == np.inf else at_least_zero("radius", radius)
        queries, leave_out = self._queries(X)
        distances, indices, offsets = self._index.within(queries, radius, leave_out, self._threads(queries))
        by_query = [array_per_query(flat, offsets) for flat in (distances, self._among_all(indices))]
        return tuple(by_query) if return_distance else by_query[1]

    def _neighbors(self, X: Any, voting: VotingParams) -> Neighbors:
        """Find the neighbors that vote and, if there is one, the next: its distance is the bandwidth of a kernel."""
        check_is_fitted(self)
        queries, leave_out = self._queries(X)
        itself = X is None
        check_enough(voting.k, self.n_samples_fit_, queries.n_rows, itself)
        k = voting.k if voting.weights in ("uniform", "distance") else min(voting.k + 1, self.n_samples_fit_ - itself)
        return Neighbors(*self._index.nearest(queries, k, leave_out, self._threads(queries)))

    def _counted(self, X: Any, voting: VotingParams, weights: RowWeights) -> CountedNeighbors:
        """Find the neighbors that vote, if training rows have weights."""
        queries, leave_out = self._queries(X)
        threads = self._threads(queries)

        def search(k: int) -> tuple[Floats, NDArray[Any]]:
            return self._index.nearest(queries, k, leave_out, threads)

        return counted_neighbors(search, weights.values, voting.k, self._rows.n_rows - (X is None))

    def _among_all(self, indices: NDArray[Any]) -> NDArray[Any]:
        """Return indices of indexed rows as indices of the rows passed to `fit`."""
        return indices if self._row_weights is None else self._row_weights.rows[indices]

    def known_levels(self) -> dict[str, Sequence[Level]]:
        """Return the known levels of each categorical column; empty before `fit`."""
        if not hasattr(self, "_roles"):
            return {}
        columns = zip(self._roles.categories, self._roles.levels, strict=True)
        return {self._roles.names[j]: levels for j, levels in columns}

    def _threads(self, queries: EncodedRows) -> int:
        small = queries.n_rows * self.n_samples_fit_ * self.n_features_in_ < SMALL
        return 1 if small else n_threads(self.n_jobs)

    def _queries(self, X: Any) -> tuple[EncodedRows, NDArray[np.intp] | None]:
        """Encode the query rows. If they are the training rows, also return the index that each must not find."""
        if X is None:
            return self._rows, np.arange(self._rows.n_rows)
        table = dense_table(self, X, self.schema_.names)
        return self._roles.encode(table, self._index.space.distance.p), None

    def _voting(self) -> VotingParams:
        return check_voting(self.n_neighbors, self.weights)

    def _open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """Open the fold session that evaluates many settings and splits with one neighbor search."""
        from foldwise.neighbors.session import open_knn

        return open_knn(self, X, y, fit_params)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_index")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.metric in MIXED
        tags.input_tags.categorical = tags.input_tags.sparse = True
        return tags
