"""Subsets of columns: applied when facts are finished, so a subset speaks as if the other columns were not there."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold

from foldwise import GridSearchCV, NaiveBayes
from foldwise.errors import InputError
from foldwise.testing import check_explanation, check_foldable
from tests.conftest import mixed_columns


@pytest.fixture
def table(rng):
    return pl.DataFrame(mixed_columns(rng, 120, missing=0.2)), rng.integers(0, 3, 120)


def subsets(names):
    return [names[:1], names[1:3], names[::2], names[::-1]]


@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_a_subset_speaks_as_a_model_of_those_columns_alone(table, missing):
    X, y = table
    for names in subsets(X.columns):
        model = NaiveBayes(columns=names, missing=missing).fit(X, y)
        alone = NaiveBayes(missing=missing).fit(X.select(sorted(names, key=X.columns.index)), y)
        expected = alone.predict_log_proba(X.select(sorted(names, key=X.columns.index)))
        np.testing.assert_allclose(model.predict_log_proba(X), expected, rtol=1e-12, atol=1e-12)
        by_place = NaiveBayes(columns=[X.columns.index(name) for name in names], missing=missing).fit(X, y)
        np.testing.assert_allclose(by_place.predict_log_proba(X), model.predict_log_proba(X), rtol=1e-10)
        check_explanation(model, X[:10])
        assert {factor.column for factor in model.explain(X[:1])[0].factors} <= set(names)
        assert {line.column for line in model.table().lines} - {"(class)"} <= set(names)
        again = NaiveBayes.from_json(model.to_json())
        np.testing.assert_allclose(again.predict_log_proba(X), model.predict_log_proba(X), rtol=1e-10)


@pytest.mark.parametrize("family", ["multinomial", "bernoulli", "gaussian", "categorical"])
def test_every_family(family, rng):
    X, y = (rng.random((60, 5)) < 0.4).astype(int), rng.integers(0, 2, 60)
    model = NaiveBayes(families=family, columns=[1, 4]).fit(X, y)
    alone = NaiveBayes(families=family).fit(X[:, [1, 4]], y)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X[:, [1, 4]]), rtol=1e-12)
    if family in ("multinomial", "bernoulli"):
        sparse = NaiveBayes(families=family, columns=[1, 4]).fit(sp.csr_array(X), y)
        np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(X)), model.predict_proba(X), rtol=1e-12)
        assert len(sparse.explain(sp.csr_array(X[:2]))[0].factors) == 2


def test_all_columns_are_learned_so_subsets_merge_and_change(table):
    X, y = table
    first, other = X.columns[:2], X.columns[2:]
    merged = NaiveBayes(columns=first).fit(X[:60], y[:60]) + NaiveBayes(columns=other).fit(X[60:], y[60:])
    whole = NaiveBayes(columns=first).fit(X, y)
    np.testing.assert_allclose(merged.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    none = NaiveBayes(columns=[]).fit(X, y)
    np.testing.assert_allclose(none.predict_proba(X), np.tile(np.bincount(y) / len(y), (120, 1)))


def test_the_law_and_a_search_over_subsets(table):
    X, y = table
    names = X.columns
    settings = [{"columns": part, "alpha": a} for part in [None, [], *subsets(names)] for a in (0.0, 1.0)]
    settings += [{"columns": ["nothing"]}, {"columns": names[:2], "missing": "category"}, {"columns": "x"}]
    check_foldable(NaiveBayes(), X, y, settings, list(KFold(3).split(X)))
    one_family = X.select(c for c in names if X[c].dtype == pl.Float64)
    check_foldable(NaiveBayes(), one_family, y, [{"columns": [0]}, {"columns": [0], "ddof": 0}], [*KFold(3).split(X)])
    search = GridSearchCV(NaiveBayes(), {"columns": [[name] for name in names]}, cv=3).fit(X, y)
    assert search.fits_done_ == 3


def test_columns_that_are_not_there(table):
    X, y = table
    with pytest.raises(InputError, match="columns refers to column 'nothing', which the table does not have"):
        NaiveBayes(columns=["nothing"]).fit(X, y)
    with pytest.raises(TypeError, match="a list of column names or indices"):
        NaiveBayes(columns="outlook").fit(X, y)
