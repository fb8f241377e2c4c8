"""`KNNClassifier` and `KNNRegressor`: predict by a vote, or by the mean, of the nearest training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.data.arguments import at_least_zero, check_jobs, one_of, whole_at_least
from foldwise.data.schema import Level, Schema
from foldwise.data.target import Target, encode_target, number_target
from foldwise.data.view import View
from foldwise.errors import InputError
from foldwise.neighbors.distance import MIXED
from foldwise.neighbors.encoding import ColumnRoles, EncodedRows, column_roles, dense_table
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
    weighted_means,
    weighted_votes,
)
from foldwise.neighbors.search import NeighborIndex, array_per_query
from foldwise.neighbors.votes import Floats, Neighbors, Votes, Weights, class_votes, mean_values, with_laplace
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


class KNNClassifier(ClassifierMixin, NeighborsBase):  # type: ignore[misc]
    """Classify by a vote of the k nearest training rows.

    Columns may be numeric or categorical, with missing values, in an array or a data frame.

    Parameters
    ----------
    n_neighbors : int, default 5
        Number of neighbors.
    weights : str or callable, default "uniform"
        Weights of the neighbors: "uniform", "distance" (1/d; rows at distance 0 decide alone), a kernel
        ("triangular", "epanechnikov", "biweight" or "gaussian"), or a function from distances to weights. The
        bandwidth of a kernel is the distance of neighbor k + 1.
    metric : str, default "auto"
        "euclidean", "manhattan", "minkowski", "chebyshev" or "cosine" for numeric columns without missing values;
        "gower", "heom" or "hvdm" for columns of any kind, with missing values. "auto" is "gower" if any column is
        not numeric, and "euclidean" otherwise.
    p : float, default 2
        Power of the Minkowski distance; at least 1.
    scale : {None, "standard", "minmax", "robust"}, default None
        Scaling of numeric columns, learned from the training rows. "gower", "heom" and "hvdm" have their own scaling.
    ties : {"nearest", "class"}, default "nearest"
        Winner of a tied vote: the class whose voters are nearer (smaller sum of distances), or the first class in
        sorted order, as in scikit-learn.
    laplace : float, default 0.0
        Pseudo-votes added to each class in `predict_proba`: (k·share + laplace) / (k + laplace·n_classes).
    column_weights : array-like or mapping, optional
        Weights of the columns in the distance: one number per column, or a mapping from columns to numbers. Columns
        that the mapping does not name have weight 1.
    pca : int or float, optional
        Compute distances between principal components of the scaled columns: a number of components, or the share of
        the variance they must explain.
    categorical : list of str or int, optional
        Names or indices of numeric columns whose values are category codes.
    n_jobs : int, optional
        Number of threads. None uses all cores on large tables.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, sorted.
    schema_ : Schema
        The columns seen during `fit`.
    effective_metric_ : str
        The distance in use.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray
        Names of the columns seen during `fit`. Defined only if X has column names that are all strings.

    Examples
    --------
    >>> import polars as pl
    >>> from foldwise import KNNClassifier
    >>> X = pl.DataFrame({"outlook": ["sunny", "rainy", None, "rainy"], "humidity": [85.0, 70.0, 90.0, None]})
    >>> model = KNNClassifier(n_neighbors=1).fit(X, ["no", "yes", "no", "yes"])
    >>> model.predict(pl.DataFrame({"outlook": ["snow"], "humidity": [88.0]}))
    array(['no'], dtype='<U3')

    Notes
    -----
    The search is exact. If several training rows tie for the k-th neighbor, the one with the lowest index votes.
    `predict(None)` returns leave-one-out predictions of the training rows. The formulas of the distances are in
    `foldwise.neighbors.distance`.
    """

    classes_: NDArray[Any]
    _y: NDArray[np.int64]

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Weights = "uniform",
        metric: str = "auto",
        p: float = 2,
        scale: str | None = None,
        ties: str = "nearest",
        laplace: float = 0.0,
        column_weights: ArrayLike | Mapping[Any, float] | None = None,
        pca: int | float | None = None,
        categorical: Sequence[Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        columns: dict[str, Any] = {"column_weights": column_weights, "pca": pca, "categorical": categorical}
        super().__init__(n_neighbors, weights=weights, metric=metric, p=p, scale=scale, n_jobs=n_jobs, **columns)
        self.ties = ties
        self.laplace = laplace

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Index the training rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_columns)
            Training rows. A sparse matrix is stored as a dense one.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows: a row of weight 2 counts as two neighbors, and a row of weight 0 as none.

        Returns
        -------
        KNNClassifier
            The fitted estimator itself.
        """
        table = self._validated(X)
        given = encode_target(y, table.n_rows)
        target = self._index_rows(table, given, RowWeights.of(sample_weight, table.n_rows))
        assert target is not None
        self.classes_, self._y = target.classes, target.codes
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns), or None
            Rows to predict. None predicts each training row from all other training rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted labels.
        """
        codes = self._votes(X, shares=False).labels[0]
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> Floats:
        """Predict the share of the votes of each class.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns), or None
            Rows to predict. None predicts each training row from all other training rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, with one column per class in the order of `classes_`.
        """
        shares = self._votes(X, shares=True).shares
        assert shares is not None
        voting = self._voting()
        return np.asarray(with_laplace(shares, [voting.k], [voting.laplace])[0])

    def _votes(self, X: Any, shares: bool) -> Votes:
        check_is_fitted(self)
        voting = self._voting()
        if self._row_weights is not None:
            labels, parts = weighted_votes(
                self._counted(X, voting, self._row_weights), self._y, len(self.classes_), voting
            )
            return Votes(labels[None], parts[None])
        found = self._neighbors(X, voting)
        return class_votes(found, self._y, len(self.classes_), [voting.k], voting.weights, voting.ties, shares)

    def _voting(self) -> VotingParams:
        return check_voting(self.n_neighbors, self.weights, self.ties, self.laplace)

    open_folds = NeighborsBase._open_folds  # not inherited: a subclass may predict differently


class KNNRegressor(RegressorMixin, NeighborsBase):  # type: ignore[misc]
    """Predict the (weighted) mean target of the k nearest training rows.

    Columns may be numeric or categorical, with missing values, in an array or a data frame.

    Parameters
    ----------
    n_neighbors : int, default 5
        Number of neighbors.
    weights : str or callable, default "uniform"
        Weights of the neighbors: "uniform", "distance" (1/d; rows at distance 0 decide alone), a kernel
        ("triangular", "epanechnikov", "biweight" or "gaussian"), or a function from distances to weights. The
        bandwidth of a kernel is the distance of neighbor k + 1.
    metric : str, default "auto"
        "euclidean", "manhattan", "minkowski", "chebyshev" or "cosine" for numeric columns without missing values;
        "gower" or "heom" for columns of any kind, with missing values. "auto" is "gower" if any column is
        not numeric, and "euclidean" otherwise.
    p : float, default 2
        Power of the Minkowski distance; at least 1.
    scale : {None, "standard", "minmax", "robust"}, default None
        Scaling of numeric columns, learned from the training rows. "gower" and "heom" have their own scaling.
    column_weights : array-like or mapping, optional
        Weights of the columns in the distance: one number per column, or a mapping from columns to numbers. Columns
        that the mapping does not name have weight 1.
    pca : int or float, optional
        Compute distances between principal components of the scaled columns: a number of components, or the share of
        the variance they must explain.
    categorical : list of str or int, optional
        Names or indices of numeric columns whose values are category codes.
    n_jobs : int, optional
        Number of threads. None uses all cores on large tables.

    Attributes
    ----------
    schema_ : Schema
        The columns seen during `fit`.
    effective_metric_ : str
        The distance in use.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray
        Names of the columns seen during `fit`. Defined only if X has column names that are all strings.

    Examples
    --------
    >>> from foldwise import KNNRegressor
    >>> KNNRegressor(n_neighbors=2).fit([[0.0], [1.0], [5.0]], [1.0, 3.0, 9.0]).predict([[0.2]])
    array([2.])
    """

    _y: NDArray[np.float64]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Index the training rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_columns)
            Training rows. A sparse matrix is stored as a dense one.
        y : array-like of shape (n_rows,)
            Target values.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows: a row of weight 2 counts as two neighbors, and a row of weight 0 as none.

        Returns
        -------
        KNNRegressor
            The fitted estimator itself.
        """
        if self.metric == "hvdm":
            raise InputError(
                "metric='hvdm' learns from classes, so it is not available for regression.",
                "use metric='heom' or 'gower'.",
            )
        table = self._validated(X)
        values = number_target(y, table.n_rows)
        weights = RowWeights.of(sample_weight, table.n_rows)
        self._index_rows(table, None, weights)
        self._y = values if weights is None else values[weights.rows]
        return self

    def predict(self, X: Any) -> Floats:
        """Predict the (weighted) mean target of the neighbors.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns), or None
            Rows to predict. None predicts each training row from all other training rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted values.
        """
        check_is_fitted(self)
        voting = self._voting()
        if self._row_weights is not None:
            return weighted_means(self._counted(X, voting, self._row_weights), self._y, voting.weights)
        return np.asarray(mean_values(self._neighbors(X, voting), self._y, [voting.k], voting.weights)[0])

    open_folds = NeighborsBase._open_folds
