"""`DensityClusters`: dense regions of any shape, by HDBSCAN. Rows between them belong to no cluster."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import HDBSCAN
from sklearn.neighbors import KDTree
from sklearn.utils.validation import check_is_fitted, validate_data

from foldwise.data.arguments import whole_at_least

UNASSIGNED = -1
REACH = 0.95  # quantile of the distances within a cluster up to which a new row belongs to it


class DensityClusters(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster rows by density with scikit-learn's HDBSCAN, and assign new rows to the clusters found.

    Rows in sparse regions get the label -1. So do new rows that are far from every cluster: farther from the nearest
    clustered row than 95% of the rows of its cluster are from their own nearest neighbor.

    Parameters
    ----------
    min_cluster_size : int or None
        Smallest number of rows in a cluster. None means 2% of the rows, but at least 10 and at most 200.
    min_samples : int or None
        Number of neighbors, the row itself included, that define the density around a row. None means
        `min_cluster_size`, but at most 10.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row, from 0, or -1.
    probabilities_ : ndarray of shape (n_rows,)
        How strongly each row belongs to its cluster, between 0 and 1.
    n_clusters_ : int
        Number of clusters. It may be 0.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from foldwise.clusters import DensityClusters
    >>> X, _ = make_blobs(300, centers=[[0, 0], [10, 10]], random_state=0)
    >>> found = DensityClusters().fit(X)
    >>> found.n_clusters_
    2
    >>> found.predict([[5.0, 5.0]]).tolist()
    [-1]
    """

    labels_: NDArray[np.intp]
    probabilities_: NDArray[np.float64]
    n_clusters_: int

    def __init__(self, min_cluster_size: int | None = None, *, min_samples: int | None = None) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
            Numbers without missing values, on comparable scales.
        y : object, optional
            Ignored.

        Returns
        -------
        DensityClusters
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        given = self.min_cluster_size
        size = int(np.clip(0.02 * len(X), 10, 200)) if given is None else whole_at_least("min_cluster_size", given, 2)
        near = min(size, 10) if self.min_samples is None else whole_at_least("min_samples", self.min_samples, 1)
        size, near = min(size, len(X)), min(near, len(X))
        found = HDBSCAN(min_cluster_size=max(2, size), min_samples=near, copy=True).fit(X)
        self.labels_ = found.labels_.astype(np.intp)
        self.probabilities_ = np.nan_to_num(found.probabilities_)
        self.n_clusters_ = int(self.labels_.max() + 1)
        self._rows, self._row_labels = X[self.labels_ >= 0], self.labels_[self.labels_ >= 0]
        self._reach = np.zeros(self.n_clusters_)
        for label in range(self.n_clusters_):
            rows = X[self.labels_ == label]
            self._reach[label] = np.quantile(KDTree(rows).query(rows, k=2)[0][:, 1], REACH)
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Assign rows to the cluster of the nearest clustered row, or to none.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
            Rows with the columns that the estimator was fitted on.

        Returns
        -------
        ndarray of shape (n_rows,)
            Cluster of each row, or -1.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if not self.n_clusters_:
            return np.full(len(X), UNASSIGNED, dtype=np.intp)
        distances, nearest = KDTree(self._rows).query(X, k=1)
        labels = self._row_labels[nearest[:, 0]]
        return np.where(distances[:, 0] <= self._reach[labels], labels, UNASSIGNED)
