"""The law of summaries: any split into parts, merged in any order, gives the same facts."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldwise.data.cells import ChunkedCells
from foldwise.data.view import view
from foldwise.errors import ForgetError
from foldwise.summaries import CategoryCounts, Counts, Moments, Sums
from foldwise.summaries.counts import counts_of
from foldwise.summaries.passes import ThreadShare
from foldwise.summaries.sums import sums_of
from tests.summaries.small import small_moments


def moments(X, y, w=None, n_classes=3):
    return small_moments(X, y, n_classes, w)


def sums(X, y, w=None, n_classes=3):
    cells = ChunkedCells([f"x{j}" for j in range(X.shape[1])], len(X), list(np.ascontiguousarray(X).T), np.float64)
    return sums_of(cells, ThreadShare.of(y, n_classes, w), lambda rows, names, row: None)


def counts(X, y, w=None, n_classes=3):
    return counts_of(view(X), range(X.shape[1]), ThreadShare.of(y, n_classes, w))


def exact_moments(X, y, w, n_classes):
    """By Python's integers and fractions: no rounding at all until the end."""
    from fractions import Fraction

    weight, mean, m2 = np.zeros((3, n_classes, X.shape[1]))
    for c in range(n_classes):
        for j in range(X.shape[1]):
            cells = [(Fraction(x), Fraction(v)) for x, v in zip(X[y == c, j], w[y == c], strict=True) if x == x]
            n = sum((v for _, v in cells), Fraction(0))
            if n:
                mu = sum(x * v for x, v in cells) / n
                weight[c, j], mean[c, j] = float(n), float(mu)
                m2[c, j] = float(sum(v * (x - mu) ** 2 for x, v in cells))
    return weight, mean, m2


def random_parts(rng, n_rows, n_parts):
    """A random assignment of rows to parts, and a random order of the parts."""
    part = rng.integers(0, n_parts, n_rows)
    parts = [np.flatnonzero(part == k) for k in range(n_parts)]
    return [parts[k] for k in rng.permutation(n_parts)]


def random_tree(rng, summaries):
    """Merge in any order: neighbors at random until one is left."""
    summaries = list(summaries)
    while len(summaries) > 1:
        i = int(rng.integers(len(summaries) - 1))
        summaries[i : i + 2] = [summaries[i] + summaries[i + 1]]
    return summaries[0]


def assert_same_moments(a, b, scale):
    assert (a.weight == b.weight).all()
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(a.m2, b.m2, rtol=1e-12)


@pytest.mark.parametrize("n_parts", [1, 2, 3, 10, 200])
@pytest.mark.parametrize(("center", "sd"), [(0.0, 1.0), (1e8, 1.0), (-1e8, 1.0), (1e-5, 1e-9), (0.0, 1e6)])
def test_moments_of_parts_merge_to_those_of_the_whole(n_parts, center, sd):
    rng = np.random.default_rng(n_parts)
    X = rng.normal(center, sd, (2000, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, len(X))
    whole = moments(X, y)
    merged = random_tree(rng, [moments(X[rows], y[rows]) for rows in random_parts(rng, len(X), n_parts)])
    assert_same_moments(whole, merged, sd)


def test_moments_are_right_to_the_last_digits_far_from_zero():
    rng = np.random.default_rng(1)
    X = 1e8 + rng.normal(size=(3000, 2))
    X[::7, 1] = np.nan
    y = rng.integers(0, 2, len(X))
    w = rng.integers(0, 4, len(X)).astype(float)
    weight, mean, m2 = exact_moments(X, y, w, 2)
    parts = random_parts(rng, len(X), 1000)
    for found in (moments(X, y, w, 2), reduce(add, [moments(X[r], y[r], w[r], 2) for r in parts])):
        assert (found.weight == weight).all()
        np.testing.assert_allclose(found.mean, mean, rtol=1e-15)
        np.testing.assert_allclose(found.m2, m2, rtol=2e-14)


def test_moments_with_classes_far_apart_and_an_outlier_first():
    # the pivot is the first value of the column: poor for every class here, so chunks are summed again
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 5000)
    X = (np.array([0.0, 1e6, -1e9])[y] + rng.normal(0, 1e-3, 5000))[:, None]
    X[0] = 1e12
    _, mean, m2 = exact_moments(X, y, np.ones(len(X)), 3)
    found = moments(X, y)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-14)
    np.testing.assert_allclose(found.m2, m2, rtol=1e-12)


