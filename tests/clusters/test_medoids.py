"""k-medoids on mixed tables. The oracles are the packages `gower` and `kmedoids`."""

from __future__ import annotations

import gower
import kmedoids
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise.clusters import KMedoids, medoids
from foldwise.errors import InputError


@parametrize_with_checks([KMedoids(n_clusters=3, random_state=0)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def mixed(n=200, seed=0):
    """Three groups in two numbers and two categories, with missing cells."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n) + 6 * group,
            "b": rng.normal(size=n),
            "c": np.where(rng.random(n) < 0.9, np.array(["x", "y", "z"])[group], "x"),
            "d": rng.choice(["u", "v"], n),
        }
    )
    return frame, group


def test_the_loss_is_that_of_the_distances_of_another_package():
    frame, group = mixed()
    found = KMedoids(3, metric="gower", random_state=0).fit(frame)
    distances = gower.gower_matrix(frame.astype({"c": object, "d": object}))
    assert found.inertia_ == pytest.approx(distances[found.medoid_indices_].min(axis=0).sum(), rel=1e-5)
    best = min(kmedoids.fasterpam(distances, 3, random_state=seed).loss for seed in range(10))
    assert found.inertia_ <= best * 1.02
    assert adjusted_rand_score(group, found.labels_) > 0.8


def test_medoids_are_rows_of_their_own_cluster_and_predict_agrees_with_labels():
    frame, _ = mixed()
    frame.loc[::9, "a"] = np.nan
    found = KMedoids(3, random_state=0).fit(frame)
    assert found.effective_metric_ == "gower"
    assert found.labels_[found.medoid_indices_].tolist() == [0, 1, 2]
    assert (found.predict(frame) == found.labels_).all()
    assert (found.predict(pl.from_pandas(frame)) == found.labels_).all()


def test_numbers_with_missing_cells_are_compared_by_gower():
    X, _ = make_blobs(60, random_state=0)
    assert KMedoids(2, random_state=0).fit(X).effective_metric_ == "euclidean"
    X[0, 0] = np.nan
    assert KMedoids(2, random_state=0).fit(X).effective_metric_ == "gower"


def test_samples_find_nearly_as_good_medoids(monkeypatch):
    monkeypatch.setattr(medoids, "SAMPLE_ROWS", 100)
    X, _ = make_blobs(1000, centers=4, random_state=1)
    whole = KMedoids(4, random_state=0).fit(X)
    sampled = KMedoids(4, max_rows=500, random_state=0).fit(X)
    assert (whole.sampled_, sampled.sampled_) == (False, True)
    assert whole.inertia_ <= sampled.inertia_ < 1.1 * whole.inertia_
    assert adjusted_rand_score(whole.labels_, sampled.labels_) > 0.9
    assert len(set(sampled.medoid_indices_.tolist())) == 4


def test_errors_say_what_must_hold(monkeypatch):
    with pytest.raises(InputError, match="at most the number of rows, 3, got 4"):
        KMedoids(4).fit([[0.0], [1.0], [2.0]])
    monkeypatch.setitem(__import__("sys").modules, "kmedoids", None)
    with pytest.raises(ImportError, match=r"foldwise\[clusters\]"):
        KMedoids(2).fit([[0.0], [1.0], [2.0]])
