"""Numbers in object columns: they stay categories, and one warning per call says so."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from foldwise import GridSearchCV, KMedoids, KNNClassifier, NaiveBayes, cross_val_score, nested_cv
from foldwise.data.schema import Column, Schema
from foldwise.errors import FoldwiseWarning

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"age": RNG.integers(20, 60, 60), "fare": RNG.normal(size=60), "sex": ["f", "m", "m"] * 20})
OBJECTS = FRAME.to_numpy()
Y = (FRAME["age"] + 10 * FRAME["fare"] > 40).to_numpy()
WORDS = r"columns 'x0', 'x1' contain only numbers but have the type object, so each number becomes a category"


def words_of(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in found if issubclass(one.category, FoldwiseWarning)]


@pytest.mark.parametrize("model", [NaiveBayes(), KNNClassifier(3), KMedoids(2)])
def test_one_warning_lists_the_columns(model: Any) -> None:
    with pytest.warns(FoldwiseWarning, match=WORDS) as found:
        model.fit(OBJECTS, Y)
    assert len(found) == 1
    assert found[0].filename == __file__
    assert not words_of(lambda: model.fit(FRAME, Y))


@pytest.mark.parametrize("model", [NaiveBayes(), KNNClassifier(3)])
def test_fold_sessions_warn_once(model: Any) -> None:
    [words] = words_of(lambda: cross_val_score(model, OBJECTS, Y, cv=3))
    assert words.startswith("columns 'x0', 'x1' contain only numbers")
    grid = {"alpha": [1.0, 2.0]} if isinstance(model, NaiveBayes) else {"n_neighbors": [3, 5]}
    search = GridSearchCV(model, grid, cv=3)
    for _ in range(2):  # once per call, not once per process
        assert len(words_of(lambda: search.fit(OBJECTS, Y))) == 1
        assert len(words_of(lambda: nested_cv(search, OBJECTS, Y, cv=3))) == 1


def test_other_columns_do_not_warn() -> None:
    text = FRAME.astype({"sex": object})
    flags = pd.DataFrame({"flag": pd.Series([True, False, None] * 20, dtype=object), "empty": [None] * 60})
    for table in (text, text[["sex"]].to_numpy(), flags):
        assert not words_of(lambda table=table: NaiveBayes().fit(table, Y))  # type: ignore[misc]


def test_declared_columns_do_not_warn() -> None:
    both = {"x0": "categorical", "x1": "gaussian"}
    assert not words_of(lambda: NaiveBayes(families=both).fit(OBJECTS, Y))
    declared = Schema((Column("x0", "categorical"), Column("x1", "numeric"), Column("x2", "categorical")))
    assert not words_of(lambda: NaiveBayes(families=declared).fit(OBJECTS, Y))
    assert not words_of(lambda: KNNClassifier(3, categorical=["x0", 1]).fit(OBJECTS, Y))
    [words] = words_of(lambda: NaiveBayes(families={"x0": "categorical"}).fit(OBJECTS, Y))
    assert words.startswith("column 'x1' contains only numbers but has the type object")
    assert "declare its distribution family with families= or a Schema" in words
