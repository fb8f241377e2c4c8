"""Linear models solved from one Gram matrix predict what scikit-learn's refits predict."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV as TheirGridSearchCV
from sklearn.model_selection import KFold, LeaveOneOut

from foldwise import GridSearchCV
from foldwise.adapters.linear_session import unions_of_tests
from foldwise.folds import Failure, Need, RefitSession, open_session
from foldwise.folds.audit import disagreement
from foldwise.folds.splits import LeaveOneOutSplits, Split
from foldwise.testing import check_foldable
from tests.adapters.test_sklearn_staged import name_of, splits_of, table
from tests.searches import assert_same_choice
from tests.slow import slow

ALPHAS = [0.0, 1e-9, 0.1, 1, 30.0, 1e6, np.float32(0.5), -1.0, "x", None, np.nan, np.inf, True, [1.0], [1.0, 2.0]]
RIDGES = [{"alpha": alpha} for alpha in ALPHAS]
VARIED = [
    {"fit_intercept": False},
    {"fit_intercept": False, "alpha": 3.0},
    {"solver": "svd", "alpha": 2.0},
    {"solver": "cholesky"},
    {"solver": "lsqr"},
    {"solver": "saga", "random_state": 0},
    {"solver": "x"},
    {"positive": True},
    {"copy_X": False},
    {"max_iter": 0},
    {"tol": -1.0},
]
MODELS = [LinearRegression(), Ridge(), RidgeClassifier()]


def regression(seed, n=60, columns=4):
    X, _ = table(seed, n, columns=columns)
    rng = np.random.default_rng(seed)
    return X, X @ rng.normal(size=columns) + 0.3 * rng.normal(size=n) + 5.0


def target_for(model, seed, n=60, columns=4):
    X, y = regression(seed, n, columns)
    return (X, table(seed, n, 3, columns)[1]) if isinstance(model, RidgeClassifier) else (X, y)


def settings_for(model):
    if isinstance(model, LinearRegression):
        return [
            {},
            *({**one} for one in VARIED if one.keys() <= model.get_params().keys()),
            {"tol": 0.5},
            {"n_jobs": 2},
        ]
    return RIDGES + VARIED


def was_shared(model, X, y, setting, train):
    """Whether the session solves a setting itself, so that no refit takes place."""
    session = open_session(model, X, y)
    session.refit = None  # calling it raises, which makes the answer a failure
    [block] = session.answer([setting], train, np.arange(3), Need.VALUES | Need.LABELS)
    return not isinstance(block.answer, Failure)


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_law(model, weighted):
    X, y = target_for(model, 0)
    weights = {"sample_weight": np.random.default_rng(1).integers(0, 4, len(X)) / 3} if weighted else None
    check_foldable(model, X, y, settings_for(model), splits_of(len(X)), weights)


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@pytest.mark.parametrize("columns", [9, 80])  # more columns than rows in the smallest training set, and in all
def test_more_columns_than_rows(model, columns):
    X, y = target_for(model, 1, columns=columns)
    check_foldable(model, X, y, settings_for(model)[:7], splits_of(len(X)))


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], ["a", "b", "c"]])
@pytest.mark.parametrize("class_weight", ["balanced", {}, None])
def test_labels_and_class_weights(labels, class_weight, rng):
    X, codes = table(3, 70, len(labels))
    y = np.array(labels)[codes]
    settings = [{"class_weight": class_weight, "alpha": alpha} for alpha in (0.5, 10.0)]
    settings += [{"class_weight": dict.fromkeys(labels, 2.0) | {labels[0]: 0.5}}, {"class_weight": "x"}]
    check_foldable(RidgeClassifier(), X, y, settings, splits_of(70), {"sample_weight": rng.random(70)})


def test_when_settings_are_solved_from_the_gram_matrix(rng):
    X, y = regression(4, 200)
    train = np.arange(150)
    assert was_shared(Ridge(), X, y, {"alpha": 1.0}, train)
    assert was_shared(LinearRegression(), X, y, {}, train)
    assert was_shared(RidgeClassifier(), X, (y > 5).astype(int), {"alpha": 1.0}, train)
    for setting in ({"positive": True}, {"solver": "lsqr"}, {"solver": "sag"}):
        assert not was_shared(Ridge(), X, y, setting, train)
    assert not was_shared(LinearRegression(), X, y, {"positive": True}, train)
    blocks = np.eye(3)[rng.integers(0, 3, 200)]  # a full one-hot block is singular with an intercept
    assert not was_shared(LinearRegression(), np.c_[X, blocks], y, {}, train)
    assert was_shared(LinearRegression(), np.c_[X, blocks[:, 1:]], y, {}, train)
    assert was_shared(Ridge(), np.c_[X, blocks], y, {"alpha": 1.0}, train)
    assert not was_shared(Ridge(), np.c_[X, blocks], y, {"alpha": 1e-4}, train)
    for mean, shared in ((0.0, True), (1e6, False)):  # without an intercept, digits of a large mean are lost
        assert was_shared(LinearRegression(), X, y + mean, {"fit_intercept": False}, train) is shared
    wide, close = rng.normal(size=(200, 4)), rng.normal(size=(200, 1))
    for gap, shared in ((0.02, True), (0.002, False)):  # the condition number of X is about 100 and 1000
        together = np.c_[wide, close, close + gap * rng.normal(size=(200, 1))]
        assert was_shared(LinearRegression(), together, y, {}, train) is shared
        assert was_shared(Ridge(), together, y, {"alpha": 0.0}, train) is shared


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_tables_that_are_refitted_throughout(model):
    X, y = target_for(model, 5)
    gaps = X.copy()
    gaps[3, 1] = np.nan
    for other in (X.astype(np.float32), sp.csr_array(X), gaps, X.tolist(), np.asfortranarray(X).astype(object)):
        assert open_session(model, other, y).shares == "refit"
    assert open_session(model, X, y, {"sample_weight": -np.ones(60)}).shares == "refit"
    assert open_session(model, X, y, {"sample_weight": 2.0}).shares == "refit"
    if not isinstance(model, RidgeClassifier):
        assert open_session(model, X, np.c_[y, y]).shares == "refit"
        assert open_session(model, X, np.r_[y[1:], np.inf]).shares == "refit"


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_and_whole_numbers(model, frame):
    X, y = target_for(model, 6)
    whole = np.round(10 * X).astype(int)
    columns = {"a": X[:, 0], "b": whole[:, 1], "c": whole[:, 2] > 0}
    for table_ in (frame(columns), whole):
        assert open_session(model, table_, y).shares == "gram"
        check_foldable(model, table_, y, [{}, {"fit_intercept": False}], splits_of(60)[:1])


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@pytest.mark.parametrize("shift", [0.0, 1e3, 1e7, 1e10])
def test_large_means_and_scales(model, shift):
    X, y = target_for(model, 7, 80)
    X = X * [1.0, 10.0, 0.1, 3.0] + shift
    y = y if isinstance(model, RidgeClassifier) else 1e-3 * y + shift
    check_foldable(model, X, y, settings_for(model)[:6], splits_of(80)[:1])
    constant = np.c_[X, np.full(80, 3.0)]
    check_foldable(model, constant, y, settings_for(model)[:6], splits_of(80)[:1])


def test_constant_targets_and_exact_fits():
    X, _ = regression(8)
    for y in (np.full(60, 3.7), np.zeros(60), X @ np.arange(4.0) + 1.0):
        for model in (LinearRegression(), Ridge()):
            check_foldable(model, X, y, [{}, {"fit_intercept": False}], splits_of(60))


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_models_are_those_of_refits(model):
    X, y = target_for(model, 9)
    train, test = np.arange(45), np.arange(45, 60)
    session, other = open_session(model, X, y), RefitSession(model, X, y).model({}, train)
    one = session.model({}, train)
    assert vars(one).keys() == vars(other).keys()
    np.testing.assert_allclose(one.coef_, other.coef_)
    [block] = session.answer([{}], train, test, Need.MODEL)  # all predictions: enough for most scorers
    answer = block.answer
    found = answer.values if answer.values is not None else answer.decision
    np.testing.assert_allclose(found[0], (getattr(other, "decision_function", other.predict))(X[test]))


@pytest.mark.parametrize("model", MODELS, ids=name_of)
@pytest.mark.parametrize("kind", ["plain", "weighted", "two classes", *slow("leveraged", "wide")])
def test_leave_one_out_in_closed_form(model, kind):
    X, y = target_for(model, 10, 15, columns=20 if kind == "wide" else 4)
    if kind == "leveraged":
        X[3, 0], X[4] = 1e7, 300.0  # the condition number depends on the row that is left out
        X[:, 1] = 0.0
        X[7, 1] = 1.0
    if kind == "two classes" and isinstance(model, RidgeClassifier):
        y = np.where(y == 2, 1, y)
    params = (
        {"sample_weight": np.random.default_rng(1).integers(0, 3, 15).astype(float)} if kind == "weighted" else None
    )
    settings = [{"alpha": alpha} for alpha in (0.0, 0.1)] if not isinstance(model, LinearRegression) else [{}]
    settings += [{"fit_intercept": False}]
    check_foldable(model, X, y, settings, LeaveOneOutSplits(np.arange(15)), params)


def test_leave_one_out_is_one_pass():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:40], y[:40]
    grid = {"alpha": [0.01, 1.0]}
    for scoring in ("neg_mean_squared_error", "neg_root_mean_squared_error"):
        searches = (
            kind(Ridge(), grid, cv=LeaveOneOut(), scoring=scoring) for kind in (GridSearchCV, TheirGridSearchCV)
        )
        ours, theirs = (search.fit(X, y) for search in searches)
        assert ours.fits_done_ == 1
        for name in ("mean_test_score", "std_test_score"):
            np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-9)
    rare = np.r_[np.arange(39) % 2, 2]
    assert not open_session(RidgeClassifier(), X, rare).answers_leave_one_out({})
    assert not open_session(RidgeClassifier(), X, rare % 2).answers_leave_one_out({"class_weight": "balanced"})
    labels = (y > 120).astype(int)
    ours, theirs = (
        kind(RidgeClassifier(), grid, cv=LeaveOneOut(), scoring="accuracy").fit(X, labels)
        for kind in (GridSearchCV, TheirGridSearchCV)
    )
    assert ours.fits_done_ == 1
    assert ours.cv_results_["mean_test_score"].tolist() == theirs.cv_results_["mean_test_score"].tolist()


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_training_sets_that_are_merged_from_test_rows(model):
    X, y = target_for(model, 11, 90)
    params = {"sample_weight": np.random.default_rng(2).random(90)}
    folds = [Split(train, test) for train, test in KFold(4, shuffle=True, random_state=0).split(X)]
    plain, aware = open_session(model, X, y, params), open_session(model, X, y, params)
    aware.expect(folds)
    for split in folds:
        assert len(aware._parts_of(split.train)) == 3
        a, b = aware.facts(split.train), plain.facts(split.train)
        np.testing.assert_allclose(a.centered.gram, b.centered.gram, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(a.centered.moment, b.centered.moment, rtol=1e-11, atol=1e-11)
        assert not disagreement(aware, {}, split.train, split.test, Need.VALUES | Need.LABELS | Need.DECISION)


def test_other_splits_are_not_merged(rng):
    rows = rng.permutation(60)
    folds = [(np.setdiff1d(rows, part), part) for part in np.split(rows, 4)]

    def union(changed):
        return unions_of_tests([Split(train, test) for train, test in changed], 60)

    assert [len(parts) for parts in union(folds)] == [3, 3, 3, 3]
    (train, test), *others = folds
    assert union([(train[1:], test), *others]) == []  # a training set without some rows
    assert union([(np.r_[train[1:], train[1]], test), *others]) == []  # with a row twice
    assert union([(np.r_[train[1:], test[0]], test), *others]) == []  # with a test row
    assert union([(train, np.r_[test, others[0][1][0]]), *others]) == []  # a row that is tested twice
    assert union(others) == []  # rows that are never tested


def test_one_gram_matrix_for_each_split():
    X, y = load_diabetes(return_X_y=True)
    grid = {"alpha": np.logspace(-3, 3, 8), "fit_intercept": [True, False]}
    cv = KFold(4, shuffle=True, random_state=0)
    ours, theirs = (kind(Ridge(), grid, cv=cv).fit(X, y) for kind in (GridSearchCV, TheirGridSearchCV))
    assert (ours.session_, ours.fits_done_) == ("gram", 4)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-10)
    assert_same_choice(ours, theirs)
