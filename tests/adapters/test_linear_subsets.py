"""Subsets of columns of linear models: scored from one Gram matrix per training set, as by refits on these columns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold

from foldwise import SelectFeatures
from foldwise.folds import Need, open_subsets
from foldwise.folds.audit import disagreement
from tests.adapters.test_sklearn_linear import target_for
from tests.adapters.test_sklearn_staged import name_of, splits_of

MODELS = [
    LinearRegression(),
    Ridge(),
    Ridge(alpha=0.0, fit_intercept=False),
    Ridge(alpha=1e-9),
    RidgeClassifier(class_weight="balanced"),
]
SUBSETS = [(0,), (1, 3), (0, 2), (0, 1, 2, 3), (2, 3), (1, 2, 3)]


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@pytest.mark.parametrize("kind", ["plain", "weighted", "singular"])
def test_each_subset_is_that_of_a_refit(model, kind, rng):
    X, y = target_for(model, 0)
    if kind == "singular":  # all columns together, but not all of their subsets
        X[:, 3] = X[:, 1]
    params = {"sample_weight": rng.random(len(X))} if kind == "weighted" else None
    session = open_subsets(model, X, y, params)
    assert session.shares == "gram"
    settings = [{"columns": subset} for subset in SUBSETS]
    need = Need.VALUES | Need.LABELS | Need.DECISION
    for train, test in splits_of(len(X)):
        for setting in settings:
            assert not disagreement(session, setting, train, test, need), setting
        together = list(session.answer(settings, train, test, need))
        assert [i for block in together for i in range(block.start, block.stop)] == list(range(len(SUBSETS)))


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("model", MODELS[:2], ids=name_of)
def test_the_same_columns_as_scikit_learn(model, direction):
    X, y = load_diabetes(return_X_y=True)
    cv = KFold(4, shuffle=True, random_state=0)
    ours = SelectFeatures(model, direction=direction, n_features=5, cv=cv).fit(X, y)
    theirs = SequentialFeatureSelector(model, direction=direction, n_features_to_select=5, cv=cv).fit(X, y)
    assert ours.session_ == "gram"
    assert ours.support_.tolist() == theirs.support_.tolist()


def test_floating_finds_the_same_as_refits():
    X, y = load_diabetes(return_X_y=True)
    cv = KFold(3, shuffle=True, random_state=1)

    class Refitted(Ridge):
        """A subclass has no session, so it is refitted."""

    ours, refits = (
        SelectFeatures(kind(alpha=0.1), floating=True, n_features=4, cv=cv).fit(X, y) for kind in (Ridge, Refitted)
    )
    assert (ours.session_, refits.session_) == ("gram", "refit")
    assert ours.history_["column"].to_list() == refits.history_["column"].to_list()
    np.testing.assert_allclose(ours.history_["score"], refits.history_["score"], rtol=1e-9)
