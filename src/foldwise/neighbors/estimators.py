"""`KNNClassifier` and `KNNRegressor`: predict by a vote, or by the mean, of the nearest training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.data.target import encode_target, number_target
from foldwise.errors import InputError
from foldwise.neighbors.fitted_neighbors import NeighborsBase
from foldwise.neighbors.parameters import (
    VotingParams,
    check_voting,
)
from foldwise.neighbors.row_weights import (
    RowWeights,
    weighted_means,
    weighted_votes,
)
from foldwise.neighbors.votes import Votes, Weights, class_votes, mean_values, with_laplace


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
