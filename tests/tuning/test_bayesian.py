"""Bayesian optimization: what it promises, what it finds, and what it takes into account."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import loguniform, norm, randint

from foldwise import SearchCV
from foldwise.testing import check_strategy
from foldwise.tuning import Bayesian, Choice, Float, Int, Trial
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.bayesian import apart
from foldwise.tuning.strategies.grid import design
from foldwise.tuning.strategies.protocol import search_generator, trial_generator
from tests.slow import slow
from tests.tuning.test_shipped_strategies import SQUARE, best_of, surface

ACQUISITIONS = ["logei", "ei", "pi", "ucb", "entropy", "thompson"]


@pytest.mark.parametrize(("acquisition", "batch"), [("logei", 5), ("thompson", 4), *slow(("logei", 1), ("entropy", 3))])
def test_promises(acquisition, batch):
    check_strategy(Bayesian(acquisition, batch=batch), n_trials=15)


@pytest.mark.slow
@pytest.mark.parametrize("acquisition", ACQUISITIONS)
@pytest.mark.parametrize("batch", [1, 4])
def test_promises_over_more_trials(acquisition, batch):
    check_strategy(Bayesian(acquisition, batch=batch), n_trials=40)


def test_promises_in_other_spaces():
    check_strategy(Bayesian(), [{"x": [0.1, 0.2, 0.3]}, {"y": Choice(["a", "b"])}])  # ends when all were tried
    check_strategy(Bayesian(n_initial=4), {"x": norm(), "n": randint(1, 9), "m": Int(1, 10_000, log=True)}, n_trials=9)
    check_strategy(Bayesian(n_initial=3, output_warping="copula"), {"x": Float(0, 1)}, n_trials=9)
    check_strategy(Bayesian(n_initial=3, output_warping="none", input_warping=False), {"x": Float(0, 1)}, n_trials=9)


@pytest.mark.parametrize("acquisition", ["logei", "ei", "ucb", "entropy"])
def test_the_surface_of_the_course(acquisition):
    assert best_of(Bayesian(acquisition), SQUARE, surface, 18).score > 0.888


@pytest.mark.slow
@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_the_surface_of_the_course_for_many_seeds(acquisition):
    n_seeds = 20 if acquisition == "logei" else 5
    assert min(best_of(Bayesian(acquisition), SQUARE, surface, 25, seed).score for seed in range(n_seeds)) > 0.888


def test_a_noisy_surface():
    rng = np.random.default_rng(0)
    trials = []
    for number in range(30):
        [setting] = Bayesian().propose(SQUARE, trials, trial_generator(1, number))
        trials.append(Trial(setting, surface(setting) + 0.02 * rng.normal()))
    late = [surface(one.setting) for one in trials[15:]]
    assert np.median(late) > 0.87


CONDITIONAL = {
    "kind": ["line", "curve"],
    "slope": Float(0, 1, when={"kind": "line"}),
    "bend": Float(1e-3, 1e3, log=True, when={"kind": "curve"}),
    "n": Int(1, 20, when={"kind": "curve"}),
}


def conditional(setting):
    """The best value is 1, in the branch that looks worse at first."""
    if setting["kind"] == "line":
        return 0.7 - (setting["slope"] - 0.4) ** 2
    return 1 - 0.3 * (math.log10(setting["bend"]) - 1) ** 2 - 0.01 * (setting["n"] - 13) ** 2


def test_a_conditional_space():
    found = best_of(Bayesian(), CONDITIONAL, conditional, 30)
    assert found.setting["kind"] == "curve"
    assert found.score > 0.97


def test_branches():
    space = [
        {"kind": ["line"], "slope": Float(0, 1)},
        {"kind": ["curve"], "bend": Float(1e-3, 1e3, log=True), "n": Int(1, 20)},
    ]
    found = best_of(Bayesian(), space, conditional, 30)
    assert found.setting["kind"] == "curve"
    assert found.score > 0.97


def test_the_first_settings_are_a_design():
    strategy, rng = Bayesian(n_initial=4), trial_generator(3, 0)
    expected = design(SearchSpace.of(SQUARE), 4, search_generator(rng))
    trials = []
    for number in range(4):
        [setting] = strategy.propose(SQUARE, trials, trial_generator(3, number))
        trials.append(Trial(setting, 0.5))
    assert [one.setting for one in trials] == expected


def test_a_batch_is_spread_out():
    def waves(setting):
        return math.sin(9 * setting["x"]) * math.cos(8 * setting["y"])

    trials = [Trial(one, waves(one)) for one in design(SearchSpace.of(SQUARE), 12, np.random.default_rng(0))]
    batch = []
    for _ in range(4):
        running = [Trial(one, math.nan, "running") for one in batch]
        batch += Bayesian(batch=4).propose(SQUARE, [*trials, *running], trial_generator(0, 12 + len(batch)))
    points = np.array([[one["x"], one["y"]] for one in batch])
    gaps = np.linalg.norm(points[:, None] - points[None, :], axis=2)[np.triu_indices(4, 1)]
    assert gaps.min() > 0.02


def test_failed_trials_are_avoided():
    trials = [
        Trial(one, math.nan, "failed") if one["x"] > 0.5 else Trial(one, surface(one))
        for one in design(SearchSpace.of(SQUARE), 16, np.random.default_rng(0))
    ]
    proposed = [Bayesian().propose(SQUARE, trials, trial_generator(seed, 16))[0]["x"] for seed in range(5)]
    assert np.median(proposed) < 0.6


def test_trials_that_say_nothing():
    failed = [Trial({"x": x, "y": 0.5}, math.nan, "failed") for x in np.linspace(0, 1, 8)]
    equal = [Trial({"x": x, "y": 0.5}, 0.7) for x in np.linspace(0, 1, 8)]
    outside = [Trial({"x": 5.0, "y": 7.0 + i}, 0.9) for i in range(8)]
    for trials in (failed, equal, outside, [*outside, *equal]):
        [setting] = Bayesian().propose(SQUARE, trials, trial_generator(0, len(trials)))
        assert SearchSpace.of(SQUARE).contains(setting)


def test_expected_improvement_falls_and_is_in_units_of_the_score():
    first = [Trial(one, surface(one)) for one in design(SearchSpace.of(SQUARE), 6, np.random.default_rng(0))]
    trials = list(first)
    for number in range(6, 14):
        [setting] = Bayesian().propose(SQUARE, trials, trial_generator(0, number))
        trials.append(Trial(setting, surface(setting)))
    early, late = (Bayesian().expected_improvement(SQUARE, one) for one in (first, trials))
    assert 0 < late < 1e-3 < early < 1
    scaled = [Trial(one.setting, 1000 * one.score) for one in first]
    assert Bayesian().expected_improvement(SQUARE, scaled) == pytest.approx(1000 * early, rel=0.05)
    assert Bayesian().expected_improvement(SQUARE, first[:1]) == math.inf


def test_in_a_search():
    from sklearn.datasets import load_iris
    from sklearn.svm import SVC

    space = {"C": loguniform(0.03, 30_000), "gamma": loguniform(3e-5, 8)}
    search = SearchCV(SVC(), space, strategy="bayesian", n_trials=12, random_state=0, cv=3)
    assert search.fit(*load_iris(return_X_y=True)).best_score_ > 0.96


@pytest.mark.parametrize(
    "options",
    [{"acquisition": "best"}, {"output_warping": "log"}, {"n_initial": 0}, {"batch": 0}, {"kappa": -1}, {"xi": -0.1}],
)
def test_bad_options(options):
    [name] = options
    with pytest.raises(ValueError, match=f"{name} must be"):
        Bayesian(**options)


def test_a_distribution_without_quantiles():
    class Drawn:
        def rvs(self, random_state=None):
            return random_state.random()

    trials = [Trial({"x": i / 9}, 0.5 + i) for i in range(9)]
    with pytest.raises(TypeError, match="only random draws from it"):
        Bayesian().propose({"x": Drawn()}, trials, trial_generator(0, 9))


def test_the_scale_of_scores_comes_from_rows_that_are_apart():
    rows = np.array([[0.1, 0.1], [0.15, 0.12], [0.1, 0.3], [0.9, 0.1], [0.89, 0.15], [0.5, -1.0], [0.5, 0.5]])
    assert apart(rows).tolist() == [True, False, True, True, False, True, True]
