"""Binomial columns against scipy; bins against numpy, a brute-force search for cuts, and a plain twin."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from foldwise import NaiveBayes
from foldwise.bayes.families.binned import TIE, by_entropy, equal_frequency, equal_width
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.summaries import ValueWeights
from foldwise.testing import check_family, check_foldable


@pytest.mark.parametrize("trials", [None, 20, {"x1": 30}])
def test_binomial_is_scipys(trials, rng):
    y = rng.integers(0, 3, 300)
    X = rng.binomial([10, 15], np.array([0.2, 0.5, 0.9])[y][:, None], (300, 2))
    model = NaiveBayes(families="binomial", trials=trials).fit(X, y)
    n = {None: X.max(axis=0), 20: [20, 20]}.get(trials if trials in (None, 20) else "", [X[:, 0].max(), 30])
    found = model.predict_joint_log_proba(X)
    for c in range(3):
        expected = np.log(np.mean(y == c)) + stats.binom.logpmf(X, n, X[y == c].mean(axis=0) / n).sum(axis=1)
        np.testing.assert_allclose(found[:, c], expected, rtol=1e-11)


def test_more_successes_than_trials():
    X, y = pl.DataFrame({"hits": [1, 2, 3, 5]}), [0, 0, 1, 1]
    with pytest.raises(InputError, match="column 'hits' contains 5, which is more than trials=4"):
        NaiveBayes(families="binomial", trials=4).fit(X, y)
    model = NaiveBayes(families="binomial").fit(X, y)
    new = pl.DataFrame({"hits": [6]})
    np.testing.assert_allclose(model.predict_proba(new), [[0.5, 0.5]])
    assert "more than 5 trials, ignored" in str(model.explain(new))
    zeros = NaiveBayes(families="binomial").fit([[0], [0], [3], [3]], y)
    assert np.isfinite(zeros.predict_log_proba([[0], [3], [2]])).all()


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"trials": 0}, InputError, "trials must be an integer of at least 1"),
        ({"trials": {"x0": 2.5}}, FoldwiseTypeError, r"trials\['x0'\] must be an integer"),
        ({"bins": 0}, InputError, "bins must be"),
        ({"bins": "many"}, FoldwiseTypeError, "bins must be"),
        ({"cuts": "equal"}, InputError, "cuts must be 'width', 'frequency' or 'entropy'"),
        ({"bins": {"age": 3}}, InputError, "bins refers to column 'age', which the table does not have"),
    ],
)
def test_parameters_are_checked_at_fit(params, error, words):
    model = NaiveBayes(families="binned", **params)
    with pytest.raises(error, match=words):
        model.fit([[0.0], [1.0]], [0, 1])


def test_parameters_name_columns_or_their_places(rng):
    y = rng.integers(0, 2, 60)
    X = rng.normal(y[:, None], 1.0, (60, 2))
    model = NaiveBayes(families={1: "binned"}, bins={1: 3}, cuts={np.int64(1): "frequency"}).fit(X, y)
    named = NaiveBayes(families={"x1": "binned"}, bins={"x1": 3}, cuts={"x1": "frequency"}).fit(X, y)
    assert len(model._finished.likelihoods[1].cuts[0]) == 2
    np.testing.assert_allclose(model.predict_proba(X), named.predict_proba(X), rtol=1e-10)
    np.testing.assert_allclose(
        NaiveBayes.from_json(model.to_json()).predict_proba(X), named.predict_proba(X), rtol=1e-10
    )
    # folds refuse what fit refuses, also where no column is binned
    settings = [{"bins": {1: 4}}, {"bins": {"age": 3}}, {"bins": {2: 3}}, {"families": "gaussian", "bins": {"age": 3}}]
    check_foldable(model, X, y, settings, [(np.arange(40), np.arange(40, 60))])


def facts(x, y=None, w=None):
    return ValueWeights.of(np.zeros(len(x)) if y is None else y, x, np.ones(len(x)) if w is None else w)


def test_equal_widths_are_numpys(rng):
    x = rng.exponential(size=500)
    edges = np.histogram_bin_edges(x, 7)
    np.testing.assert_allclose(equal_width(facts(x), 7), edges[1:-1], rtol=1e-14)
    counts = np.histogram(x, 7)[0]
    model = NaiveBayes(families="binned", bins=7, alpha=0).fit(np.r_[x, x][:, None], np.repeat([0, 1], 500))
    shares = np.array([line.values[0] for line in model.table().lines[1:]])
    np.testing.assert_allclose(shares, counts / 500)
    assert len(equal_width(facts([3.0, 3.0]), 5)) == 0
    assert len(equal_width(facts([-1e308, 1e308]), 4)) == 3


def plain_frequency_cuts(rows, n_bins):
    """Go through the sorted rows; cut behind the one that completes a share, if the next value is another."""
    rows = sorted(rows)
    cuts = set()
    for k in range(1, n_bins):
        place = math.ceil(k * len(rows) / n_bins) - 1
        later = [v for v in rows if v > rows[place]]
        if later:
            cuts.add((rows[place] + later[0]) / 2)
    return sorted(cuts)


@given(st.lists(st.integers(-4, 9), min_size=1, max_size=40), st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_equal_frequencies_are_those_of_sorted_rows(rows, n_bins):
    assert equal_frequency(facts([float(v) for v in rows]), n_bins).tolist() == plain_frequency_cuts(rows, n_bins)
    distinct, counts = np.unique(rows, return_counts=True)
    weighted = equal_frequency(facts(distinct.astype(float), w=counts), n_bins)
    assert weighted.tolist() == plain_frequency_cuts(rows, n_bins)


def brute_force_cuts(x, y):
    """Fayyad and Irani's method by its words: every cut between two values is tried, at every level."""

    def bits(labels):
        return -sum(p * math.log2(p) for p in (labels.count(c) / len(labels) for c in set(labels)))

    def part(rows):
        labels = [c for _, c in rows]
        n, k = len(rows), len(set(labels))
        values = sorted({v for v, _ in rows})
        if n < 2:
            return []
        tried = []
        for a, b in pairwise(values):
            left, right = [c for v, c in rows if v <= a], [c for v, c in rows if v > a]
            after = (len(left) * bits(left) + len(right) * bits(right)) / n
            tried.append((after, a, b, left, right))
        if not tried:
            return []
        least = min(after for after, *_ in tried)
        after, a, b, left, right = next(t for t in tried if t[0] <= least + TIE)
        gain = bits(labels) - after
        delta = math.log2(3**k - 2) - (k * bits(labels) - len(set(left)) * bits(left) - len(set(right)) * bits(right))
        if not gain > math.log2(n - 1) / n + delta / n:
            return []
        low, high = [r for r in rows if r[0] <= a], [r for r in rows if r[0] > a]
        return [*part(low), (a + b) / 2, *part(high)]

    return part(list(zip(x, y, strict=True)))


