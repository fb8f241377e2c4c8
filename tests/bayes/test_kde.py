"""Kernel densities against scikit-learn's, against the plain sum far out and close in, and by their laws."""

from __future__ import annotations

import math
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.neighbors import KernelDensity

from foldwise import NaiveBayes
from foldwise.bayes.families.kde import silverman
from foldwise.errors import FoldwiseTypeError, FoldwiseWarning, InputError
from foldwise.testing import check_family, check_foldable


def plain_silverman(rows):
    """By numpy, on the rows themselves."""
    spread = np.std(rows, ddof=1) if len(rows) > 1 else 0.0
    low, high = np.quantile(rows, [0.25, 0.75])
    if high > low:
        spread = min(spread, (high - low) / 1.34)
    return 0.9 * spread * len(rows) ** -0.2


@pytest.mark.parametrize("seed", range(20))
def test_silvermans_rule_on_rows_and_on_weights(seed):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.exponential(3.0, int(rng.integers(1, 60))), seed % 3)
    x, counts = np.unique(rows, return_counts=True)
    assert silverman(x, counts.astype(float), 1) == pytest.approx(plain_silverman(rows), rel=1e-12)


@pytest.mark.parametrize("bandwidth", [None, 0.7, {"x1": 0.05}])
@pytest.mark.parametrize("weighted", [False, True])
def test_densities_are_those_of_scikit_learn(bandwidth, weighted, rng):
    n = 1500
    y = rng.integers(0, 2, n)
    X = np.column_stack([rng.normal(y, 1), rng.exponential(2.0, n), np.round(rng.normal(0, 2, n))])
    w = rng.integers(0, 3, n).astype(float) if weighted else None
    model = NaiveBayes(families="kde", bandwidth=bandwidth).fit(X, y, w)
    widths = model._finished.likelihoods[0].bandwidth
    new = np.vstack([X[:300], rng.normal(0, 8, (100, 3))])
    found = model.predict_joint_log_proba(new)
    for c in (0, 1):
        expected = np.full(len(new), model.class_log_prior_[c])
        for j in range(3):
            rows = y == c if w is None else (y == c) & (w > 0)
            peer = KernelDensity(bandwidth=widths[c, j])
            expected += peer.fit(X[rows, j : j + 1], None, None if w is None else w[rows]).score_samples(
                new[:, j : j + 1]
            )
        np.testing.assert_allclose(found[:, c], expected, rtol=1e-10, atol=1e-10)
    if bandwidth is None and w is None:
        assert widths[1, 1] == pytest.approx(plain_silverman(X[y == 1, 1]), rel=1e-12)


