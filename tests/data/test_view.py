"""Columns of every library: kinds from types, codes with missing and unseen told apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from foldwise.data.levels import as_level, sort_levels
from foldwise.data.view import view
from foldwise.errors import FoldwiseTypeError

TEXT = ["b", None, "a", "zz"]
TEXT_COLUMNS = {
    "polars": pl.DataFrame({"c": TEXT}),
    "polars categorical": pl.DataFrame({"c": TEXT}, schema={"c": pl.Categorical}),
    "polars enum": pl.DataFrame({"c": TEXT}, schema={"c": pl.Enum(["zz", "a", "b", "q"])}),
    "pandas": pd.DataFrame({"c": TEXT}),
    "pandas object": pd.DataFrame({"c": TEXT}, dtype=object),
    "pandas category": pd.DataFrame({"c": TEXT}, dtype="category"),
    "pandas ordered": pd.DataFrame({"c": pd.Categorical(TEXT, ["zz", "a", "b"], ordered=True)}),
    "pandas arrow": pd.DataFrame({"c": TEXT}).astype(pd.ArrowDtype(pa.string())),
    "pyarrow": pa.table({"c": TEXT}),
    "pyarrow dictionary": pa.table({"c": pa.array(TEXT).dictionary_encode()}),
    "pyarrow chunked": pa.concat_tables([pa.table({"c": TEXT[:1]}), pa.table({"c": TEXT[1:]})]),
    "numpy object": np.array([[v] for v in TEXT], dtype=object),
}


@pytest.mark.parametrize("name", TEXT_COLUMNS)
def test_text(name):
    table = view(TEXT_COLUMNS[name])
    source = table.sources[0]
    assert source.column.kind == "categorical"
    assert source.distinct(0, 4) == {"a", "b", "zz"}
    assert source.distinct(1, 3) == {"a"}
    # 0 and 1 the levels, 2 missing, 3 unseen
    assert table.codes([0], [("a", "b")]).chunk(0, 4).rows[:, 0].tolist() == [1, 2, 0, 3]
    assert table.codes([0], [("a", "b")]).chunk(2, 4).rows[:, 0].tolist() == [0, 3]
    assert table.codes([0], [()]).chunk(0, 4).rows[:, 0].tolist() == [1, 0, 1, 1]
    assert source.value(0) == "b"


def test_declared_levels_come_from_the_type():
    assert view(TEXT_COLUMNS["pandas category"]).columns[0].levels == ("a", "b", "zz")
    assert view(TEXT_COLUMNS["pandas ordered"]).columns[0].levels == ("zz", "a", "b")
    assert view(TEXT_COLUMNS["polars enum"]).columns[0].levels == ("zz", "a", "b", "q")
    for name in ("polars", "polars categorical", "pandas", "pyarrow dictionary"):
        assert view(TEXT_COLUMNS[name]).columns[0].levels is None
    assert view(pd.DataFrame({"c": pd.Categorical([3, 1])})).columns[0].levels == (1, 3)


NUMBERS = [1, None, 3]
NUMBER_COLUMNS = {
    "polars": pl.DataFrame({"c": NUMBERS}),
    "polars float": pl.DataFrame({"c": [1.0, float("nan"), 3.0]}),
    "pandas": pd.DataFrame({"c": NUMBERS}),
    "pandas nullable": pd.DataFrame({"c": NUMBERS}, dtype="Int64"),
    "pandas arrow": pd.DataFrame({"c": NUMBERS}).astype(pd.ArrowDtype(pa.int32())),
    "pyarrow": pa.table({"c": NUMBERS}),
    "pandas float32": pd.DataFrame({"c": NUMBERS}, dtype=np.float32),
    "polars decimal": pl.DataFrame({"c": NUMBERS}, schema={"c": pl.Decimal(10, 2)}),
}


@pytest.mark.parametrize("name", NUMBER_COLUMNS)
def test_numbers(name):
    table = view(NUMBER_COLUMNS[name])
    assert table.columns[0].kind == "numeric"
    np.testing.assert_array_equal(table.numbers([0]).chunk(0, 3).rows[:, 0], [1, np.nan, 3])
    if "decimal" not in name:
        assert table.sources[0].distinct(0, 3) == {1, 3}
        assert table.codes([0], [(1, 2)]).chunk(0, 3).rows[:, 0].tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"c": [True, None, False]}),
        pd.DataFrame({"c": [True, None, False]}, dtype="boolean"),
        pa.table({"c": [True, None, False]}),
    ],
)
def test_truth_values(table):
    table = view(table)
    assert table.columns[0].kind == "binary"
    assert table.columns[0].levels == (False, True)
    np.testing.assert_array_equal(table.numbers([0]).chunk(0, 3).rows[:, 0], [1, np.nan, 0])
    assert table.codes([0], [(False, True)]).chunk(0, 3).rows[:, 0].tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    "table", [pl.DataFrame({"c": [None, None]}), pa.table({"c": pa.nulls(2)}), pd.DataFrame({"c": [None, None]})]
)
def test_a_column_without_a_type(table):
    table = view(table)
    assert np.isnan(table.numbers([0]).chunk(0, 2).rows).all()
    assert table.codes([0], [("a",)]).chunk(0, 2).rows[:, 0].tolist() == [1, 1]
    assert table.sources[0].distinct(0, 2) == set()


def test_whole_numbers_are_read_where_they_lie():
    for dtype in (np.int8, np.int32, np.int64, np.uint16):
        assert view(np.array([[1, 2]], dtype=dtype)).integers([0, 1]).chunk(0, 1).rows.tolist() == [[1, 2]]
    for table in (np.array([[1.0]]), np.array([[2**63]], dtype=np.uint64), np.array([[True]])):
        assert view(table).integers([0]) is None
    large = view(np.array([[2**63], [5]], dtype=np.uint64))
    assert large.sources[0].distinct(0, 2) == {2**63, 5}


def test_levels():
    assert sort_levels(["b", 2, "a", 1.5, "b"]) == (1.5, 2, "a", "b")
    assert as_level(np.float64(2.0), "c") == 2.0
    assert type(as_level(np.int8(2), "c")) is int
    with pytest.raises(FoldwiseTypeError, match="'c'"):
        as_level(b"x", "c")
