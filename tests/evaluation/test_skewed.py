"""Intervals of means of skewed losses: against the transformation itself, scipy's skewness, and draws."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Ridge

from foldwise import GridSearchCV, bias_corrected
from foldwise.evaluation.bias_corrected import spread_of
from foldwise.evaluation.estimates import StudentSpread
from foldwise.evaluation.skewed import MeanMoments, SkewedSpread, mean_moments


@pytest.mark.parametrize("skewness", [-0.3, 0.1, 0.9])
@pytest.mark.parametrize("root", [False, True])
def test_the_ends_are_where_the_transformation_meets_students_t(skewness, root):
    spread = SkewedSpread(0.1, 9, skewness, root)
    mean, error = (4.0, 2 * 2.0 * 0.1) if root else (2.0, 0.1)
    ends = np.array(spread.between(2.0, 0.9)) ** (2 if root else 1)
    t = (mean - ends) / error
    transformed = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
    np.testing.assert_allclose(transformed, [stats.t.ppf(0.95, 9), stats.t.ppf(0.05, 9)], rtol=1e-9)


def test_without_skewness_it_is_the_interval_of_students_t():
    mean = SkewedSpread(0.1, 9, 0.0, root=False).between(2.0, 0.95)
    np.testing.assert_allclose(mean, StudentSpread(0.1, 9).between(2.0, 0.95))
    low, high = SkewedSpread(0.1, 9, 0.4, root=True).between(2.0, 0.95)
    assert 2 - low < high - 2
    np.testing.assert_allclose(SkewedSpread(0.1, 9, 0.4, root=True).between(-2.0, 0.95), (-high, -low))
    assert SkewedSpread(1.5, 3, 0.9, root=True).between(2.0, 0.95)[0] >= 0


def test_the_error_and_the_skewness_of_a_mean(rng):
    losses, weights = rng.exponential(size=50), rng.integers(1, 4, 50)
    found = mean_moments(losses, np.ones(50))
    assert found.skewness == pytest.approx(stats.skew(losses) / np.sqrt(50))
    assert found.error == pytest.approx(stats.sem(losses))
    rows = np.repeat(np.arange(50), weights)
    twice = mean_moments(losses[rows], np.ones(len(rows)), rows)
    weighted = mean_moments(losses, weights.astype(float))
    assert (weighted.error, weighted.skewness) == pytest.approx((twice.error, twice.skewness))
    assert mean_moments(np.ones(5), np.ones(5)) == mean_moments(np.ones(1), np.ones(1)) == MeanMoments(0.0, 0.0)


def test_skewed_errors_are_covered_where_students_t_fails():
    rng, n, runs = np.random.default_rng(0), 200, 1000

    def draw(*shape):
        return np.expm1(0.6 * rng.normal(size=shape)) ** 2

    truth = np.sqrt(draw(2_000_000).mean())
    covered, symmetric = [], []
    for losses in draw(runs, n):
        value, error = np.sqrt(losses.mean()), losses.reshape(10, -1).mean(axis=1).std(ddof=1) / np.sqrt(10)
        error /= 2 * value
        skewness = mean_moments(losses, np.ones(n)).skewness
        for spread, hits in (
            (SkewedSpread(error, 9, skewness, root=True), covered),
            (StudentSpread(error, 9), symmetric),
        ):
            low, high = spread.between(value, 0.95)
            hits.append(low <= truth <= high)
    assert np.mean(symmetric) < 0.9
    assert np.mean(covered) > 0.92


def test_the_error_of_a_small_test_set_is_more_skewed():
    losses = np.random.default_rng(0).exponential(size=400)
    skewness = mean_moments(losses, np.ones(400)).skewness
    variance, third = losses.var(), stats.skew(losses)
    spread = SkewedSpread(np.sqrt(variance / 400), 9, skewness, root=False, per_error=third / np.sqrt(variance))
    small, large = spread.widened(variance / 20), spread.widened(variance / 1e9)
    assert large.skewness == pytest.approx(skewness, rel=1e-3)
    assert small.error == pytest.approx(np.sqrt(variance / 400 + variance / 20))
    assert skewness < small.skewness < third / np.sqrt(20)


def test_searches_of_regressors_use_it(rng):
    X = rng.normal(size=(120, 3))
    y = np.exp(X[:, 0] + rng.normal(size=120))
    grid, scoring = {"alpha": [0.1, 1.0, 100.0]}, "neg_root_mean_squared_error"
    result = bias_corrected(GridSearchCV(Ridge(), grid, cv=5, scoring=scoring).fit(X, y), random_state=0)
    low, high = result.interval()
    assert "skewness-adjusted jackknife" in result.method
    assert result.value - low > 1.2 * (high - result.value)  # scores are negative errors
    least, most = result.on_test(30)
    assert least < low < high < most <= 0


@pytest.mark.parametrize("scoring", ["neg_root_mean_squared_error", "neg_mean_absolute_error"])
def test_the_variance_is_the_average_of_the_jackknife_and_of_independent_rows(rng, scoring, monkeypatch):
    X = rng.normal(size=(90, 3))
    y, seen = X[:, 0] + rng.exponential(size=90), []
    module = sys.modules["foldwise.evaluation.bias_corrected"]
    monkeypatch.setattr(module, "spread_of", lambda *args: seen.append((args, spread_of(*args))) or seen[-1][1])
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 100.0]}, cv=5, scoring=scoring).fit(X, y)
    result = bias_corrected(search, random_state=0)
    [((draws, without, root), (jackknife, _))] = seen
    losses = search.kept_.losses[search.best_index_]
    slope = 0.5 / np.sqrt(losses.mean()) if root else 1.0
    assert root == (scoring == "neg_root_mean_squared_error")
    assert result.spread.error**2 == pytest.approx((jackknife.error**2 + slope**2 * stats.sem(losses) ** 2) / 2)
    assert result.value == pytest.approx(-np.sqrt(np.mean(draws**2)) if root else np.mean(draws))
    left = np.concatenate(without, axis=1)
    left = -np.sqrt((left**2).mean(axis=1)) if root else left.mean(axis=1)
    assert jackknife.error == pytest.approx(np.sqrt(4 * left.var()))
