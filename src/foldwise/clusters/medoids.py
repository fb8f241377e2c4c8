"""`KMedoids`: groups around real rows, for tables with numbers, categories and missing cells.

FasterPAM (Schubert & Rousseeuw 2021, package `kmedoids`) needs all distances at once. Above `max_rows` rows, CLARA
(Kaufman & Rousseeuw 1990) finds the medoids of some samples and keeps those that are best for all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from foldwise.data.arguments import whole_at_least
from foldwise.data.schema import Schema
from foldwise.data.validation import validate_table
from foldwise.data.view import View
from foldwise.errors import FoldwiseError, InputError
from foldwise.neighbors.encoding import ColumnRoles, EncodedRows, column_roles, warn_of_objects
from foldwise.neighbors.parameters import check_distance, check_metric
from foldwise.neighbors.search import NeighborIndex
from foldwise.neighbors.space import MetricSpace, learn_space

SAMPLE_ROWS = 2_000  # of a sample of CLARA, unless ten per medoid are more


class MedoidsError(FoldwiseError, ImportError):
    """The library `kmedoids` is not installed."""


class KMedoids(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Cluster rows around k medoids, which are rows themselves, so that the distances to the nearest medoid are small.

    Any table can be clustered: Gower's distance compares numbers and categories, and skips missing cells. The
    search for medoids needs `pip install 'foldwise[clusters]'`.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    metric : str
        Distance, as in `KNNClassifier`. "auto" is Gower's distance if there are categories or missing cells, and the
        Euclidean distance otherwise.
    categorical : list of str or int, optional
        Numeric columns whose values are codes of categories.
    max_rows : int
        Number of rows up to which all pairwise distances are computed, at 4 bytes per distance. For more rows, medoids
        are found from samples.
    n_samples : int
        Number of samples in that case.
    random_state : int, RandomState or None
        Seed of the first medoids and of the samples.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        Cluster of each row, from 0.
    medoid_indices_ : ndarray of shape (n_clusters,)
        Index of the row in the middle of each cluster.
    inertia_ : float
        Sum of the distances of all rows to the medoid of their cluster.
    sampled_ : bool
        Whether medoids were found from samples.
    effective_metric_ : str
        The distance that was used.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import polars as pl
    >>> from foldwise.clusters import KMedoids
    >>> cells = {"size": [1.0, 1.2, None, 8.0, 9.0], "color": ["red", "red", "red", "blue", None]}
    >>> fruit = pl.DataFrame(cells)
    >>> medoids = KMedoids(2, random_state=0).fit(fruit)
    >>> medoids.labels_.tolist()
    [0, 0, 0, 1, 1]
    >>> fruit[medoids.medoid_indices_.tolist()]["color"].to_list()
    ['red', 'blue']
    """

    schema_: Schema
    labels_: NDArray[np.intp]
    medoid_indices_: NDArray[np.intp]
    _roles: ColumnRoles
    _index: NeighborIndex  # of the medoids

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "auto",
        categorical: Sequence[Any] | None = None,
        max_rows: int = 20_000,
        n_samples: int = 5,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.categorical = categorical
        self.max_rows = max_rows
        self.n_samples = n_samples
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the medoids.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            The rows.
        y : object, optional
            Ignored.

        Returns
        -------
        KMedoids
            The fitted estimator.
        """
        k = whole_at_least("n_clusters", self.n_clusters, 1)
        most, n_samples = whole_at_least("max_rows", self.max_rows, 2), whole_at_least("n_samples", self.n_samples, 1)
        table = validate_table(self, X, None).table
        assert isinstance(table, View)
        if k > table.n_rows:
            raise InputError(f"n_clusters must be at most the number of rows, {table.n_rows}, got {k}.")
        metric = check_metric(self.metric)
        self._roles = column_roles(table, metric, self.categorical)
        if self.metric == "auto" and self._roles.metric == "euclidean" and has_missing(table):
            self._roles = column_roles(table, "gower", self.categorical)
        distance = check_distance(self._roles, 2.0, None, None, None)
        warn_of_objects(table, self.metric, self.categorical)
        rows = self._roles.encode(table)
        space = learn_space(distance, rows)
        random = check_random_state(self.random_state)
        self.sampled_ = table.n_rows > most
        if self.sampled_:
            medoids = medoids_of_samples(space, rows, k, n_samples, most, random)
        else:
            medoids = medoids_of(space, rows, k, random)
        self._index = NeighborIndex(space, rows.take(medoids))
        distances, nearest = self._index.nearest(rows, 1)
        self.schema_, self.effective_metric_ = Schema(table.columns), self._roles.metric
        self.medoid_indices_, self.labels_ = medoids, nearest[:, 0]
        self.inertia_ = float(distances.sum())
        return self

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Find the nearest medoid of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Rows with the columns that the estimator was fitted on.

        Returns
        -------
        ndarray of shape (n_rows,)
            Cluster of each row.
        """
        check_is_fitted(self)
        table = validate_table(self, X, self.schema_.names).table
        assert isinstance(table, View)
        return self._index.nearest(self._roles.encode(table), 1)[1][:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def has_missing(table: View) -> bool:
    """Whether a numeric column has a missing cell."""
    numbers = table.numbers(tuple(range(len(table.columns)))).chunk(0, table.n_rows).rows
    return bool(np.isnan(numbers).any())


def medoids_of(space: MetricSpace, rows: EncodedRows, k: int, random: Any) -> NDArray[np.intp]:
    """The medoids of some rows by FasterPAM."""
    if k == rows.n_rows:
        return np.arange(k)
    distances = NeighborIndex(space, rows).distances(rows, np.float32)
    found = library().fasterpam(distances, k, random_state=int(random.randint(2**31)), n_cpu=1)
    return np.sort(np.asarray(found.medoids, dtype=np.intp))


def medoids_of_samples(
    space: MetricSpace, rows: EncodedRows, k: int, n_samples: int, most: int, random: Any
) -> NDArray[np.intp]:
    """The medoids of several samples that have the least sum of distances to all rows (CLARA)."""
    size = min(most, max(SAMPLE_ROWS, 10 * k))
    best, least = np.arange(k), np.inf
    for number in range(n_samples):
        sample = random.choice(rows.n_rows, size, replace=False)
        if number:  # the best medoids so far compete with the others of the sample
            sample = np.union1d(sample, best)
        medoids = sample[medoids_of(space, rows.take(sample), k, random)]
        total = float(NeighborIndex(space, rows.take(medoids)).nearest(rows, 1)[0].sum())
        if total < least:
            best, least = medoids, total
    return np.sort(best)


def library() -> Any:
    """The package `kmedoids`."""
    try:
        import kmedoids
    except ImportError as error:
        words = "KMedoids needs the library 'kmedoids', which is not installed."
        raise MedoidsError(words, "run pip install 'foldwise[clusters]'.") from error
    return kmedoids
