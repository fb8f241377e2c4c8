"""The strategies of Optuna: the promises of every strategy, and that trials are told correctly."""

from __future__ import annotations

import math
import sys

import numpy as np
import optuna
import pytest
from scipy.stats import loguniform

from foldwise import SearchCV
from foldwise.testing import check_strategy
from foldwise.tuning import CMAES, TPE, Choice, Float, Int, Random, Trial
from foldwise.tuning.strategies.protocol import trial_generator
from tests.tuning.test_shipped_strategies import SQUARE, best_of, surface


@pytest.mark.parametrize("strategy", [TPE(n_initial=5), CMAES()], ids=repr)
def test_promises(strategy):
    check_strategy(strategy, n_trials=15)
    check_strategy(strategy, [{"x": [0.1, 0.2, 0.3]}, {"y": Choice(["a", "b"])}])


@pytest.mark.parametrize("strategy", [TPE(n_initial=5, batch=4), CMAES(batch=4)], ids=repr)
def test_promises_in_batches(strategy):
    check_strategy(strategy, n_trials=16)


@pytest.mark.parametrize("kind", [TPE, CMAES])
def test_better_than_random_draws(kind):
    space = {f"x{i}": Float(0, 1) for i in range(3)}

    def bowl(setting):
        return -sum((value - 0.3) ** 2 for value in setting.values())

    ours, random = (
        np.mean([best_of(one(), space, bowl, 45, seed).score for seed in range(2)]) for one in (kind, Random)
    )
    assert ours > 0.5 * random  # both are negative: half of the regret


def test_the_surface_of_the_course():
    assert best_of(TPE(), SQUARE, surface, 40).score > 0.88
    assert best_of(CMAES(), SQUARE, surface, 40).score > 0.88


def test_proposals_are_those_of_optuna():
    """Ask and tell with a study of one's own gives the same settings, if the seeds are the same."""
    seed = 7
    trials = [Trial({"x": 0.1 * i, "n": i + 1, "c": "ab"[i % 2]}, math.sin(i)) for i in range(9)]
    space = {"x": Float(0, 1), "n": Int(1, 12), "c": Choice(["a", "b"])}
    [found] = TPE(n_initial=5).propose(space, trials, trial_generator(seed, 9))

    drawn = int(trial_generator(seed, 9).integers(2**31))
    sampler = optuna.samplers.TPESampler(n_startup_trials=5, seed=drawn, multivariate=False)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    kinds = optuna.distributions
    distributions = {
        "0:x": kinds.FloatDistribution(0, 1),
        "1:n": kinds.IntDistribution(1, 12),
        "2:c": kinds.CategoricalDistribution([0, 1]),
    }
    for one in trials:
        codes = {"0:x": one.setting["x"], "1:n": one.setting["n"], "2:c": "ab".index(one.setting["c"])}
        study.add_trial(optuna.trial.create_trial(params=codes, distributions=distributions, value=one.score))
    asked = study.ask(distributions)
    assert found == {"x": asked.params["0:x"], "n": asked.params["1:n"], "c": "ab"[asked.params["2:c"]]}


def test_cma_es_follows_the_study_that_it_replays():
    """Without batches, the replayed study proposes what one study would have proposed that lived through all trials."""
    space = {"x": Float(0, 1), "y": Float(0, 1)}
    trials = []
    for number in range(25):
        [setting] = CMAES().propose(space, trials, trial_generator(0, number))
        trials.append(Trial(setting, surface(setting)))
    seed = int(np.random.default_rng(0).integers(2**31))
    sampler = optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    same = []
    for number, one in enumerate(trials):
        if number == 0:  # random in both
            study.enqueue_trial({"0:x": one.setting["x"], "1:y": one.setting["y"]})
        asked = study.ask()
        found = {"x": asked.suggest_float("0:x", 0, 1), "y": asked.suggest_float("1:y", 0, 1)}
        same.append(found == one.setting)
        study.tell(asked, surface(found))
    assert all(same)


def test_in_a_search_by_name():
    from sklearn.datasets import load_iris
    from sklearn.svm import SVC

    X, y = load_iris(return_X_y=True)
    for name in ("tpe", "cma-es"):
        space = {"C": loguniform(0.03, 30_000), "gamma": loguniform(3e-5, 8)}
        first = [{"C": 1.0, "gamma": 0.1}, {"C": 1e6, "gamma": 0.1}]  # the second is not in the space
        search = SearchCV(SVC(), space, strategy=name, n_trials=8, random_state=0, cv=3, initial_settings=first)
        assert search.fit(X, y).best_score_ > 0.9


def test_optuna_is_left_as_it_was(capsys):
    level = optuna.logging.get_verbosity()
    TPE().propose(SQUARE, [], trial_generator(0, 0))
    assert optuna.logging.get_verbosity() == level
    assert "study" not in capsys.readouterr().err


@pytest.mark.parametrize("library", ["optuna", "cmaes"])
def test_a_missing_library_is_named_with_its_extra(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=r"CMAES needs .* pip install 'foldwise\[search\]'"):
        CMAES().propose(SQUARE, [], trial_generator(0, 0))


@pytest.mark.parametrize(
    ("kind", "options"),
    [(TPE, {"n_initial": 0}), (TPE, {"batch": 0}), (CMAES, {"population": 1}), (CMAES, {"step": 0.0})],
)
def test_bad_options(kind, options):
    [name] = options
    with pytest.raises(ValueError, match=f"{name} must be"):
        kind(**options)
