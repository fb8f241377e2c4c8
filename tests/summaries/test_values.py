"""Distinct values with their weights: exact in every split, layout and removal."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldwise.data.view import view
from foldwise.errors import ForgetError, InputError
from foldwise.summaries import Values, ValueWeights
from foldwise.summaries.passes import ThreadShare
from foldwise.summaries.values import values_of
from foldwise.testing import check_merging
from tests.summaries.small import small_values

cell = st.one_of(st.none(), st.sampled_from([-2.5, -0.0, 0.0, 1e-300, 3.0, 7.0]))


@st.composite
def tables(draw):
    n = draw(st.integers(1, 25))
    rows = draw(st.lists(st.tuples(cell, cell), min_size=n, max_size=n))
    X = np.array([[np.nan if v is None else v for v in row] for row in rows])
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    w = draw(
        st.one_of(st.none(), st.lists(st.sampled_from([0.0, 0.1, 1.0, 3.0]), min_size=n, max_size=n).map(np.array))
    )
    return X, y, w


def plain(X, y, w, j):
    weight, rows = Counter(), Counter()
    for i, x in enumerate(X[:, j].tolist()):
        wi = 1.0 if w is None else w[i]
        if x == x and wi > 0:
            weight[y[i], x] += wi
            rows[y[i], x] += 1
    keys = sorted(rows)
    return keys, [weight[k] for k in keys], [rows[k] for k in keys]


@given(tables())
@settings(max_examples=60, deadline=None)
def test_values_are_those_of_the_plain_twin(table):
    X, y, w = table
    found = small_values(X, y, 3, w)
    for j, column in enumerate(found.columns):
        keys, weight, rows = plain(X, y, w, j)
        assert list(zip(column.y.tolist(), column.x.tolist(), strict=True)) == keys
        np.testing.assert_allclose(column.weight, weight, rtol=1e-15)
        assert column.rows.tolist() == rows
        assert not np.signbit(column.x[column.x == 0]).any()
    again = Values.from_dict(found.to_dict(), 3, 2)
    assert same(again, found)
    assert found.select([1]).columns[0] is found.columns[1]


@given(tables(), tables())
@settings(max_examples=60, deadline=None)
def test_a_sum_is_that_of_all_rows(a, b):
    """Lists merge to what sorting all values gives."""
    (X, y, w), (Z, v, u) = a, b
    merged = small_values(X, y, 3, w) + small_values(Z, v, 3, u)
    weights = [np.ones(len(labels)) if given is None else given for labels, given in ((y, w), (v, u))]
    assert same(merged, small_values(np.vstack([X, Z]), np.r_[y, v], 3, np.concatenate(weights)))


def same(a, b):
    pairs = zip(a.columns, b.columns, strict=True)
    return all(
        x.y.tolist() == z.y.tolist()
        and x.x.tolist() == z.x.tolist()
        and x.rows.tolist() == z.rows.tolist()
        and np.allclose(x.weight, z.weight, rtol=1e-14, atol=0)
        for x, z in pairs
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_merge_and_are_taken_away(weighted, rng):
    X = np.round(rng.normal(size=(400, 2)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, 400)
    w = rng.integers(0, 4, 400).astype(float) if weighted else None

    def facts(rows):
        return small_values(X[rows].reshape(-1, 2), y[rows], 3, None if w is None else w[rows])

    check_merging(facts, 400, same)
    assert same(facts(np.arange(400)) - facts(np.arange(100, 400)), facts(np.arange(100)))
    wide = facts(np.arange(400)).expand(np.array([0, 2, 4]), 5)
    assert wide.weight.shape == (5, 2)
    np.testing.assert_array_equal(wide.weight[[0, 2, 4]], facts(np.arange(400)).weight)


def test_every_layout_gives_the_same_values(rng):
    X = np.round(rng.normal(size=(1000, 3)), 2)
    y = rng.integers(0, 40, 1000)
    whole = small_values(X, y, 40)
    for table in (np.asfortranarray(X), pd.DataFrame(X), X.astype(np.float64)[::-1][::-1]):
        found = values_of(view(table), range(3), ThreadShare.of(y, 40), lambda rows, names, row: None)
        assert same(found, whole)


def test_what_was_never_learned_cannot_be_taken_away():
    some = ValueWeights.of([0, 1], [1.0, 2.0], [1.0, 1.0])
    with pytest.raises(ForgetError, match="value 1 would be removed"):
        some - ValueWeights.of([1], [1.0], [1.0])
    whole = Values((some, some), 2)
    with pytest.raises(ForgetError) as caught:
        whole - Values((some, some + some), 2)
    assert caught.value.index == (0, 1)


def test_too_little_weight_left_names_the_class():
    most, rest = (ValueWeights.of([0, 0, 0, 1], [1.0, 2.0, 3.0, 2.0], [1.0, 1.0, 1.0, w]) for w in (1e9 + 0.5, 0.3))
    whole = Values((most + rest,), 2)
    with pytest.raises(ForgetError, match="relative error below 1e-09") as caught:
        whole - Values((ValueWeights.of([1], [2.0], [1e9 + 0.5]),), 2)
    assert caught.value.index == (1, 0)


def test_damaged_values_are_refused():
    facts = small_values([[1.0], [2.0]], [0, 1], 2).to_dict()
    for name, value in (("y", [0, 7]), ("x", [2.0, float("inf")]), ("rows", [0, 1]), ("y", [1, 0]), ("y", [0.5, 1])):
        with pytest.raises(InputError):
            Values.from_dict({"columns": [{**facts["columns"][0], name: value}]}, 2, 1)
    with pytest.raises(InputError):
        Values.from_dict(facts, 2, 2)
