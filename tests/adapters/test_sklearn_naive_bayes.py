"""scikit-learn's five naive Bayes classifiers under our search: the law, and the numbers of its own nested search."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import model_selection as peer
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold, cross_validate
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

from foldwise import GridSearchCV, nested_cv, read_table
from foldwise.folds import Need, open_session
from foldwise.folds.tolerance import are_close
from foldwise.testing import check_foldable
from tests.searches import assert_same_ranks, first_best
from tests.slow import slow
from tests.tables import table_path

ALPHAS = [{}, {"alpha": 0.01}, {"alpha": 30}, {"alpha": 0}, {"alpha": 0.0, "force_alpha": False}, {"alpha": -1.0}]
PRIORS = [{"fit_prior": False}, {"class_prior": [0.2, 0.5, 0.3]}, {"class_prior": [0.5, 0.5]}, {"fit_prior": "no"}]
SMOOTHINGS = [
    {"var_smoothing": 1e-9},
    {"var_smoothing": 0},
    {"var_smoothing": 10.0},
    {"var_smoothing": -1.0},
    {"priors": [0.2, 0.5, 0.3]},
    {"priors": [0.2, 0.5, 0.4]},
    {"priors": [0.0, 0.5, 0.5]},
    {"priors": [0.5, 0.5], "var_smoothing": 0.1},
]
CASES = {
    "gaussian": (GaussianNB(), SMOOTHINGS),
    "categorical": (CategoricalNB(), ALPHAS + PRIORS),
    "categorical with a minimum": (CategoricalNB(min_categories=[4, 9, 2, 150]), [*ALPHAS, {"min_categories": 5}]),
    "bernoulli": (BernoulliNB(binarize=1.0), [*ALPHAS, *PRIORS, {"binarize": 0.5}]),
    "multinomial": (MultinomialNB(), [*ALPHAS, *PRIORS, {"alpha": [0.1, 1, 2, 3]}, {"alpha": [1, 2]}]),
    "complement": (ComplementNB(), [*ALPHAS, *PRIORS, {"norm": True}, {"norm": True, "alpha": 0.3}]),
}


def cells_of(name, rng, n):
    if name == "gaussian":
        return rng.normal([0, 5, -3, 1e4], [1, 2, 0.1, 30], (n, 4))
    return rng.integers(0, [2, 4, 3, 12], (n, 4))


@pytest.mark.parametrize("weighted", [True, *slow(False)])
@pytest.mark.parametrize("name", CASES)
def test_the_law(name, weighted, rng):
    estimator, settings = CASES[name]
    n = 120
    X = cells_of(name, rng, n)
    y = np.array(["b", "a", "c"])[np.r_[np.zeros(70, int), np.ones(45, int), np.full(5, 2)]]  # c is rare
    params = {"sample_weight": rng.integers(0, 3, n).astype(float)} if weighted else {}
    bootstrap = rng.integers(0, n, n)
    splits = [
        *KFold(3).split(X),
        *StratifiedKFold(2).split(X, y),
        *ShuffleSplit(2, train_size=9, random_state=1).split(X),
        (bootstrap, np.setdiff1d(np.arange(n), bootstrap)),
    ]
    assert open_session(estimator, X, y, params).shares == "summaries"
    check_foldable(estimator, X, y, settings, splits, params)


@pytest.mark.parametrize("name", ["multinomial", "complement", "bernoulli"])
def test_the_law_on_sparse_and_real_valued_cells(name, rng):
    estimator, settings = CASES[name]
    y = rng.integers(0, 3, 80)
    for X in (sp.csr_matrix(rng.poisson(0.5, (80, 4))), sp.csc_array(rng.random((80, 4))), rng.random((80, 4))):
        assert open_session(estimator, X, y).shares == "summaries"
        check_foldable(estimator, X, y, settings, list(KFold(3).split(np.zeros(80))))


@pytest.mark.parametrize("name", ["gaussian", "categorical"])
def test_leave_one_out_and_frames(name, rng):
    estimator, settings = CASES[name]
    X = pd.DataFrame(cells_of(name, rng, 12), columns=list("abcd"))
    y = np.arange(12) % 3
    check_foldable(estimator, X, y, settings, list(LeaveOneOut().split(X)))


def test_a_column_far_from_zero_moves_no_more_than_the_peer_itself(rng):
    X = np.c_[rng.normal(1e8, 1.0, 200), rng.normal(0, 1e-3, 200)]
    y = rng.integers(0, 2, 200)
    check_foldable(GaussianNB(), X, y, [{}, {"var_smoothing": 1e-3}], list(KFold(4).split(X)))


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (GaussianNB(), np.ones((12, 2), dtype=np.float32)),
        (GaussianNB(), np.array([[1.0, np.nan]] * 12)),
        (GaussianNB(), sp.csr_matrix(np.ones((12, 2)))),
        (CategoricalNB(), -np.ones((12, 2), dtype=int)),
        (CategoricalNB(min_categories=2.5), np.ones((12, 2), dtype=int)),
        (CategoricalNB(), np.full((12, 2), 1 << 21)),
        (MultinomialNB(), -np.ones((12, 2))),
        (BernoulliNB(binarize="x"), np.ones((12, 2))),
        (GaussianNB(), [["a", "b"]] * 12),
    ],
)
def test_what_only_a_refit_can_answer(estimator, X):
    assert open_session(estimator, X, np.arange(12) % 2).shares == "refit"


def test_weights_that_only_a_refit_can_judge():
    X, y = np.ones((12, 2)), np.arange(12) % 2
    for weights in (-np.ones(12), np.full(12, np.nan), np.ones(3), ["a"] * 12):
        assert open_session(GaussianNB(), X, y, {"sample_weight": weights}).shares == "refit"
    assert open_session(GaussianNB(), X, y, {"other": 1}).shares == "refit"


def random_problem(seed):
    """A table, a classifier and its grid; small and tied on purpose every other time."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(40, 200)), int(rng.integers(2, 5))
    name = list(CASES)[seed % len(CASES)]
    estimator = CASES[name][0]
    y = rng.integers(0, n_classes, n)
    if name == "gaussian":
        X = rng.normal(size=(n, 4)) + 0.5 * y[:, None]
        X = X if seed % 4 else X.round(1)
        return estimator, {"var_smoothing": [0, *np.logspace(-9, 1, 12)]}, X, y
    X = rng.integers(0, [2, 4, 3, 12], (n, 4))
    X[:, 1] = (X[:, 1] + y * (rng.random(n) < 0.4)) % 4
    if name == "categorical":
        estimator = CategoricalNB(min_categories=12)
    grid = {"alpha": [*np.logspace(-4, 2, 9), 1], "fit_prior": [True, False]}
    return estimator, grid if name != "complement" else {**grid, "norm": [True, False]}, X, y


