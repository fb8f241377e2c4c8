"""Bad input: an error that names the column or the parameter, says what came, and what to do."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from foldwise import NaiveBayes, Schema
from foldwise.data import Column
from foldwise.errors import FoldwiseError, FoldwiseTypeError, InputError

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 2.0]])
Y = [0, 1, 0, 1]
FRAME = pl.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "city": ["a", "b", "a", "b"]})


def refuses(error, *words):
    """The message holds every word."""
    return pytest.raises(error, match="(?s)" + "".join(f"(?=.*{word})" for word in words))


def test_wrong_width():
    with refuses(ValueError, "1 features", "2 features"):
        NaiveBayes().fit(X, Y).predict(X[:, :1])


def test_unknown_missing_and_reordered_columns():
    model = NaiveBayes().fit(FRAME, Y)
    with refuses(ValueError, "town", "city"):
        model.predict(FRAME.rename({"city": "town"}))
    with refuses(ValueError, "city"):
        model.predict(FRAME.drop("city"))
    with refuses(ValueError, "order"):
        model.predict(FRAME.select("city", "age"))
    with refuses(InputError, "'weight'", "'age', 'city'"):
        NaiveBayes(families={"weight": "gaussian"}).fit(FRAME, Y)


def test_unknown_family():
    with refuses(InputError, "'age'", "'gauss'", "'gaussian'"):
        NaiveBayes(families={"age": "gauss"}).fit(FRAME, Y)
    with refuses(InputError, "'normal'", "'gaussian'"):
        NaiveBayes(families="normal").fit(FRAME, Y)
    with refuses(InputError, "list"):
        NaiveBayes(families=["gaussian"]).fit(FRAME, Y)
    with refuses(InputError, "'rent'", "'city'"):
        NaiveBayes(families=Schema((Column("age", "numeric"), Column("rent", "numeric")))).fit(FRAME, Y)


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"age": ["1", "n/a", "3", "4"]}),
        pd.DataFrame({"age": ["1", "n/a", "3", "4"]}),
        pd.DataFrame({"age": ["1", "n/a", "3", "4"]}, dtype=object),
        pd.DataFrame({"age": ["1", "n/a", "3", "4"]}, dtype="category"),
        pa.table({"age": ["1", "n/a", "3", "4"]}),
        pl.DataFrame({"age": ["1", "n/a", "3", "4"]}, schema={"age": pl.Categorical}),
    ],
)
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "multinomial"])
def test_text_where_a_number_is_declared(table, family):
    with refuses(InputError, "column 'age'", "row 0 contains '1'", "categorical"):
        NaiveBayes(families=family).fit(table, Y)
    model = NaiveBayes(families=family).fit(pl.DataFrame({"age": [0, 1, 0, 1]}), Y)
    with refuses(InputError, "column 'age'", "row 0 contains '1'"):
        model.predict(table)


def test_text_after_missing_cells_is_named_by_its_row():
    with refuses(InputError, "'age'", "row 2 contains 'x'"):
        NaiveBayes(families="gaussian").fit(pl.DataFrame({"age": [None, None, "x", "y"]}), Y)


def test_numbers_where_text_was():
    model = NaiveBayes(families="categorical").fit(FRAME, Y)
    for table in (FRAME.with_columns(city=pl.Series([1, 2, 3, 4])), FRAME.with_columns(age=pl.Series(list("abcd")))):
        for one in (table, table.to_pandas(), table.to_arrow()):
            with refuses(InputError, "text", "numbers", "convert"):
                model.predict(one)


def test_negative_and_fractional_counts():
    for table in (pl.DataFrame({"w": [1, 0, -2, 1]}), pd.DataFrame({"w": [1, 0, -2, 1]})):
        with refuses(InputError, "'w'", "-2", "row 2", "gaussian"):
            NaiveBayes(families="multinomial").fit(table, Y)
    with refuses(InputError, "'x1'", "-1"):
        NaiveBayes().fit(sp.csr_array([[1, 0], [0, -1], [1, 1], [0, 1]]), Y)
    model = NaiveBayes().fit(sp.csr_array([[1, 0], [0, 1], [1, 1], [0, 1]]), Y)
    with refuses(InputError, "'x0'", "-3"):
        model.predict(sp.csr_array([[-3, 0]]))
    with refuses(InputError, "'x1'", "row 0", "at least 0"):
        NaiveBayes(families="multinomial").fit(X, Y).predict(-X)


@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_marks_that_are_not_0_or_1(form):
    with refuses(InputError, "'x0'", "got 2", "0 and 1", "X > 0"):
        NaiveBayes(families="bernoulli").fit(form([[0, 1], [2, 0], [1, 1], [0, 1]]), Y)
    model = NaiveBayes(families="bernoulli").fit(form([[0, 1], [1, 0], [1, 1], [0, 1]]), Y)
    with refuses(InputError, "'x1'", "0.5"):
        model.predict(form([[0, 0.5]]))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"alpha": -1}, ("alpha", "-1", "at least 0")),
        ({"alpha": np.nan}, ("alpha", "nan")),
        ({"alpha": np.inf}, ("alpha", "inf")),
        ({"alpha": "1"}, ("alpha", "'1'", "str")),
        ({"var_floor": -1e-9}, ("var_floor", "-1e-09")),
        ({"ddof": -1}, ("ddof", "-1")),
        ({"missing": "drop"}, ("missing", "'ignore' or 'category'", "'drop'")),
        ({"unseen": "raise"}, ("unseen", "'ignore' or 'smooth'", "'raise'")),
        ({"priors": "flat"}, ("priors", "'flat'")),
        ({"priors": [0.5, 0.6]}, ("priors", "sum to 1", "1.1")),
        ({"priors": [-0.5, 1.5]}, ("priors", "at least 0", "-0.5")),
        ({"priors": [1.0]}, ("priors", "2 for the classes 0, 1")),
        ({"priors": {0: 0.5, 7: 0.5}}, ("priors", "0, 1", "0, 7")),
    ],
)
def test_parameters(params, words):
    with refuses(FoldwiseError, *words):
        NaiveBayes(**params).fit(X, Y)


def test_targets():
    with refuses(InputError, "one class", "'a'"):
        NaiveBayes().fit(X, ["a"] * 4)
    with refuses(InputError, "Unknown label type", "0.5", "regressor"):
        NaiveBayes().fit(X, [0.5, 1, 2, 3])
    with refuses(InputError, "missing", "2 rows: 1, 3"):
        NaiveBayes().fit(X, ["a", None, "b", None])
    with refuses(InputError, "missing", "1 row: 2"):
        NaiveBayes().fit(X, [0, 1, np.nan, 1])
    with refuses(InputError, "4 rows", "3 labels"):
        NaiveBayes().fit(X, [0, 1, 0])
    with refuses(InputError, "cannot be sorted", "int.*str"):
        NaiveBayes().fit(X, np.array([0, "a", 0, "a"], dtype=object))
    with refuses(InputError, "requires y", "None"):
        NaiveBayes().fit(X, None)


def test_empty_tables():
    for table in (FRAME[:0], FRAME[:0].to_pandas(), np.empty((0, 2))):
        with refuses(ValueError, "0 sample"):
            NaiveBayes().fit(table, [])
        with refuses(ValueError, "0 sample"):
            NaiveBayes().fit(X if isinstance(table, np.ndarray) else FRAME, Y).predict(table)
    with refuses(ValueError, "0 feature"):
        NaiveBayes().fit(FRAME.select(), Y)
    with refuses(ValueError, "0 feature"):
        NaiveBayes().fit(pd.DataFrame(index=range(4)), Y)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
@pytest.mark.parametrize("n_classes", [2, 6])
@pytest.mark.parametrize(
    "form", [np.array, np.asfortranarray, pd.DataFrame, lambda X: X.astype(np.float32), lambda X: pl.DataFrame(X)]
)
def test_infinite_values(bad, n_classes, form, rng):
    table = rng.normal(size=(30, 3))
    y = np.arange(30) % n_classes
    model = NaiveBayes().fit(form(table), y)
    table[17, 1] = bad
    table[3, 2] = np.nan
    for call in (lambda Z: NaiveBayes().fit(Z, y), model.predict, model.predict_proba):
        with refuses(InputError, r"(x1|1|column_1)'", "row 17", "inf", "finite"):
            call(form(table))
    with refuses(InputError, "inf"):
        NaiveBayes(families="categorical").fit(form(table), y)


def test_numbers_too_large_to_square():
    with refuses(InputError, "'x0'", "1e.200", "rescale"):
        NaiveBayes().fit(np.array([[1e200], [1.0], [-1e200], [3.0]]), Y)


def test_weights():
    for w, words in (
        ([1, 1, 1], ("per row of X \\(4\\)", "got 3")),
        ([1, -2, 1, 1], ("row 1", "-2", "at least 0")),
        ([1, np.nan, 1, 1], ("row 1", "nan")),
        ([1, np.inf, 1, 1], ("row 1", "inf")),
        ([0, 0, 0, 0], ("zero",)),
        ([[1, 1, 1, 1]], ("2 dimensions",)),
    ):
        with refuses(InputError, *words):
            NaiveBayes().fit(X, Y, sample_weight=w)


def test_columns_of_no_known_kind():
    day = datetime.date(2026, 1, 1)
    for table in (pl.DataFrame({"when": [day] * 4}), pd.DataFrame({"when": pd.to_datetime(["2026-01-01"] * 4)})):
        with refuses(InputError, "'when'", "date"):
            NaiveBayes().fit(table, Y)
        for family in ("gaussian", "categorical"):
            with refuses(FoldwiseError, "'when'"):
                NaiveBayes(families=family).fit(table, Y)
    with refuses(FoldwiseTypeError, "'pair'"):
        NaiveBayes().fit(pl.DataFrame({"pair": [[1, 2]] * 4}), Y)
    with refuses(FoldwiseTypeError, "'c'", "dict"):
        NaiveBayes().fit(pd.DataFrame({"c": [{}, "a", "b", "a"]}), Y)


def test_things_that_are_no_table():
    with refuses(FoldwiseTypeError, "collect"):
        NaiveBayes().fit(FRAME.lazy(), Y)
    with refuses(ValueError, "Reshape your data"):
        NaiveBayes().fit(X[:, 0], Y)
    twice = pd.DataFrame([[1, 2]] * 4, columns=["a", "a"])
    with refuses(ValueError, "'a'"):
        NaiveBayes().fit(twice, Y)


def test_sparse_with_a_family_that_wants_columns():
    with refuses(FoldwiseTypeError, "gaussian", "toarray"):
        NaiveBayes(families="gaussian").fit(sp.csr_array(X), Y)
    with refuses(InputError, "one name"):
        NaiveBayes(families={"x0": "gaussian"}).fit(sp.csr_array(X), Y)


def test_errors_survive_a_process_pool():
    error = InputError("what came.", "what to do.")
    again = pickle.loads(pickle.dumps(error))
    assert (again.message, again.hint, str(again)) == ("what came.", "what to do.", "what came. Hint: what to do.")


def test_not_fitted():
    from sklearn.exceptions import NotFittedError

    for call in (
        NaiveBayes().table,
        NaiveBayes().to_json,
        lambda: NaiveBayes().explain(X),
        lambda: NaiveBayes().families_,
    ):
        with pytest.raises(NotFittedError):
            call()
