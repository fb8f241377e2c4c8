"""Linear models inside pipelines: scaling and one-hot columns are learned in each fold, penalties share the rest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV as TheirGridSearchCV
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from foldwise import GridSearchCV
from foldwise.adapters.linear_session import GramSession
from foldwise.folds import open_session
from foldwise.testing import check_foldable
from tests.adapters.test_sklearn_staged import name_of, splits_of
from tests.slow import slow

MODELS = [LinearRegression(), Ridge(), Lasso(0.1, precompute=True), ElasticNet(0.1, precompute=True), RidgeClassifier()]


def mixed(n=80):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(30, 5, n), "price": rng.lognormal(size=n)})
    frame["color"] = rng.choice(["red", "green", "blue"], n)
    return frame, 0.2 * frame["size"] + (frame["color"] == "red") + 0.1 * rng.normal(size=n)


def prepared(model, drop=None):
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore", drop=drop)
    return make_pipeline(make_column_transformer((StandardScaler(), ["size", "price"]), (encoder, ["color"])), model)


def settings_of(model):
    name = type(model).__name__.lower()
    if isinstance(model, LinearRegression):
        return [{}, {f"{name}__fit_intercept": False}]
    scaled = "columntransformer__standardscaler__with_mean"
    return [*({f"{name}__alpha": alpha} for alpha in (1e-6, 0.01, 1.0, "x")), {scaled: False, f"{name}__alpha": 0.1}]


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@pytest.mark.parametrize("drop", [None, *slow("first")])
def test_the_law(model, drop):
    X, y = mixed()
    target = (y > y.median()).astype(int) if isinstance(model, RidgeClassifier) else y
    check_foldable(prepared(model, drop), X, target, settings_of(model), splits_of(len(X))[::2])


def test_the_gram_matrix_is_used(monkeypatch):
    X, y = mixed()
    asked = []
    facts = GramSession.facts
    monkeypatch.setattr(GramSession, "facts", lambda self, *args: asked.append(self) or facts(self, *args))
    grid, cv = {"ridge__alpha": np.logspace(-2, 2, 10)}, KFold(4, shuffle=True, random_state=0)
    ours = GridSearchCV(prepared(Ridge()), grid, cv=cv, audit=False).fit(X, y)
    theirs = TheirGridSearchCV(prepared(Ridge()), grid, cv=cv).fit(X, y)
    assert len(asked) == 4
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-10)


def test_leave_one_out_learns_the_scaling_from_the_other_rows():
    X, y = mixed(25)
    grid = {"ridge__alpha": [0.1, 10.0]}
    options = {"cv": LeaveOneOut(), "scoring": "neg_mean_squared_error"}
    ours, theirs = (kind(prepared(Ridge()), grid, **options).fit(X, y) for kind in (GridSearchCV, TheirGridSearchCV))
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-10)
    assert open_session(prepared(Ridge()), X, y).shares == "pipeline"
