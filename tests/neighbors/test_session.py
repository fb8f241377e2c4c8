"""The fold law on both estimators: one search answers every k, every vote and, if nothing is learned, every split."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn import model_selection as peer
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedShuffleSplit

from foldwise import GridSearchCV, KNNClassifier, KNNRegressor, nested_cv, read_table
from foldwise.folds import Need, open_session
from foldwise.folds import neighbor_lists as lists
from foldwise.testing import check_foldable
from tests.conftest import mixed_columns
from tests.searches import first_best
from tests.tables import available, catalogue, table_path

VOTES = [
    {"n_neighbors": 1},
    {"n_neighbors": 4, "weights": "distance"},
    {"n_neighbors": 5, "weights": "gaussian", "laplace": 1.0},
    {"n_neighbors": 5, "weights": "triangular", "ties": "class"},
    {"n_neighbors": 7, "ties": "class"},
    {"n_neighbors": 0},
    {"n_neighbors": 1000},
    {"n_jobs": 0},
    {"weights": "nothing"},
    {"n_neighbors": 3, "weights": lambda d: 1 / (1 + d)},
]
MIXED = [{**votes, "metric": metric} for metric in ("gower", "heom", "hvdm") for votes in VOTES[:5]]
NUMERIC = [
    *({**votes, "metric": metric} for metric in ("manhattan", "cosine") for votes in VOTES[:3]),
    {"scale": "standard"},
    {"scale": "robust", "n_neighbors": 3, "weights": "distance"},
    {"scale": "minmax", "pca": 2},
    {"metric": "minkowski", "p": 3, "column_weights": [1, 0, 2, 1]},
    {"metric": "hvdm"},
    {"metric": "gower"},
    {"pca": 50},
    {"wrong": 1},
]


def splits_of(rng, n):
    """Folds, a tiny shuffled training set, a bootstrap, and one that also trains on what it tests."""
    splits = list(KFold(3).split(np.zeros(n))) + list(ShuffleSplit(1, train_size=9, random_state=1).split(np.zeros(n)))
    bootstrap = rng.integers(0, n, n)
    return [*splits, (bootstrap, np.setdiff1d(np.arange(n), bootstrap)), (np.arange(n // 2), np.arange(n))]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_mixed_tables(seed):
    rng = np.random.default_rng(seed)
    n = 80
    X = pl.DataFrame(mixed_columns(rng, n, missing=0.2))
    y = np.r_[np.zeros(50, int), np.ones(26, int), np.full(4, 2)]  # class 2 is rare: absent from some training rows
    check_foldable(KNNClassifier(), X, y, [*VOTES, *MIXED], splits_of(rng, n))


@pytest.mark.parametrize("whole", [False, True])
def test_numbers_with_and_without_ties(rng, whole):
    n = 80
    X = rng.integers(0, 3, (n, 4)).astype(float) if whole else rng.normal(size=(n, 4))
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, n)]
    check_foldable(KNNClassifier(), X, y, [*VOTES, *NUMERIC], splits_of(rng, n))


def test_regression(rng):
    n = 80
    X, y = rng.integers(0, 5, (n, 4)), rng.normal(size=n)
    votes = [{k: v for k, v in one.items() if k not in ("ties", "laplace")} for one in VOTES]
    check_foldable(KNNRegressor(), X, y, [*votes, *NUMERIC[-8:]], splits_of(rng, n))
    mixed = pl.DataFrame(mixed_columns(rng, n))
    check_foldable(KNNRegressor(), mixed, y, [*votes, {"metric": "heom"}, {"metric": "hvdm"}], splits_of(rng, n))


def test_leave_one_out(rng):
    X, y = rng.integers(0, 3, (25, 2)), rng.integers(0, 2, 25)
    check_foldable(KNNClassifier(), X, y, VOTES, list(LeaveOneOut().split(X)))


@pytest.mark.slow
@pytest.mark.parametrize("name", available("penguins", "contact_lenses", "hepatitis", "zoo"))
def test_real_tables(name):
    table = read_table(table_path(name), target=catalogue()[name]["target"])
    settings = [*VOTES[:5], *MIXED]
    check_foldable(
        KNNClassifier(), table.X, table.y, settings, list(KFold(4, shuffle=True, random_state=0).split(table.X))
    )


def test_a_missing_cell_under_a_distance_of_numbers(rng):
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    X[3, 1] = np.nan
    settings = [{"metric": "euclidean"}, {"metric": "gower"}]
    check_foldable(KNNClassifier(), X, y, settings, list(KFold(4).split(X)))


@pytest.mark.parametrize("scale", [None, "standard"])
def test_searches_are_those_of_scikit_learn(rng, scale):
    X = rng.normal(size=(200, 5)) * [1, 2, 3, 4, 5]
    y = (X[:, 0] + 0.3 * rng.normal(size=200) > 0).astype(int)
    grid = {"n_neighbors": [1, 2, 5, 12, 20], "weights": ["uniform", "distance"]}
    cv = StratifiedShuffleSplit(4, test_size=0.2, random_state=0)
    model = KNNClassifier(scale=scale)
    ours = GridSearchCV(model, grid, cv=cv, scoring=["accuracy", "neg_log_loss"], refit="accuracy").fit(X, y)
    theirs = peer.GridSearchCV(model, grid, cv=cv, scoring=["accuracy", "neg_log_loss"], refit="accuracy").fit(X, y)
    for key in ("mean_test_accuracy", "mean_test_neg_log_loss"):
        np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key], rtol=1e-10)
    assert theirs.cv_results_["mean_test_accuracy"][ours.best_index_] == pytest.approx(theirs.best_score_, rel=1e-10)
    assert ours.session_ == ("neighbors" if scale is None else "neighbors of each split")
    nested = nested_cv(GridSearchCV(model, {"n_neighbors": [1, 5, 9]}, cv=3), X, y, cv=4)
    search = peer.GridSearchCV(model, {"n_neighbors": [1, 5, 9]}, cv=3, refit=first_best)
    expected = peer.cross_val_score(search, X, y, cv=4)
    np.testing.assert_allclose(nested.scores, expected, rtol=1e-10)


def test_what_is_shared_is_said(rng):
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    assert open_session(KNNClassifier(), X, y).shares == "neighbors"
    assert open_session(KNNClassifier(metric="gower"), X, y).shares == "neighbors of each split"
    options = {"cv": 3, "audit": False}
    assert GridSearchCV(KNNClassifier(), {"scale": ["standard"]}, **options).fit(X, y).session_ == (
        "neighbors of each split"
    )
    assert GridSearchCV(KNNClassifier(scale="standard"), {"scale": [None]}, **options).fit(X, y).session_ == (
        "neighbors"
    )
    both = GridSearchCV(KNNClassifier(), {"scale": [None, "standard"]}, **options).fit(X, y)
    assert both.session_ == "neighbors, in part of each split"


def test_lists_of_many_measures_are_not_all_kept(rng, monkeypatch):
    monkeypatch.setattr(lists, "MOST_BYTES", 40_000)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    settings = [{"column_weights": [1.0, w, 1.0]} for w in np.linspace(0.1, 3, 9)]
    check_foldable(KNNClassifier(4), X, y, settings, list(KFold(3).split(X)))
    session = open_session(KNNClassifier(4), X, y)
    train, test = np.arange(40), np.arange(40, 60)
    for setting in settings:
        list(session.answer([setting], train, test, Need.LABELS))
    assert len(session._store._kept) < len(settings)
