"""Strategies, what is kept, progress, scorers that give several numbers, and what `SearchCV` says of bad input."""

from __future__ import annotations

import io
import warnings

import numpy as np
import polars as pl
import pytest
from scipy.stats import loguniform
from sklearn import model_selection as peer
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, make_scorer, recall_score
from sklearn.model_selection import KFold, PredefinedSplit, RepeatedKFold
from sklearn.multioutput import ClassifierChain
from sklearn.svm import LinearSVC

from foldwise import CostMatrix, GridSearchCV, NaiveBayes, RandomizedSearchCV, SearchCV, nested_cv
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds import progress
from foldwise.folds.progress import Progress
from foldwise.tuning import Random
from tests.conftest import mixed_columns
from tests.searches import assert_same_choice, assert_same_ranks
from tests.tuning.test_search import assert_same_results


@pytest.fixture
def table(rng):
    return pl.DataFrame(mixed_columns(rng, 150)), rng.integers(0, 3, 150)


def test_grid_and_random_by_name(table):
    X, y = table
    grid = {"alpha": [0.1, 1.0, 5.0], "ddof": [0, 1]}
    ours = SearchCV(NaiveBayes(), grid, cv=3).fit(X, y)
    assert_same_results(ours, peer.GridSearchCV(NaiveBayes(), grid, cv=3).fit(X, y))
    space = {"alpha": loguniform(0.01, 10), "ddof": [0, 1]}
    random = SearchCV(NaiveBayes(), space, strategy="random", n_trials=10, random_state=4, cv=3)
    one, again = (clone(random).fit(X, y) for _ in "ab")
    assert len(one.cv_results_["params"]) == 10
    assert one.cv_results_["params"] == again.cv_results_["params"]
    few = SearchCV(NaiveBayes(), space, strategy=Random(), n_trials=3, random_state=np.random.RandomState(0), cv=3)
    assert len(few.fit(X, y).cv_results_["params"]) == 3


class Doubling:
    """Goes on from the best so far, one setting a round."""

    def propose(self, space, trials, rng):
        if not trials:
            return [{"alpha": space["alpha"][0]}]
        best = max(trials, key=lambda trial: trial.score)
        return [{"alpha": trials[-1].setting["alpha"] * 2, "ddof": int(best.score > 0)}] if len(trials) < 4 else []


def test_a_strategy_of_ones_own_sees_the_trials_so_far(table):
    X, y = table
    search = SearchCV(NaiveBayes(), {"alpha": [0.5]}, strategy=Doubling(), cv=3, return_train_score=True).fit(X, y)
    assert [p["alpha"] for p in search.cv_results_["params"]] == [0.5, 1.0, 2.0, 4.0]
    assert search.cv_results_["param_ddof"].tolist() == [None, 1, 1, 1]
    grid = [{"alpha": [0.5]}, {"alpha": [1.0, 2.0, 4.0], "ddof": [1]}]
    theirs = peer.GridSearchCV(NaiveBayes(), grid, cv=3, return_train_score=True).fit(X, y)
    for key in ("split0_test_score", "mean_train_score"):
        np.testing.assert_allclose(search.cv_results_[key], theirs.cv_results_[key], rtol=1e-10)
    assert_same_ranks(search.cv_results_, theirs.cv_results_)
    assert search.models_scored_ == 12
    assert search.kept_.labels.shape == (4, 150)
    nested = nested_cv(search, X, y, cv=3)
    assert nested.models_scored == 3 * (4 * 3 + 1)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"strategy": "gird"}, InputError, "strategy must be one of 'grid'.*got 'gird'"),
        ({"strategy": 3}, FoldwiseTypeError, "propose"),
        ({"space": {"alpha": loguniform(1, 2)}}, TypeError, "'alpha' needs to be a list.*strategy='random'"),
        ({"space": {}}, None, ""),
        ({"space": []}, InputError, "no setting to try"),
        ({"space": {"alpha": []}}, ValueError, "alpha"),
        ({"space": {"smoothing": [1]}}, ValueError, "Invalid parameter 'smoothing' for estimator NaiveBayes"),
        ({"keep": "some"}, InputError, "keep must be 'losses', 'all' or"),
        ({"scoring": ["accuracy", "recall_macro"]}, InputError, "refit must name"),
    ],
)
def test_bad_input(table, options, error, words):
    X, y = table
    search = SearchCV(NaiveBayes(), **{"space": {"alpha": [1.0]}, "cv": 3, **options})
    if error is None:
        assert search.fit(X, y).best_params_ == {}
        return
    with pytest.raises(error, match=words):
        search.fit(X, y)


