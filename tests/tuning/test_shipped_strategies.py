"""What every shipped strategy promises, and what it finds on the surface of the course."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from foldwise import SearchCV
from foldwise.testing import check_strategy
from foldwise.tuning import Choice, Design, Evolutionary, Float, Grid, Int, Random
from foldwise.tuning.strategies.protocol import Trial, trial_generator

STRATEGIES = [Grid(n_points=3), Design(30), Design(30, kind="latin_hypercube"), Random(), Evolutionary(population=8)]
SQUARE = {"x": Float(0, 1), "y": Float(0, 1)}


def surface(setting):
    """The course's surface: the best value is 0.89, at (0.8, 0.7)."""
    return 0.89 - 0.6 * (setting["x"] - 0.8) ** 2 - 0.5 * (setting["y"] - 0.7) ** 2


def best_of(strategy, space, objective, n_trials, seed=0):
    trials = []
    while len(trials) < n_trials:
        proposed = strategy.propose(space, trials, trial_generator(seed, len(trials)))
        if not proposed:
            break
        trials += [Trial(one, objective(one)) for one in proposed]
    return max(trials, key=lambda one: one.score)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_strategies_keep_their_promises(strategy):
    if not isinstance(strategy, Grid):  # a grid needs lists or bounds
        check_strategy(strategy)
    check_strategy(strategy, {"x": Float(0, 1), "n": Int(1, 4), "c": ["a", "b"]})
    check_strategy(strategy, [{"x": [0.1, 0.2, 0.3]}, {"y": Choice(["a", "b"])}])


@pytest.mark.parametrize("strategy", [Design(64), Random(), Evolutionary()], ids=repr)
def test_the_surface_of_the_course(strategy):
    assert best_of(strategy, SQUARE, surface, 64).score > 0.87


def test_evolution_beats_random_draws():
    space = {f"x{i}": Float(0, 1) for i in range(5)}

    def bowl(setting):
        return -sum((value - 0.3) ** 2 for value in setting.values())

    found = {
        kind.__name__: np.mean([best_of(kind(), space, bowl, 96, seed).score for seed in range(10)])
        for kind in (Random, Evolutionary)
    }
    assert found["Evolutionary"] > 0.3 * found["Random"]  # both are negative: a third of the regret


def test_random_search_of_a_finite_space_tries_every_setting_once():
    search = SearchCV(SVC(), {"C": [1, 2, 3], "kernel": ["linear", "rbf"]}, strategy="random", random_state=0)
    found = search.fit(*load_iris(return_X_y=True)).cv_results_["params"]
    assert len(found) == 6
    assert len({tuple(sorted(one.items())) for one in found}) == 6


def test_settings_of_the_user_come_first():
    X, y = load_iris(return_X_y=True)
    space = {"C": Float(0.01, 100, log=True)}
    first = [{"C": 1.5}, {"C": 1000.0}]
    search = SearchCV(SVC(), space, strategy="random", n_trials=5, initial_settings=first, random_state=0).fit(X, y)
    assert search.cv_results_["params"][:2] == first
    assert len(search.cv_results_["params"]) == 5
    grid = SearchCV(SVC(), {"C": [1.5, 2]}, initial_settings=first).fit(X, y)
    assert [one["C"] for one in grid.cv_results_["params"]] == [1.5, 1000.0, 2]


def test_a_grid_with_bounds_and_conditions_has_no_setting_twice():
    space = {"kernel": ["linear", "rbf"], "gamma": Float(0.1, 10, log=True, when={"kernel": "rbf"}), "C": Int(1, 2)}
    found = list(Grid(n_points=3).propose(space, [], None))
    assert len(found) == 2 + 6
    assert [one["gamma"] for one in found if "gamma" in one and one["C"] == 1] == pytest.approx([0.1, 1, 10])


