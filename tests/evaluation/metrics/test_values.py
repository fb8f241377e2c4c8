"""Metrics of regressions against scikit-learn's scorers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldwise.folds import Answer
from tests.evaluation.problems import assert_as_scikit_learn, regression, told

NAMES = (
    *("neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error", "r2"),
    *("neg_median_absolute_error", "neg_mean_absolute_percentage_error"),
)
POSITIVE = ("neg_mean_poisson_deviance", "neg_mean_gamma_deviance")  # elsewhere an error, ours and the peer's


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    weights=st.sampled_from([None, "random", "whole", "some zero"]),
    constant=st.booleans(),
    n=st.sampled_from([2, 4, 61, 500]),
)
def test_equal_to_the_scorer(seed, weights, constant, n):
    problem = regression(np.random.default_rng(seed), weights=weights, constant=constant, n=n)
    for name in (*NAMES, *POSITIVE):
        assert_as_scikit_learn(problem, name)


def test_values_that_are_no_numbers_are_refused_as_by_scikit_learn(rng):
    problem = regression(rng)
    values = problem.answer(problem.settings[:1]).values.copy()
    values[0, 3] = np.nan
    for name in NAMES:
        metric = problem.metric(name)
        found, _ = told(metric, problem.session, problem.settings[:1], problem.split, Answer(values=values))
        assert isinstance(found, ValueError)
        assert "NaN" in str(found)


@pytest.mark.parametrize("weights", [None, "random"])
@pytest.mark.parametrize("name", ["neg_mean_squared_error", "neg_mean_absolute_error"])
def test_losses_average_to_the_score(rng, weights, name):
    problem = regression(rng, weights=weights)
    losses = problem.metric(name).losses(problem.session, problem.split, problem.answer(problem.settings))
    w = problem.session.fit_params.get("sample_weight")
    mean = np.average(losses, axis=1, weights=None if w is None else w[problem.split.test])
    np.testing.assert_allclose(-mean, problem.ours(name, problem.settings), rtol=1e-12)


def test_r2_of_perfect_and_of_no_variance(rng):
    problem = regression(rng, constant=True)
    found, _ = told(problem.ours, "r2", [{"scale": 0.0}, {"scale": 1.0}])
    assert found.tolist() == [1.0, 0.0]
