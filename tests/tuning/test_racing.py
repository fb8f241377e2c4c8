"""Racing, new splits for each trial, and whether the defaults are as good."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GroupKFold, HalvingGridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from foldwise import SearchCV, nested_cv
from foldwise.errors import InputError
from foldwise.tuning import Evolutionary, Float, Grid, Racing, Random
from foldwise.tuning.row_race import mixed_order

X, y = load_iris(return_X_y=True)
SMOOTHING = {"var_smoothing": np.logspace(-12, 0, 12)}
DEPTHS = {"max_depth": [1, 2, 3, 4]}
GRID = {"C": [0.001, 0.01, 0.1, 1, 10, 100], "gamma": [1e-4, 1e-2, 1]}


@pytest.mark.parametrize("rule", ["test", "halving"])
def test_a_race_finds_what_the_whole_search_finds_with_fewer_fits(rule):
    whole = SearchCV(SVC(), GRID, cv=10).fit(X, y)
    raced = SearchCV(SVC(), GRID, strategy=Racing(Grid(), rule=rule), cv=10).fit(X, y)
    assert raced.models_scored_ < 0.75 * whole.models_scored_
    assert raced.best_score_ >= whole.best_score_ - 0.01
    scored = raced.cv_results_["n_splits_scored"]
    assert scored[raced.best_index_] == 10
    assert scored.min() >= (3 if rule == "test" else 1)
    assert raced.models_scored_ == scored.sum()
    order = {one["C"] * 1000 + one["gamma"]: i for i, one in enumerate(whole.cv_results_["params"])}
    for i, one in enumerate(raced.cv_results_["params"]):  # each score is that of the whole search
        j = order[one["C"] * 1000 + one["gamma"]]
        for k in range(10):
            value = raced.cv_results_[f"split{k}_test_score"][i]
            assert np.isnan(value) if k >= scored[i] else value == whole.cv_results_[f"split{k}_test_score"][j]


def test_settings_that_were_dropped_rank_after_those_scored_on_all_folds():
    found = SearchCV(SVC(), GRID, strategy=Racing(Grid()), cv=10).fit(X, y).cv_results_
    whole = found["n_splits_scored"] == 10
    assert found["rank_test_score"][whole].max() <= whole.sum()
    assert found["rank_test_score"][~whole].min() > whole.sum()
    assert np.isfinite(found["mean_test_score"]).all()


def test_the_best_of_earlier_rounds_takes_part_in_the_race():
    space = {"C": Float(1e-3, 1e-2, log=True)}
    search = SearchCV(SVC(gamma=1e-3), space, strategy=Racing(Random(), batch=1), n_trials=4, cv=10)
    search.set_params(initial_settings=[{"C": 100.0}], random_state=0).fit(X, y)
    assert search.best_params_ == {"C": 100.0}
    assert search.cv_results_["n_splits_scored"][1:].max() < 6  # clearly worse, though alone in their rounds


class Broken(ClassifierMixin, BaseEstimator):
    def __init__(self, bad=False):
        self.bad = bad

    def fit(self, X, y):
        if self.bad and len(y) % 2:
            raise ValueError("no")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_a_setting_that_fails_is_dropped():
    rows = np.arange(151) % 150
    search = SearchCV(Broken(), {"bad": [True, False]}, strategy=Racing(Grid(), min_folds=2))
    search.set_params(cv=[(rows[: 100 + k], rows[100 + k : 150]) for k in range(5)])
    with pytest.warns(FitFailedWarning, match="no"), pytest.warns(UserWarning, match="non-finite"):
        search.fit(X, y)
    assert search.best_params_ == {"bad": False}
    assert sorted(search.cv_results_["n_splits_scored"]) == [2, 5]


def test_racing_works_inside_nested_cross_validation():
    search = SearchCV(SVC(), GRID, strategy=Racing(Grid()), cv=5)
    found = nested_cv(search, X, y, cv=3)
    assert found.estimate.value > 0.9


def test_an_early_stop_when_the_strategy_expects_less_than_the_noise():
    class Sure(Random):
        def expected_improvement(self, space, trials):
            return 1.0 if len(trials) < 12 else 1e-9

    space = {"C": Float(0.1, 10, log=True)}
    stopping = Racing(Sure(), stop_early=True, batch=4)
    assert len(SearchCV(SVC(), space, strategy=stopping, n_trials=40).fit(X, y).cv_results_["params"]) == 12
    going_on = Racing(Sure(), batch=4)
    assert len(SearchCV(SVC(), space, strategy=going_on, n_trials=40).fit(X, y).cv_results_["params"]) == 40


def test_bayesian_search_stops_when_it_expects_less_than_the_noise():
    space = {"C": Float(0.1, 10, log=True)}
    search = SearchCV(SVC(), space, strategy=Racing("bayesian", stop_early=True, batch=2), n_trials=30, random_state=0)
    assert len(search.fit(X, y).cv_results_["params"]) < 20


class TestRows:
    """Successive halving over rows."""

    table, target = load_breast_cancer(return_X_y=True)

    def search(self, **options):
        strategy = Racing(Grid(), rule="halving", resource="rows")
        search = SearchCV(GaussianNB(), SMOOTHING, strategy=strategy, cv=5, random_state=0, scoring="neg_log_loss")
        return search.set_params(**options).fit(self.table, self.target)

    def test_settings_and_rows_per_round_are_those_of_scikit_learn(self):
        found = self.search().cv_results_["train_share"]
        peer = HalvingGridSearchCV(GaussianNB(), SMOOTHING, factor=2, min_resources=569 // 8, random_state=0, cv=5)
        peer.fit(self.table, self.target)
        shares = sorted(set(found))
        assert [int((found >= share).sum()) for share in shares] == peer.n_candidates_
        assert [share / shares[0] for share in shares] == [n / peer.n_resources_[0] for n in peer.n_resources_]

    def test_the_last_settings_have_the_scores_of_the_whole_search(self):
        whole = SearchCV(GaussianNB(), SMOOTHING, cv=5, scoring="neg_log_loss").fit(self.table, self.target)
        raced = self.search()
        last = raced.cv_results_["train_share"] == 1
        assert last.sum() == 2
        for key in ("mean_test_score", "split3_test_score"):
            np.testing.assert_allclose(raced.cv_results_[key][last], whole.cv_results_[key][last], rtol=1e-9)
        assert (raced.cv_results_["mean_test_score"][~last] != whole.cv_results_["mean_test_score"][~last]).any()
        assert raced.cv_results_["rank_test_score"][last].max() == 2
        assert raced.cv_results_["train_share"][raced.best_index_] == 1
        assert raced.best_score_ >= whole.best_score_ - 0.02
        assert raced.models_scored_ == 5 * (12 + 6 + 3 + 2)

    def test_any_strategy_can_race(self):
        space = {"var_smoothing": Float(1e-12, 1, log=True)}
        strategy = Racing("bayesian", rule="halving", resource="rows", batch=4)
        search = SearchCV(GaussianNB(), space, strategy=strategy, n_trials=10, cv=3, random_state=0)
        shares = search.fit(self.table, self.target).cv_results_["train_share"]
        assert (shares == 1).sum() == 3  # one of each batch of 4, 4 and 2
        assert nested_cv(search, self.table, self.target, cv=2).estimate.value > 0.85

    def test_small_tables_are_scored_with_all_rows_at_once(self):
        search = SearchCV(GaussianNB(), SMOOTHING, strategy=Racing(Grid(), rule="halving", resource="rows"), cv=3)
        found = search.fit(self.table[:90], self.target[:90]).cv_results_
        assert "train_share" not in found
        assert np.isfinite(found["mean_test_score"]).all()

    def test_the_time_may_end_between_rounds(self, monkeypatch):
        expired = iter([False, False, True, True, True, True])
        monkeypatch.setattr("foldwise.tuning.running_search.RunningSearch.expired", property(lambda _: next(expired)))
        found = self.search()
        assert found.cv_results_["train_share"].max() < 1
        assert found.cv_results_["train_share"][found.best_index_] == found.cv_results_["train_share"].max()

    def test_a_setting_that_fails_is_dropped(self):
        rows = np.arange(150)
        strategy = Racing(Grid(), rule="halving", resource="rows")
        search = SearchCV(Broken(), {"bad": [True, False]}, strategy=strategy)
        search.set_params(cv=[(rows[:101], rows[101:]), (rows[49:], rows[:49])])
        with pytest.warns(FitFailedWarning, match="no"), pytest.warns(UserWarning, match="non-finite"):
            search.fit(X, y)
        assert search.best_params_ == {"bad": False}
        shares = zip(search.cv_results_["param_bad"], search.cv_results_["train_share"], strict=True)
        assert dict(shares) == {True: 0.5, False: 1.0}

    def test_every_class_is_in_the_first_rows(self, rng):
        codes = rng.permutation(np.r_[np.zeros(500, int), np.ones(20, int), np.full(3, 2)])
        train = rng.permutation(523)[:500]
        order = mixed_order(train, codes, np.random.default_rng(0))
        assert sorted(order) == sorted(train)
        for n in (3, 50, 250):
            shares = np.bincount(codes[order[:n]], minlength=3) / n
            assert (np.bincount(codes[order[:n]], minlength=3) > 0).all()
            assert np.abs(shares - np.bincount(codes[train]) / 500).max() <= 2 / n

    def test_it_needs_halving(self):
        with pytest.raises(InputError, match="resource='rows' needs rule='halving'"):
            SearchCV(GaussianNB(), SMOOTHING, strategy=Racing(Grid(), resource="rows")).fit(self.table, self.target)


class TestReshuffle:
    def test_each_setting_has_splits_of_its_own(self):
        tree, grid = DecisionTreeClassifier(random_state=0), {"min_impurity_decrease": [0.0, 1e-12]}  # twice the same
        plain = SearchCV(tree, grid, cv=3).fit(X, y).cv_results_
        other = SearchCV(tree, grid, cv=3, reshuffle=True, random_state=0).fit(X, y).cv_results_
        for found, equal in ((plain, True), (other, False)):
            scores = np.array([found[f"split{k}_test_score"] for k in range(3)])
            assert np.array_equal(scores[:, 0], scores[:, 1]) is equal

    def test_the_same_seed_gives_the_same_splits(self):
        tree = DecisionTreeClassifier(random_state=0)
        found = [
            SearchCV(tree, DEPTHS, reshuffle=True, random_state=3).fit(X, y).cv_results_["mean_test_score"]
            for _ in "ab"
        ]
        np.testing.assert_array_equal(*found)

    def test_it_is_refused_with_racing_and_without_shuffling(self):
        tree = DecisionTreeClassifier()
        with pytest.raises(InputError, match="cannot be combined with racing"):
            SearchCV(tree, DEPTHS, strategy=Racing(Grid()), reshuffle=True).fit(X, y)
        with pytest.raises(InputError, match="a splitter that shuffles"):
            SearchCV(tree, DEPTHS, cv=GroupKFold(3), reshuffle=True).fit(X, y, groups=np.arange(150) // 10)

    def test_it_works_inside_nested_cross_validation(self):
        search = SearchCV(DecisionTreeClassifier(random_state=0), DEPTHS, reshuffle=True, random_state=0, cv=3)
        assert nested_cv(search, X, y, cv=3).estimate.value > 0.85


class TestDefaults:
    def test_they_are_tried_first_if_the_space_contains_them(self):
        space = {"C": Float(0.01, 100, log=True)}
        search = SearchCV(SVC(), space, strategy=Evolutionary(population=4), n_trials=6, random_state=0).fit(X, y)
        assert search.cv_results_["params"][0] == {"C": 1.0}
        assert search.default_tied_ is True
        beyond = SearchCV(SVC(), {"C": Float(2, 100)}, strategy="random", n_trials=3, random_state=0).fit(X, y)
        assert {"C": 1.0} not in beyond.cv_results_["params"]
        assert beyond.default_tied_ is None

    def test_clearly_worse_defaults_are_not_tied(self):
        table, target = (part[::2] for part in load_breast_cancer(return_X_y=True))
        search = SearchCV(SVC(gamma=1e-4), {"C": Float(0.001, 1000, log=True), "gamma": Float(1e-9, 1, log=True)})
        search.set_params(strategy="random", n_trials=25, random_state=0, cv=10, estimator=SVC(gamma=1.0))
        search.fit(table, target)
        assert search.default_tied_ is False
