"""Ordinary CSV and Parquet, real tables, what is declared of their columns, and what is refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise import Column, NaiveBayes, Schema, Table, read_table
from foldwise.errors import InputError
from tests.tables import catalogue

TEXT = "city,age,smoker,code,label\nRome,31,true,1,yes\nOslo,,false,2,no\n?,40.5,true,1,none\nRome,NA,,3,yes\n"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text(TEXT)
    return file


def test_csv(path):
    table = read_table(path, target="label")
    assert isinstance(table, Table)
    assert table.name == "people"
    assert table.target == "label"
    assert table.X.columns == ["city", "age", "smoker", "code"]
    assert [c.kind for c in table.schema] == ["categorical", "numeric", "binary", "numeric"]
    assert table.X["city"].to_list() == ["Rome", "Oslo", None, "Rome"]
    assert table.X["age"].to_list() == [31, None, 40.5, None]
    assert table.y.tolist() == ["yes", "no", "none", "yes"]
    assert "4 rows, 4 columns, target 'label'" in repr(table)
    assert "Rome" in table._repr_html_()
    assert NaiveBayes().fit(table.X, table.y).predict(table.X).shape == (4,)


def test_parquet_and_no_target(path, tmp_path):
    frame = read_table(path).X
    assert read_table(path).y is None
    frame.write_parquet(tmp_path / "people.parquet")
    again = read_table(tmp_path / "people.parquet", target="label")
    assert again.X.equals(frame.drop("label"))
    assert again.schema == read_table(path, target="label").schema
    marked = read_table(tmp_path / "people.parquet", missing_values=["Oslo"])
    assert marked.X["city"].to_list() == ["Rome", None, None, "Rome"]


def test_missing_values_are_the_callers_choice(path):
    table = read_table(path, missing_values=["Rome"])
    assert table.X["city"].to_list() == [None, "Oslo", "?", None]
    assert table.X["age"].dtype == pl.String  # NA is a text now, and nothing becomes missing silently
    assert read_table(path, missing_values=["", "none", "NA"], target="label").y.tolist()[2] is None


def test_declared_kinds(path):
    table = read_table(path, target="label", kinds={"code": "categorical", "smoker": "categorical"})
    assert table.X["code"].to_list() == ["1", "2", "1", "3"]
    assert NaiveBayes().fit(table.X, table.y).families_["code"] == "categorical"
    levels = Column("code", "categorical", ("1", "2", "3", "4"))
    table = read_table(path, target="label", kinds={"code": levels})
    assert table.schema["code"] == levels
    table = read_table(path, kinds={"age": "numeric", "smoker": "binary"})
    assert table.schema["smoker"].levels == (False, True)


def test_text_read_as_numbers_dates_and_truth(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("n,d,b\n1,2026-01-31,1\n2,2026-02-01,0\n")
    table = read_table(file, kinds={"d": "date", "b": "binary", "n": "categorical"})
    assert [c.kind for c in table.schema] == ["categorical", "date", "binary"]
    assert table.X["b"].to_list() == [True, False]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"target": "lable"}, ["'lable'", "'label'"]),
        ({"kinds": {"cty": "categorical"}}, ["'cty'", "'city'"]),
        (
            {"kinds": {"city": "numeric"}},
            ["column 'city' is declared", "row 0 contains 'Rome'", "missing_values"],
        ),
        ({"kinds": {"city": "binary"}}, ["'city'", "row 0 contains 'Rome'", "true, false, 1 or 0"]),
        ({"kinds": {"city": "date"}}, ["'city'", "row 0 contains 'Rome'"]),
        ({"kinds": ["city"]}, ["mapping", "list"]),
        ({"kinds": {"city": Column("age", "numeric")}}, ["'city'", "'age'"]),
        ({"kinds": {"city": "color"}}, ["'city'", "'color'", "'categorical'"]),
        ({"kinds": {"code": Column("code", "categorical", ("1", "2"))}}, ["'code'", "row 3 contains '3'", "levels"]),
    ],
)
def test_bad_declarations(path, arguments, words):
    with pytest.raises(InputError) as caught:
        read_table(path, **arguments)
    for word in words:
        assert word in str(caught.value)


def test_categories_are_the_text_of_the_file(tmp_path):
    file = tmp_path / "codes.csv"
    file.write_text("zip,v,label\n007,1.50,01\n7,2,1\n010,,01\n")
    table = read_table(file, target="label", kinds={"zip": "categorical", "v": "categorical", "label": "categorical"})
    assert table.X["zip"].to_list() == ["007", "7", "010"]
    assert table.X["v"].to_list() == ["1.50", "2", None]
    assert table.y.tolist() == ["01", "1", "01"]
    again = read_table(file, target="label", kinds=table.schema)
    assert again.schema == table.schema


def test_one_token_and_large_numbers(tmp_path):
    file = tmp_path / "large.csv"
    file.write_text("id,v\n12345678901234567890123,-9\n2,3\n")
    table = read_table(file, missing_values="-9")
    assert table.X["v"].to_list() == [None, 3]
    assert NaiveBayes().fit(table.X, [0, 1]).predict(table.X).shape == (2,)


def test_an_index_of_pandas_is_named(tmp_path):
    pl.DataFrame({"__index_level_0__": [3, 5], "a": [1, 2]}).write_parquet(tmp_path / "i.parquet")
    with pytest.warns(UserWarning, match="index='__index_level_0__', or write the file without the index"):
        read_table(tmp_path / "i.parquet")


@pytest.mark.parametrize("text", ["a,y\n1,0\n2,1\n\n3,0\n\n\n", "a,y\r\n1,0\r\n2,1\r\n3,0\r\n\r\n"])
def test_blank_lines_are_no_rows(tmp_path, text):
    file = tmp_path / "blank.csv"
    file.write_bytes(text.encode())
    table = read_table(file, target="y")
    assert table.y.tolist() == [0, 1, 0]
    assert table.y.dtype.kind == "i"
    assert table.X["a"].to_list() == [1, 2, 3]


def test_quoted_cells_and_missing_last_cells(tmp_path):
    file = tmp_path / "quoted.csv"
    file.write_text('a,b\n"x, y",1\n"line\nbreak",\n"",3\n')
    table = read_table(file)
    assert table.X["a"].to_list() == ["x, y", "line\nbreak", None]
    assert table.X["b"].to_list() == [1, None, 3]


def test_bad_files(tmp_path):
    with pytest.raises(InputError, match=r"does not exist.*current folder"):
        read_table(tmp_path / "absent.csv")
    other = tmp_path / "a.xyz"
    other.write_text("a")
    with pytest.raises(InputError, match=r"'\.xyz'.*\.csv.*\.parquet"):
        read_table(other)
    for name, content in (
        ("ragged.csv", b"a,b\n1,2\n3,4,5\n"),
        ("short.csv", b"a,b,c\n1,2,3\n4,5\n"),
        ("twice.csv", b"a,a\n1,2\n"),
        ("empty.csv", b""),
        ("not.parquet", b"a,b\n"),
    ):
        file = tmp_path / name
        file.write_bytes(content)
        with pytest.raises(InputError):
            read_table(file)
    with pytest.raises(InputError, match="a table must be a file on this computer, but the path is an address"):
        read_table("https://localhost/table.csv")
    with pytest.raises(InputError, match="but the path is the address of a database") as raised:
        read_table("postgresql://me:secret@localhost/shop")
    assert "secret" not in str(raised.value)


def test_schema_round_trip_and_look_up():
    schema = Schema((Column("a", "numeric"), Column("b", "categorical", ("x", 2, 3.5, True))))
    again = Schema.from_json(schema.to_json())
    assert again == schema
    assert again["b"].levels == ("x", 2, 3.5, True)
    assert "a" in schema
    with pytest.raises(InputError, match="not contain a schema"):
        Schema.from_json("[{}]")
    assert "categorical" in str(schema)
    with pytest.raises(InputError, match="no column 'z'"):
        schema["z"]
    with pytest.raises(InputError, match="twice"):
        Column("b", "categorical", ("x", "x"))
    with pytest.raises(InputError, match="two columns are called 'a'"):
        Schema((Column("a", "numeric"), Column("a", "numeric")))


@pytest.mark.parametrize("entry", catalogue().values(), ids=lambda entry: entry["name"])
def test_real_tables_from_file_to_probabilities(entry):
    target = entry["target"] or -1  # one table has no target: any column will do
    table = read_table(entry["path"], target=target)
    assert table.X.shape == (int(entry["rows"]), int(entry["columns"]) - 1)
    assert table.target == (entry["target"] or table.target)
    missing = sum(table.X.null_count().row(0)) + sum(
        table.X[c].is_nan().sum() for c in table.X.columns if table.X[c].dtype.is_float()
    )
    assert missing == int(entry["missing_cells"])
    labels = table.y
    if entry["task"] == "regression" or not entry["target"]:
        labels = labels > np.median(labels)  # what is to be classified is the user's to say
    model = NaiveBayes().fit(table.X, labels)
    assert len(model.classes_) == int(entry["n_classes"] or 2)
    proba = model.predict_proba(table.X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
