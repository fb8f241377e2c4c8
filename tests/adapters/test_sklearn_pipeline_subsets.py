"""Subsets of columns of pipelines that end in a linear model: scaling and encoding are learned once per split."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

from foldwise import SelectFeatures
from foldwise.adapters.linear_subsets import LinearSubsets
from foldwise.folds import Need, open_subsets
from foldwise.folds.audit import disagreement
from tests.adapters.test_sklearn_linear import target_for
from tests.adapters.test_sklearn_staged import name_of, splits_of

MODELS = [LinearRegression(), Ridge(), Lasso(0.05), ElasticNet(0.05, precompute=True), RidgeClassifier()]
SCALERS = [
    (StandardScaler(),),
    (SimpleImputer(), RobustScaler()),
    ("passthrough", MinMaxScaler(), MaxAbsScaler()),
]
ENCODERS = [
    OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
    OneHotEncoder(sparse_output=False, handle_unknown="ignore", drop="if_binary"),
    OneHotEncoder(sparse_output=False, handle_unknown="infrequent_if_exist", min_frequency=8, drop="first"),
    OneHotEncoder(sparse_output=False, handle_unknown="ignore", max_categories=3),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
]
SUBSETS = [(0,), (1, 3), (0, 2), (0, 1, 2, 3), (1, 2, 3)]
NEED = Need.VALUES | Need.LABELS | Need.DECISION


def check(pipeline, X, y, params=None):
    session = open_subsets(pipeline, X, y, params)
    assert session.shares == "pipeline"
    settings = [{"columns": subset} for subset in SUBSETS]
    for train, test in splits_of(len(X))[::2]:
        for setting in settings:
            assert not disagreement(session, setting, train, test, NEED), setting
        together = list(session.answer(settings, train, test, NEED))
        assert [i for block in together for i in range(block.start, block.stop)] == list(range(len(SUBSETS)))


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@pytest.mark.parametrize("steps", SCALERS, ids=len)
def test_scalers_learn_the_same_from_a_subset(model, steps, rng):
    X, y = target_for(model, 0)
    if isinstance(steps[0], SimpleImputer):
        X[rng.random(X.shape) < 0.1] = np.nan
    check(make_pipeline(*steps, model), X, y)


@pytest.mark.parametrize("model", [Ridge(), RidgeClassifier()], ids=name_of)
@pytest.mark.parametrize("encoder", ENCODERS, ids=range(len(ENCODERS)))
def test_categories_of_a_subset(model, encoder, rng):
    _, y = target_for(model, 0)
    names = np.array(list("abcdefgh"))
    frame = pd.DataFrame({f"c{k}": rng.choice(names[:k], len(y)) for k in (2, 3, 5, 8)})
    check(make_pipeline(encoder, StandardScaler(), model), frame, y)


def test_weights_of_rows(rng):
    X, y = target_for(Ridge(), 0)
    weights = rng.random(len(X))
    params = {"ridge__sample_weight": weights, "standardscaler__sample_weight": weights}
    check(make_pipeline(StandardScaler(), Ridge()), X, y, params)


def test_a_column_that_cannot_be_scaled_stops_only_its_own_subsets():
    X, y = target_for(Ridge(), 0)
    X[5, 3] = np.inf
    check(make_pipeline(StandardScaler(), Ridge()), X, y)


def test_a_column_without_values_is_dropped_as_in_the_refit():
    X, y = target_for(Ridge(), 0)
    X[:, 3] = np.nan
    with pytest.warns(UserWarning, match="without any observed values"):
        check(make_pipeline(SimpleImputer(), Ridge()), X, y)


def test_pipelines_that_are_refitted():
    X, y = target_for(Ridge(), 0)
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"a": np.float32})
    by_name = make_column_transformer((StandardScaler(), [0, 1]))
    assert open_subsets(make_pipeline(PCA(2), Ridge()), X, y).shares == "refit"
    assert open_subsets(make_pipeline(by_name, Ridge()), X, y).shares == "refit"
    assert open_subsets(make_pipeline(StandardScaler(), DecisionTreeRegressor()), X, y).shares == "refit"
    assert open_subsets(make_pipeline(OneHotEncoder(), Ridge()), X, y).shares == "refit"
    # alone, the first column would be scaled in single precision
    assert open_subsets(make_pipeline(StandardScaler(), Ridge()), frame, y).shares == "refit"


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_same_columns_as_scikit_learn(direction):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    cv, model = KFold(4, shuffle=True, random_state=0), make_pipeline(StandardScaler(), Ridge(alpha=20.0))
    ours = SelectFeatures(model, direction=direction, n_features=5, cv=cv).fit(X, y)
    theirs = SequentialFeatureSelector(model, direction=direction, n_features_to_select=5, cv=cv).fit(X, y)
    assert ours.session_ == "pipeline"
    assert ours.support_.tolist() == theirs.support_.tolist()


def test_floating_fits_the_scaler_once_per_split(monkeypatch):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    cv = KFold(3, shuffle=True, random_state=1)
    fits, answers = [], []
    fit, answer = StandardScaler.fit_transform, LinearSubsets.answer
    monkeypatch.setattr(StandardScaler, "fit_transform", lambda self, *args: fits.append(1) or fit(self, *args))
    monkeypatch.setattr(LinearSubsets, "answer", lambda self, *args: answers.append(1) or answer(self, *args))
    model = make_pipeline(StandardScaler(), Ridge())
    ours = SelectFeatures(model, floating=True, n_features=4, cv=cv, audit=False).fit(X, y)
    assert len(fits) == 3 < len(answers)

    class Refitted(Ridge):
        """A subclass has no session, so it is refitted."""

    refits = SelectFeatures(make_pipeline(StandardScaler(), Refitted()), floating=True, n_features=4, cv=cv).fit(X, y)
    assert refits.session_ == "refit"
    assert ours.history_["column"].to_list() == refits.history_["column"].to_list()
    np.testing.assert_allclose(ours.history_["score"], refits.history_["score"], rtol=1e-9)