class TestTimeout:
    X, y = load_iris(return_X_y=True)

    def test_a_search_ends_with_its_time_and_keeps_what_is_complete(self):
        space = {"C": Float(1e-3, 1e3, log=True)}
        search = SearchCV(LogisticRegression(max_iter=2000), space, strategy="random", n_trials=100_000, timeout=1.5)
        search.fit(self.X, self.y)
        found = search.cv_results_
        assert 0 < len(found["params"]) < 10_000
        assert np.isfinite(found["mean_test_score"]).all()
        assert search.best_params_ in found["params"]

    @pytest.mark.parametrize("timeout", [2.5, 7.0])
    def test_no_fold_starts_after_the_timeout(self, timeout, monkeypatch):
        clock = SimpleNamespace(now=0.0, started=[])
        for room in ("folds.engine", "tuning.running_search", "tuning.fold_search"):
            monkeypatch.setattr(f"foldwise.{room}.time", SimpleNamespace(monotonic=lambda: clock.now))

        class Clocked(LogisticRegression):
            def fit(self, X, y):  # takes a second
                clock.started.append(clock.now)
                clock.now += 1.0
                return super().fit(X, y)

        space = {"C": Float(1e-3, 1e-1, log=True)}
        options = {"strategy": "random", "n_trials": 100, "cv": 2, "refit": False, "audit": False, "n_jobs": 1}
        search = SearchCV(Clocked(), space, timeout=timeout, **options).fit(self.X, self.y)
        assert clock.started == list(np.arange(0.0, timeout))
        assert len(search.cv_results_["params"]) == int(np.ceil(timeout)) // 2  # whole settings only

    @pytest.mark.slow
    def test_processes_are_stopped_soon_after_the_timeout(self):
        import time

        settings = [{"C": 0.01}, {"C": 50.0}, {"C": 500.0}, {"C": 600.0}]  # at once; two seconds; a minute each
        options = {"strategy": "random", "n_jobs": 2, "cv": 2, "refit": False}
        space, took, found = {"C": Float(1e-3, 1e3, log=True)}, [], []
        while len(took) < 3 and (not took or min(took) > 4.1):  # the best of three, as the machine may be busy
            ready = [{"C": 0.01}, {"C": 0.02}]
            SearchCV(Slow(), space, n_trials=2, initial_settings=ready, **options).fit(self.X, self.y)
            search = SearchCV(Slow(), space, n_trials=4, timeout=4, initial_settings=settings, **options)
            start = time.monotonic()
            search.fit(self.X, self.y)
            took.append(time.monotonic() - start)
            found.append(search.cv_results_["params"])
        assert min(took) <= 4.2, took  # although the last result came two seconds before
        assert found[-1] == settings[:2]

    @pytest.mark.slow
    def test_what_the_first_search_loads_counts_as_part_of_the_timeout(self):
        benchmark = Path(__file__).parents[2] / "benchmarks" / "search_timeout.py"
        seconds_of = runpy.run_path(str(benchmark))["seconds_of"]
        took: list[float] = []  # of the first search of new processes
        while len(took) < 3 and (not took or min(took) > 5.25):  # the best of three, as the machine may be busy
            took.append(seconds_of(5)[0])
        assert 4.75 < min(took) <= 5.25, took

    def test_the_time_counts_from_the_call_of_fit(self, monkeypatch):
        clock = SimpleNamespace(now=0.0, started=0)
        for room in ("folds.engine", "tuning.running_search", "tuning.fold_search"):
            monkeypatch.setattr(f"foldwise.{room}.time", SimpleNamespace(monotonic=lambda: clock.now))

        class Opening(LogisticRegression):
            def fit(self, X, y):  # takes a second
                clock.started, clock.now = clock.started + 1, clock.now + 1.0
                return super().fit(X, y)

        def splits():  # take two seconds
            clock.now += 2.0
            yield from StratifiedKFold(2).split(self.X, self.y)

        options = {"strategy": "random", "n_trials": 100, "refit": False, "audit": False, "n_jobs": 1}
        SearchCV(Opening(), {"C": Float(0.01, 0.1)}, timeout=6.5, cv=splits(), **options).fit(self.X, self.y)
        assert clock.started == 5

    def test_no_result_in_time_is_an_error(self):
        search = SearchCV(Slow(), {"C": [0.5]}, timeout=0.2, cv=2)
        with pytest.raises(ValueError, match=r"no setting was scored within timeout=0\.2"):
            search.fit(self.X, self.y)

    @pytest.mark.parametrize("option", [{"timeout": 0}, {"timeout": "1m"}, {"n_trials": 0}, {"n_trials": 2.5}])
    def test_bad_limits(self, option):
        with pytest.raises(ValueError, match="must be a positive number"):
            SearchCV(SVC(), {"C": [1]}, **option).fit(self.X, self.y)


class Slow(LogisticRegression):
    """Takes a minute for C above 100, two seconds for C above 10, and a third of a second for C above 0.1."""

    def fit(self, X, y):
        import time

        time.sleep(60 if self.C > 100 else 2 if self.C > 10 else 0.3 if self.C > 0.1 else 0)
        return super().fit(X, y)
