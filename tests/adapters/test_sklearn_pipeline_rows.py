"""Rows between the steps of a pipeline: what is stacked and prepared once, and what is never written into."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from foldwise import NaiveBayes
from foldwise.adapters.sklearn_pipelines import stack_rows
from foldwise.folds import Answer, Need, open_session
from tests.adapters.test_sklearn_pipelines import FITS, Counting


def test_steps_that_write_into_their_rows(numbers):
    def careless(X, by=2.0):
        X *= by
        return X

    X, y = numbers
    before, train, test = X.copy(), np.arange(0, 60, 2), np.arange(1, 60, 2)
    pipeline = Pipeline([("f", FunctionTransformer(careless)), ("clf", NaiveBayes())])
    settings = [{}, {"f__kw_args": {"by": 3.0}}, {"f": "passthrough"}, {"clf__var_floor": 0.1}, {"clf": GaussianNB()}]
    session = open_session(pipeline, X, y)
    for setting, block in zip(settings, session.answer(settings, train, test, Need.LABELS), strict=True):
        expected = session.refit(setting, train).predict(X[test])
        assert (session.target.classes[block.answer.labels[0]] == expected).all()
    np.testing.assert_array_equal(X, before)
    session = open_session(Pipeline([("scale", StandardScaler()), ("clf", NaiveBayes())]), X, y)
    assert not session.lazy({"scale__copy": False})


@pytest.mark.parametrize(
    "table",
    [
        np.arange(12, dtype=np.float32).reshape(6, 2),
        np.asfortranarray(np.arange(12).reshape(6, 2)),
        np.array([["a", "b"]] * 6, dtype=object),
        sp.csr_matrix(np.eye(6)),
        sp.csc_array(np.eye(6, dtype=np.int8)),
        pd.DataFrame({"a": pd.Categorical(list("aabbcc")), "b": np.arange(6, dtype=np.int8), 3: [True] * 6}),
        pl.DataFrame({"a": list("aabbcc"), "b": [1, None, 3, 4, 5, 6]}),
    ],
)
def test_stacked_rows_keep_container_and_dtypes(table):
    above, below = table[:4], table[4:]
    if isinstance(table, pd.DataFrame):
        above, below = table.iloc[:4], table.iloc[4:]
    whole = stack_rows(above, below)
    assert type(whole) is type(table)
    if hasattr(table, "dtypes"):
        assert list(whole.dtypes) == list(table.dtypes)
        assert whole.equals(table)
    else:
        assert whole.dtype == table.dtype
        assert abs(whole - table).max() == 0 if sp.issparse(table) else (whole == table).all()


def test_tables_that_do_not_stack():
    a = np.zeros((2, 2))
    assert stack_rows(a, a.astype(np.float32)) is None
    assert stack_rows(a, np.zeros((2, 3))) is None
    assert stack_rows(a, sp.csr_array(a)) is None
    assert stack_rows([1], [2]) is None
    assert stack_rows(pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.0]})) is None


def test_rows_that_do_not_stack_are_still_prepared_once(numbers):
    X, y = numbers

    class Uneven(Counting):
        def transform(self, X):
            return X.astype(np.float32 if len(X) < 30 else np.float64)

    FITS.clear()
    session = open_session(Pipeline([("a", Uneven()), ("clf", NaiveBayes())]), X, y)
    settings = [{"clf__var_floor": v} for v in (1e-9, 0.1)]
    blocks = list(session.answer(settings, np.arange(40), np.arange(40, 60), Need.LABELS))
    assert all(isinstance(block.answer, Answer) for block in blocks)
    assert len(FITS) == 1
