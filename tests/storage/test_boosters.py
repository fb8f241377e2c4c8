"""Boosters of a model file can be fitted again with the same parameters, and files cannot pass other ones."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.base import clone

from foldwise import open_model, save_model
from foldwise.errors import InputError
from foldwise.models import catalogue, outline
from foldwise.storage.codecs import boosters
from foldwise.storage.codecs.formats import from_json, to_json
from tests.models.tables import mixed

LIBRARIES = ["lightgbm", "xgboost", "catboost"]


@pytest.fixture(scope="module")
def table():
    return mixed(240)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_model_of_a_file_is_fitted_again_like_the_original(library, table, tmp_path):
    pipeline = catalogue()[library].pipeline(outline(table))
    tuned = "model__learning_rate" if library == "lightgbm" else "model__estimator__learning_rate"
    rate = np.float64(0.2)
    if library == "catboost" and copy.copy(rate) is not rate:
        rate = float(rate)  # scikit-learn cannot clone CatBoost with a scalar that numpy (before 2.4) copies
    pipeline.set_params(**{tuned: rate})
    first, second = slice(0, 120), slice(120, 240)
    fitted = clone(pipeline).fit(table.X[first], table.y[first])
    save_model(tmp_path / "model.foldwise", fitted, table.X[first])
    opened = open_model(tmp_path / "model.foldwise").model
    again = clone(opened).fit(table.X[second], table.y[second])
    expected = clone(pipeline).fit(table.X[second], table.y[second]).predict_proba(table.X)
    np.testing.assert_allclose(again.predict_proba(table.X), expected, rtol=1e-6, atol=1e-9)
    assert not np.allclose(expected, fitted.predict_proba(table.X), atol=1e-3)
    np.testing.assert_allclose(opened.predict_proba(table.X), fitted.predict_proba(table.X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("library", LIBRARIES)
def test_regressors_and_weights(library):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(90, 3)), rng.uniform(0.5, 2.0, 90)
    y = X[:, 0] + rng.normal(size=90)
    original = boosters.estimator_of(library, True)(n_estimators=7, learning_rate=0.3, random_state=1)
    if library == "catboost":
        original.set_params(allow_writing_files=False, verbose=False)
    again = boosters.read(boosters.write(clone(original))).fit(X, y, sample_weight=weights)
    expected = clone(original).fit(X, y, sample_weight=weights).predict(X)
    np.testing.assert_allclose(again.predict(X), expected, rtol=1e-6)


def test_an_unknown_parameter_is_not_kept_and_the_model_not_fitted_again():
    from lightgbm import LGBMRegressor

    read = boosters.read(boosters.write(LGBMRegressor(importance_type="gain", verbosity=-1)))
    with pytest.raises(InputError, match="does not contain all parameters of its fit"):
        read.fit(np.zeros((3, 1)), np.arange(3))


@pytest.mark.parametrize("params", [{"output_model": "x.txt"}, {"learning_rate": [1]}, {"cat_features": ["a"]}, [1]])
def test_other_parameters_in_a_file_are_refused(params):
    from lightgbm import LGBMClassifier

    files = boosters.write(LGBMClassifier())
    about = {**from_json(files["json"]), "params": params}
    with pytest.raises(InputError, match="parameters of a booster that Foldwise does not write"):
        boosters.read({"json": to_json(about)})