def test_a_constant_column_has_no_spread_however_it_is_split():
    rng = np.random.default_rng(3)
    X = np.full((2000, 1), 0.1)
    X[:3] = np.nan
    y = rng.integers(0, 3, len(X))
    merged = random_tree(rng, [moments(X[r], y[r]) for r in random_parts(rng, len(X), 500)])
    for found in (moments(X, y), merged, merged.pooled()):
        assert (found.m2 == 0).all()
        assert (found.mean == 0.1).all()


def test_pooled_moments_are_those_of_all_classes_together():
    rng = np.random.default_rng(4)
    X = rng.normal(1e8, 1, (500, 2))
    y = rng.integers(1, 3, len(X))  # class 0 is empty
    assert_same_moments(moments(X, y).pooled(), moments(X, np.zeros(len(X), int), n_classes=1), 1.0)


weights = st.sampled_from([0.0, 1.0, 2.0, 3.0])
cell = st.one_of(st.none(), st.integers(-3, 3))


@st.composite
def tables(draw):
    n = draw(st.integers(1, 30))
    rows = draw(st.lists(st.tuples(cell, cell), min_size=n, max_size=n))
    X = np.array([[np.nan if v is None else float(v) for v in row] for row in rows])
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    w = np.array(draw(st.lists(weights, min_size=n, max_size=n)))
    part = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    return X, y, w, [np.flatnonzero(part == k) for k in draw(st.permutations(range(5)))]


@given(tables())
@settings(max_examples=60, deadline=None)
def test_every_summary_merges_and_takes_weights_as_frequencies(table):
    X, y, w, parts = table
    labels = np.array([[None if v != v else f"v{v:g}" for v in row] for row in X], dtype=object).reshape(X.shape)
    repeated = np.repeat(np.arange(len(X)), w.astype(int))
    for make, cells in ((moments, X), (sums, np.abs(X)), (counts, labels)):
        whole = make(cells, y, w)
        merged = reduce(add, [make(cells[rows], y[rows], w[rows]) for rows in parts])
        counted = make(cells[repeated], y[repeated])
        assert_same(whole, merged)
        assert_same(whole, counted, rows=False)


def assert_same(a, b, rows=True):
    if isinstance(a, Moments):
        assert_same_moments(a, b, 1.0)
    elif isinstance(a, Sums):
        assert (a.weight == b.weight).all()
        assert (a.total == b.total).all()
        assert not rows or (a.rows == b.rows).all()
        assert not rows or (a.hits == b.hits).all()
    else:
        assert isinstance(a, Counts)
        for x, y in zip(a.columns, b.columns, strict=True):
            assert x.levels == y.levels
            assert (x.weight == y.weight).all()
            assert not rows or (x.rows == y.rows).all()


def test_counts_are_equal_for_numbers_read_directly_and_by_code():
    rng = np.random.default_rng(5)
    whole = rng.integers(-4, 9, (3000, 6))
    whole[2000:, 0] += 50  # outside the range of the first rows
    y = rng.integers(0, 3, len(whole))
    direct, coded = counts(whole, y), counts(whole.astype(float), y)
    assert_same(direct, coded)
    strings = np.array([[str(v) for v in row] for row in whole], dtype=object)
    for a, b in zip(direct.columns, counts(strings, y).columns, strict=True):
        by_text = {level: row.tolist() for level, row in zip(b.levels, b.weight, strict=True)}
        assert by_text == {str(level): row.tolist() for level, row in zip(a.levels, a.weight, strict=True)}


