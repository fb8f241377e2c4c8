"""`KMeans`: k-means with scikit-learn's interface and results, but faster, and optionally with missing cells."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.clusters.assignment import ClusterLabels
from foldwise.clusters.lloyd import LloydRun, nearest, rows_of, run_lloyd_on_threads
from foldwise.clusters.partial import nearest_partial, partial_distances, run_partial
from foldwise.clusters.seeding import blocks_of, draw_seeds, n_trials
from foldwise.clusters.tables import numbers_of
from foldwise.data.arguments import at_least_zero, check_jobs, one_of, whole_at_least
from foldwise.data.target import check_weights
from foldwise.errors import FoldwiseWarning, InputError
from foldwise.summaries.passes import n_threads

SMALL = 1 << 18  # cells; with fewer, starting threads costs more than it saves


def has_gaps(X: Floats) -> bool:
    """Whether a cell is missing. Infinite cells were refused before, so a sum shows it."""
    return bool(np.isnan(X.sum()))


def column_means(X: Floats) -> Floats:  # (d,)
    """Return the means of the cells that are present."""
    return np.asarray(np.nanmean(X, axis=0) if has_gaps(X) else X.mean(axis=0))


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Group rows around k centers so that the squared distances to the centers are small.

    From the same first centers, it converges to the same centers and labels as scikit-learn's `KMeans`. Bounds on the
    distances save most of the work.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_columns), default "k-means++"
        How to choose the first centers: by greedy k-means++, at random among the rows, or the centers themselves.
    n_init : int or "auto", default "auto"
        Number of runs with different first centers; the run with the smallest inertia is kept. "auto" means 10 runs for
        init="random" and 1 run otherwise.
    max_iter : int, default 300
        Maximum number of iterations of one run.
    tol : float, default 1e-4
        A run stops when the centers move by at most this share of the mean variance of the columns.
    missing : {"refuse", "partial"}, default "refuse"
        What to do with missing cells (NaN): raise an error, or compare only the cells of a row that are present.
    random_state : int, RandomState or None, default None
        Seed of the first centers.
    n_jobs : int or None, default None
        Number of threads; None uses all cores.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_columns)
        The centers.
    labels_ : ndarray of shape (n_rows,)
        Cluster of each training row.
    inertia_ : float
        Weighted sum of the squared distances of the training rows to their centers.
    n_iter_ : int
        Number of iterations of the run that was kept.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray
        Names of the columns seen during `fit`. Defined only if X has column names that are all strings.

    Notes
    -----
    With missing cells, the squared distance of a row to a center is the sum over its present cells times the number of
    columns divided by the number of present cells. Each row needs at least one present cell.

    References
    ----------
    Hamerly (2010), Making k-means even faster, SDM. Arthur and Vassilvitskii (2007), k-means++, SODA.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.clusters import KMeans
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = KMeans(2, random_state=0).fit(X)
    >>> model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])].tolist()
    [[1.0, 2.0], [10.0, 2.0]]
    >>> bool(model.predict([[0, 0]])[0] == model.labels_[0])
    True
    """

    cluster_centers_: Floats
    labels_: ClusterLabels
    inertia_: float
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str | ArrayLike = "k-means++",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        missing: str = "refuse",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centers.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Training rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row. Default: every row counts once.

        Returns
        -------
        KMeans
            The fitted estimator itself.
        """
        self._check_parameters()
        X = numbers_of(self, X, reset=True, missing=self.missing)
        given = check_weights(sample_weight, len(X))
        w = np.ones(len(X)) if given is None else given
        if not w.any():
            raise InputError(
                "At least one weight must be above 0, but sample_weight contains only zeros.", "leave it out."
            )
        if len(X) < self.n_clusters:
            raise InputError(
                f"X must have at least as many rows as clusters, got n_samples={len(X)} and n_clusters="
                f"{self.n_clusters}.",
                "choose fewer clusters.",
            )
        shift = column_means(X)  # differences to the mean keep squared distances from canceling
        x = X - shift
        tol = self.tol * float(np.nanmean(np.nanvar(x, axis=0))) if self.tol else 0.0
        starts = self._draw_starts(x, w) if isinstance(self.init, str) else [self._given_centers(x.shape[1]) - shift]
        best = min((self._run(x, w, start, tol) for start in starts), key=lambda run: run.inertia)
        self.cluster_centers_ = best.centers + shift
        self.labels_, self.inertia_, self.n_iter_ = best.labels, best.inertia, best.n_iter
        self._n_features_out = self.n_clusters
        if (found := len(np.unique(best.labels))) < self.n_clusters:
            text = f"Only {found} distinct clusters were found for n_clusters={self.n_clusters}. X may have duplicates."
            warnings.warn(text, FoldwiseWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the nearest center of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Rows to assign.

        Returns
        -------
        ndarray of shape (n_rows,)
            Index of the cluster of each row.
        """
        return self._assign(self._cells(X), None)[0]

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Find the centers and return the cluster of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Training rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row. Default: every row counts once.

        Returns
        -------
        ndarray of shape (n_rows,)
            Index of the cluster of each row.
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the distance of each row to each center.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            The distances.
        """
        x = self._cells(X)
        if has_gaps(x):
            return np.asarray(partial_distances(x, self.cluster_centers_))
        return np.asarray(euclidean_distances(x, self.cluster_centers_))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the negative inertia of the rows.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row. Default: every row counts once.

        Returns
        -------
        float
            Minus the weighted sum of the squared distances to the nearest centers.
        """
        x = self._cells(X)
        return -self._assign(x, check_weights(sample_weight, len(x)))[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "partial"
        return tags

    def _check_parameters(self) -> None:
        whole_at_least("n_clusters", self.n_clusters, 1)
        whole_at_least("max_iter", self.max_iter, 1)
        at_least_zero("tol", self.tol)
        one_of("missing", self.missing, ("refuse", "partial"))
        check_jobs(self.n_jobs)
        if isinstance(self.init, str):
            one_of("init", self.init, ("k-means++", "random"))
        if self.n_init != "auto":
            whole_at_least("n_init", self.n_init, 1)

    def _cells(self, X: Any) -> Floats:
        check_is_fitted(self)
        return numbers_of(self, X, reset=False, missing=self.missing)

    def _threads(self, n_cells: int) -> int:
        return 1 if n_cells < SMALL else n_threads(self.n_jobs)

    def _given_centers(self, n_columns: int) -> Floats:
        centers = np.array(self.init, dtype=np.float64)
        if centers.shape != (self.n_clusters, n_columns) or not np.isfinite(centers).all():
            raise InputError(
                f"init must be an array of finite numbers of shape ({self.n_clusters}, {n_columns}), got shape "
                f"{centers.shape}.",
                "pass one center per cluster, or 'k-means++'.",
            )
        return centers

    def _draw_starts(self, x: Floats, w: Floats) -> list[Floats]:
        """Draw the first centers of every run; missing cells of a seed are set to the column means, which are 0."""
        random = check_random_state(self.random_state)
        n_init = self.n_init if self.n_init != "auto" else 10 if self.init == "random" else 1
        filled = np.nan_to_num(x) if has_gaps(x) else x
        if self.init == "random":
            chances = w / w.sum()
            return [
                filled[random.choice(len(x), self.n_clusters, replace=np.sum(w > 0) < self.n_clusters, p=chances)]
                for _ in range(n_init)
            ]
        blocks, kept = blocks_of(filled), np.empty((0, len(x)))
        shape = self.n_clusters, n_trials(self.n_clusters)
        return [filled[draw_seeds(filled, w, blocks, random.random_sample(shape), kept)] for _ in range(n_init)]

    def _run(self, x: Floats, w: Floats, start: Floats, tol: float) -> LloydRun:
        if has_gaps(x):
            labels = np.empty(len(x), dtype=np.int32)
            centers, inertia, n_iter = run_partial(x, w, start, self.max_iter, tol, labels)
            return LloydRun(centers, labels, inertia, n_iter)
        return run_lloyd_on_threads(rows_of(x, w), start, self.max_iter, tol, self._threads(x.size))

    def _assign(self, x: Floats, weights: Floats | None) -> tuple[ClusterLabels, float]:
        """Return the labels and the inertia of rows."""
        shift = self.cluster_centers_.mean(axis=0)
        x, centers = x - shift, self.cluster_centers_ - shift
        w = np.ones(len(x)) if weights is None else weights
        if has_gaps(x):
            labels = np.empty(len(x), dtype=np.int32)
            return labels, float(nearest_partial(x, w, centers, labels, np.empty(len(x))))
        labels = nearest(rows_of(x, w), centers, self._threads(x.size))
        return labels, float(w @ ((x - centers[labels]) ** 2).sum(axis=1))
