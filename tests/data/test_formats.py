"""Formats beside delimited text: ARFF and KEEL, Feather, JSON lines, gzip, workbooks, tables of databases."""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import sqlite3
import sys

import polars as pl
import pytest

from foldwise import read_table
from foldwise.errors import FoldwiseError, InputError
from tests.data.workbooks import write_workbook

FRAME = pl.DataFrame({"city": ["Rome", None, "Oslo"], "age": [31, 40, None], "w": [1.5, 2.0, 3.25]})

ARFF = r"""% a comment
@RELATION 'my table'

@Attribute 'the color' {red, 'dark blue', "it's", 'a\'b', 50\%}
@ATTRIBUTE size	REAL   % a remark
@attribute n integer
@attribute note string
@attribute day date "yyyy-MM-dd"
@data
red, 1.5, 3, 'x, y', 2026-01-31
'dark blue',?,?,"say \"hi\"\n", ?
% between
'a\'b',-2e3,+4,?,2026-02-01

"it's",0,0,'',"2026-03-01"
"""


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_arff(tmp_path):
    table = read_table(write(tmp_path, "a.arff", ARFF))
    assert table.schema["the color"].levels == ("red", "dark blue", "it's", "a'b", "50%")
    assert table.X["the color"].to_list() == ["red", "dark blue", "a'b", "it's"]
    assert table.X["size"].to_list() == [1.5, None, -2000.0, 0.0]
    assert table.X["n"].to_list() == [3, None, 4, 0]
    assert table.X["note"].to_list() == ["x, y", 'say "hi"\n', None, ""]
    assert [str(day) for day in table.X["day"]] == ["2026-01-31", "None", "2026-02-01", "2026-03-01"]
    assert [column.kind for column in table.schema] == ["categorical", "numeric", "numeric", "categorical", "date"]


def test_sparse_arff(tmp_path):
    head = "@relation r\n@attribute a numeric\n@attribute b {x, 'y z'}\n@attribute c real\n@data\n"
    text = head + "{}\n{0 3, 1 'y z'}\n{2 ?}\n"
    frame = read_table(write(tmp_path, "s.arff", text)).X
    assert frame.rows() == [(0, "x", 0), (3, "y z", 0), (0, "x", None)]


def test_keel(tmp_path):
    text = (
        "@relation k\n@attribute At1 real [0.0, 1.5]\n@attribute At2 integer[1,9]\n@attribute Class {a, b}\n"
        "@inputs At1, At2\n@outputs Class\n@data\n0.5, 3, a\n<null>, 9, b\n"
    )
    table = read_table(write(tmp_path, "k.dat", text), target=-1)
    assert table.X.rows() == [(0.5, 3), (None, 9)]
    assert table.y.tolist() == ["a", "b"]
    assert "the file declares Class as output" in str(table.notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@relation r\n@attribute a numeric\n", ["no @data line"]),
        ("@relation r\n@data\n1\n", ["declares no @attribute"]),
        ("@relation r\n@attribute a {x\n@data\n", ["line 2", "must end with a closing brace"]),
        ("@relation r\n@attribute a relational\n@data\n", ["unsupported type 'relational'"]),
        ("@relation r\n@attribute a numeric\nhello\n@data\n", ["line 3", "'hello'"]),
        ("@relation r\n@attribute a numeric\n@data\n1\nx\n", ["'a' is declared numeric", "row 1 contains 'x'"]),
        ("@relation r\n@attribute a {x,y}\n@data\nx\nz\n", ["declares the levels 'x', 'y'", "row 1 contains 'z'"]),
        ("@relation r\n@attribute a {x,y}\n@attribute b real\n@data\nx,1,2\n", ["line 5", "3 cells", "2 columns"]),
        ("@relation r\n@attribute a {x,y}\n@attribute b real\n@data\nx,1,{3}\n", ["weight '{3}'"]),
        ("@relation r\n@attribute a string\n@data\n'abc\n", ["a quote in", "never closed"]),
        ("@relation r\n@attribute a numeric\n@attribute a real\n@data\n", ["two columns are called 'a'"]),
        ("@relation r\n@attribute a numeric\n@data\n{7 1}\n", ["'7 1'", "0 to 0"]),
        ("@relation r\n@attribute\n@data\n", ["must name a column"]),
    ],
)
def test_broken_arff(tmp_path, text, words):
    with pytest.raises(InputError) as caught:
        read_table(write(tmp_path, "b.arff", text))
    for word in words:
        assert word in str(caught.value)


def test_feather_and_json_lines(tmp_path):
    FRAME.write_ipc(tmp_path / "a.feather")
    assert read_table(tmp_path / "a.feather").X.equals(FRAME)
    FRAME.write_ndjson(tmp_path / "a.jsonl")
    assert read_table(tmp_path / "a.jsonl").X.equals(FRAME)
    FRAME.write_json(tmp_path / "a.json")
    assert read_table(tmp_path / "a.json").X.equals(FRAME)
    later = write(tmp_path, "later.jsonl", '{"a": 1}\n\n{"a": 2.5, "b": "x"}\n')
    assert read_table(later).X.rows() == [(1.0, None), (2.5, "x")]


