"""Discriminant analyses finished from one decomposition are those that scikit-learn fits, bit for bit."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import ShrunkCovariance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV as TheirGridSearchCV
from sklearn.model_selection import KFold

from foldwise import GridSearchCV, read_table
from foldwise.folds import Failure, Need, RefitSession, open_session
from foldwise.folds.tolerance import are_close
from foldwise.testing import check_foldable
from tests.adapters.test_sklearn_staged import ALL, assert_same_answers, name_of, splits_of, table
from tests.searches import assert_same_choice
from tests.slow import slow
from tests.tables import table_path

REGULAR = [0.0, 0.3, 1, np.float32(0.05), 2.0, -0.1, "x", None, True]
SHRINKAGES = [None, "auto", 0.2, 0, 1.0, 3.0, "x", True]
LINEAR = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="lsqr"),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
]
QUADRATIC = [
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
]


def priors_for(n_classes):
    """Priors that fit so many classes, and some that are refused or warned about."""
    some = np.random.default_rng(0).dirichlet(np.full(n_classes, 3.0))
    good = [None, some, some.tolist(), tuple(some), pd.Series(some), np.r_[1.0, np.zeros(n_classes - 1)]]
    return [*good, 2 * some, -some, some[:-1], np.r_[some, 0.1], np.full(n_classes, np.nan), "x", 3, {}]


def settings_of(model, n_classes):
    vary = "reg_param" if isinstance(model, QuadraticDiscriminantAnalysis) else "shrinkage"
    values = REGULAR if vary == "reg_param" else SHRINKAGES
    priors = priors_for(n_classes)
    settings = [{"priors": some} for some in priors] + [{vary: value} for value in values]
    return settings + [{"priors": priors[1], vary: value} for value in values] + [{"priors": priors[1], "tol": -1.0}]


@pytest.mark.parametrize("model", LINEAR + QUADRATIC, ids=name_of)
@pytest.mark.parametrize("classes", [3, *slow(2)])
def test_the_law(model, classes):
    X, y = table(classes, 60, classes)
    check_foldable(model, X, y, settings_of(model, classes), splits_of(60))


@pytest.mark.parametrize(
    "model",
    [
        *LINEAR,
        *QUADRATIC,
        LinearDiscriminantAnalysis(store_covariance=True, n_components=1),
        LinearDiscriminantAnalysis(n_components=99),
        LinearDiscriminantAnalysis(solver="eigen", n_components=1, shrinkage="auto"),
        QuadraticDiscriminantAnalysis(store_covariance=True, reg_param=0.2),
        QuadraticDiscriminantAnalysis(tol=3.0),
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto", store_covariance=True),
        QuadraticDiscriminantAnalysis(shrinkage=0.5),  # refused
    ],
    ids=name_of,
)
@pytest.mark.parametrize(
    ("dtype", "classes"), [(np.float64, 4), *slow((np.float32, 2), (np.float64, 2), (np.float32, 4))]
)
@pytest.mark.filterwarnings("ignore")
def test_bit_for_bit(model, dtype, classes):
    X, y = table(1, 90, classes)
    X, y = X.astype(dtype), np.array(["b", "a", "d", "c"])[y]
    for train, test in splits_of(90):
        seen = len(np.unique(y[train]))
        assert_same_answers(model, X, y, settings_of(model, seen), train, test)


@pytest.mark.parametrize("model", LINEAR + QUADRATIC, ids=name_of)
@pytest.mark.filterwarnings("ignore")
def test_rows_that_are_short_of_rank(model):
    X, y = table(2, 60, 2)
    settings = settings_of(model, 2)
    train, test = np.arange(45), np.arange(45, 60)
    for wide in (np.c_[X, X[:, 0]], np.c_[X, np.ones(60)], np.c_[X, X[:, :2] * 1e-5], X[:, :1], np.zeros((60, 2))):
        assert_same_answers(model, wide, y, settings, train, test)
    few = np.r_[np.flatnonzero(y == 0)[:4], np.flatnonzero(y == 1)[:9]]
    for rows in (few, few[2:], few[3:], few[:6], few[:4], few[3:5]):  # a class of 4, 2, 1 rows; one class; one row each
        assert_same_answers(model, X, y, settings, rows, test)


def test_more_regularization_makes_a_class_of_full_rank():
    X, y = table(2, 60, 2)
    X = np.c_[X, X[:, 0]]
    session = open_session(QuadraticDiscriminantAnalysis(), X, y)
    settings = [{"reg_param": reg} for reg in (0.0, 0.1)]
    blocks = list(session.answer(settings, np.arange(45), np.arange(45, 60), ALL))
    assert [isinstance(block.answer, Failure) for block in blocks] == [True, False]


@pytest.mark.parametrize("model", LINEAR + QUADRATIC, ids=name_of)
def test_models_are_whole_models(model):
    X, y = table(3, 80, 3)
    y[:9] = 2
    model.set_params(store_covariance=True)
    settings = settings_of(model, 3)[:3]
    train = np.arange(60)
    session, refits = open_session(model, X, y), RefitSession(model, X, y)
    blocks = session.answer(settings, train, np.arange(60, 80), ALL | Need.MODEL)
    for setting, block in zip(settings, blocks, strict=True):
        (one,), other = block.answer.models, refits.model(setting, train)
        assert vars(one).keys() == vars(other).keys()
        for name, value in vars(other).items():
            if name.endswith("_"):
                mine, their = (found if isinstance(found, list) else [found] for found in (vars(one)[name], value))
                assert all(np.array_equal(a, b) or are_close(a, b) for a, b in zip(mine, their, strict=True)), name
        assert one.get_params()["priors"] is setting["priors"]
        assert are_close(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("model", LINEAR + QUADRATIC, ids=name_of)
def test_frames_keep_their_names_without_a_warning(model):
    X, y = table(4, 60, 2)
    settings = [{"priors": [0.3, 0.7]}, {"priors": None}]
    assert_same_answers(model, pd.DataFrame(X, columns=list("abcd")), y, settings, np.arange(40), np.arange(40, 60))


@pytest.mark.parametrize("model", LINEAR, ids=name_of)
def test_priors_that_are_divided_by_their_sum_warn_as_in_a_refit(model):
    X, y = table(4, 60, 2)
    session = open_session(model, X, y)
    with pytest.warns(UserWarning, match="do not sum to 1"):
        assert session.model({"priors": [1.0, 1.0]}, np.arange(60)).priors_.tolist() == [0.5, 0.5]


def test_what_may_vary():
    X, y = table(5, 40, 2)
    linear, quadratic = (open_session(m, X, y) for m in (LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()))
    assert linear.lazy({}) == {"priors"}
    assert linear.lazy({"shrinkage": 0.1}) == frozenset()
    assert linear.lazy({"solver": "lsqr", "shrinkage": 0.1}) == {"priors", "shrinkage"}
    assert linear.lazy({"solver": "eigen", "covariance_estimator": ShrunkCovariance()}) == frozenset()
    assert quadratic.lazy({"tol": 1e-3}) == {"priors", "reg_param"}
    assert quadratic.lazy({"solver": "eigen", "covariance_estimator": ShrunkCovariance()}) == frozenset()
    settings = [
        {"solver": "eigen", "covariance_estimator": ShrunkCovariance(), "priors": p} for p in (None, [0.5, 0.5])
    ]
    for model in (LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()):
        assert_same_answers(model, X, y, settings, np.arange(30), np.arange(30, 40))


def test_fit_parameters_are_refused_as_by_a_refit():
    X, y = table(5, 40, 2)
    weights = {"sample_weight": np.ones(40)}
    settings = [{}, {"priors": [0.5, 0.5]}]
    assert_same_answers(LinearDiscriminantAnalysis(), X, y, settings, np.arange(30), np.arange(30, 40), weights)


def test_one_decomposition_for_each_group_and_split():
    X, y = table(6, 90, 2)
    cv = KFold(3, shuffle=True, random_state=0)
    for model, grid, groups in (
        (QuadraticDiscriminantAnalysis(), {"reg_param": [0.0, 0.1, 0.5], "priors": [None, [0.2, 0.8]]}, 1),
        (LinearDiscriminantAnalysis(), {"priors": [None, [0.2, 0.8]], "tol": [1e-4, 1e-3]}, 2),
        (LinearDiscriminantAnalysis(solver="lsqr"), {"shrinkage": [0.1, 0.5], "priors": [None, [0.2, 0.8]]}, 1),
    ):
        searches = (kind(model, grid, cv=cv, scoring="neg_log_loss") for kind in (GridSearchCV, TheirGridSearchCV))
        ours, theirs = (search.fit(X, y) for search in searches)
        assert (ours.session_, ours.fits_done_) == ("decomposition", groups * 3)
        np.testing.assert_allclose(
            ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-12
        )
        assert_same_choice(ours, theirs)


@pytest.mark.parametrize("model", LINEAR + QUADRATIC, ids=name_of)
def test_a_real_table(model):
    frame = read_table(table_path("penguins"), target="species")
    X = np.column_stack([frame.X[name] for name in ("bill_length_mm", "bill_depth_mm", "body_mass_g")]).astype(float)
    whole = np.isfinite(X).all(axis=1)
    X, y = X[whole], np.asarray(frame.y)[whole]
    settings = settings_of(model, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for train, test in KFold(3, shuffle=True, random_state=0).split(X):
            assert_same_answers(model, X, y, settings, train, test)
