"""Where scikit-learn can speak too, the same neighbors, labels and probabilities; its conventions to the letter."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import neighbors as peer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise import GridSearchCV, KNNClassifier, KNNRegressor
from tests.slow import slow

METRICS = [
    {"metric": "euclidean"},
    {"metric": "manhattan"},
    {"metric": "chebyshev"},
    {"metric": "minkowski", "p": 1.5},
    {"metric": "minkowski", "p": 2},
    {"metric": "cosine"},
]


@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")  # numbers as objects
@parametrize_with_checks(
    [
        KNNClassifier(),
        KNNClassifier(n_neighbors=3, weights="gaussian", metric="gower", laplace=1.0),
        KNNClassifier(metric="hvdm", weights="distance", ties="class"),
        KNNClassifier(scale="robust", metric="minkowski", p=3),
        KNNClassifier(scale="standard", pca=1),
        KNNRegressor(),
        KNNRegressor(metric="heom", weights="triangular"),
        KNNRegressor(scale="standard", metric="cosine", weights="distance"),
    ]
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: "-".join(map(str, m.values())))
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
def test_the_same_votes(seed, weights, metric):
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(120, 5)), rng.normal(size=(80, 5))
    y, values = rng.integers(0, 4, 120), rng.normal(size=120)
    for k in (1, 2, 4, 9, 120):
        options = {"n_neighbors": k, "weights": weights, **metric}
        ours, theirs = KNNClassifier(ties="class", **options).fit(X, y), peer.KNeighborsClassifier(**options).fit(X, y)
        np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
        np.testing.assert_allclose(ours.predict_proba(Q), theirs.predict_proba(Q), rtol=0, atol=1e-12)
        distances, indices = theirs.kneighbors(Q)
        np.testing.assert_array_equal(ours.kneighbors(Q)[1], indices)
        np.testing.assert_allclose(ours.kneighbors(Q)[0], distances, atol=1e-12)
        ours, theirs = KNNRegressor(**options).fit(X, values), peer.KNeighborsRegressor(**options).fit(X, values)
        np.testing.assert_allclose(ours.predict(Q), theirs.predict(Q), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_ties_at_the_last_place_take_the_earlier_row(seed):
    rng = np.random.default_rng(seed)
    X, Q = rng.integers(0, 3, (150, 4)), rng.integers(0, 3, (60, 4))
    y = rng.integers(0, 3, 150)
    model = KNNClassifier(n_neighbors=6).fit(X, y)
    every = np.sqrt(((Q[:, None] - X[None]) ** 2).sum(axis=2))
    expected = np.argsort(every, axis=1, kind="stable")[:, :6]
    distances, indices = model.kneighbors(Q)
    np.testing.assert_array_equal(indices, expected)
    # scikit-learn's neighbors are as far, whichever of the tied rows it takes
    np.testing.assert_allclose(distances, peer.NearestNeighbors(n_neighbors=6).fit(X).kneighbors(Q)[0], atol=1e-7)


@pytest.mark.parametrize(("scale", "scaler"), [("standard", StandardScaler()), ("minmax", MinMaxScaler())])
def test_scales_are_those_of_scikit_learn(rng, scale, scaler):
    X, Q = rng.normal(size=(90, 4)) * [1, 50, 0.01, 7], rng.normal(size=(50, 4)) * [1, 50, 0.01, 7]
    X[:, 3] = 4.0  # a constant column is divided by 1
    y = rng.integers(0, 3, 90)
    theirs = make_pipeline(scaler, peer.KNeighborsClassifier(7)).fit(X, y)
    ours = KNNClassifier(7, scale=scale, ties="class").fit(X, y)
    np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
    np.testing.assert_allclose(ours.kneighbors(Q)[0], theirs[-1].kneighbors(scaler.transform(Q))[0], atol=1e-12)


def test_robust_scale_and_principal_components(rng):
    X = rng.normal(size=(80, 6)) * np.arange(1, 7)
    y = rng.integers(0, 2, 80)
    theirs = make_pipeline(RobustScaler(), PCA(3), peer.KNeighborsClassifier(5)).fit(X, y)
    ours = KNNClassifier(5, scale="robust", pca=3, ties="class").fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    share = KNNClassifier(5, scale="robust", pca=0.8, ties="class").fit(X, y)
    theirs = make_pipeline(RobustScaler(), PCA(0.8), peer.KNeighborsClassifier(5)).fit(X, y)
    np.testing.assert_allclose(share.predict_proba(X), theirs.predict_proba(X), rtol=1e-10)


def test_leave_one_out_of_the_training_rows(rng):
    X, y, values = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), rng.normal(size=60)
    theirs = peer.KNeighborsClassifier(4).fit(X, y)
    ours = KNNClassifier(4, ties="class").fit(X, y)
    np.testing.assert_array_equal(ours.predict(None), theirs.predict(None))
    np.testing.assert_allclose(ours.predict_proba(None), theirs.predict_proba(None), atol=1e-13)
    np.testing.assert_array_equal(ours.kneighbors()[1], theirs.kneighbors()[1])
    by_hand = [
        KNNRegressor(4).fit(np.delete(X, i, 0), np.delete(values, i)).predict(X[i : i + 1])[0] for i in range(60)
    ]
    np.testing.assert_allclose(KNNRegressor(4).fit(X, values).predict(None), by_hand, atol=1e-13)


def test_neighbors_within_a_radius(rng):
    X, Q = rng.normal(size=(70, 3)), rng.normal(size=(20, 3))
    model = KNNClassifier().fit(X, rng.integers(0, 2, 70))
    theirs = peer.NearestNeighbors().fit(X).radius_neighbors(Q, 0.9, sort_results=True)
    distances, indices = model.radius_neighbors(Q, 0.9)
    for i in range(20):
        np.testing.assert_array_equal(indices[i], theirs[1][i])
        np.testing.assert_allclose(distances[i], theirs[0][i], atol=1e-12)
    alone = model.radius_neighbors(radius=0.0, return_distance=False)
    assert all(len(found) == 0 for found in alone)


def test_column_weights(rng):
    X, Q = rng.normal(size=(80, 3)), rng.normal(size=(30, 3))
    y = rng.integers(0, 3, 80)
    weights = np.array([0.0, 2.0, 0.5])
    theirs = peer.KNeighborsClassifier(5, metric="minkowski", p=3, metric_params={"w": weights}).fit(X, y)
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    ours = KNNClassifier(5, metric="minkowski", p=3, column_weights={"a": 0, "b": 2, "c": 0.5}, ties="class")
    queries = pl.DataFrame(Q, schema=["a", "b", "c"])
    np.testing.assert_array_equal(ours.fit(frame, y).predict(queries), theirs.predict(Q))
    np.testing.assert_allclose(ours.kneighbors(queries)[0], theirs.kneighbors(Q)[0], atol=1e-12)
    np.testing.assert_array_equal(ours.set_params(column_weights=weights).fit(X, y).predict(Q), theirs.predict(Q))


def test_laplace(rng):
    X, y = rng.normal(size=(50, 2)), np.r_[np.zeros(20, int), np.ones(20, int), np.full(10, 2)]
    plain = KNNClassifier(4).fit(X, y)
    smooth = KNNClassifier(4, laplace=0.5).fit(X, y)
    np.testing.assert_allclose(smooth.predict_proba(X), (4 * plain.predict_proba(X) + 0.5) / (4 + 1.5))
    np.testing.assert_array_equal(smooth.predict(X), plain.predict(X))


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame])
def test_frames_and_the_rest_of_the_house(make):
    X, y = load_iris(return_X_y=True)
    names = ["a", "b", "c", "d"]
    frame = make(dict(zip(names, X.T, strict=True)))
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    model = KNNClassifier(7).fit(frame, labels)
    assert model.feature_names_in_.tolist() == names
    assert model.effective_metric_ == "euclidean"
    np.testing.assert_array_equal(model.predict(frame), KNNClassifier(7).fit(X, labels).predict(X))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict_proba(frame), model.predict_proba(frame), rtol=1e-10)
    assert cross_val_score(model, frame, labels).mean() > 0.95
    assert model.predict(None).shape == (150,)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "gower"])
def test_who_else_is_asked_does_not_matter(rng, metric):
    X = rng.normal(size=(150, 20))
    model = KNNClassifier(3, metric=metric).fit(X, rng.integers(0, 2, 150))
    together, indices = model.kneighbors(X)
    alone = np.concatenate([model.kneighbors(X[i : i + 1])[0] for i in range(150)])
    np.testing.assert_allclose(alone, together, rtol=1e-10)
    assert (together[:, 0] == 0).all()
    np.testing.assert_array_equal(model.set_params(n_jobs=1).kneighbors(X)[1], indices)


@pytest.mark.parametrize(
    "models", [(KNNClassifier, peer.KNeighborsClassifier), (KNNRegressor, peer.KNeighborsRegressor)]
)
@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_the_graph_of_neighbors_is_that_of_scikit_learn(mode, models):
    X, y = load_iris(return_X_y=True)
    X = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)  # no equal distances
    ours, theirs = (model(4).fit(X, y) for model in models)
    for query, k in ((X[:20], None), (None, 3)):
        found, expected = (one.kneighbors_graph(query, k, mode=mode) for one in (ours, theirs))
        assert found.format == expected.format == "csr"
        np.testing.assert_allclose(found.toarray(), expected.toarray())


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.coo_array, sp.csc_array])
def test_sparse_tables_are_read_like_dense_ones(container):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30)) * (rng.random((80, 30)) < 0.2)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    sparse = container(X)
    for metric in ("euclidean", "cosine"):
        ours = KNNClassifier(3, metric=metric).fit(sparse, y)
        theirs = peer.KNeighborsClassifier(3, metric=metric).fit(sparse.tocsr(), y)
        np.testing.assert_allclose(ours.kneighbors(sparse)[0], theirs.kneighbors(sparse.tocsr())[0], atol=1e-7)
        np.testing.assert_array_equal(ours.predict(sparse), KNNClassifier(3, metric=metric).fit(X, y).predict(X))
    np.testing.assert_allclose(
        KNNRegressor(3).fit(sparse, X[:, 0]).predict(sparse), KNNRegressor(3).fit(X, X[:, 0]).predict(X)
    )
    search = GridSearchCV(KNNClassifier(), {"n_neighbors": [1, 3, 5]}, cv=3).fit(sparse.tocsr(), y)
    assert search.session_ == "neighbors"


def test_sparse_tables_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match=r"100,000 rows of 50,000 columns would take 40.0 GB.*TruncatedSVD"):
        KNNClassifier().fit(sp.csr_matrix((100_000, 50_000)), np.zeros(100_000))
