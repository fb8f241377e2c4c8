"""`choose_clusters`: study every number of clusters at once, on shared seeds, distances and resamples."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from foldwise.arrays import Floats, Ints
from foldwise.clusters.agreement import adjusted_rand, jaccard_by_cluster
from foldwise.clusters.all_k import Clusterings, cluster_all
from foldwise.clusters.indices import calinski_harabasz, centroids, davies_bouldin
from foldwise.clusters.references import ReferenceBox, gap_statistic, principal_scores
from foldwise.clusters.silhouettes import mean_silhouettes
from foldwise.clusters.splits import split_p_values
from foldwise.clusters.study import ClusterStudy
from foldwise.clusters.tables import numbers_of
from foldwise.data.arguments import check_jobs, whole_at_least
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds.progress import Progress
from foldwise.summaries.passes import n_threads

TOL = 1e-4  # as in `KMeans`
REFERENCE_ROWS = 3000  # of a structureless table


class ResampleResult(NamedTuple):
    """How a resample agrees with the clustering of its table."""

    agreement: Floats  # (n_ks,): adjusted Rand index
    jaccards: Floats  # (n_ks, largest k): of each cluster, NaN beyond k


class ReferenceResult(NamedTuple):
    """What clustering a structureless table gives."""

    log_inertias: Floats  # (n_ks + 1,): first for k = 1
    agreement: Floats  # (n_ks,)


class StudyJobs(NamedTuple):
    """What every job of a study needs."""

    x: Floats  # (n, d), columns with mean 0
    ks: Ints
    restarts: int

    def cluster(self, x: Floats, rng: np.random.Generator, w: Floats | None = None) -> Clusterings:
        """Cluster rows for all k."""
        return cluster_all(x, np.ones(len(x)) if w is None else w, self.ks, self.restarts, TOL, rng)

    def log_inertias(self, x: Floats, found: Clusterings) -> Floats:
        """Return the log inertias for k = 1 and all others."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.r_[np.sum((x - x.mean(axis=0)) ** 2), found.inertias.min(axis=1)]))

    def resample(self, x: Floats, found: Clusterings, rng: np.random.Generator) -> ResampleResult:
        """Cluster a bootstrap sample, as weights on its distinct rows, and compare the labels of these rows."""
        counts = np.bincount(rng.integers(0, len(x), len(x)), minlength=len(x))
        rows = np.flatnonzero(counts)
        again = self.cluster(np.ascontiguousarray(x[rows]), rng, counts[rows].astype(np.float64))
        agreement = np.empty(len(self.ks))
        jaccards = np.full((len(self.ks), int(self.ks[-1])), np.nan)
        for t, k in enumerate(self.ks.tolist()):
            ours, theirs = found.labels[t][rows], again.labels[t]
            agreement[t] = adjusted_rand(ours, theirs, k, k)
            jaccards[t, :k] = jaccard_by_cluster(ours, theirs, k, k)
        return ResampleResult(agreement, jaccards)

    def reference(self, box: ReferenceBox, rng: np.random.Generator) -> ReferenceResult:
        """Cluster a structureless table, and compare it with one resample."""
        drawn = box.draw(min(len(self.x), REFERENCE_ROWS), rng)
        found = self.cluster(drawn, rng)
        return ReferenceResult(self.log_inertias(drawn, found), self.resample(drawn, found, rng).agreement)

    def split(self, found: Clusterings, k: int, rng: np.random.Generator) -> float:
        """Return the p-value of "no cluster contains two groups", corrected for the number of clusters."""
        labels = np.zeros(len(self.x), dtype=np.int32) if k == 1 else found.labels[self.ks.tolist().index(k)]
        return min(1.0, k * float(split_p_values(self.x, labels, k, rng).min()))


