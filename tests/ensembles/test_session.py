"""The fold law on ensembles: combinations from what members said equal refits; members share their sessions."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from sklearn import model_selection as peer
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from foldwise import Ensemble, EnsembleRegressor, GridSearchCV, KNNClassifier, KNNRegressor, NaiveBayes, nested_cv
from foldwise.ensembles import (
    Best,
    GreedySelection,
    LogMean,
    Pruning,
    Stacking,
    VariedParameters,
    Weighted,
    bagging,
    majority_vote,
    random_forest,
)
from foldwise.ensembles.combiners.averages import Mean, Vote
from foldwise.ensembles.session import MembersOnSplit
from foldwise.folds import Need, open_session
from foldwise.folds.model_session import RefitSession
from foldwise.testing import check_foldable
from tests.conftest import mixed_columns

MEMBERS = {"near": KNNClassifier(5), "far": KNNClassifier(19), "bayes": NaiveBayes()}
SETTINGS = [
    {},
    {"combiner": "vote"},
    {"combiner": "vote", "near__n_neighbors": 1},
    {"combiner": "log_mean", "bayes__var_floor": 0.1},
    {"combiner": LogMean(floor=1e-3), "far__weights": "distance"},
    {"combiner": "median"},
    {"combiner": Weighted([1.0, 2.0, 0.5], over="mean")},
    {"combiner": Weighted(cv=3)},
    {"combiner": Best(cv=StratifiedKFold(3, shuffle=True, random_state=0))},
    {"size": GreedySelection(rounds=4, cv=3), "combiner": "mean"},
    {"size": Pruning(2, cv=3), "combiner": "vote"},
    {"bayes": DecisionTreeClassifier(random_state=0)},
    {"members": [GaussianNB(), KNeighborsClassifier(3)]},
    {"combiner": "nothing"},
    {"near__n_neighbors": 1000},
    {"size": 0},
    {"combiner": Weighted([1.0])},
]


def splits_of(n):
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, n, n)
    return [
        *list(KFold(3, shuffle=True, random_state=0).split(np.zeros(n)))[:1],
        *ShuffleSplit(1, train_size=60, random_state=1).split(np.zeros(n)),
        (drawn, np.setdiff1d(np.arange(n), drawn)),
    ]


def test_votes_of_neighbors_and_naive_bayes():
    X, y = load_wine(return_X_y=True)
    check_foldable(Ensemble(MEMBERS), X, y, SETTINGS, splits_of(len(y)))


def test_a_class_that_is_absent_from_training_rows():
    X, y = load_wine(return_X_y=True)
    lacking = [
        (np.flatnonzero(y != 1)[::2], np.arange(0, 178, 3)),
        (np.flatnonzero(y != 0)[1::2], np.arange(0, 178, 5)),
    ]
    some = [s for s in SETTINGS if s.get("near__n_neighbors") != 1000]
    check_foldable(Ensemble(MEMBERS), X, np.array(["b", "a", "c"])[y], some, lacking)


def test_mixed_columns_in_frames():
    rng = np.random.default_rng(3)
    X = pl.DataFrame(mixed_columns(rng, 90))
    y = rng.integers(0, 2, 90)
    settings = [{}, {"combiner": "vote"}, {"near__n_neighbors": 2, "combiner": "log_mean"}, {"bayes__alpha": 3.0}]
    check_foldable(Ensemble(MEMBERS), X, y, settings, list(KFold(3).split(np.zeros(90))))


def test_weights_of_rows():
    X, y = load_wine(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    members = {
        "ours": NaiveBayes(),
        "theirs": GaussianNB(),
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    }
    settings = [{}, {"combiner": "vote"}, {"combiner": Weighted(cv=3)}, {"size": GreedySelection(3, cv=3)}]
    check_foldable(Ensemble(members), X, y, settings, splits_of(len(y)), {"sample_weight": weight})


def test_pipelines_of_one_kind_share_a_session():
    X, y = load_wine(return_X_y=True)
    members = {f"k{k}": make_pipeline(StandardScaler(), KNeighborsClassifier(k)) for k in (1, 5, 9)}
    model = Ensemble({**members, "svm": LinearSVC(random_state=0)}, combiner="vote")
    settings = [{}, {"k5__kneighborsclassifier__n_neighbors": 7}, {"combiner": Weighted(cv=3)}]
    check_foldable(model, X, y, settings, splits_of(len(y))[:3])
    assert len(open_session(Ensemble(members), X, y).members.sessions) == 1


def test_regressors():
    X, y = load_diabetes(return_X_y=True)
    members = {"near": KNNRegressor(5), "far": KNeighborsRegressor(19), "line": LinearRegression()}
    settings = [
        {},
        {"combiner": "median"},
        {"combiner": "weighted", "near__n_neighbors": 9},
        {"combiner": "best"},
        {"size": GreedySelection(5, cv=3)},
        {"combiner": "vote"},
    ]
    check_foldable(EnsembleRegressor(members), X, y, settings, splits_of(len(y)))


def test_settings_as_diversity():
    X, y = load_wine(return_X_y=True)
    model = Ensemble(KNNClassifier(), diversity=VariedParameters({"n_neighbors": [1, 5, 9]}), combiner="vote")
    assert open_session(model, X, y).shares == "members"
    check_foldable(model, X, y, [{}, {"combiner": "mean"}, {"members__weights": "distance"}], splits_of(len(y)))


def test_what_is_drawn_or_stacked_is_refitted():
    X, y = load_wine(return_X_y=True)
    assert isinstance(open_session(bagging(GaussianNB(), random_state=0), X, y), RefitSession)
    assert isinstance(open_session(Ensemble([DecisionTreeClassifier()]), X, y), RefitSession)
    session = open_session(Ensemble(MEMBERS), X, y)
    assert session.lazy({"combiner": Stacking()}) == frozenset()
    assert "combiner" in session.lazy({"combiner": "vote"})
    check_foldable(random_forest(5, random_state=0), X, y, [{}, {"size": 3}], splits_of(len(y))[:2])
    check_foldable(Ensemble(MEMBERS), X, y, [{"combiner": "stacking"}], splits_of(len(y))[:2])


def test_a_vote_costs_one_search_and_one_summary(monkeypatch):
    from foldwise.neighbors import search

    searched = []
    nearest = search.NeighborIndex.nearest
    monkeypatch.setattr(
        search.NeighborIndex, "nearest", lambda self, *a, **k: searched.append(1) or nearest(self, *a, **k)
    )
    X, y = load_wine(return_X_y=True)
    session = open_session(Ensemble(MEMBERS), X, y)
    assert sorted(type(one).__name__ for one in session.members.sessions) == ["KNNSession", "NaiveBayesSession"]
    grid = {"combiner": ["vote", "mean", "median"], "near__n_neighbors": [1, 3, 5], "far__n_neighbors": [15, 19]}
    GridSearchCV(Ensemble(MEMBERS), grid, cv=5, refit=False, n_jobs=1, audit=False).fit(X, y)
    assert len(searched) <= 2  # of the whole table, and of rows at the end of their lists


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
def test_searches_agree_with_scikit_learn(scoring):
    X, y = load_wine(return_X_y=True)
    grid = {
        "combiner": ["vote", "mean", Weighted()],
        "near__n_neighbors": [1, 5],
        "size": [None, GreedySelection(3)],
    }
    ours = GridSearchCV(Ensemble(MEMBERS), grid, cv=3, scoring=scoring, n_jobs=2).fit(X, y)
    theirs = peer.GridSearchCV(Ensemble(MEMBERS), grid, cv=3, scoring=scoring).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-10)
    assert ours.best_params_.keys() == theirs.best_params_.keys()


def test_nested():
    X, y = load_wine(return_X_y=True)
    grid = {"combiner": ["vote", "mean"], "near__n_neighbors": [1, 5, 9]}
    found = nested_cv(GridSearchCV(majority_vote(MEMBERS), grid, cv=3), X, y, cv=3)
    by_hand = []
    for train, test in StratifiedKFold(3).split(X, y):
        search = peer.GridSearchCV(majority_vote(MEMBERS), grid, cv=3).fit(X[train], y[train])
        by_hand.append(search.score(X[test], y[test]))
    np.testing.assert_allclose(np.ravel(found.scores), by_hand)


def test_members_without_a_session_of_their_own_on_several_workers():
    X, y = load_wine(return_X_y=True)
    X = X / X.max(axis=0)
    members = {"line": LogisticRegression(), "bayes": NaiveBayes(), "near": KNNClassifier()}
    grid = {"combiner": ["vote", Weighted(cv=3)], "line__C": [0.1, 1.0], "size": [None, GreedySelection(2, cv=3)]}
    alone, together = (GridSearchCV(Ensemble(members), grid, cv=3, n_jobs=n).fit(X, y) for n in (1, 2))
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(alone.cv_results_[name], together.cv_results_[name], rtol=1e-10)


def test_pipelines_that_differ_in_a_step_do_not_share():
    X, y = load_wine(return_X_y=True)
    members = {
        "scaled": make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
        "ranged": make_pipeline(MinMaxScaler(), KNeighborsClassifier(3)),
        "centered": make_pipeline(StandardScaler(with_std=False), KNeighborsClassifier(3)),
    }
    check_foldable(
        Ensemble(members),
        X,
        y,
        [{}, {"combiner": "vote"}, {"scaled__steps": members["ranged"].steps}],
        splits_of(len(y))[:2],
    )


class Single(GaussianNB):
    """Probabilities in single precision, as some boosters give them."""

    def predict_proba(self, X):
        return super().predict_proba(X).astype(np.float32)


def test_settings_of_one_kind_are_combined_at_once(monkeypatch):
    X, y = load_wine(return_X_y=True)
    settings = [{"combiner": name, "near__n_neighbors": k} for name in ("vote", "mean") for k in (1, 3, 5, 8)]
    settings.insert(3, {"combiner": "median"})
    session = open_session(Ensemble(MEMBERS), X, y)
    calls = []
    for kind in (Vote, Mean):
        combine = kind.combine
        monkeypatch.setattr(
            kind, "combine", lambda self, panel, combine=combine: calls.append(0) or combine(self, panel)
        )
    absent = np.flatnonzero(y != 1)
    for train, test in [(np.arange(0, 178, 2), np.arange(1, 178, 2)), (absent[1:], np.arange(60, 61))]:
        calls.clear()
        blocks = list(session.answer(settings, train, test, Need.LABELS))
        assert len(calls) == 2
        assert [(block.start, block.stop) for block in blocks] == [(0, 3), (3, 4), (4, 5), (5, 9)]
        shared = [session.shared(setting) for setting in settings]
        twin = MembersOnSplit(session, shared, train, test)
        for block in blocks:
            for i in range(block.start, block.stop):
                alone, found = twin.answer(shared[i]), block.answer.cut(i - block.start, i - block.start + 1)
                np.testing.assert_array_equal(found.labels, alone.labels)
                np.testing.assert_allclose(found.proba, alone.proba, rtol=1e-10)


def test_regressors_combined_together_predict_as_one_by_one():
    X, y = load_diabetes(return_X_y=True)
    members = {f"m{k}": KNNRegressor(k) for k in range(1, 14)}
    settings = [{"m1__n_neighbors": k} for k in (1, 20, 30)]
    session = open_session(EnsembleRegressor(members), X, y)
    for test in (np.arange(1), np.arange(30)):
        train = np.arange(30, len(y))
        blocks = list(session.answer(settings, train, test, Need.VALUES))
        for block in blocks:
            for i in range(block.start, block.stop):
                model = EnsembleRegressor(members).set_params(**settings[i]).fit(X[train], y[train])
                np.testing.assert_allclose(block.answer.values[i - block.start], model.predict(X[test]), rtol=1e-10)


def test_members_of_single_precision_are_averaged_in_double():
    X, y = load_wine(return_X_y=True)
    model = Ensemble({"a": Single(), "b": Single(var_smoothing=1e-3), "c": Single(var_smoothing=1e-2)})
    train, test = np.arange(0, 178, 2), np.arange(1, 178, 2)
    [block] = open_session(model, X, y).answer([{}], train, test, Need.PROBA)
    np.testing.assert_allclose(block.answer.proba[0], model.fit(X[train], y[train]).predict_proba(X[test]), rtol=1e-10)


def test_a_fold_that_holds_out_all_rows_of_a_class():
    """Of two classes one has a single row: where it is held out, members know one class, and say so."""
    X, y = load_wine(return_X_y=True)
    X, y = X[:, :4], np.minimum(y, 1)
    members = {"bayes": NaiveBayes(), "near": KNNClassifier(3)}
    settings = [{"combiner": Weighted(cv=3)}, {"combiner": Best(cv=3)}, {"size": GreedySelection(rounds=3, cv=3)}]
    splits = [(np.r_[0:25, 100], np.r_[25:40, 101:103]), (np.r_[10:50, 100], np.r_[0:9])]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        check_foldable(Ensemble(members), X, y, settings, splits)
        stacked = Ensemble(members, combiner=Stacking(cv=3)).fit(X[splits[0][0]], y[splits[0][0]])
    assert stacked.predict_proba(X).shape == (178, 2)


def test_members_that_are_pipelines_with_weights():
    """Rows of weight 0 are unseen by the first steps too, in folds as in a refit."""
    X, y = load_wine(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    members = {
        "bayes": make_pipeline(StandardScaler(), GaussianNB()),
        "tree": make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)),
    }
    settings = [{}, {"combiner": "vote"}, {"combiner": Weighted(cv=3)}, {"size": GreedySelection(rounds=3, cv=3)}]
    check_foldable(Ensemble(members), X[:, :5], y, settings, splits_of(len(y)), {"sample_weight": weight})