def test_a_metric_that_needs_what_the_model_lacks_spoils_only_itself(rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    search = SearchCV(LinearSVC(), {"C": [1, 2]}, scoring=["accuracy", "neg_log_loss"], refit="accuracy", cv=3)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        search.fit(X, y)
    assert any("'neg_log_loss' for setting {'C': 1} on split 0" in str(w.message) for w in seen)
    assert np.isfinite(search.cv_results_["mean_test_accuracy"]).all()
    assert np.isnan(search.cv_results_["mean_test_neg_log_loss"]).all()
    with pytest.raises(InputError, match="probabilities"):
        clone(search).set_params(error_score="raise").fit(X, y)


def test_a_metric_that_fails_for_one_setting_leaves_the_others_of_its_block(rng):
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2

    def picky(y_true, y_pred, **params):
        if (y_pred == y_pred[0]).all():
            raise ValueError("one label only")
        return accuracy_score(y_true, y_pred, **params)

    grid = {"priors": ["empirical", [0.0, 1.0]]}
    with (
        pytest.warns(UserWarning, match="one label only"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        search = GridSearchCV(NaiveBayes(), grid, scoring=make_scorer(picky), cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).tolist() == [True, False]


def test_what_is_kept(table):
    X, y = table
    grid = {"alpha": [0.1, 1.0, -1.0]}
    with pytest.warns(FitFailedWarning, match="-1.0"), pytest.warns(UserWarning, match="non-finite"):
        search = GridSearchCV(NaiveBayes(), grid, cv=KFold(3), keep="all").fit(X, y)
    kept = search.kept_
    assert kept.rows.tolist() == list(range(150))
    assert kept.split.tolist() == [0] * 50 + [1] * 50 + [2] * 50
    expected = peer.cross_val_predict(NaiveBayes(alpha=0.1), X, y, cv=KFold(3), method="predict_proba")
    np.testing.assert_allclose(kept.proba[0], expected, atol=1e-12)
    np.testing.assert_array_equal(kept.classes[kept.labels[0]], expected.argmax(axis=1))
    np.testing.assert_array_equal(kept.losses[:2], kept.labels[:2] != y[kept.rows])
    assert (kept.labels[2] == -1).all()
    assert np.isnan(kept.losses[2]).all()
    none = GridSearchCV(NaiveBayes(), {"alpha": [1.0]}, cv=3, keep="none").fit(X, y).kept_
    assert none.labels is None
    assert none.why == "keep='none'"


def test_losses_are_those_of_the_metric_that_chooses(table, rng):
    X, y = table
    search = SearchCV(NaiveBayes(), {"alpha": [0.1, 1.0]}, scoring="neg_log_loss", cv=RepeatedKFold(n_repeats=2))
    search.fit(X, y)
    assert search.kept_.losses.shape == (2, 300)
    by_split = [search.kept_.losses[:, search.kept_.split == k].mean(axis=1) for k in range(10)]
    np.testing.assert_allclose(-np.mean(by_split, axis=0), search.cv_results_["mean_test_score"])
    assert search.kept_.proba is None
    numbers = rng.normal(size=(40, 2))
    ridge = SearchCV(Ridge(), {"alpha": [1, 2]}, scoring="neg_mean_squared_error", cv=4).fit(numbers, numbers.sum(1))
    assert ridge.kept_.values.shape == ridge.kept_.losses.shape == (2, 40)
    assert ridge.kept_.labels is None
    assert SearchCV(NaiveBayes(), {"alpha": [1]}, scoring="f1_macro", cv=3).fit(X, y).kept_.losses is None


def test_nothing_is_kept_beyond_the_cap_unless_asked(table, monkeypatch):
    X, y = table
    monkeypatch.setattr("foldwise.evaluation.out_of_fold.KEEP_BYTES", 1000)
    assert "more than" in SearchCV(NaiveBayes(), {"alpha": [1, 2]}, cv=3).fit(X, y).kept_.why
    assert SearchCV(NaiveBayes(), {"alpha": [1, 2]}, cv=3, keep="all").fit(X, y).kept_.proba.shape == (2, 150, 3)


def both(model, X, y):
    labels = model.predict(X)
    return {"right": accuracy_score(y, labels), "found": recall_score(y, labels, average="macro", zero_division=0)}


def test_a_scorer_that_gives_several_numbers(table):
    X, y = table
    options = {"scoring": both, "refit": "found", "cv": 3, "return_train_score": True}
    grid = {"alpha": [0.1, 5.0]}
    ours = GridSearchCV(NaiveBayes(), grid, **options).fit(X, y)
    theirs = peer.GridSearchCV(NaiveBayes(), grid, **options).fit(X, y)
    assert_same_results(ours, theirs)
    assert ours.multimetric_
    assert_same_choice(ours, theirs, "found")
    nested = nested_cv(GridSearchCV(NaiveBayes(), grid, scoring=both, refit="found", cv=3), X, y, cv=3)
    assert np.isfinite(nested.scores).all()
    with pytest.raises(InputError, match="refit must name"):
        GridSearchCV(NaiveBayes(), grid, scoring=both, cv=3).fit(X, y)


def test_a_cost_matrix_chooses(table):
    X, y = table
    costs = CostMatrix.from_dict({a: {t: float(a != t) * (1 + 5 * (t == 2)) for t in range(3)} for a in range(3)})
    grid = {"alpha": [0.1, 5.0], "priors": ["empirical", "uniform"]}
    ours = GridSearchCV(NaiveBayes(), grid, scoring=costs, cv=3).fit(X, y)
    theirs = peer.GridSearchCV(NaiveBayes(), grid, scoring=costs.scorer(), cv=3).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert ours.kept_.losses.shape == (4, 150)
    assert np.isfinite(nested_cv(ours, X, y, cv=3).scores).all()


def test_targets_of_other_kinds_are_scored_as_in_scikit_learn(rng):
    X = rng.normal(size=(60, 3))
    chain = ClassifierChain(NaiveBayes())
    Y = (X[:, :2] > 0).astype(int)
    grid = {"order": [[0, 1], [1, 0]]}
    ours = GridSearchCV(chain, grid, cv=3).fit(X, Y)
    assert_same_results(ours, peer.GridSearchCV(chain, grid, cv=3).fit(X, Y))
    means = KMeans(n_init=1, random_state=0)
    ours = GridSearchCV(means, {"n_clusters": [2, 3]}, cv=3).fit(X)
    assert_same_results(ours, peer.GridSearchCV(means, {"n_clusters": [2, 3]}, cv=3).fit(X))
    assert ours.kept_.labels is None


def test_a_fixed_validation_set_is_kept_for_its_rows_only(table):
    X, y = table
    fold = np.r_[np.full(100, -1), np.zeros(50, int)]
    search = GridSearchCV(NaiveBayes(), {"alpha": [1, 2]}, cv=PredefinedSplit(fold)).fit(X, y)
    assert search.kept_.rows.tolist() == list(range(100, 150))


class Slow(ClassifierMixin, BaseEstimator):
    """Takes its time, as the clock of the test says."""

    def __init__(self, depth=1):
        self.depth = depth

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_progress_is_shown_after_two_seconds_and_wiped(monkeypatch, rng):
    now = iter(np.arange(0.0, 1000.0, 0.5))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now)))
    stream = io.StringIO()
    with Progress(stream=stream, always=True) as shown:
        shown.expect(20)
        for _ in range(4):
            shown.advance(1)
        assert stream.getvalue() == ""
        for _ in range(10):
            shown.advance(1)
    lines = stream.getvalue().split("\r")
    assert "14 of 20 models" in lines[-3]
    assert all(len(line) < 80 for line in lines)
    assert lines[-1] == ""
    silent = io.StringIO()
    with Progress(stream=silent) as shown:
        shown.expect(9)
        for _ in range(9):
            shown.advance(1)
    assert silent.getvalue() == ""
    monkeypatch.setattr(progress.sys, "stderr", stream)
    GridSearchCV(Slow(), {"depth": list(range(8))}, cv=3, verbose=1).fit(rng.normal(size=(30, 1)), np.arange(30) % 2)
    assert "of 24 models" in stream.getvalue()


def test_one_split_is_not_slowed_by_what_it_cannot_share(rng):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    search = RandomizedSearchCV(Slow(), {"depth": [1, 2, 3]}, n_iter=3, cv=2, n_jobs=2, random_state=0).fit(X, y)
    assert (search.session_, search.fits_done_, search.models_scored_) == ("refit", 6, 6)
