"""`KNNClassifier`: the nearest training rows vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.data.target import encode_target
from foldwise.data.validation import validate_table
from foldwise.data.view import View
from foldwise.neighbors.base import NearestRows, Weights
from foldwise.neighbors.parameters import Poll, check_poll
from foldwise.neighbors.votes import Floats, Votes, class_votes


class KNNClassifier(ClassifierMixin, NearestRows):  # type: ignore[misc]
    """k nearest neighbours for tables of mixed columns, with missing cells, from arrays or frames.

    Parameters
    ----------
    n_neighbors : int, default 5
    weights : "uniform", "distance", a kernel, or a function from distances to weights
        The kernels are "triangular", "epanechnikov", "biweight" and "gaussian"; their bandwidth is the distance of the
        first neighbour that has no vote. With "distance", rows at distance 0 have all the votes.
    metric : "auto", "euclidean", "manhattan", "minkowski", "chebyshev", "cosine", "gower", "heom" or "hvdm"
        The last three compare columns of any kind, with missing cells; the others compare numbers. "auto" is Gower's
        where the type of some column is no number, else euclidean.
    p : float, default 2
        Of the Minkowski distance; at least 1.
    scale : None, "standard", "minmax" or "robust"
        Brings columns of numbers to one scale, learned from the training rows; mixed distances have their own.
    ties : "nearest" or "class"
        A tied vote goes to the class whose voters are nearer (by the sum of their distances), or to the first class
        in order, as in scikit-learn.
    laplace : float, default 0
        Votes that every class has beforehand, in `predict_proba`: (k·share + laplace) / (k + laplace·classes).
    column_weights : None, one number a column, or a mapping from columns to numbers
        How much a column counts in the distance; columns not named count 1.
    pca : None, a number of components, or a share of the variance
        Principal components of the scaled columns, between which distances are measured.
    categorical : None or a list of names or places
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
    Neighbours are found exactly. Training rows at the same distance stand in their own order: among rows that tie for
    the last place, the earlier one votes. `predict(None)` is the leave-one-out prediction of the training rows.
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
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.p = p
        self.scale = scale
        self.ties = ties
        self.laplace = laplace
        self.column_weights = column_weights
        self.pca = pca
        self.categorical = categorical
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows of X with labels y, placed so that the nearest are found."""
        self._asked()
        table = validate_table(self, X, None).table
        assert isinstance(table, View)
        target = encode_target(y, table.n_rows)
        self._place(table, target.codes, len(target.classes))
        self.classes_, self._y = target.classes, target.codes
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes; of the training rows, each left out in turn, where X is None."""
        codes = self._votes(X, shares=False).labels[0]
        labels: NDArray[Any] = np.take(self.classes_, codes)
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """The share of each class in the votes, in the order of `classes_`."""
        shares = self._votes(X, shares=True).shares
        assert shares is not None
        smoothed: Floats = with_laplace(shares, [self._asked()])[0]
        return smoothed

    def _votes(self, X: Any, shares: bool) -> Votes:
        check_is_fitted(self)
        poll = self._asked()
        found = self._poll(X, poll)
        return class_votes(found, self._y, len(self.classes_), [poll.k], poll.weights, poll.ties, shares)

    def _asked(self) -> Poll:
        return check_poll(self.n_neighbors, self.weights, self.ties, self.laplace)

    def open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """The fold session that answers many settings and splits of this estimator from one search."""
        from foldwise.neighbors.session import open_knn

        return open_knn(self, X, y, fit_params)


def with_laplace(shares: Floats, polls: Sequence[Poll]) -> Floats:  # (polls, queries, classes)
    """Shares after every class has had its votes beforehand."""
    if not any(poll.laplace for poll in polls):
        return shares
    k = np.array([poll.k for poll in polls], dtype=np.float64)[:, None, None]
    laplace = np.array([poll.laplace for poll in polls])[:, None, None]
    return np.asarray((k * shares + laplace) / (k + laplace * shares.shape[2]))