@pytest.mark.parametrize("seed", [0, 1, *slow(*range(2, 20))])
def test_nested_numbers_are_those_of_scikit_learn(seed):
    estimator, grid, X, y = random_problem(seed)
    inner, outer = (StratifiedKFold(3, shuffle=True, random_state=seed + k) for k in (0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # var_smoothing of 0 on rounded columns
        ours = nested_cv(GridSearchCV(estimator, grid, cv=inner, scoring="accuracy"), X, y, cv=outer)
        search = peer.GridSearchCV(estimator, grid, cv=inner, scoring="accuracy", refit=first_best)
        theirs = cross_validate(search, X, y, cv=outer, return_estimator=True)
    assert (ours.scores == theirs["test_score"]).all()
    for found, expected, best in zip(ours.inner, theirs["estimator"], ours.best_params, strict=True):
        assert best == expected.best_params_
        assert_same_ranks(found, expected.cv_results_)
        for key in expected.cv_results_:
            if key.startswith(("split", "mean_test", "std_test")):
                assert (found[key] == expected.cv_results_[key]).all(), key


def test_real_tables():
    table = read_table(table_path("penguins"), target="species")
    numbers = table.X.to_pandas().select_dtypes("number").dropna()
    y = np.asarray(table.y)[numbers.index]
    check_foldable(GaussianNB(), numbers, y, SMOOTHINGS, list(KFold(5, shuffle=True, random_state=0).split(numbers)))


def test_blocks_stay_small_when_probabilities_are_wanted(rng, monkeypatch):
    monkeypatch.setattr("foldwise.folds.model_session.BLOCK_CELLS", 300)
    X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    session = open_session(GaussianNB(), X, y)
    settings = [{"var_smoothing": v} for v in np.logspace(-9, 0, 7)]
    blocks = list(session.answer(settings, np.arange(50), np.arange(50, 100), Need.PROBA))
    assert [(b.start, b.stop) for b in blocks] == [(0, 3), (3, 6), (6, 7)]


def test_no_setting_costs_a_fit(rng, monkeypatch):
    X, y = rng.normal(size=(100, 4)), np.arange(100) % 3
    session, train, test = open_session(GaussianNB(), X, y), np.arange(60), np.arange(60, 100)
    settings = [{}, {"var_smoothing": 0.1}]
    expected = [GaussianNB(**setting).fit(X[train], y[train]).predict_log_proba(X[test]) for setting in settings]
    monkeypatch.delattr(GaussianNB, "fit")
    blocks = list(session.answer(settings, train, test, Need.PROBA))
    assert are_close(np.concatenate([block.answer.log_proba for block in blocks]), expected)
