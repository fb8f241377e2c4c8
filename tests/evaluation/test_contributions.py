"""Shapley values of a plain function: by enumeration of all orders, with equal and missing cells, as a frame."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest

from foldwise.errors import InputError
from foldwise.evaluation.contributions import contributions_of, log_odds_of


def predict_proba(frame):
    """A product of two columns, and a category that adds to it."""
    a, b = (frame[name].fill_null(0.0).to_numpy() for name in "ab")
    odds = a * b + 2.0 * (frame["c"] == "x").fill_null(False).to_numpy()
    p = 1 / (1 + np.exp(-odds))
    return np.column_stack([1 - p, p])


BACKGROUND = pl.DataFrame({"a": [0.0, 1.0, None, 2.0], "b": [1.0, -1.0, 0.5, 3.0], "c": ["x", "y", None, "x"]})
ROW = pl.DataFrame({"a": [2.0], "b": [1.5], "c": ["x"]})


def by_enumeration(row, background):
    values = np.zeros(row.width)
    orders = list(permutations(row.columns))
    for order in orders:
        current, before = background, log_odds_of(predict_proba(background))[:, 1]
        for name in order:
            current = current.with_columns(pl.lit(row[name][0], dtype=row[name].dtype).alias(name))
            after = log_odds_of(predict_proba(current))[:, 1]
            values[row.columns.index(name)] += (after - before).mean() / len(orders)
            before = after
    return values


def test_as_by_enumeration():
    [found] = contributions_of(predict_proba, ROW, BACKGROUND, ["no", "yes"], about="yes", n_samples=20_000)
    np.testing.assert_allclose(found.values, by_enumeration(ROW, BACKGROUND), atol=5 * found.errors.max() + 1e-9)
    assert found.base + found.values.sum() == pytest.approx(found.total, abs=1e-12)


def test_only_rows_that_differ_are_predicted():
    predicted = []

    def counting(frame):
        predicted.append(frame)
        return predict_proba(frame)

    [found] = contributions_of(counting, ROW, ROW, ["no", "yes"])
    assert found.values.tolist() == [0, 0, 0]
    assert sum(frame.height for frame in predicted) == 2


def test_a_frame_with_the_largest_contribution_first():
    row = ROW.with_columns(a=pl.lit(None, dtype=pl.Float64))
    [found] = contributions_of(predict_proba, row, BACKGROUND, ["no", "yes"])
    frame = found.to_frame()
    assert frame.columns == ["column", "value", "contribution", "standard_error"]
    assert frame["contribution"].abs().to_list() == sorted(frame["contribution"].abs(), reverse=True)
    assert frame.filter(column="a")["value"].to_list() == [None]


def test_one_class_is_refused():
    with pytest.raises(InputError, match="a single class"):
        contributions_of(predict_proba, ROW, BACKGROUND, ["no"])


def test_contributions_are_shown_as_a_table():
    [found] = contributions_of(predict_proba, ROW, BACKGROUND, ["no", "<yes>"], about="<yes>")
    lines = repr(found).splitlines()
    assert lines[0].startswith("P(<yes>) = ")
    assert lines[2] == "contribution of each column to the log-odds of '<yes>'"
    assert sorted(line.split()[0] for line in lines[6:9]) == ["a", "b", "c"]
    html = found._repr_html_()
    assert "&lt;yes&gt;" in html
    assert html.count("<tr>") == 6

    [value] = contributions_of(lambda frame: frame["a"].fill_null(0.0).to_numpy(), ROW, BACKGROUND, None)
    assert repr(value).startswith("predicted value 2.000")
    assert value._repr_html_().startswith("<p>predicted value 2.000</p>")