def test_a_column_of_distant_numbers_is_counted_by_code():
    X = np.array([[10**15], [-(10**15)], [10**15]])
    found = counts(X, np.array([0, 1, 1])).columns[0]
    assert found.levels == (-(10**15), 10**15)
    assert found.weight.tolist() == [[0, 1, 0], [1, 1, 0]]


@pytest.mark.parametrize("make", [moments, sums, counts])
def test_rows_taken_away_leave_the_facts_of_the_others(make):
    rng = np.random.default_rng(6)
    X = rng.integers(0, 5, (400, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, len(X))
    assert_same(make(X, y) - make(X[300:], y[300:]), make(X[:300], y[:300]))


def test_removal_within_the_bound_or_an_error():
    rng = np.random.default_rng(7)
    near, far = rng.normal(0, 1, (1000, 1)), np.array([[1e3], [-1e3]])
    zeros = np.zeros(1002, int)
    all_rows = moments(np.vstack([near, far]), zeros, n_classes=1)
    left = all_rows - moments(far, zeros[:2], n_classes=1)
    truth = moments(near, zeros[:1000], n_classes=1)
    bound = 8 * 2.0**-52 * all_rows.m2 / truth.m2
    assert (abs(left.m2 / truth.m2 - 1) <= bound).all()
    outlier = moments(np.vstack([near, [[1e12]]]), zeros[:1001], n_classes=1)
    with pytest.raises(ForgetError, match="spread would have a relative error"):
        outlier - moments([[1e12]], [0], n_classes=1)


def test_rows_never_learned_cannot_be_taken_away():
    few = CategoryCounts.of(("a",), np.array([[1.0, 0.0]]))
    with pytest.raises(ForgetError, match="'b'"):
        few - CategoryCounts.of(("b",), np.array([[1.0, 0.0]]))
    with pytest.raises(ForgetError):
        few - CategoryCounts.of(("a",), np.array([[2.0, 0.0]]))
    with pytest.raises(ForgetError):
        moments([[1.0]], [0]) - moments([[1.0], [1.0]], [0, 0])


def test_facts_survive_being_written_down():
    rng = np.random.default_rng(8)
    X, y = rng.normal(1e8, 1, (50, 2)), rng.integers(0, 3, 50)
    for make, kind in ((moments, Moments), (sums, Sums), (counts, Counts)):
        facts = make(np.round(X), y)
        assert_same(kind.from_dict(facts.to_dict(), 3, 2), facts)


def test_whole_numbers_of_any_size_stay_apart():
    for values in ([2**62, 2**62 + 3], [2**53, 2**53 + 1, -5], [-(2**63), 2**63 - 1], [2**60, 2**60 + 1, 0]):
        X = np.array(values * 3)[:, None]
        y = np.arange(len(X)) % 2
        found = counts(X, y).columns[0]
        assert found.levels == tuple(sorted(values))
        assert found.weight.sum() == len(X)
    large = np.array([[2**63], [2**63 + 1]], dtype=np.uint64)
    assert counts(large, np.array([0, 1])).columns[0].levels == (2**63, 2**63 + 1)


def test_rows_of_weight_0_have_no_say():
    # a constant column behind a first row of weight 0: its spread is exactly 0 all the same
    X = np.r_[[[5.0]], np.full((50, 1), 0.1)]
    w = np.r_[0.0, np.random.default_rng(0).random(50)]
    found = moments(X, np.arange(51) % 3, w)
    assert (found.m2 == 0).all()
    assert found.rows.sum() == 50
    late = moments(np.r_[np.full((20_000, 1), 7.0), X[1:]], np.zeros(20_050, int), np.r_[np.zeros(20_000), w[1:]], 1)
    assert late.m2.tolist() == [[0.0]]


def test_damaged_facts_are_refused():
    from foldwise.errors import InputError

    facts = moments([[1.0, 2.0]], [0]).to_dict()
    for name, value in (("weight", [[1.0]]), ("m2", [[-1.0, 0.0]] * 3), ("high", [[float("nan"), 0.0]] * 3)):
        with pytest.raises(InputError, match=name):
            Moments.from_dict({**facts, name: value}, 3, 2)
