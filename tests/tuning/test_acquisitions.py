"""Acquisition functions against integrals, precise values in the tail, and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm, truncnorm

from foldwise.tuning.strategies.acquisitions import (
    ExpectedImprovement,
    LogExpectedImprovement,
    MaxValueEntropy,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
    log_h,
    sample_maxima,
)

MEAN, DEVIATION = np.array([-3.0, -0.5, 0.0, 0.4, 2.0]), np.array([0.1, 0.5, 1.0, 0.01, 0.7])
ALL = [
    LogExpectedImprovement(0.5),
    ExpectedImprovement(0.5),
    ProbabilityOfImprovement(0.5),
    UpperConfidenceBound(1.7),
    MaxValueEntropy(np.array([2.1, 2.5, 3.0])),
]


@pytest.mark.parametrize("acquisition", ALL, ids=lambda one: type(one).__name__)
def test_derivatives(acquisition):
    h = 1e-6
    _, by_mean, by_deviation = acquisition(MEAN, DEVIATION)
    numeric = (acquisition(MEAN + h, DEVIATION)[0] - acquisition(MEAN - h, DEVIATION)[0]) / (2 * h)
    np.testing.assert_allclose(by_mean, numeric, rtol=1e-4, atol=1e-8)
    numeric = (acquisition(MEAN, DEVIATION + h)[0] - acquisition(MEAN, DEVIATION - h)[0]) / (2 * h)
    np.testing.assert_allclose(by_deviation, numeric, rtol=1e-4, atol=1e-8)


def test_expected_improvement_is_an_integral():
    found = ExpectedImprovement(0.5)(MEAN, DEVIATION)[0]
    for value, mean, deviation in zip(found, MEAN, DEVIATION, strict=True):
        high = max(mean, 0.5) + 12 * deviation
        expected = quad(lambda y, m=mean, s=deviation: (y - 0.5) * norm.pdf(y, m, s), 0.5, high, epsabs=1e-14)[0]
        assert value == pytest.approx(expected, rel=1e-6, abs=1e-13)


# log(φ(z) + z Φ(z)) by mpmath with 80 digits
PRECISE = [
    (-0.5, -1.6205162643873199),
    (-1.0, -2.4851210257126413),
    (-1.001, -2.4870256579553893),
    (-3.0, -7.869686059603029),
    (-10.0, -55.55312203612235),
    (-100.0, -5010.12957880025),
    (-10000.0, -50000019.33961931),
    (-1000000.0, -500000000028.55),
    (-60000000.0, -1800000000000036.8),
    (-1000000000.0, -5.0000000000000006e17),
]


@pytest.mark.parametrize(("z", "expected"), PRECISE)
def test_log_h_far_in_the_tail(z, expected):
    assert float(log_h(np.array([z]))[0]) == pytest.approx(expected, rel=1e-10)


def test_log_h_is_an_integral():
    """φ(z) + z Φ(z) = φ(z) ∫ t exp(z t - t²/2) dt over t > 0."""
    for z in (-2.0, -8.0, -30.0, -300.0):
        scaled = quad(lambda t, z=z: t * np.exp(z * t - t * t / 2), 0, np.inf, epsrel=1e-12)[0]
        expected = norm.logpdf(z) + np.log(scaled)
        assert float(log_h(np.array([z]))[0]) == pytest.approx(expected, rel=1e-9)


def test_log_expected_improvement_is_finite_everywhere():
    value, by_mean, by_deviation = LogExpectedImprovement(0.0)(np.full(4, -1.0), np.array([1e-12, 1e-8, 1e-3, 1.0]))
    assert np.isfinite([value, by_mean, by_deviation]).all()
    assert (np.diff(value) > 0).all()


def test_information_about_the_maximum_is_a_difference_of_entropies():
    """Given the maximum y*, a score has a truncated normal distribution."""
    mean, deviation, highest = 0.3, 0.8, 1.1
    known = truncnorm(-30, (highest - mean) / deviation, mean, deviation)
    expected = norm(mean, deviation).entropy() - known.entropy()
    found = MaxValueEntropy(np.array([highest]))(np.array([mean]), np.array([deviation]))[0]
    assert found[0] == pytest.approx(float(expected), rel=1e-6)


def test_sampled_maxima():
    rng = np.random.default_rng(0)
    mean, deviation = rng.normal(0, 1, 300), rng.uniform(0.1, 0.5, 300)
    drawn = sample_maxima(mean, deviation, -5.0, 4000, rng)
    expected = rng.normal(mean, deviation, (4000, 300)).max(axis=1)
    np.testing.assert_allclose(
        np.quantile(drawn, [0.25, 0.5, 0.75]), np.quantile(expected, [0.25, 0.5, 0.75]), atol=0.05
    )
    assert sample_maxima(mean, deviation, 9.0, 50, rng).min() > 9.0
