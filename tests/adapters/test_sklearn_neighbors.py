"""k nearest neighbors from shared lists are those that scikit-learn finds, ties included."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import model_selection as peer
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from foldwise import GridSearchCV
from foldwise.adapters.nearest import searching
from foldwise.adapters.sklearn_neighbors import NeighborSession
from foldwise.folds import Answer, Failure, Need, RefitSession, open_session
from foldwise.folds.tolerance import are_close
from foldwise.testing import check_foldable
from tests.searches import assert_same_choice, assert_same_ranks
from tests.slow import slow
from tests.tables import available, table_path

N = 90
ALL = Need.LABELS | Need.PROBA | Need.VALUES
MODELS = [KNeighborsClassifier(), KNeighborsRegressor()]
SETTINGS = [{"n_neighbors": k, "weights": w} for k in (1, 2, 3, 8, 13, 45, 68) for w in ("uniform", "distance")]
ODD = [
    {"weights": None},
    {"n_neighbors": 400},
    {"n_neighbors": 0},
    {"n_neighbors": 2.0},
    {"n_neighbors": None},
    {"weights": "x"},
    {"weights": np.exp},
    {"algorithm": "brute", "n_neighbors": np.int64(4), "weights": "distance"},
    {"algorithm": "ball_tree", "leaf_size": 3},
    {"algorithm": "kd_tree", "n_jobs": 1},
    {"algorithm": "x"},
    {"leaf_size": 0},
    {"p": 0.5},
    {"p": 3},
    {"nothing": 1},
]


def tables():
    rng = np.random.default_rng(0)
    few, wide = rng.normal(size=(N, 3)), rng.normal(size=(N, 20))
    return {
        "few columns": few,
        "many columns": wide,
        "far from 0": wide + 1e5,
        "duplicates": np.repeat(wide[: N // 3], 3, axis=0),
        "duplicates, few columns": np.repeat(few[: N // 3], 3, axis=0),
        "whole numbers": rng.integers(0, 3, (N, 20)),
        "whole numbers, few columns": rng.integers(0, 3, (N, 4)),
        "whole numbers as floats": rng.integers(0, 3, (N, 20)).astype(float),
        "all equal": np.full((N, 20), 0.1),
        "all equal, few columns": np.full((N, 2), 0.1),
        "single precision": wide.astype(np.float32),
        "single precision, few columns": few.astype(np.float32),
    }


COMMON = ("few columns", "far from 0", "duplicates", "whole numbers", "whole numbers, few columns", "all equal")


def splits():
    """A holdout, a bootstrap with its own rows among the test rows, rows in both, and very few training rows."""
    rng = np.random.default_rng(1)
    rows = rng.permutation(N)
    return [
        (rows[20:], rows[:20]),
        (rng.integers(0, N, N), np.arange(N)),
        (rows[20:], rows[10:40]),
        (rows[:10], rows[10:]),
    ]


def target(model):
    rng = np.random.default_rng(2)
    if isinstance(model, KNeighborsRegressor):
        return rng.normal(size=N) * 10
    return np.r_[[5, 5], rng.integers(0, 4, N - 2)]  # a class so rare that a training set lacks it


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("name", [*COMMON, *slow(*(name for name in tables() if name not in COMMON))])
def test_the_law(model, name):
    check_foldable(model, tables()[name], target(model), SETTINGS, splits())


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    "params",
    [{"p": 1}, {"p": 1.5}, {"p": np.inf}, {"metric": "cosine"}, {"metric": "l2"}, {"metric": "cityblock", "p": None}],
    ids=str,
)
@pytest.mark.parametrize("name", ["whole numbers", *slow("duplicates", "many columns", "whole numbers as floats")])
def test_the_law_for_other_distances(model, params, name):
    X = tables()[name]
    model = type(model)(**params)
    assert open_session(model, X, target(model)).lazy({"n_neighbors": 3})
    check_foldable(model, X, target(model), SETTINGS[2:8], splits()[:2])
    if params.get("metric") != "cosine":
        check_foldable(model, X[:, :4].copy(), target(model), SETTINGS[2:8], splits()[:2])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore:Mind that for")
def test_odd_settings_fail_or_are_refitted_alone(model):
    X, y = tables()["whole numbers, few columns"], target(model)
    check_foldable(model, X, y, ODD + SETTINGS[:2], splits()[:2])
    session = open_session(model, X, y)
    blocks = list(session.answer([{"n_neighbors": 0}, {}, {"weights": "x"}], *splits()[0], ALL))
    assert [isinstance(block.answer, Failure) for block in blocks] == [True, False, True]
    assert session.lazy({"n_neighbors": 0}) == session.lazy({"metric": "canberra"}) == frozenset()
    assert "n_neighbors" in session.lazy({"p": 3})


def test_labels_equal_those_of_refits_at_every_tie(rng):
    X, y = rng.integers(0, 3, (300, 18)), rng.choice(["c", "a", "b"], 300)
    settings = [{"n_neighbors": k, "weights": w} for k in (*range(1, 9), 12, 17, 24) for w in ("uniform", "distance")]
    for table in (X, X.astype(float), X.astype(np.float32), X[:, :3]):
        session, refits = open_session(KNeighborsClassifier(), table, y), RefitSession(KNeighborsClassifier(), table, y)
        for train, test in StratifiedShuffleSplit(2, test_size=0.3, random_state=0).split(X, y):
            ours = together(session.answer(settings, train, test, ALL))
            theirs = together(refits.answer(settings, train, test, ALL))
            np.testing.assert_array_equal(ours.proba[::2], theirs.proba[::2])  # shares of whole votes
            np.testing.assert_allclose(ours.proba, theirs.proba, rtol=1e-10, atol=0)
            best, second = np.sort(theirs.proba, axis=2)[:, :, :-3:-1].transpose(2, 0, 1)
            assert ((ours.labels == theirs.labels) | (best - second < 1e-10)).all()
            assert (ours.labels == theirs.labels)[::2].all()


def test_rows_that_are_open_do_not_warn():
    X, y = tables()["duplicates"], target(KNeighborsClassifier())
    session = open_session(KNeighborsClassifier(weights="distance"), X, y)
    (block,) = session.answer([{"n_neighbors": 2}], *splits()[0], ALL)
    assert np.isfinite(block.answer.proba).all()


def test_oversampled_rows(rng):
    X, y = tables()["whole numbers"], target(KNeighborsClassifier())
    train = np.repeat(splits()[0][0], rng.choice([1, 2, 40], 70))
    check_foldable(
        KNeighborsClassifier(), X, y, SETTINGS, [(train, splits()[0][1]), (np.repeat([3, 4], 30), np.arange(9))]
    )


def together(blocks):
    answers = [block.answer for block in blocks]
    parts = [np.concatenate([getattr(one, name) for one in answers]) for name in ("labels", "proba")]
    return Answer(labels=parts[0], proba=parts[1])


def test_uniform_means_of_long_lists_are_those_of_refits(rng):
    for y in (rng.normal(size=300) * 1e3, rng.integers(0, 1000, 300)):
        X = rng.normal(size=(300, 18))
        session, refits = (kind(KNeighborsRegressor(), X, y) for kind in (open_session, RefitSession))
        settings = [{"n_neighbors": k} for k in (1, 5, 8, 17, 100, 140)]
        train, test = np.arange(220), np.arange(220, 300)
        ours, theirs = (list(one.answer(settings, train, test, ALL)) for one in (session, refits))
        found = np.concatenate([block.answer.values for block in ours])
        assert are_close(found, np.concatenate([block.answer.values for block in theirs]), float(np.std(y[train])))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_sorted_tables_run_short_and_are_searched_among_training_rows(model):
    X, y = np.sort(tables()["few columns"], axis=0), target(model)
    folds = [(train, test) for train, test in KFold(4).split(X)]
    check_foldable(model, X, y, SETTINGS[:10], folds)


@pytest.mark.parametrize("convert", [pd.DataFrame, np.asfortranarray, np.ndarray.tolist, "polars", "strided"], ids=str)
@pytest.mark.parametrize("name", ["whole numbers, few columns", *slow("many columns", "whole numbers as floats")])
def test_tables_of_any_make(convert, name):
    X = tables()[name]
    if convert == "polars":
        table = pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])])
    elif convert == "strided":
        table = np.repeat(X, 2, axis=0)[::2]
    else:
        table = convert(X)
    for model in MODELS:
        assert isinstance(open_session(model, table, target(model)), NeighborSession)
        for params in ({}, {"metric": "manhattan"}):
            check_foldable(type(model)(**params), table, target(model), SETTINGS[:6], splits()[:2])


def test_what_is_declined(rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    holes = X.copy()
    holes[3, 1] = np.nan
    for table in (
        sp.csr_matrix(X),
        holes,
        X.astype(object),
        pd.DataFrame({"a": X[:, 0], "b": ["x"] * 60}),
        X.astype(np.float16),
        X * 1e200,
        [[1, 2.5], [1, 2]] * 30,
        X > 0,
    ):
        assert not isinstance(open_session(KNeighborsClassifier(), table, y), NeighborSession)
    assert not isinstance(open_session(KNeighborsRegressor(), X, X[:, :2]), NeighborSession)
    assert not isinstance(open_session(KNeighborsRegressor(), X, X[:, 0].astype(np.float32)), NeighborSession)
    assert not isinstance(open_session(KNeighborsClassifier(), X, y, {"sample_weight": np.ones(60)}), NeighborSession)
    session = open_session(KNeighborsClassifier(), X, y)
    for params in (
        {"metric": "precomputed"},
        {"metric": "seuclidean", "metric_params": {"V": np.ones(3)}},
        {"metric": "mahalanobis"},
        {"metric": lambda a, b: 0.0},
        {"metric_params": {"w": np.ones(3)}},
        {"weights": np.exp},
    ):
        assert not session.lazy(params)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_models_are_fitted_when_asked_for(model):
    X, y = tables()["few columns"], target(model)
    train, test = splits()[0]
    session = open_session(model, X, y)
    assert all(block.answer.models is None for block in session.answer(SETTINGS, train, test, ALL))
    for setting, block in zip(SETTINGS, session.answer(SETTINGS, train, test, ALL | Need.MODEL), strict=True):
        (one,) = block.answer.models
        assert one.get_params() == type(model)(**setting).get_params()
        np.testing.assert_array_equal(one.predict(X[test]), session.model(setting, train).predict(X[test]))


@pytest.mark.parametrize("scoring", ["neg_log_loss", *slow("accuracy", "roc_auc_ovr")])
@pytest.mark.parametrize("name", available("digits", "letter", "phishing"))
@pytest.mark.parametrize(("rows", "step"), [(200, 6), *slow((400, 2))])
@pytest.mark.filterwarnings("ignore")
def test_searches_on_tables_full_of_ties(name, scoring, rows, step):
    frame = pd.read_csv(table_path(name)).sample(frac=1, random_state=0)[:rows]
    grid = {"n_neighbors": list(range(1, 31, step)), "weights": ["uniform", "distance"]}
    compare(KNeighborsClassifier(), grid, frame.iloc[:, :-1], frame.iloc[:, -1], cv=4, scoring=scoring)


def compare(model, grid, X, y, **options):
    ours = GridSearchCV(model, grid, **options).fit(X, y)
    theirs = peer.GridSearchCV(model, grid, **options).fit(X, y)
    for key, expected in theirs.cv_results_.items():
        if key.startswith(("split", "mean_t")):
            if options["scoring"] == "accuracy":
                np.testing.assert_array_equal(ours.cv_results_[key], expected, err_msg=key)
            else:
                np.testing.assert_allclose(ours.cv_results_[key], expected, rtol=1e-10, err_msg=key)
    if options["scoring"] == "accuracy":
        assert_same_ranks(ours.cv_results_, theirs.cv_results_)
        assert_same_choice(ours, theirs)


@pytest.mark.parametrize(("columns", "n_jobs"), [(5, 2), *slow((5, None), (20, 2), (20, None))])
def test_a_search_over_all_parameters(columns, n_jobs):
    X, y = make_classification(300, columns, random_state=0)
    grid = {
        "n_neighbors": [1, 4, 9, 250],
        "weights": ["uniform", "distance", None],
        "algorithm": ["auto", "brute", "ball_tree"],
        "p": [1, 2, 3],
    }
    ours = GridSearchCV(KNeighborsClassifier(), grid, cv=3, n_jobs=n_jobs, error_score=np.nan)
    theirs = peer.GridSearchCV(KNeighborsClassifier(), grid, cv=3, error_score=np.nan)
    with pytest.warns(UserWarning, match="failed|non-finite"):
        ours.fit(X, y)
    with pytest.warns(UserWarning, match="failed|non-finite"):
        theirs.fit(X, y)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert_same_ranks(ours.cv_results_, theirs.cv_results_)


def test_training_scores_and_regression(rng):
    X, y = rng.normal(size=(150, 18)), rng.normal(size=150)
    grid = {"n_neighbors": [1, 3, 8, 20], "weights": ["uniform", "distance"]}
    ours, theirs = (
        kind(KNeighborsRegressor(), grid, cv=4, scoring="r2", return_train_score=True).fit(X, y)
        for kind in (GridSearchCV, peer.GridSearchCV)
    )
    for key in ("mean_test_score", "mean_train_score"):
        np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key], rtol=1e-10)


def test_lists_are_searched_once_for_all_splits(rng, monkeypatch):
    sizes = []
    plain = searching.searched

    def searched(search, X, rows, depth):
        sizes.append(len(rows))
        return plain(search, X, rows, depth)

    monkeypatch.setattr(searching, "searched", searched)
    X, y = rng.normal(size=(500, 20)), rng.integers(0, 2, 500)
    cv = StratifiedShuffleSplit(20, test_size=0.2, random_state=0)
    GridSearchCV(KNeighborsClassifier(), {"n_neighbors": list(range(1, 20))}, cv=cv, refit=False, audit=False).fit(X, y)
    assert sizes[:2] == [100, 400]
    assert sum(sizes[2:]) < 10  # rows that ran short


THREADS = """
import numpy as np
from threadpoolctl import threadpool_info
from sklearn.neighbors import KNeighborsClassifier
from foldwise.folds import Need, RefitSession, open_session
assert any(one["user_api"] == "openmp" and one["num_threads"] > 1 for one in threadpool_info())
rng = np.random.default_rng(0)
settings = [{"n_neighbors": k, "weights": w} for k in (1, 4, 7) for w in ("uniform", None, "distance")]
for n, n_test, params in CASES:
    X, y = rng.integers(0, 3, (n, 16)).astype(float), rng.integers(0, 3, n)
    rows = rng.permutation(n)
    answers = []
    for kind in (open_session, RefitSession):
        session = kind(KNeighborsClassifier(**params), X, y)
        blocks = session.answer(settings, rows[n_test:], rows[:n_test], Need.LABELS)
        answers.append(np.concatenate([block.answer.labels for block in blocks]))
    assert (answers[0] == answers[1]).all(), (n, n_test, params, (answers[0] != answers[1]).sum(axis=1))
"""


@pytest.mark.parametrize(
    "cases",
    slow(
        [(2000, 1500, {})],
        [(6000, 2500, {}), (6000, 900, {}), (6000, 2500, {"metric": "manhattan"})],
    ),
    ids=len,
)
def test_ties_among_threads(cases):
    """scikit-learn breaks ties otherwise where it shares out training rows over threads; a batch must do as it does."""
    pytest.importorskip("threadpoolctl")
    root = Path(__file__).parents[3]
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    code = f"CASES = {cases}\n{THREADS}"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_search_that_leaves_nothing_open_beside_one_that_does():
    X, y = np.array([[0], [0], [1], [1], [2], [2]] * 2), np.arange(12.0)
    grid = [{"n_neighbors": [1], "algorithm": ["brute"]}, {"n_neighbors": [6], "algorithm": ["auto"]}]
    options = {"cv": 2, "scoring": "neg_mean_squared_error"}
    ours = GridSearchCV(KNeighborsRegressor(), grid, **options).fit(X, y)
    theirs = peer.GridSearchCV(KNeighborsRegressor(), grid, **options).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-10)
