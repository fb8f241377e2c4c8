"""The study of k: indices equal scikit-learn's, its parts have plain twins, and what it suggests is right."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.cluster import KMeans as PeerKMeans
from sklearn.datasets import load_iris, make_blobs

from foldwise.clusters import choose_clusters
from foldwise.clusters.agreement import adjusted_rand, jaccard_by_cluster
from foldwise.clusters.all_k import cluster_all
from foldwise.clusters.indices import calinski_harabasz, davies_bouldin
from foldwise.clusters.references import gap_choice
from foldwise.clusters.silhouettes import mean_silhouettes
from foldwise.clusters.splits import split_p_value, valley_p_value
from foldwise.errors import InputError
from tests.slow import slow

mpl.use("Agg")


@pytest.fixture(scope="module")
def blobs():
    X, groups = make_blobs(500, 5, centers=4, cluster_std=1.5, random_state=1)
    return X, groups, choose_clusters(X, ks=range(2, 9), restarts=4, resamples=8, random_state=0)


def test_it_finds_the_groups(blobs):
    _, groups, study = blobs
    assert study.best_k == 4
    assert "With 4 clusters, the test does not find two groups in any of them." in study.reason
    assert metrics.adjusted_rand_score(groups, study.labels_of()) > 0.99
    assert study.stability[study.ks.index(4)] > 0.97
    assert study.stability_above_chance[study.ks.index(4)] > 0.1
    assert not study.labels_of(1).any()
    with pytest.raises(InputError, match="k must be one of"):
        study.labels_of(30)


def test_indices_equal_those_of_scikit_learn(blobs):
    X, _, study = blobs
    for t, k in enumerate(study.ks):
        labels = study.labels[t]
        assert study.silhouette[t] == pytest.approx(metrics.silhouette_score(X, labels), rel=0, abs=1e-9)
        assert study.calinski_harabasz[t] == pytest.approx(metrics.calinski_harabasz_score(X, labels), rel=1e-9)
        assert study.davies_bouldin[t] == pytest.approx(metrics.davies_bouldin_score(X, labels), rel=1e-9)
        assert study.centers[t].shape == (k, 5)
        means = np.stack([X[labels == c].mean(axis=0) for c in range(k)])
        np.testing.assert_allclose(study.centers[t], means)
        assert study.inertia[t] <= 1.05 * PeerKMeans(k, n_init=4, random_state=0).fit(X).inertia_


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
def test_silhouettes_of_any_labels(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(333, 3)), 1)  # with duplicate rows
    ks = np.array([2, 5, 7])
    labels = np.stack([rng.integers(0, k, len(X)) for k in ks]).astype(np.int32)
    labels[0] = 0
    labels[0, 17] = 1  # a cluster of one row
    expected = [metrics.silhouette_score(X, one) for one in labels]
    for threads in (1, 2):
        np.testing.assert_allclose(mean_silhouettes(X, labels, ks, threads), expected, rtol=0, atol=1e-9)
    for one, k in zip(labels, ks, strict=True):
        assert calinski_harabasz(X, one, k) == pytest.approx(metrics.calinski_harabasz_score(X, one), rel=1e-9)
        assert davies_bouldin(X, one, k) == pytest.approx(metrics.davies_bouldin_score(X, one), rel=1e-9)
        other = rng.integers(0, 4, len(X)).astype(np.int32)
        assert adjusted_rand(one, other, k, 4) == pytest.approx(metrics.adjusted_rand_score(one, other), abs=1e-12)
        assert adjusted_rand(one, one, k, k) == pytest.approx(1.0)
        plain = [
            max(np.sum((one == c) & (other == e)) / np.sum((one == c) | (other == e)) for e in range(4))
            for c in range(k)
        ]
        np.testing.assert_allclose(jaccard_by_cluster(one, other, k, 4), plain)


def test_prefixes_of_the_seeds_are_starts_for_every_k():
    X = make_blobs(600, 4, centers=5, cluster_std=2.0, random_state=3)[0]
    X -= X.mean(axis=0)
    ks = np.array([2, 5, 9])
    found = cluster_all(X, np.ones(len(X)), ks, 3, 0.0, np.random.default_rng(0))
    for t, k in enumerate(ks):
        centers = found.centers[t, :k]
        again = PeerKMeans(k, init=centers, n_init=1, tol=0.0).fit(X)  # a fixed point of scikit-learn's
        np.testing.assert_array_equal(again.labels_, found.labels[t])
        assert again.inertia_ == pytest.approx(found.inertias[t].min(), rel=1e-9)


def test_resamples_as_weights_are_resamples_as_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    counts = np.bincount(rng.integers(0, 200, 200), minlength=200)
    rows = np.flatnonzero(counts)
    ks = np.array([2, 4])
    found = cluster_all(np.ascontiguousarray(X[rows]), counts[rows].astype(float), ks, 2, 0.0, np.random.default_rng(0))
    repeated = np.repeat(X[rows], counts[rows], axis=0)
    for t, k in enumerate(ks):
        again = PeerKMeans(k, init=found.centers[t, :k], n_init=1, tol=0.0).fit(repeated)
        np.testing.assert_array_equal(again.labels_, np.repeat(found.labels[t], counts[rows]))
        assert again.inertia_ == pytest.approx(found.inertias[t].min(), rel=1e-9)


@pytest.mark.parametrize("shape", ["normal", "uniform", "exponential", "elongated"])
def test_no_clusters_is_an_answer(shape):
    rng = np.random.default_rng(5)
    X = {
        "normal": rng.normal(size=(300, 4)),
        "uniform": rng.uniform(size=(300, 3)),
        "exponential": rng.exponential(size=(300, 3)),
        "elongated": rng.normal(size=(300, 3)) * [8.0, 1.0, 1.0],
    }[shape]
    study = choose_clusters(X, ks=range(2, 8), restarts=3, resamples=5, random_state=0)
    assert study.best_k == 1
    assert not study.has_clusters
    assert study.reason.startswith("No clusters: the rows form a single group.")


def test_a_valley_is_tested_on_held_out_rows():
    rng = np.random.default_rng(0)
    one = [split_p_value(rng.normal(size=(200, 6)), rng) for _ in range(60)]
    assert np.mean(np.array(one) < 0.05) <= 0.1
    shift = np.r_[5.0, np.zeros(5)]
    two = rng.normal(size=(200, 6)) + np.outer(np.arange(200) % 2, shift)
    assert split_p_value(two, rng) < 1e-3
    assert valley_p_value((30, 40), 30) > 0.4
    assert valley_p_value((30, 40), 3) < 1e-5
    assert valley_p_value((0, 40), 0) == 1.0


def test_the_result_does_not_depend_on_threads(blobs):
    X = blobs[0]
    again = choose_clusters(X, ks=range(2, 9), restarts=4, resamples=8, random_state=0, n_jobs=1)
    for name in ("inertia", "silhouette", "gap", "agreement", "least_stable", "split_p_values"):
        np.testing.assert_allclose(getattr(again, name), getattr(blobs[2], name), rtol=1e-9, atol=1e-12)


def test_the_gap_statistic_follows_its_definition():
    assert gap_choice((1, 2, 3), np.array([0.1, 0.5, 0.45]), np.array([0.0, 0.02, 0.02])) == 2
    assert gap_choice((1, 2, 3), np.array([0.1, 0.5, 0.9]), np.array([0.0, 0.02, 0.02])) == 3
    assert gap_choice((1, 2, 3), np.array([0.1, 0.11, 0.9]), np.array([0.0, 0.02, 0.02])) == 1


def test_frame_picture_and_text(blobs):
    _, _, study = blobs
    frame = study.to_frame()
    assert frame["k"].to_list() == list(range(2, 9))
    assert (frame["stability_low"] <= frame["stability"] + 1e-12).all()
    assert study.plot().get_xlabel() == "Number of clusters k"
    assert str(study).startswith("Suggested number of clusters: 4")
    assert "<table" in study._repr_html_()
    iris = load_iris(as_frame=True).data
    study = choose_clusters(iris, ks=[2, 3, 300], restarts=2, resamples=3, references=3, random_state=0)
    assert study.ks == (2, 3)  # fewer rows than 300
    assert study.best_k >= 2


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([[1.0], [1.0], [1.0]], {}, "more distinct rows than clusters"),
        ([[1.0, np.nan], [2.0, 3.0]], {}, "NaN"),
        (pd.DataFrame({"a": ["x", "y", "z"]}), {}, "'a' is not numeric"),
        (np.zeros((5, 2)), {"ks": []}, "at least one number"),
        (np.zeros((5, 2)), {"ks": [1]}, "at least 2"),
        (np.zeros((5, 2)), {"ks": 3}, "iterable"),
        (np.zeros((5, 2)), {"restarts": 0}, "restarts"),
    ],
)
def test_bad_input_is_named(X, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        choose_clusters(X, **options)


def test_more_columns_than_rows():
    X, groups = make_blobs(120, 300, centers=3, random_state=0)
    study = choose_clusters(X, ks=range(2, 6), restarts=3, resamples=5, random_state=0)
    assert study.best_k == 3
    assert metrics.adjusted_rand_score(groups, study.labels_of()) == 1.0
    labels = study.labels_of()
    assert study.silhouette[1] == pytest.approx(metrics.silhouette_score(X, labels), abs=1e-9)
    assert study.inertia[1] == pytest.approx(((X - study.centers[1][labels]) ** 2).sum())


def test_few_rows_and_one_column():
    X = np.r_[np.zeros(6), np.full(6, 10.0)][:, None] + np.linspace(0, 1, 12)[:, None]
    study = choose_clusters(X, ks=[2, 3], restarts=2, resamples=3, references=2, random_state=0)
    assert study.best_k == 1  # twelve rows prove nothing
    X = np.random.default_rng(0).normal(size=(200, 1)) + 10 * (np.arange(200) % 3)[:, None]
    assert choose_clusters(X, ks=range(2, 7), restarts=3, resamples=5, random_state=0).best_k == 3
