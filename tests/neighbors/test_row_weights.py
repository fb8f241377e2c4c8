"""Weights of training rows: whole numbers repeat rows, fractions are parts of a row, and 0 ignores a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from foldwise import KNNClassifier, KNNRegressor, open_model, save_model
from tests.slow import slow

RNG = np.random.default_rng(0)
X, y = load_iris(return_X_y=True)
X = X + 1e-3 * RNG.normal(size=X.shape)  # no equal distances
WEIGHTS = RNG.integers(0, 4, 150)
REPEATED = np.repeat(np.arange(150), WEIGHTS)
SETTINGS: list[dict[str, Any]] = [
    {"weights": "uniform"},
    {"weights": "distance"},
    {"weights": "gaussian"},
    *({"weights": name} for name in ("triangular", "epanechnikov", "biweight")),
    {"weights": lambda d: 1 / (1 + d)},
    {"ties": "class", "n_neighbors": 8},
    {"laplace": 1.0},
    {"scale": "standard"},
    {"metric": "hvdm"},
    {"scale": "robust"},
    {"metric": "gower"},
    {"pca": 2, "scale": "standard"},
]


@pytest.mark.parametrize("setting", [*SETTINGS[:3], *slow(*SETTINGS[3:7]), *SETTINGS[7:10], *slow(*SETTINGS[10:])])
def test_a_weighted_row_is_a_repeated_row(setting: dict[str, Any]) -> None:
    options = {"n_neighbors": 6, **setting}
    queries = X + 0.1 * RNG.normal(size=X.shape)
    weighted = KNNClassifier(**options).fit(X, y, sample_weight=WEIGHTS)
    repeated = KNNClassifier(**options).fit(X[REPEATED], y[REPEATED])
    np.testing.assert_allclose(weighted.predict_proba(queries), repeated.predict_proba(queries), atol=1e-12)
    np.testing.assert_array_equal(weighted.predict(queries), repeated.predict(queries))
    if {"ties", "laplace"}.isdisjoint(setting) and setting.get("metric") != "hvdm":
        values = X[:, 0] * 3 + y
        one = KNNRegressor(**options).fit(X, values, sample_weight=WEIGHTS)
        two = KNNRegressor(**options).fit(X[REPEATED], values[REPEATED])
        np.testing.assert_allclose(one.predict(queries), two.predict(queries), rtol=1e-12)


def test_fractions_of_rows_vote_until_their_sum_is_k() -> None:
    table = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = KNNClassifier(2).fit(table, ["a", "b", "b", "a"], sample_weight=[0.5, 1.0, 1.5, 1.0])
    np.testing.assert_allclose(model.predict_proba([[-1.0]]), [[0.25, 0.75]])  # 0.5 of a, 1 and 0.5 of b
    values = KNNRegressor(2).fit(table, [0.0, 1.0, 5.0, 9.0], sample_weight=[0.5, 1.0, 1.5, 1.0])
    np.testing.assert_allclose(values.predict([[-1.0]]), [(0.0 * 0.5 + 1.0 + 5.0 * 0.5) / 2])
    tenths = KNNClassifier(2).fit(table, ["a", "b", "b", "a"], sample_weight=[1.0, 2.0, 3.0, 2.0])
    scaled = KNNClassifier(1).fit(table, ["a", "b", "b", "a"], sample_weight=[0.5, 1.0, 1.5, 1.0])
    np.testing.assert_allclose(tenths.predict_proba(table), scaled.predict_proba(table))


def test_rows_without_weight_are_ignored_everywhere() -> None:
    model = KNNClassifier(3).fit(X, y, sample_weight=np.where(y == 2, 0, 2))
    assert model.classes_.tolist() == [0, 1]
    distances, indices = model.kneighbors(X[:5])
    assert set(y[indices].ravel()) <= {0, 1}
    np.testing.assert_allclose(distances[:, 0], 0.0, atol=1e-12)
    assert model.kneighbors_graph(X[:5]).shape == (5, 150)
    assert [set(y[one]) <= {0, 1} for one in model.radius_neighbors(X[:3], 1.0, return_distance=False)] == [True] * 3


def test_weights_of_one_change_nothing_and_bad_ones_are_refused() -> None:
    plain, ones = KNNClassifier().fit(X, y), KNNClassifier().fit(X, y, sample_weight=np.ones(150))
    np.testing.assert_array_equal(plain.predict_proba(X), ones.predict_proba(X))
    with pytest.raises(ValueError, match="every sample weight is zero"):
        KNNClassifier().fit(X, y, sample_weight=np.zeros(150))
    with pytest.raises(ValueError, match=r"n_neighbors=5 must not exceed the sum of the sample weights, 1\.5"):
        KNNClassifier().fit(X, y, sample_weight=np.full(150, 0.01)).predict(X)
    with pytest.raises(ValueError, match="scale='robust' is learned from weighted rows"):
        KNNClassifier(scale="robust").fit(X, y, sample_weight=np.full(150, 0.5))


def test_a_weighted_model_is_saved(tmp_path: Path) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = KNNRegressor(4, scale="standard").fit(X, y, sample_weight=RNG.integers(0, 3, len(y)))
    save_model(tmp_path / "m.foldwise", model, X)
    opened = open_model(tmp_path / "m.foldwise")
    np.testing.assert_allclose(opened.predict(X), model.predict(X))
    np.testing.assert_array_equal(opened.model.kneighbors(X)[1], model.kneighbors(X)[1])
