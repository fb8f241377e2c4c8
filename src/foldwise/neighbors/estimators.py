"""`KNNClassifier` and `KNNRegressor`: the nearest training rows vote, or their values are averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.data.arguments import at_least_zero, check_jobs
from foldwise.data.schema import Level, Schema
from foldwise.data.target import encode_target, number_target
from foldwise.data.validation import validate_table
from foldwise.data.view import View
from foldwise.errors import InputError
from foldwise.neighbors.distance import MIXED
from foldwise.neighbors.encoding import ColumnRoles, EncodedRows, column_roles
from foldwise.neighbors.parameters import (
    VotingParams,
    check_count,
    check_distance,
    check_enough,
    check_metric,
    check_voting,
)
from foldwise.neighbors.search import NeighborIndex
from foldwise.neighbors.space import learn_space
from foldwise.neighbors.votes import Floats, Neighbors, Votes, Weights, class_votes, mean_values, with_laplace
from foldwise.summaries.passes import n_threads

SMALL = 1 << 23  # cells compared; below, starting a thread costs more than it saves


class NeighborsBase(BaseEstimator):  # type: ignore[misc]
    """The parameters, the training rows and the search that both estimators share."""

    schema_: Schema
    effective_metric_: str
    n_samples_fit_: int
    n_features_in_: int
    _roles: ColumnRoles
    _rows: EncodedRows
    _index: NeighborIndex

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
        """The table given to `fit`, after the parameters were checked."""
        self._voting()
        table = validate_table(self, X, None).table
        assert isinstance(table, View)
        return table

    def _index_rows(self, table: View, y: NDArray[np.int64] | None, n_classes: int) -> None:
        """Learn the space from the training rows and index them in it."""
        check_jobs(self.n_jobs)
        roles = column_roles(table, check_metric(self.metric, self.scale, self.pca), self.categorical)
        distance = check_distance(roles, self.p, self.scale, self.column_weights, self.pca)
        rows = roles.encode(table, distance.p)
        self._roles, self._rows = roles, rows
        self._index = NeighborIndex(learn_space(distance, rows, y, n_classes), rows)
        self.schema_ = Schema(table.columns)
        self.effective_metric_ = distance.metric
        self.n_samples_fit_ = rows.n_rows

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest training rows: distances and indices, both (rows, n_neighbors), nearest first.

        Rows at the same distance come in the order of the training rows. Without X the queries are the training rows
        themselves, and no row is its own neighbor.
        """
        check_is_fitted(self)
        k = check_count("n_neighbors", self.n_neighbors if n_neighbors is None else n_neighbors)
        queries, leave_out = self._queries(X)
        check_enough(k, self.n_samples_fit_, queries.n_rows, X is None)
        distances, indices = self._index.nearest(queries, k, leave_out, self._threads(queries))
        return (distances, indices) if return_distance else indices

    def radius_neighbors(self, X: Any = None, radius: float = 1.0, return_distance: bool = True) -> Any:
        """Find the training rows within a radius: distances and indices, each an array of arrays, nearest first."""
        check_is_fitted(self)
        radius = np.inf if radius == np.inf else at_least_zero("radius", radius)
        queries, leave_out = self._queries(X)
        distances, indices, offsets = self._index.within(queries, radius, leave_out, self._threads(queries))
        by_query = [array_per_query(flat, offsets) for flat in (distances, indices)]
        return tuple(by_query) if return_distance else by_query[1]

    def _neighbors(self, X: Any, voting: VotingParams) -> Neighbors:
        """The neighbors that vote, and one more where there is one: it sets the bandwidth of a kernel."""
        check_is_fitted(self)
        queries, leave_out = self._queries(X)
        itself = X is None
        check_enough(voting.k, self.n_samples_fit_, queries.n_rows, itself)
        k = voting.k if voting.weights in ("uniform", "distance") else min(voting.k + 1, self.n_samples_fit_ - itself)
        return Neighbors(*self._index.nearest(queries, k, leave_out, self._threads(queries)))

    def known_levels(self) -> dict[str, Sequence[Level]]:
        """The levels of each column of categories; empty before the fit."""
        if not hasattr(self, "_roles"):
            return {}
        columns = zip(self._roles.categories, self._roles.levels, strict=True)
        return {self._roles.names[j]: levels for j, levels in columns}

    def _threads(self, queries: EncodedRows) -> int:
        small = queries.n_rows * self.n_samples_fit_ * self.n_features_in_ < SMALL
        return 1 if small else n_threads(self.n_jobs)

    def _queries(self, X: Any) -> tuple[EncodedRows, NDArray[np.intp] | None]:
        """The encoded queries; for the training rows themselves, also the index that each must not find."""
        if X is None:
            return self._rows, np.arange(self.n_samples_fit_)
        table = validate_table(self, X, self.schema_.names).table
        assert isinstance(table, View)
        return self._roles.encode(table, self._index.space.distance.p), None

    def _voting(self) -> VotingParams:
        return check_voting(self.n_neighbors, self.weights)

    def _open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """Open the fold session that answers many settings and splits of this estimator from one search."""
        from foldwise.neighbors.session import open_knn

        return open_knn(self, X, y, fit_params)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_index")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.metric in MIXED
        tags.input_tags.categorical = True
        return tags


