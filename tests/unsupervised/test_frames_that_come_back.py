"""A frame with one row per row of the user's table is of the library of that table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from foldwise import find_factors, find_outliers, map_table, rank_rows, read_table, similar
from foldwise.errors import FoldwiseError

RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {"a": RNG.normal(size=40), "b": RNG.normal(size=40), "c": RNG.integers(0, 3, 40), "d": ["u", "v"] * 20}
)
TABLES = {
    pl.DataFrame: FRAME,
    pd.DataFrame: pd.DataFrame(FRAME.to_dict(as_series=False), index=range(100, 140)),
    pa.Table: pa.table(FRAME.to_dict(as_series=False)),
}
FOUND = {
    "outliers": lambda X: find_outliers(X).to_frame(),
    "similar": lambda X: similar(X, 0, 3).to_frame(),
    "ranking": lambda X: rank_rows(X, FRAME["d"].to_list()).to_frame(),
    "map": lambda X: map_table(X, method="pca").to_frame(),
    "scores": lambda X: find_factors(X, n_factors=1, repeats=1).scores_frame(),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("name", FOUND)
def test_the_library_is_that_of_the_table(name, kind):
    found = FOUND[name](TABLES[kind])
    assert type(found) is kind
    plain = FOUND[name](FRAME)
    columns = [str(one) for one in (found.column_names if kind is pa.Table else found.columns)]
    assert columns == plain.columns
    for column in columns:
        values = found[column].to_pylist() if kind is pa.Table else list(found[column])
        expected = plain[column].to_list()
        if plain[column].dtype.is_float():
            assert values == pytest.approx(expected, rel=1e-9, abs=1e-12)
        else:
            assert [None if one is None or one != one else one for one in values] == expected


def test_arrays_and_tables_give_polars():
    assert type(rank_rows(FRAME.select("a", "b").to_numpy()).to_frame()) is pl.DataFrame
    assert type(rank_rows(read_table("examples/weather.csv")).to_frame()) is pl.DataFrame


@pytest.mark.parametrize("name", FOUND)
def test_frames_have_the_index_of_the_pandas_table(name):
    table = TABLES[pd.DataFrame]
    found = FOUND[name](table)
    assert found.index.tolist() == table.index[found["row"]].tolist()
    plain = table.reset_index(drop=True)
    assert FOUND[name](plain).index.tolist() == FOUND[name](plain)["row"].tolist()


def test_texts_say_position_if_the_index_is_another():
    table = TABLES[pd.DataFrame].copy()
    table.iloc[3, 0] = 500.0
    outliers, ranking, alike = find_outliers(table), rank_rows(table), similar(table, 3, 2)
    assert outliers.rows[0] == 3
    assert "row 3 (position): " in str(outliers)
    assert "(position)" in str(ranking)
    assert "most similar to row 3 (position)" in str(alike)
    with pytest.raises(FoldwiseError, match=r"row must be from 0 to 39, got 103.*row=X.index.get_loc\(label\)"):
        similar(table, 103)
    plain = table.reset_index(drop=True)
    for found in (find_outliers(plain), rank_rows(plain), similar(plain, 3, 2), find_outliers(FRAME)):
        assert "position" not in str(found)
