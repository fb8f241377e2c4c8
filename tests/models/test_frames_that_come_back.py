"""Which library the frames belong to that come back, for each library that goes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from foldwise import DateFeatures, NaiveBayes, SelectFeatures, TableEncoder, compare

LIBRARIES: dict[type, Callable[[pl.DataFrame], Any]] = {
    pd.DataFrame: lambda frame: pd.DataFrame(frame.to_dict(as_series=False)),
    pl.DataFrame: lambda frame: frame,
    pa.Table: lambda frame: frame.to_arrow(),
}


@pytest.fixture
def columns(rng: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40), "c": ["x", "y"] * 20})


@pytest.mark.parametrize("library", LIBRARIES)
def test_selected_columns_are_of_the_library_that_went_in(library: type, columns: pl.DataFrame) -> None:
    X = LIBRARIES[library](columns)
    y = (columns["a"] > 0).to_numpy().astype(int)
    found = SelectFeatures(NaiveBayes(), cv=2).fit(X, y).transform(X)
    assert isinstance(found, library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_computed_numbers_are_arrays_or_what_set_output_says(library: type, columns: pl.DataFrame) -> None:
    X = LIBRARIES[library](columns)
    days = LIBRARIES[library](pl.DataFrame({"day": [f"2024-01-{1 + k % 28:02}" for k in range(40)]}))
    for make, table in ((TableEncoder, X), (DateFeatures, days)):
        assert isinstance(make().fit_transform(table), np.ndarray)
        for name, wanted in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
            found = make().set_output(transform=name).fit_transform(table)
            assert isinstance(found, wanted)
            assert list(found.columns) == list(make().fit(table).get_feature_names_out())


@pytest.mark.parametrize("library", LIBRARIES)
def test_predictions_are_arrays_and_results_are_polars_frames(library: type, columns: pl.DataFrame) -> None:
    X = LIBRARIES[library](columns)
    y = (columns["a"] > 0).to_numpy().astype(int)
    assert isinstance(NaiveBayes().fit(X, y).predict(X), np.ndarray)
    models = {"one": NaiveBayes(), "other": NaiveBayes(var_floor=0.1)}
    assert isinstance(compare(models, X, y, cv=3).to_frame(), pl.DataFrame)