def choose_clusters(
    X: Any,
    ks: Iterable[int] = range(2, 21),
    restarts: int = 10,
    resamples: int = 20,
    random_state: int | np.random.Generator | None = None,
    *,
    references: int = 10,
    n_jobs: int | None = None,
) -> ClusterStudy:
    """Compare numbers of clusters for k-means, and suggest one, or say that there are no clusters.

    Parameters
    ----------
    X : array, data frame or Table of shape (n_rows, n_columns)
        Numeric rows without missing cells. Scale the columns first if their units differ.
    ks : iterable of int, default range(2, 21)
        The numbers of clusters. Values above the number of different rows are left out. k = 1 is always tested.
    restarts : int, default 10
        Number of starts of k-means; the one with the smallest inertia is kept.
    resamples : int, default 20
        Number of bootstrap samples for stability.
    random_state : int, Generator or None, default None
        Seed of the first centers and of the resamples.
    references : int, default 10
        Number of random tables without clusters, for the gap statistic and as a comparison for stability.
    n_jobs : int or None, default None
        Number of threads; None uses all cores. The result does not depend on it.

    Returns
    -------
    ClusterStudy
        Indices, stability and tests for each k, `best_k` and the reason for it.

    Notes
    -----
    A cluster contains two groups if its density on held-out rows has two peaks with a valley between them, along the
    line that splits it best. A single peak may be skewed or elongated. If no cluster contains two groups, whatever the
    k, then k = 1 cannot be rejected. Otherwise `best_k` is the smallest k such that no cluster contains two groups, for
    k and for the next k. It is raised as long as even the least stable cluster of the next k reappears in resamples
    (Jaccard index of at least 0.92).

    Structureless tables are random and have no clusters: they are uniform in the box of the principal axes of X. If X
    has more than 3,000 rows, they have 3,000 rows, and the gap statistic compares them with 3,000 rows of X.

    References
    ----------
    Tibshirani, Walther and Hastie (2001), Estimating the number of clusters in a data set via the gap statistic.
    Hennig (2007), Cluster-wise assessment of cluster stability.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.clusters import choose_clusters
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> study = choose_clusters(X, ks=range(2, 6), restarts=3, resamples=5, random_state=0)
    >>> study.best_k, study.reason[:42]
    (1, 'No clusters: the rows form a single group.')
    """
    cells = numbers_of(BaseEstimator(), X, reset=True)
    restarts = whole_at_least("restarts", restarts, 1)
    resamples = whole_at_least("resamples", resamples, 1)
    references = whole_at_least("references", references, 1)
    check_jobs(n_jobs)
    x = cells - cells.mean(axis=0)
    counted = check_ks(ks, x)
    if x.shape[1] > len(x):
        x = principal_scores(x)  # the same distances in fewer columns
    jobs = StudyJobs(np.ascontiguousarray(x), counted, restarts)
    seed = random_state if isinstance(random_state, np.random.Generator) else np.random.default_rng(random_state)
    first, sampling, *others = seed.spawn(2 + resamples + references + 1 + len(jobs.ks))
    x, threads = jobs.x, n_threads(n_jobs)
    box = ReferenceBox.of(x)
    with Progress("steps") as progress, threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        table = pool.submit(jobs.cluster, x, first)  # first in the queue, so that no job waits for it in vain
        drawing = [pool.submit(lambda rng: jobs.resample(x, table.result(), rng), rng) for rng in others[:resamples]]
        del others[:resamples]
        sample = pool.submit(sampled_log_inertias, jobs, table.result, sampling)
        comparing = [pool.submit(partial(jobs.reference, box), rng) for rng in others[:references]]
        counts = (1, *jobs.ks.tolist())
        testing = [
            pool.submit(jobs.split, table.result(), k, rng) for k, rng in zip(counts, others[references:], strict=True)
        ]
        progress.expect(len(drawing) + len(comparing) + len(testing))
        queued: list[Future[Any]] = [*drawing, *comparing, *testing]
        for done in as_completed(queued):
            done.result()  # an error ends the study at once
            progress.advance(1)
        drawn, compared = [one.result() for one in drawing], [one.result() for one in comparing]
        own, split = sample.result(), np.array([one.result() for one in testing])
        found = table.result()
        silhouettes = mean_silhouettes(x, found.labels, jobs.ks, threads)
    gap, error = gap_statistic(own, np.stack([one.log_inertias for one in compared]))
    pairs = list(zip(found.labels, counts[1:], strict=True))
    return ClusterStudy(
        ks=counts[1:],
        inertia=found.inertias.min(axis=1),
        silhouette=silhouettes,
        calinski_harabasz=np.array([calinski_harabasz(x, labels, k) for labels, k in pairs]),
        davies_bouldin=np.array([davies_bouldin(x, labels, k) for labels, k in pairs]),
        gap=gap,
        gap_error=error,
        agreement=np.stack([one.agreement for one in drawn], axis=1),
        reference_agreement=np.mean([one.agreement for one in compared], axis=0),
        least_stable=np.nanmin(np.mean([one.jaccards for one in drawn], axis=0), axis=1),
        split_p_values=split,
        labels=found.labels,
        centers=tuple(centroids(cells, labels, k)[0] for labels, k in pairs),
    )


def sampled_log_inertias(jobs: StudyJobs, table: Any, rng: np.random.Generator) -> Floats:
    """Return the log inertias of the table, or of as many rows as the structureless tables have."""
    if len(jobs.x) <= REFERENCE_ROWS:
        return jobs.log_inertias(jobs.x, table())
    rows = rng.choice(len(jobs.x), REFERENCE_ROWS, replace=False)
    sample = jobs.x[rows] - jobs.x[rows].mean(axis=0)
    return jobs.log_inertias(sample, jobs.cluster(sample, rng))


def check_ks(ks: Any, x: Floats) -> Ints:
    """Return the ascending numbers of clusters that the rows allow."""
    if not isinstance(ks, Iterable):
        raise FoldwiseTypeError(f"ks must be an iterable of integers, got {ks!r}.", "pass range(2, 21), for example.")
    counts = sorted({whole_at_least("each value of ks", k, 2) for k in ks})
    if not counts:
        raise InputError("ks must contain at least one number of clusters, got none.", "pass range(2, 21).")
    different = len(np.unique(x, axis=0))
    possible = [k for k in counts if k < different]
    if not possible:
        raise InputError(
            f"X must have more distinct rows than clusters, but has only {different} distinct rows for {counts[0]} "
            "clusters, the smallest value of ks.",
            "pass more different rows, or smaller values of ks." if counts[0] > 2 else "pass more different rows.",
        )
    return np.array(possible, dtype=np.int64)