SHAPES = {
    "normal": lambda rng, n: rng.normal(0, 1, n),
    "far from zero": lambda rng, n: rng.normal(1e9, 1, n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "two lumps": lambda rng, n: np.r_[rng.normal(0, 1e-3, n // 2), rng.normal(1e4, 50, n - n // 2)],
    "whole numbers": lambda rng, n: rng.poisson(40, n).astype(float),
    "mostly one value": lambda rng, n: np.where(rng.random(n) < 0.9, 0.0, rng.normal(0, 5, n)),
}


@pytest.mark.parametrize("n", [3, 40, 400, 6000])
@pytest.mark.parametrize("shape", SHAPES)
def test_fast_sums_are_the_plain_ones_wherever_a_cell_lies(shape, n, rng):
    x = SHAPES[shape](rng, n)
    y = rng.integers(0, 2, n)
    y[:2] = [0, 1]
    w = rng.choice([1e-6, 1.0, 30.0], n)
    low, high = x.min(), x.max()
    new = np.r_[
        x[:40], rng.uniform(low, high, 40), low - np.geomspace(1e-3, 1e6, 20), high + np.geomspace(1e-3, 1e6, 20)
    ]
    model = NaiveBayes(families="kde").fit(x[:, None], y, w)
    found = model.predict_joint_log_proba(new[:, None])
    expected = np.array([e.joint for e in model.explain(new[:, None])])
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-12)


def test_cells_far_beyond_everything():
    model = NaiveBayes(families="kde").fit([[0.0], [1e-3], [1.0], [1.002]], [0, 0, 1, 1])
    assert np.isfinite(model.predict_log_proba([[1e30], [-1e30], [1e100]])).all()
    with pytest.warns(FoldwiseWarning, match="prior probabilities"):
        np.testing.assert_allclose(model.predict_proba([[1e200]]), [[0.5, 0.5]])
    with pytest.raises(InputError, match="column 'x0' is inf in row 1"):
        model.predict([[0.0], [np.inf]])


def test_units_whose_squares_are_no_floats(rng):
    y = rng.integers(0, 2, 50)
    X = rng.normal(y[:, None], 1.0, (50, 1))
    usual = NaiveBayes(families="kde").fit(X, y).predict_log_proba(X)
    for unit in (2.0**-400, 2.0**1000):
        np.testing.assert_allclose(
            NaiveBayes(families="kde").fit(X * unit, y).predict_log_proba(X * unit), usual, rtol=1e-12
        )


def test_small_classes_and_constant_columns():
    X = pl.DataFrame({"a": [1.0, 2.0, 3.0, 9.0, None], "b": [5.0] * 5, "c": [None, None, None, 1.0, 2.0]})
    model = NaiveBayes(families="kde").fit(X, ["few", "few", "few", "one", "one"])
    widths = model._finished.likelihoods[0].bandwidth
    assert widths[1, 0] == pytest.approx(plain_silverman([1.0, 2.0, 3.0, 9.0]))  # one value: the column's own
    assert np.isfinite(model.predict_log_proba(X)).all()
    text = str(model.explain(X[:1]))
    assert "constant in the training rows" in text
    # a class without a cell of c has the column's distribution, so c says little of it
    assert widths[0, 2] == pytest.approx(plain_silverman([1.0, 2.0]))
    assert "bandwidth" in str(model.table())
    empty = pl.DataFrame({"a": [1.0, 2.0], "b": pl.Series([None, None], dtype=pl.Float64)})
    assert np.isfinite(NaiveBayes(families="kde").fit(empty, [0, 1]).predict_log_proba(empty)).all()


@pytest.mark.parametrize("bad", [0, -1.0, "wide", {"x0": 0.0}, True])
def test_a_bandwidth_is_above_0(bad):
    with pytest.raises((InputError, FoldwiseTypeError), match="bandwidth"):
        NaiveBayes(families="kde", bandwidth=bad).fit([[0.0], [1.0]], [0, 1])


def test_the_laws_on_many_rows_and_with_a_given_bandwidth():
    check_family("kde", n_rows=3000)
    check_family("kde", bandwidth=0.3, missing="category")


@pytest.mark.parametrize("weighted", [False, True])
def test_the_fold_law(weighted, rng):
    y = rng.integers(0, 3, 150)
    X = np.round(rng.normal(y[:, None], [1.0, 3.0], (150, 2)), 1)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    settings = [{}, {"bandwidth": 0.5}, {"missing": "category"}, {"columns": [1]}, {"families": {"x0": "kde"}}]
    settings += [{"bandwidth": -1}, {"families": "binned", "cuts": "entropy"}, {"var_floor": 0.3}]
    splits = [(np.arange(50, 150), np.arange(50)), (np.arange(60), np.arange(60, 110))]
    weights = {"sample_weight": rng.integers(0, 3, 150).astype(float)} if weighted else None
    check_foldable(NaiveBayes(families="kde"), X, y, settings, splits, weights)


def test_the_integral_is_one(rng):
    x = np.r_[rng.normal(0, 1, 500), rng.normal(6, 0.5, 500)]
    model = NaiveBayes(families="kde", priors=[0.5, 0.5]).fit(np.r_[x, x][:, None], np.repeat([0, 1], 1000))
    grid = np.linspace(-10, 16, 20_001)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldwiseWarning)
        density = np.exp(model.predict_joint_log_proba(grid[:, None])[:, 0] - math.log(0.5))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-9)


def test_threads_and_storage_change_nothing(rng):
    n = 60_000
    y = rng.integers(0, 2, n)
    X = np.column_stack([rng.normal(y, 1), np.round(rng.normal(0, 2, n), 1), rng.poisson(5 + y), rng.gamma(2 + y, 1)])
    families = {"x0": "kde", "x1": "binned", "x2": "binomial", "x3": "gamma"}
    params = {"bins": {"x1": 6}, "bandwidth": {"x0": 0.3}, "cuts": {"x1": "frequency"}, "trials": {"x2": 40}}
    one, two = (NaiveBayes(families=families, n_jobs=jobs, **params).fit(X, y) for jobs in (1, 2))
    np.testing.assert_allclose(one.predict_log_proba(X), two.predict_log_proba(X), rtol=1e-10, atol=1e-12)
    stored = NaiveBayes.from_json(one.to_json())
    assert stored.get_params() == one.get_params()
    np.testing.assert_allclose(stored.predict_log_proba(X[:100]), one.predict_log_proba(X[:100]), rtol=1e-10)
