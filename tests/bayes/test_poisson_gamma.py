"""Poisson and gamma columns against scipy's densities and a plain twin, far out and close together."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

from foldwise import NaiveBayes
from foldwise.bayes.families.gamma import gap_of, log_norm_of, shape_of
from foldwise.errors import FoldwiseWarning, ForgetError, InputError
from foldwise.testing import check_foldable, check_merging
from tests.summaries.small import small_log_moments


def columns_of(rng, n=300):
    y = rng.integers(0, 3, n)
    return np.column_stack([rng.poisson(1 + 2 * y), rng.poisson(30.0, n)]).astype(float), y


def test_poisson_is_scipys(rng):
    X, y = columns_of(rng)
    model = NaiveBayes(families="poisson").fit(X, y)
    new = np.vstack([X[:20], [[0, 0], [200, 3]]])
    found = model.predict_joint_log_proba(new)
    for c in range(3):
        expected = np.log(np.mean(y == c)) + stats.poisson.logpmf(new, X[y == c].mean(axis=0)).sum(axis=1)
        np.testing.assert_allclose(found[:, c], expected, rtol=1e-12)


def test_a_rate_of_0_has_a_floor_and_a_column_of_zeros_says_nothing():
    X, y = np.array([[0, 0], [0, 0], [2, 0], [4, 0]]), [0, 0, 1, 1]
    model = NaiveBayes(families="poisson").fit(X, y)
    assert np.isfinite(model.predict_log_proba([[5, 7]])).all()
    assert model.predict([[5, 7]])[0] == 1
    assert "only 0 in the training rows" in str(model.explain([[5, 7]]))
    strict = NaiveBayes(families="poisson", var_floor=0).fit(X, y)
    assert strict.predict_joint_log_proba([[5, 0]])[0, 0] == -np.inf
    assert strict.explain([[0, 0]])[0].joint[0] == pytest.approx(math.log(0.5))


@pytest.mark.parametrize("shape", [0.02, 0.3, 1.0, 7.0, 19.0, 22.0, 500.0])
def test_gamma_is_scipys_fit(shape, rng):
    X = np.maximum(rng.gamma(shape, 3.0, (400, 1)), 1e-250)
    y = rng.integers(0, 2, 400)
    model = NaiveBayes(families="gamma").fit(X, y)
    found = model.predict_joint_log_proba(X)
    for c in (0, 1):
        k, _, theta = stats.gamma.fit(X[y == c, 0], floc=0)
        expected = np.log(np.mean(y == c)) + stats.gamma.logpdf(X[:, 0], k, 0, theta)
        np.testing.assert_allclose(found[:, c], expected, rtol=1e-9, atol=1e-9)


BERNOULLI = [Fraction(1, 6), Fraction(-1, 30), Fraction(1, 42), Fraction(-1, 30), Fraction(5, 66), Fraction(-691, 2730)]


def exact_gap_and_norm(k):
    """log k - ψ(k) and k·log k - k - log Γ(k) to 25 digits: by recurrence up to 200, where Stirling is exact."""
    getcontext().prec = 60
    k, shift, logs = Decimal(k), Decimal(0), Decimal(0)
    x = k
    while x < 200:
        shift, logs, x = shift + 1 / x, logs + x.ln(), x + 1
    digamma, gamma = x.ln() - 1 / (2 * x), (x - Decimal("0.5")) * x.ln() - x + (2 * PI).ln() / 2
    for i, b in enumerate(BERNOULLI, 1):
        share = Decimal(b.numerator) / b.denominator
        digamma -= share / (2 * i * x ** (2 * i))
        gamma += share / (2 * i * (2 * i - 1) * x ** (2 * i - 1))
    return k.ln() - (digamma - shift), k * k.ln() - k - (gamma - logs)


PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


@pytest.mark.parametrize("k", [1e-3, 0.7, 5.0, 19.999, 20.0, 20.001, 150.0, 1e5, 1e12])
def test_the_functions_of_large_shapes_meet_those_of_small_ones(k):
    gap, norm = (float(exact) for exact in exact_gap_and_norm(k))
    assert gap_of(np.array([k]))[0][0] == pytest.approx(gap, rel=1e-13)
    assert shape_of(np.array([gap]))[0] == pytest.approx(k, rel=1e-12)
    assert log_norm_of(np.array([k]))[0] == pytest.approx(norm, rel=1e-13, abs=1e-13)


def plain_log_moments(x, w):
    getcontext().prec = 60
    x, w = [Decimal(a) for a in x], [Decimal(b) for b in w]
    mean = sum(a * b for a, b in zip(x, w, strict=True)) / sum(w)
    return float(mean), float(sum(b * (mean.ln() - a.ln()) for a, b in zip(x, w, strict=True)))


@pytest.mark.parametrize(("center", "sd"), [(5.0, 1.0), (1e8, 1.0), (1e-200, 1e-202), (1e-6, 5e-7)])
def test_log_moments_are_right_and_merge(center, sd, rng):
    x = np.abs(rng.normal(center, sd, 300))
    w = rng.integers(1, 4, 300).astype(float)
    mean, deviance = plain_log_moments(x.tolist(), w.tolist())

    def facts(rows):
        return small_log_moments(x[rows][:, None], np.zeros(len(rows), int), 1, w[rows])

    whole = facts(np.arange(300))
    assert whole.mean[0, 0] == pytest.approx(mean, rel=1e-14)
    assert whole.deviance[0, 0] == pytest.approx(deviance, rel=1e-12 if center != 1e8 else 1e-7)

    def same(a, b):
        loose = 1e-6 if center == 1e8 else 1e-11
        return bool(np.allclose(a.mean, b.mean, rtol=1e-13, atol=0) and np.allclose(a.deviance, b.deviance, rtol=loose))

    check_merging(facts, 300, same)
    left = whole - facts(np.arange(200, 300))
    assert same(left, facts(np.arange(200)))


def test_a_constant_column_says_nothing_and_a_class_may_hold_one_value(rng):
    X = np.column_stack([np.full(40, 0.1), np.r_[np.full(20, 3.0), rng.gamma(2, 1, 20)]])
    y = np.repeat([0, 1], 20)
    model = NaiveBayes(families="gamma").fit(X, y)
    assert "constant in the training rows" in str(model.explain([[0.2, 3.0]]))
    assert np.isfinite(model.predict_log_proba([[0.2, 3.0], [1e-9, 1e9]])).all()
    assert model.predict([[0.1, 3.0], [0.1, 2.5]]).tolist() == [0, 1]
    one = NaiveBayes(families="gamma").fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    assert np.isfinite(one.predict_log_proba([[1.0], [5.0]])).all()


def test_gamma_classes_of_any_scale(rng):
    """Classes sixteen orders apart, and units whose squares are no floats, give what other units give."""
    y = np.repeat([0, 1], 30)
    apart = np.where(y == 0, 1e-6, 1e12)[:, None] * rng.gamma(3.0, 1.0, (60, 1))
    facts = small_log_moments(apart, y, 2)
    for c in (0, 1):
        mean, deviance = plain_log_moments(apart[y == c, 0].tolist(), [1.0] * 30)
        assert facts.mean[c, 0] == pytest.approx(mean, rel=1e-14)
        assert facts.deviance[c, 0] == pytest.approx(deviance, rel=1e-12)
    assert NaiveBayes(families="gamma").fit(apart, y).score(apart, y) == 1.0
    # one chunk after the other, and a largest value that hardly counts
    later = small_log_moments(apart[y == 1], y[:30], 1) + small_log_moments(apart[y == 0], y[:30], 1)
    assert later.deviance[0, 0] == pytest.approx(plain_log_moments(apart[:, 0].tolist(), [1.0] * 60)[1], rel=1e-12)
    light = small_log_moments([[1e20], [1.0], [2.0]], [0, 0, 0], 1, [1e-40, 1.0, 1.0])
    assert light.mean[0, 0] == pytest.approx(1.5)

    X = rng.gamma(2.0 + 2 * y, 1.0)[:, None]
    usual = NaiveBayes(families="gamma", var_floor=0.4).fit(X, y).predict_log_proba(X)
    for unit in (1e-200, 1e200, 1e306):
        model = NaiveBayes(families="gamma", var_floor=0.4).fit(X * unit, y)
        np.testing.assert_allclose(model.predict_log_proba(X * unit), usual, rtol=1e-9, atol=1e-9)
    tiny = NaiveBayes(families="gamma").fit(X * 1e-200, y)
    with pytest.warns(FoldwiseWarning, match="prior probabilities"):
        np.testing.assert_allclose(tiny.predict_proba([[1e300]]), [[0.5, 0.5]])
    assert tiny.explain([[1e300]])[0].contradictory


def test_counts_beyond_all_reason_are_impossible():
    model = NaiveBayes(families="poisson").fit([[7], [8], [9], [7]], [0, 0, 1, 1])
    with pytest.warns(FoldwiseWarning, match="prior probabilities"):
        np.testing.assert_allclose(model.predict_proba([[1e308]]), [[0.5, 0.5]])
    assert model.explain([[1e308]])[0].contradictory


@pytest.mark.parametrize(("family", "cell"), [("poisson", 1.5), ("poisson", -1), ("gamma", 0.0), ("gamma", -2.0)])
def test_a_cell_outside_the_family_is_refused_by_column_and_row(family, cell):
    X = pl.DataFrame({"n": [1.0, 2.0, float(cell), 3.0]})
    with pytest.raises(InputError, match=r"column 'n' must contain .* in row 2"):
        NaiveBayes(families=family).fit(X, [0, 1, 0, 1])
    model = NaiveBayes(families=family).fit(X[:2], [0, 1])
    for ask in (model.predict, model.explain):
        with pytest.raises(InputError, match=r"column 'n' must contain .* in row 2"):
            ask(X)


def test_what_can_be_forgotten_of_a_log_spread_is_said():
    near = np.array([[1.0], [1.0 + 1e-9], [1.0 - 1e-9]])
    zeros = np.zeros(4, int)
    whole = small_log_moments(np.vstack([near, [[1e9]]]), zeros, 1)
    with pytest.raises(ForgetError, match="log-spread would have a relative error"):
        whole - small_log_moments([[1e9]], [0], 1)


@pytest.mark.parametrize("family", ["poisson", "gamma"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_fold_law(family, weighted, rng):
    X, y = columns_of(rng, 120)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X + (family == "gamma"))
    settings = [{}, {"var_floor": 0.5}, {"missing": "category"}, {"columns": [1]}, {"families": "gaussian"}]
    splits = [(np.arange(40, 120), np.arange(40)), (np.arange(60), np.arange(60, 110))]
    weights = {"sample_weight": rng.integers(0, 3, 120).astype(float)} if weighted else None
    check_foldable(NaiveBayes(families=family), X, y, settings, splits, weights)
