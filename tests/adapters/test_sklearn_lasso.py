"""Lasso and elastic net by coordinate descent on the Gram matrix of each fold predict what refits predict."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNet, Lasso
from sklearn.model_selection import GridSearchCV as TheirGridSearchCV
from sklearn.model_selection import KFold

from foldwise import GridSearchCV, SelectFeatures
from foldwise.folds import Need, RefitSession, open_session, open_subsets
from foldwise.folds.audit import disagreement
from foldwise.testing import check_foldable
from tests.adapters.test_sklearn_linear import regression, was_shared
from tests.adapters.test_sklearn_staged import name_of, splits_of
from tests.searches import assert_same_choice

PENALTIES = [{"alpha": alpha} for alpha in (1e-3, 0.05, 0.5, 100.0, 0.0, -1.0, "x", None, True, np.nan)]
VARIED = [
    {"fit_intercept": False},
    {"alpha": 0.1, "tol": 1e-8, "max_iter": 5000},
    {"alpha": 1e-3, "max_iter": 1},  # does not converge
    {"max_iter": None},
    {"max_iter": 0},
    {"positive": True},
    {"selection": "random", "random_state": 0},
    {"warm_start": True},
    {"copy_X": False},
    {"precompute": "auto"},
]
RATIOS = [{"l1_ratio": ratio, "alpha": 0.1} for ratio in (0.0, 0.01, 0.3, 1.0, 1.5, "x")]
MODELS = [Lasso(precompute=True), ElasticNet(precompute=True), Lasso(), ElasticNet()]


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_law(model, weighted):
    X, y = regression(0)
    settings = PENALTIES + VARIED + (RATIOS if isinstance(model, ElasticNet) else [])
    weights = {"sample_weight": np.random.default_rng(1).integers(0, 4, len(X)) / 3} if weighted else None
    check_foldable(model, X, y, settings, splits_of(len(X))[::2], weights)


@pytest.mark.parametrize("model", MODELS[:2], ids=name_of)
def test_columns_that_are_copies_constant_or_far_from_zero(model):
    X, y = regression(2)
    settings = [{"alpha": alpha} for alpha in (1e-3, 0.1, 1.0)]
    for other in (np.c_[X, X[:, 0], np.full(60, 0.1)], X + 1e4, X * [1.0, 100.0, 0.01, 1.0]):
        check_foldable(model, other, y, settings, splits_of(60)[:1])
    check_foldable(model, X, np.full(60, 0.1), settings, splits_of(60)[:1])


def test_the_default_takes_the_same_steps():
    """On these tables the two ways of scikit-learn agree to rounding, and the session agrees with both."""
    X, y = load_diabetes(return_X_y=True)
    train, test = np.arange(300), np.arange(300, 442)
    session = open_session(Lasso(), X, y)
    settings = [{"alpha": alpha} for alpha in np.logspace(-3, 0, 8)]
    ours = np.concatenate([block.answer.values for block in session.answer(settings, train, test, Need.VALUES)])
    for precompute in (False, True):
        refits = RefitSession(Lasso(precompute=precompute), X, y)
        theirs = np.concatenate([one.answer.values for one in refits.answer(settings, train, test, Need.VALUES)])
        assert np.abs(ours - theirs).max() < 1e-9 * y.std()


def test_what_is_solved_from_the_gram_matrix():
    X, y = regression(3, 200)
    train = np.arange(150)
    for model in MODELS:
        assert was_shared(model, X, y, {"alpha": 0.1}, train)
        for setting in ({"selection": "random"}, {"positive": True}, {"warm_start": True}, {"alpha": 0}):
            assert not was_shared(model, X, y, setting, train)
        assert not was_shared(model, X, y, {"alpha": 0.1}, np.arange(3))
    assert open_session(Lasso(), sp.csr_array(X), y).shares == "refit"
    assert open_session(Lasso(), X, np.c_[y, y]).shares == "refit"


def test_one_gram_matrix_for_each_split():
    X, y = load_diabetes(return_X_y=True)
    grid, cv = {"alpha": np.logspace(-3, 0, 8)}, KFold(4, shuffle=True, random_state=0)
    ours, theirs = (kind(Lasso(), grid, cv=cv).fit(X, y) for kind in (GridSearchCV, TheirGridSearchCV))
    assert (ours.session_, ours.fits_done_) == ("gram", 4)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-9)
    assert_same_choice(ours, theirs)


@pytest.mark.parametrize("model", [Lasso(0.1, precompute=True), ElasticNet(0.1, fit_intercept=False)], ids=name_of)
def test_subsets_of_columns(model):
    X, y = regression(4)
    session = open_subsets(model, X, y)
    for subset in ((0,), (1, 3), (0, 1, 2, 3)):
        for train, test in splits_of(60):
            assert not disagreement(session, {"columns": subset}, train, test, Need.VALUES), subset
    assert SelectFeatures(model, n_features=2, cv=3).fit(X, y).session_ == "gram"