@pytest.mark.parametrize("line", ['{"a": [1, 2]}', "[1]", "3", '{"a": 1', '{"a": {"b": 1}}', "[" * 100_000])
def test_broken_json_lines(tmp_path, line):
    with pytest.raises(InputError):
        read_table(write(tmp_path, "b.jsonl", line + "\n"))


def test_gzip_of_these(tmp_path):
    text = b"a;b\n1,5;x\n2,5;y\n"
    table = read_table(write(tmp_path, "a.csv.gz", gzip.compress(text)))
    assert table.X.rows() == [(1.5, "x"), (2.5, "y")]
    assert table.name == "a"
    FRAME.write_parquet(tmp_path / "a.parquet")
    packed = write(tmp_path, "b.parquet.gz", gzip.compress((tmp_path / "a.parquet").read_bytes()))
    assert read_table(packed).X.equals(FRAME)
    assert read_table(write(tmp_path, "c.arff.gz", gzip.compress(ARFF.encode()))).X.height == 4
    with pytest.raises(InputError, match="cannot be read to its end"):
        read_table(write(tmp_path, "d.csv.gz", gzip.compress(text)[:-9]))


def test_workbook(tmp_path, monkeypatch):
    pytest.importorskip("fastexcel")
    with pytest.raises(InputError, match="workbook"):
        read_table(write(tmp_path, "b.xlsx", b"PK\x03\x04 no workbook"))
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(InputError, match=r"pip install 'foldwise\[excel\]'"):
        read_table(write(tmp_path, "c.xlsx", b"PK\x03\x04"))


WORKBOOKS = {
    "names": (
        [["a", "b"], [1, "x"], [2.5, "y"]],
        {},
        ["a", "b"],
        [(1.0, "x"), (2.5, "y")],
        "'a' is above",
    ),
    "no names": ([[1, 2.5], [3, 4.5]], {}, ["x0", "x1"], [(1, 2.5), (3, 4.5)], "has no header"),
    "a title": ([["Sales"], [], ["a", "b"], [1, "x"], [2, "y"]], {}, ["a", "b"], [(1, "x"), (2, "y")], "'Sales'"),
    "rows left out": ([["Sales", "x"], ["a", "b"], [1, "x"]], {"skip_rows": 1}, ["a", "b"], [(1, "x")], "'a' is above"),
    "two rows of names": (
        [["a", "b"], ["m", "kg"], [1, 2]],
        {"header": 2},
        ["a / m", "b / kg"],
        [(1, 2)],
        "first 2",
    ),
    "no names, as said": ([["a"], ["b"]], {"header": False}, ["x0"], [("a",), ("b",)], "as requested"),
    "tokens": ([["a", "b"], [1, "NA"], [2, "y"]], {}, ["a", "b"], [(1, None), (2, "y")], "('NA' or empty)"),
    "padding": ([["a", "b"], [1, "x"], ["", "", ""]], {}, ["a", "b"], [(1, "x")], "1 empty row"),
    "missing at the end": (
        [["a", "b", "c"], [1, "x", 5], [2, "y"], [3]],
        {},
        ["a", "b", "c"],
        [(1, "x", 5), (2, "y", None), (3, None, None)],
        "3 missing cells (empty)",
    ),
    "only names": ([["a", "b"]], {}, ["a", "b"], [], "the only row"),
}


@pytest.mark.parametrize("case", WORKBOOKS)
def test_sheets_are_laid_out_like_text(tmp_path, case):
    pytest.importorskip("fastexcel")
    sheet, keywords, names, rows, words = WORKBOOKS[case]
    table = read_table(write_workbook(tmp_path / "b.xlsx", sheet), **keywords)
    assert table.X.columns == names
    assert table.X.rows() == rows
    assert words in " ".join(map(str, table.notes))


@pytest.mark.parametrize(
    ("sheet", "words"), [([["a", "a"], [1, 2]], "two columns are called 'a'"), ([], "contains no rows")]
)
def test_sheets_that_are_refused(tmp_path, sheet, words):
    pytest.importorskip("fastexcel")
    with pytest.raises(InputError, match=words):
        read_table(write_workbook(tmp_path / "b.xlsx", sheet))


def test_sqlite_keeps_decimals_as_whole_numbers(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE t (price DECIMAL(10, 2), code, k INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(2.0, 2**60, 1), (2.5, 2.5, 2), (None, "x", None)])
        connection.commit()
    table = read_table(tmp_path / "a.db")
    assert table.X.rows() == [(2.0, str(2**60), 1), (2.5, "2.5", 2), (None, "x", None)]
    assert "2 missing cells (empty)" in str(table.notes)