class KNNClassifier(ClassifierMixin, NeighborsBase):  # type: ignore[misc]
    """k nearest neighbors for tables of mixed columns, with missing values, from arrays or frames.

    Parameters
    ----------
    n_neighbors : int, default 5
    weights : "uniform", "distance", a kernel, or a function from distances to weights
        The kernels are "triangular", "epanechnikov", "biweight" and "gaussian"; their bandwidth is the distance of the
        first neighbor that has no vote. With "distance", rows at distance 0 have all the votes.
    metric : "auto", "euclidean", "manhattan", "minkowski", "chebyshev", "cosine", "gower", "heom" or "hvdm"
        The last three compare columns of any kind, with missing values; the others compare numbers. "auto" is Gower's
        distance if the type of some column is not numeric, otherwise the euclidean distance.
    p : float, default 2
        Power of the Minkowski distance; at least 1.
    scale : None, "standard", "minmax" or "robust"
        Scaling of numeric columns, learned from the training rows; mixed distances have their own.
    ties : "nearest" or "class"
        A tied vote goes to the class whose voters are nearer (by the sum of their distances), or to the first class
        in order, as in scikit-learn.
    laplace : float, default 0
        Pseudo-votes per class in `predict_proba`: (k·share + laplace) / (k + laplace·classes).
    column_weights : None, one number per column, or a mapping from columns to numbers
        How much a column counts in the distance; columns not named count 1.
    pca : None, a number of components, or a share of the variance
        Distances are measured between principal components of the scaled columns.
    categorical : None or a list of names or indices
        Columns of numbers that stand for categories.
    n_jobs : int or None
        Threads; None uses all cores.

    Attributes
    ----------
    classes_ : the classes, sorted
    schema_ : the columns as they were at `fit`
    effective_metric_ : the distance in use
    n_samples_fit_, n_features_in_, feature_names_in_ : as in scikit-learn

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
    The search is exact. Training rows at the same distance are ordered by their index: among rows that tie for the
    k-th neighbor, the earlier one votes. `predict(None)` is the leave-one-out prediction of the training rows.
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

    def fit(self, X: Any, y: Any) -> Self:
        """Index the rows of X with labels y."""
        table = self._validated(X)
        target = encode_target(y, table.n_rows)
        self._index_rows(table, target.codes, len(target.classes))
        self.classes_, self._y = target.classes, target.codes
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the most votes; with X=None, each training row by the others."""
        codes = self._votes(X, shares=False).labels[0]
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> Floats:
        """Predict the share of each class in the votes, in the order of `classes_`."""
        shares = self._votes(X, shares=True).shares
        assert shares is not None
        voting = self._voting()
        return np.asarray(with_laplace(shares, [voting.k], [voting.laplace])[0])

    def _votes(self, X: Any, shares: bool) -> Votes:
        check_is_fitted(self)
        voting = self._voting()
        found = self._neighbors(X, voting)
        return class_votes(found, self._y, len(self.classes_), [voting.k], voting.weights, voting.ties, shares)

    def _voting(self) -> VotingParams:
        return check_voting(self.n_neighbors, self.weights, self.ties, self.laplace)

    open_folds = NeighborsBase._open_folds  # not inherited: a subclass may predict differently


class KNNRegressor(RegressorMixin, NeighborsBase):  # type: ignore[misc]
    """The (weighted) mean of the nearest rows of a table of mixed columns, with missing values.

    Parameters are those of `KNNClassifier`, except `ties` and `laplace`, which concern votes only. The distance "hvdm"
    learns from classes, so it is not available for regression.

    Examples
    --------
    >>> from foldwise import KNNRegressor
    >>> KNNRegressor(n_neighbors=2).fit([[0.0], [1.0], [5.0]], [1.0, 3.0, 9.0]).predict([[0.2]])
    array([2.])
    """

    _y: NDArray[np.float64]

    def fit(self, X: Any, y: Any) -> Self:
        """Index the rows of X with values y."""
        if self.metric == "hvdm":
            raise InputError(
                "metric='hvdm' learns from classes, and a regression has none.", "metric='heom' or 'gower' needs none."
            )
        table = self._validated(X)
        values = number_target(y, table.n_rows)
        self._index_rows(table, None, 0)
        self._y = values
        return self

    def predict(self, X: Any) -> Floats:
        """Predict the mean of the neighbors; with X=None, each training row by the others."""
        check_is_fitted(self)
        voting = self._voting()
        return np.asarray(mean_values(self._neighbors(X, voting), self._y, [voting.k], voting.weights)[0])

    open_folds = NeighborsBase._open_folds


def array_per_query(flat: NDArray[Any], offsets: NDArray[np.intp]) -> NDArray[Any]:
    """An array with one array per query, as scikit-learn returns results of different lengths."""
    found = np.empty(len(offsets) - 1, dtype=object)
    for i in range(len(found)):
        found[i] = flat[offsets[i] : offsets[i + 1]]
    return found