@pytest.mark.parametrize("seed", range(40))
def test_supervised_cuts_are_those_of_a_brute_force_search(seed):
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(2, 150)), int(rng.integers(1, 5))
    y = rng.integers(0, n_classes, n)
    x = np.round(rng.normal(2.0 * y * (seed % 3), 1.0), int(rng.integers(0, 3)))
    expected = brute_force_cuts(x.tolist(), y.tolist())
    np.testing.assert_allclose(by_entropy(facts(x, y), n_classes), expected, rtol=1e-15)
    if seed % 3:
        assert n < 30 or n_classes == 1 or expected


def test_a_weight_repeats_rows_in_supervised_cuts(rng):
    y = rng.integers(0, 3, 80)
    x, w = np.round(rng.normal(y, 0.5), 1), rng.integers(1, 5, 80)
    repeated = np.repeat(np.arange(80), w)
    a, b = by_entropy(facts(x, y, w), 3), by_entropy(facts(x[repeated], y[repeated]), 3)
    assert a.tolist() == b.tolist()
    assert len(a) > 0


def test_many_classes_do_not_overflow():
    y = np.arange(2000) // 2
    assert by_entropy(facts(y.astype(float), y), 1000).tolist() == (np.arange(999) + 0.5).tolist()


@pytest.mark.parametrize("cuts", ["width", "frequency", "entropy"])
@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_bins_are_categories(cuts, missing, rng):
    """Binned numbers give what the categories of their bins give."""
    y = rng.integers(0, 3, 200)
    X = rng.normal(y[:, None], [1.0, 4.0], (200, 2))
    X[rng.random(X.shape) < 0.1] = np.nan
    model = NaiveBayes(families="binned", cuts=cuts, bins=5, missing=missing).fit(X, y)
    points = model._finished.likelihoods[0].cuts
    labels = pl.DataFrame(
        {
            f"x{j}": pl.Series(
                [None if v != v else f"b{np.searchsorted(points[j], v)}" for v in X[:, j]],
                dtype=pl.Enum([f"b{k}" for k in range(len(points[j]) + 1)]),
            )
            for j in range(2)
        }
    )
    twin = NaiveBayes(missing=missing).fit(labels, y)
    np.testing.assert_allclose(model.predict_log_proba(X), twin.predict_log_proba(labels), rtol=1e-12, atol=1e-13)
    far = model.predict_proba([[-1e300, 1e300]])
    assert np.isfinite(far).all()
    with pytest.raises(InputError, match="column 'x1' is inf in row 0"):
        model.predict([[0.0, np.inf]])
    with pytest.raises(InputError, match="column 'x0' is -inf in row 1"):
        NaiveBayes(families="binned").fit([[0.0], [-np.inf]], [0, 1])


def test_bins_explain_themselves():
    X = pl.DataFrame({"age": [1.0, 2.0, 8.0, 9.0]})
    text = str(NaiveBayes(families="binned", bins=2).fit(X, [0, 0, 1, 1]).explain(X[:1]))
    assert "3/4" in text
    assert "age falls into the bin up to 5" in text


@pytest.mark.parametrize("cuts", ["frequency", "entropy"])
def test_the_laws_with_other_cuts(cuts):
    check_family("binned", cuts=cuts)


@pytest.mark.parametrize("family", ["binomial", "binned"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_fold_law(family, weighted, rng):
    y = rng.integers(0, 3, 120)
    X = rng.binomial(12, 0.2 + 0.2 * y[:, None], (120, 3)).astype(float)
    X[0] = 12.0  # the most, in one row only: folds without it know less
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    settings = [{}, {"alpha": 0.1, "missing": "category"}, {"columns": [1]}, {"families": "gaussian"}]
    settings += [{"trials": 15}, {"cuts": "entropy"}, {"cuts": "frequency", "bins": 4}, {"bins": {"x1": 3}}]
    settings += [{"bins": 0}, {"families": {"x0": family}}]
    splits = [(np.arange(40, 120), np.arange(40)), (np.arange(60), np.arange(60, 110))]
    weights = {"sample_weight": rng.integers(0, 3, 120).astype(float)} if weighted else None
    check_foldable(NaiveBayes(families=family), X, y, settings, splits, weights)