def test_duckdb_tables_of_other_schemas(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS a; CREATE TABLE t AS SELECT 2 AS a")
    assert read_table(tmp_path / "a.duckdb", table="s.t").X.rows() == [(1,)]
    assert read_table(tmp_path / "a.duckdb", table="t").X.rows() == [(2,)]


def test_tokens_leave_declared_levels(tmp_path):
    levels = pl.Enum(["low", "high", "unasked"])
    frame = pl.DataFrame(
        {"a": pl.Series(["low", "unasked", "high"], dtype=levels), "n": [1, -9, 3], "w": ["x", "y", "-9"]}
    )
    frame.write_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet", missing_values=["unasked", "-9"])
    assert table.X.schema == frame.schema
    assert table.X.rows() == [("low", 1, "x"), (None, None, "y"), ("high", 3, None)]
    assert "3 missing cells ('unasked' or '-9' or empty)" in " ".join(str(table.notes).split())


def test_json_numbers_that_nothing_holds(tmp_path):
    with pytest.raises(InputError, match="'a' of record 0 is 999"):
        read_table(write(tmp_path, "a.jsonl", f'{{"a": {"9" * 60}}}\n{{"a": 1}}\n'))


def test_sqlite(tmp_path):
    path = tmp_path / "a.db"
    connection = sqlite3.connect(path)
    connection.execute('CREATE TABLE "the people" (city TEXT, age INTEGER, w REAL)')
    connection.executemany('INSERT INTO "the people" VALUES (?, ?, ?)', FRAME.rows())
    connection.commit()
    assert read_table(path).X.equals(FRAME)
    assert read_table(path, missing_values="Oslo").X["city"].to_list() == ["Rome", None, None]
    connection.execute("CREATE TABLE other (a BLOB)")
    connection.execute("INSERT INTO other VALUES (x'00ff')")
    connection.execute("CREATE VIEW seen AS SELECT * FROM other")
    connection.commit()
    connection.close()
    assert read_table(path, table="the people").X.equals(FRAME)
    with pytest.raises(InputError, match=r"2 tables: 'other', 'the people'.*table="):
        read_table(path)
    with pytest.raises(InputError, match="no table 'seen'"):
        read_table(path, table="seen")
    with pytest.raises(InputError, match="bytes"):
        read_table(path, table="other")
    with pytest.raises(InputError, match="cannot be read as a SQLite file"):
        read_table(write(tmp_path, "broken.db", b"SQLite format 3\x00 and nothing more"))


def test_duckdb(tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people (city TEXT, age BIGINT, w DOUBLE)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", FRAME.rows())
    assert read_table(path).X.equals(FRAME)
    with pytest.raises(InputError, match="no table 'x'"):
        read_table(path, table="x")
    with pytest.raises(InputError, match="cannot be read as a DuckDB file"):
        read_table(write(tmp_path, "broken.duckdb", b"12345678DUCK" + bytes(5000)))
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(InputError, match=r"pip install 'foldwise\[duckdb\]'"):
        read_table(path)


def test_times_with_a_zone_of_duckdb(tmp_path):
    """They are read in UTC, without the package pytz."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("SET timezone = 'Asia/Tokyo'")
        connection.execute('CREATE TABLE t ("at\'s" TIMESTAMPTZ)')
        connection.execute("INSERT INTO t VALUES ('2020-01-01 12:00+02'), (NULL)")
    found = read_table(tmp_path / "a.duckdb").X
    assert found["at's"].to_list() == [dt.datetime(2020, 1, 1, 10), None]


@pytest.mark.parametrize("ending", ["parquet", "feather", "xlsx", "db", "duckdb", "json", "csv.gz", "arff"])
@pytest.mark.parametrize("content", [b"", b"\x00" * 40, b"a,b\n1,2\n", b"PK\x03\x04", b"ARROW1\x00\x00", b"PAR1PAR1"])
def test_a_name_that_lies(tmp_path, ending, content):
    with contextlib.suppress(FoldwiseError):
        read_table(write(tmp_path, f"a.{ending}", content))


def test_keywords_that_do_not_apply_are_refused(tmp_path):
    FRAME.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"separator= does not apply to .*, which is read as parquet"):
        read_table(tmp_path / "a.parquet", separator=";")
    with pytest.raises(InputError, match="sheet= does not apply"):
        read_table(write(tmp_path, "a.csv", "a,b\n1,2\n"), sheet=1)
    assert read_table(tmp_path / "a.parquet", names=["p", "q", "r"]).X.columns == ["p", "q", "r"]
    with pytest.raises(InputError, match=r"names must have one name for each of the 3 columns of a\.parquet, got 2"):
        read_table(tmp_path / "a.parquet", names=["p", "q"])
    marked = read_table(tmp_path / "a.parquet", missing_values=["Rome", "40", "3.25"])
    assert marked.X.rows() == [(None, 31, 1.5), (None, None, 2.0), ("Oslo", None, None)]
