"""The transformers in front of models: cells of any frame, nothing coded anew in silence, learned from own rows."""

from __future__ import annotations

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from foldwise.errors import InputError
from foldwise.models.column_transformers import (
    CategoricalFrame,
    CategoryCodes,
    KeepColumns,
    NumberColumns,
    TextTfidf,
)
from foldwise.models.target_encoding import ClassRateEncoder

NAN = np.nan


def test_numbers_of_any_frame():
    cells = {"i": [1, None, 3], "f": [0.5, NAN, -2.0], "b": [True, None, False], "u": [7, 8, 9]}
    ours = pl.DataFrame(cells, strict=False)
    theirs = pd.DataFrame({**cells, "i": pd.array(cells["i"], "Int64"), "b": pd.array(cells["b"], "boolean")})
    expected = np.array([[1, 0.5, 1, 7], [NAN, NAN, NAN, 8], [3, -2, 0, 9]])
    for frame in (ours, theirs):
        np.testing.assert_array_equal(NumberColumns().fit_transform(frame), expected)


def test_infinite_numbers_become_the_end_of_what_was_learned():
    reader = NumberColumns().fit(pl.DataFrame({"x": [1.0, 5.0, np.inf], "gone": [None, None, None]}))
    got = reader.transform(pl.DataFrame({"x": [-np.inf, np.inf, 99.0, None], "gone": [1.0, 2.0, 3.0, 4.0]}))
    np.testing.assert_array_equal(got, [[1, 0], [5, 0], [99, 0], [NAN, 0]])


def test_text_where_numbers_were_is_refused():
    reader = NumberColumns().fit(pl.DataFrame({"x": [1.0, 2.0]}))
    with pytest.raises(InputError, match="column 'x' must be numeric, but row 0 contains '1'"):
        reader.transform(pl.DataFrame({"x": ["1", "2"]}))


def test_codes_are_by_frequency_and_know_missing_rare_and_unseen():
    frame = pl.DataFrame({"c": ["b", "b", "a", "c", None, "a", "b"]})
    assert CategoryCodes().fit(frame).levels_ == [["b", "a", "c"]]
    asked = pl.DataFrame({"c": ["c", "a", None, "never"]})
    np.testing.assert_array_equal(CategoryCodes().fit(frame).transform(asked)[:, 0], [2, 1, NAN, -1])
    np.testing.assert_array_equal(CategoryCodes(unseen="missing").fit(frame).transform(asked)[:, 0], [2, 1, NAN, NAN])
    np.testing.assert_array_equal(CategoryCodes(most=2).fit(frame).transform(asked)[:, 0], [2, 1, NAN, 2])


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["x", None, "y"], dtype="category"),
        pd.Series(["x", None, "y"], dtype=object),
        pd.Series(["x", None, "y"]),
        pl.Series(["x", None, "y"], dtype=pl.Categorical),
        pl.Series(["x", None, "y"], dtype=pl.Enum(["y", "x"])),
        pl.Series(["x", None, "y"]),
    ],
)
def test_categories_of_any_type_have_the_same_codes(series):
    frame = pd.DataFrame({"c": series}) if isinstance(series, pd.Series) else pl.DataFrame({"c": series})
    learned = CategoryCodes().fit(pl.DataFrame({"c": ["y", "x", "x"]}))
    np.testing.assert_array_equal(learned.transform(frame)[:, 0], [0, NAN, 1])


def test_numbers_as_categories_stay_numbers():
    learned = CategoryCodes().fit(pl.DataFrame({"zip": [10, 10, 20]}))
    np.testing.assert_array_equal(learned.transform(pd.DataFrame({"zip": [20.0, NAN, 10.0]}))[:, 0], [1, NAN, 0])
    with pytest.raises(InputError, match="contains text, but its known categories are numbers"):
        learned.transform(pl.DataFrame({"zip": ["10", "20"]}))


def test_words_are_those_of_tfidf():
    texts = ["win cash now", "no cash", "lunch now", None]
    frame = pl.DataFrame({"t": texts})
    expected = TfidfVectorizer(sublinear_tf=True).fit_transform([text or "" for text in texts])
    np.testing.assert_allclose(TextTfidf().fit_transform(frame).toarray(), expected.toarray())
    assert TextTfidf(most=2, dense=True).fit_transform(frame).shape == (4, 2)
    assert TextTfidf().fit(pl.DataFrame({"t": ["!", None]})).transform(frame).toarray().tolist() == [[0.0]] * 4


def test_one_long_word_costs_no_more_than_itself():
    frame = pl.DataFrame({"t": ["a" * 20_000, *(f"word{i} again" for i in range(500))]})
    assert len(pickle.dumps(TextTfidf().fit(frame))) < 100_000


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame])
def test_kept_columns_are_the_same_cells_in_the_same_library(make):
    frame = make({"a": ["x", None], "b": [1.5, np.inf], "day": [dt.datetime(2020, 1, 1, 12), None], "z": [1, 2]})
    kept = KeepColumns(["b", "a"], dates=["day"]).fit(frame)
    out = kept.transform(frame)
    assert isinstance(out, make)
    assert list(out.columns) == ["b", "a", "day_elapsed", "day_year", "day_month", "day_weekday", "day_hour"]
    assert list(out["b"]) == [1.5, 1.5]
    with pytest.raises(InputError, match="X has no column 'a'"):
        kept.transform(make({"b": [1.0], "day": [dt.datetime(2020, 1, 1)]}))


def test_coded_frames_say_what_is_a_category():
    X = np.array([[0.0, 1.5], [NAN, NAN], [2.0, 3.0]])
    whole = CategoricalFrame(1).fit(X).transform(X)
    assert whole["x0"].tolist() == [0, -1, 2]
    marked = CategoricalFrame(1, kind="category").fit(X).transform(X)
    assert isinstance(marked["x0"].dtype, pd.CategoricalDtype)
    assert marked["x0"].isna().tolist() == [False, True, False]


def test_rates_are_smoothed_shares():
    X = np.array([[0.0], [0.0], [1.0], [NAN], [0.0]])
    y = np.array(["n", "y", "y", "y", "n"])
    rates = ClassRateEncoder(smooth=2.0).fit(X, y)
    prior = (3 + 1) / (5 + 2)
    asked = np.array([[0.0], [1.0], [NAN], [9.0]])
    expected = [(1 + 2 * prior) / 5, (1 + 2 * prior) / 3, (1 + 2 * prior) / 3, prior]
    np.testing.assert_allclose(rates.transform(asked)[:, 0], expected)


def test_rates_of_learned_rows_come_from_the_other_folds():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (40, 2)).astype(float), rng.choice(["a", "b", "c"], 40)
    got = ClassRateEncoder(cv=4).fit_transform(X, y)
    assert got.shape == (40, 4)
    fold = np.empty(40, dtype=int)
    fold[np.argsort(y, kind="stable")] = np.arange(40) % 4
    for k in range(4):
        rest = fold != k
        expected = ClassRateEncoder().fit(X[rest], y[rest]).transform(X[~rest])  # a plain fit on the others
        np.testing.assert_allclose(got[~rest], expected)


def test_a_row_does_not_tell_its_own_label():
    X, y = np.arange(50.0)[:, None], np.array(["a", "b"] * 25)  # a category of its own for each row
    assert np.ptp(ClassRateEncoder().fit_transform(X, y)) < 0.02
    assert np.ptp(ClassRateEncoder().fit(X, y).transform(X)) > 0.05
