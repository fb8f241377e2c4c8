"""k-means reaches scikit-learn's fixed points, keeps its conventions, and handles weights and missing cells."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import cluster as peer
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise.clusters import KMeans
from foldwise.errors import FoldwiseWarning, InputError


@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")  # duplicate rows in some checks
@parametrize_with_checks(
    [KMeans(3), KMeans(2, init="random", missing="partial", n_init=2)],
    # scikit-learn expects the same failure of its own k-means: the check shuffles rows, and seeds depend on their order
    expected_failed_checks=lambda _: {"check_sample_weight_equivalence_on_dense_data": "seeds depend on the row order"},
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def table(kind: str, n: int = 700, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "blobs":
        return make_blobs(n, 7, centers=6, cluster_std=3.0, random_state=seed)[0]
    if kind == "uniform":
        return rng.uniform(size=(n, 5))
    if kind == "far from zero":
        return rng.normal(size=(n, 3)) + 1e6
    if kind == "one column":
        return rng.exponential(size=(n, 1))
    return np.round(rng.normal(size=(n, 4)) * 3 + rng.integers(0, 3, (n, 1)) * 5, 1)


KINDS = ["blobs", "uniform", "far from zero", "one column", "rounded"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("tol", "max_iter"), [(0.0, 300), (1e-4, 300), (0.0, 3)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_fixed_point_from_the_same_centers(kind, weighted, tol, max_iter):
    X = table(kind)
    rng = np.random.default_rng(1)
    w = rng.integers(0, 4, len(X)) * 0.7 if weighted else None
    for k in (1, 2, 5, 13):
        start = X[rng.choice(len(X), k, replace=False)]
        options = {"init": start, "n_init": 1, "tol": tol, "max_iter": max_iter}
        theirs = peer.KMeans(k, algorithm="lloyd", **options).fit(X, sample_weight=w)
        ours = KMeans(k, **options).fit(X, sample_weight=w)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9, atol=1e-9)
        assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9, abs=1e-9)
        assert ours.n_iter_ == theirs.n_iter_
        if kind != "far from zero":  # there, scikit-learn's predict cancels and contradicts its own labels
            np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
            expected = theirs.score(X, sample_weight=w)
            assert ours.score(X, sample_weight=w) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        np.testing.assert_array_equal(ours.predict(X), ours.labels_)
        np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-9, atol=1e-7)


def test_threads_give_the_same_labels():
    X = table("blobs", 60_000)
    start = X[:11]
    one, two = (KMeans(11, init=start, tol=0.0, n_jobs=jobs).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_allclose(one.cluster_centers_, two.cluster_centers_, rtol=1e-10, atol=1e-10)
    theirs = peer.KMeans(11, init=start, n_init=1, tol=0.0).fit(X)
    np.testing.assert_array_equal(one.labels_, theirs.labels_)


def test_empty_clusters_are_filled_like_in_scikit_learn():
    X = table("blobs")
    start = np.vstack([X[:3], X[:2] + 1e4])  # two centers that no row is near
    ours = KMeans(5, init=start, tol=0.0).fit(X)
    theirs = peer.KMeans(5, init=start, n_init=1, tol=0.0).fit(X)
    assert len(np.unique(ours.labels_)) == 5
    assert ours.inertia_ == pytest.approx(theirs.inertia_)


def test_weights_are_repetitions():
    X = table("blobs", 300)
    counts = np.random.default_rng(0).integers(0, 4, len(X))
    start = X[np.flatnonzero(counts)[:4]]
    weighted = KMeans(4, init=start, tol=0.0).fit(X, sample_weight=counts)
    repeated = KMeans(4, init=start, tol=0.0).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    with_zero = KMeans(4, random_state=0).fit(X, sample_weight=counts > 2)
    assert set(np.unique(with_zero.labels_[counts > 2])) == {0, 1, 2, 3}  # seeds come from rows of positive weight


@pytest.mark.parametrize("k", [2, 8, 25])
def test_seeds_are_as_good_as_those_of_scikit_learn(k):
    X = table("blobs", 1500)
    ours = [KMeans(k, max_iter=1, random_state=s).fit(X).inertia_ for s in range(40)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = [peer.KMeans(k, max_iter=1, n_init=1, random_state=s).fit(X).inertia_ for s in range(40)]
    noise = np.hypot(np.std(ours), np.std(theirs)) / np.sqrt(40)
    assert np.mean(ours) < np.mean(theirs) + 3 * noise


def test_more_runs_find_a_smaller_inertia():
    X = table("uniform")
    few, many = (KMeans(9, n_init=n, random_state=0).fit(X).inertia_ for n in (1, 20))
    assert many < few


def test_partial_distances_equal_plain_ones_without_missing_cells():
    X = table("blobs")
    holes = np.vstack([X, [[0.0] * 6 + [np.nan]]])
    w = np.r_[np.ones(len(X)), 0.0]  # the only row with a missing cell has no weight
    plain = KMeans(5, init=X[:5], tol=0.0).fit(X)
    partial = KMeans(5, init=X[:5], tol=0.0, missing="partial").fit(holes, sample_weight=w)
    np.testing.assert_array_equal(plain.labels_, partial.labels_[:-1])
    np.testing.assert_allclose(plain.cluster_centers_, partial.cluster_centers_)


def test_partial_distances_recover_groups_with_missing_cells():
    X, groups = make_blobs(400, 6, centers=3, cluster_std=1.0, random_state=2)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0.0
    model = KMeans(3, n_init=5, random_state=0, missing="partial").fit(X)
    for group in range(3):
        _, counts = np.unique(model.labels_[groups == group], return_counts=True)
        assert counts.max() > 0.97 * counts.sum()
    present = ~np.isnan(X)
    d2 = np.where(present[:, None], (X[:, None] - model.cluster_centers_) ** 2, 0).sum(axis=2)
    d2 *= X.shape[1] / present.sum(axis=1)[:, None]
    np.testing.assert_allclose(model.transform(X), np.sqrt(d2))
    np.testing.assert_array_equal(model.predict(X), d2.argmin(axis=1))
    assert model.inertia_ == pytest.approx(d2.min(axis=1).sum())
    assert model.inertia_ < KMeans(3, n_init=5, max_iter=1, random_state=0, missing="partial").fit(X).inertia_ + 1e-9


def test_missing_cells_are_refused_by_default():
    X = table("blobs")
    X[3, 2] = np.nan
    with pytest.raises(InputError, match=r"row 3, column 2.*missing='partial'"):
        KMeans(3).fit(X)
    X[5] = np.nan
    with pytest.raises(InputError, match="all cells of row 5"):
        KMeans(3, missing="partial").fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"init": "best"}, "init must be"),
        ({"init": [[0.0]]}, "init must be an array"),
        ({"missing": "drop"}, "missing must be"),
        ({"tol": -1.0}, "tol"),
        ({"n_clusters": 200}, "at least as many rows as clusters"),
        ({"n_init": 0}, "n_init"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        KMeans(**options).fit(table("blobs", 100))


def test_frames_and_duplicates():
    X = load_iris().data
    names = ["a", "b", "c", "d"]
    plain = KMeans(3, random_state=0).fit(X)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = KMeans(3, random_state=0).fit(frame)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert list(model.feature_names_in_) == names
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), plain.labels_)
    with pytest.warns(FoldwiseWarning, match="Only 2 distinct"):
        model = KMeans(3, random_state=0).fit([[0.0], [1.0], [0.0], [1.0]])
    assert model.inertia_ == 0.0
