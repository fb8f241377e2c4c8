"""Delimited text in the ways people write it: what is found out, what is said about it, what is refused."""

from __future__ import annotations

import csv
import io

import polars as pl
import pytest

from foldwise import read_table
from foldwise.errors import FoldwiseTypeError, InputError


def read(folder, text, name="t.csv", **keywords):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, **keywords)


BODY = [["a", "b", "c"], ["1", "x y", "2.5"], ["2", "z", "3.5"], ["3", "x y", ""]]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_quotes_encodings_and_line_ends(tmp_path, separator, quoting, encoding, end):
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=end).writerows(BODY)
    table = read(tmp_path, out.getvalue().encode(encoding))
    assert table.X.rows() == [(1, "x y", 2.5), (2, "z", 3.5), (3, "x y", None)]
    assert table.X.columns == ["a", "b", "c"]


CASES = {
    "trailing separators": ("a,b,\n1,2,\n3,4,\n", [(1, 2), (3, 4)], "1 empty column "),
    "trailing separators without one in the header": ("a,b\n1,2,\n3,4,\n", [(1, 2), (3, 4)], "1 empty column "),
    "a title and a blank line": ("Sales 2024\n\na,b\n1,2\n3,4\n", [(1, 2), (3, 4)], "'Sales 2024'"),
    "comments in front": ("# made by hand\n# twice\na,b\n1,2\n3,4\n", [(1, 2), (3, 4)], "2 lines before"),
    "an index of pandas": (",a,b\n0,5,x\n1,6,y\n2,7,z\n", [(5, "x"), (6, "y"), (7, "z")], "counts the rows from 0"),
    "row names of R": ("a b\nMazda 1 2\nFiat 3 4\n", [("Mazda", 1, 2), ("Fiat", 3, 4)], "one cell fewer"),
    "runs of blanks": ("a   b\n 1    2\n 33  4 \n", [(1, 2), (33, 4)], "spaces"),
    "no header": ("1,x\n2,y\n3,x\n", [(1, "x"), (2, "y"), (3, "x")], "has no header"),
    "years as names": ("k,2019,2020\nx,1.5,2\ny,3,4\n", [("x", 1.5, 2), ("y", 3.0, 4)], "count columns or years"),
    "thousands": ('k,n\nx,"1,234"\ny,"12,345,678"\n', [("x", 1234), ("y", 12345678)], "thousands separators"),
    "decimal commas in quotes": ('k,n\nx,"1,5"\ny,"2,25"\n', [("x", 1.5), ("y", 2.25)], "decimal commas"),
    "points for thousands": (
        "k;n;m\nx;1.234,5;1\ny;7,25;2\n",
        [("x", 1234.5, 1), ("y", 7.25, 2)],
        "mark is ','",
    ),
    "money": ("k,n\nx,$1.5M\ny,-$2K\nz,$3\n", [("x", 1.5e6), ("y", -2000.0), ("z", 3.0)], "currency $"),
    "accounts": ('k,n\nx,"(1,200)"\ny,300\n', [("x", -1200), ("y", 300)], "thousands"),
    "percent": ("k,n\nx,+13%\ny,-24%\n", [("x", 13), ("y", -24)], "percent signs"),
    "a dash for missing": ("k,n\nx,1\ny,-\nz,3\n", [("x", 1), ("y", None), ("z", 3)], "('-' among numbers)"),
    "codes": ("zip,n\n00501,1\n10001,2\n", [("00501", 1), ("10001", 2)], "would lose digits"),
    "a footnote": ("a,b\n1,2\n3,4\n\nSource: our own count\n", [(1, 2), (3, 4)], "'Source: our own count'"),
    "single quotes": ("a,b\n1,'x'\n2,'y, z'\n", [(1, "x"), (2, "y, z")], "quoted with"),
    "quotes against the rules": ('a,b\n1,"x" y\n2,z\n', [(1, "x y"), (2, "z")], "misplaced quotes"),
    "one column": ("a\n1\n2\n", [(1,), (2,)], "one column"),
    "text in one column": ("text\nhello there\nwell, well\n", [("hello there",), ("well, well",)], "one column"),
    "truth": ("a,b\nTRUE,1\nFalse,2\n", [(True, 1), (False, 2)], "header"),
    "latin": ("a,b\n1,caf\xe9\n2,th\xe9\n".encode("latin-1"), [(1, "café"), (2, "thé")], "cp1252"),
    "a new line in a cell": ('a,b\n1,"x\ny"\n2,z\n', [(1, "x\ny"), (2, "z")], "header"),
    "a column that is really called x0": ("x0,y\n0,5\n1,6\n2,7\n", [(0, 5), (1, 6), (2, 7)], "header"),
    "a cell over lines at the end": ('a,b\n1,"x\nand a second line"\n', [(1, "x\nand a second line")], "header"),
    "empty rows at the end": ("a,b\n1,2\n3,4\n,\n,\n", [(1, 2), (3, 4)], "2 empty rows"),
    "a line for Excel": ("sep=;\na;b\n1;2\n3;4\n", [(1, 2), (3, 4)], "as requested"),
    "units": ("t,v\ns,m/s\n0,1.5\n1,2.5\n2,3.5\n", [(0, 1.5), (1, 2.5), (2, 3.5)], "the second completes the first"),
    "a ruled line": ("a|b\n---|---\n1|2\n3|4\n5|6\n", [(1, 2), (3, 4), (5, 6)], "first 2 rows are"),
    "addresses": (
        "k,n\n192.168.100.200,1\n192.168.100.201,2\n",
        [("192.168.100.200", 1), ("192.168.100.201", 2)],
        "header",
    ),
    "escaped quotes": ('a,b\n"say \\"hi\\"",1\n"x",2\n', [('say "hi"', 1), ("x", 2)], "with a backslash"),
    "very long numbers": (f"a,b\n{'1' * 44},x\n1,y\n", [("1" * 44, "x"), ("1", "y")], "would lose digits"),
    "a quote that is never closed": (
        'ham\tsay "hi\nspam\tcash\nham\tlunch\nham\tok\n',
        [("ham", 'say "hi'), ("spam", "cash"), ("ham", "lunch"), ("ham", "ok")],
        "quotes are ordinary characters",
    ),
    "names of people": ("who\nAnn Lee\nBob Ray\nCy Fox\n", [("Ann Lee",), ("Bob Ray",), ("Cy Fox",)], "one column"),
    "a title over blanks": ("Yield\na b\n1 2\n3 4\n5 6\n", [(1, 2), (3, 4), (5, 6)], "'Yield'"),
    "0 and 1 without a header": ("0,1\n1,1\n0,0\n0,1\n", [(0, 1), (1, 1), (0, 0), (0, 1)], "has no header"),
    "counted columns": ("0,1\n0.5,2.5\n0.1,3.5\n", [(0.5, 2.5), (0.1, 3.5)], "count columns or years"),
    "remarks with the separator": ("# a, b\n# c, d\nx,y\n1,2\n3,4\n", [(1, 2), (3, 4)], "2 lines before"),
    "a title of a spreadsheet": (
        "Sales of 2024,,\n,,\nk,n,m\nx,1,2\ny,3,4\n",
        [("x", 1, 2), ("y", 3, 4)],
        "2 lines before the table",
    ),
    "one name": ("k,,\n5,1,2\n6,3,4\n", [(5, 1, 2), (6, 3, 4)], "x1, x2."),
    "a point that may separate thousands": ("n;k\n1.200;x\n9.500;y\n", [(1.2, "x"), (9.5, "y")], "Pass decimal=','"),
    "points that separate thousands": (
        "n;m\n1.200;1.000.000\n9.500;7\n",
        [(1200, 10**6), (9500, 7)],
        "mark is ','",
    ),
    "names that begin with #": (
        "#x,y\nm,kg\n1,2\n3,4\n5,6\n",
        [(1, 2), (3, 4), (5, 6)],
        "first 2 rows are",
    ),
    "shares among numbers": ("k,n\nx,13%\ny,4\n", [("x", "13%"), ("y", "4")], "with and without percent signs"),
    "currencies": ("k,n\nx,$13\ny,€4\n", [("x", "$13"), ("y", "€4")], "several currencies. It is read as text"),
    "only a header": ("a,b\n", [], "the only row"),
}


@pytest.mark.parametrize("case", CASES)
def test_as_people_write_it(tmp_path, case):
    text, rows, words = CASES[case]
    table = read(tmp_path, text)
    assert table.X.rows() == rows
    assert words in " ".join(map(str, table.notes))


def test_types_are_those_of_all_rows(tmp_path):
    lines = [f"{i},{i},x" for i in range(60_000)]
    lines[30_123] = "1.5,word,x"
    table = read(tmp_path, "a,b,c\n" + "\n".join(lines) + "\n")
    assert table.X.dtypes == [pl.Float64, pl.String, pl.String]
    assert table.X["b"][30_123] == "word"
    assert table.X["b"][7] == "7"


def test_decimal_commas_far_down(tmp_path):
    lines = ["1,5;x"] * 50_000 + ["1.200;y", "2.000,5;y"]
    table = read(tmp_path, "a;b\n" + "\n".join(lines) + "\n")
    assert table.X["a"][-2:].to_list() == [1200.0, 2000.5]


def test_the_decimal_mark_holds_beside_tokens_of_a_column(tmp_path):
    text = "a;n\n2,6;1.200\n3,1;closed\n4,0;950\n"
    assert read(tmp_path, text, missing_values={"n": "closed"}).X["n"].to_list() == [1200, None, 950]


def test_short_rows_are_refused_wherever_they_are(tmp_path):
    for extra in ("", '"q",1,\n'):
        with pytest.raises(InputError, match=r"row \d+ has 2 cells, but the header has 3"):
            read(tmp_path, "a,b,c\n" + extra + "1,2,3\n" * 50 + "1,2\n" + "1,2,3\n" * 50)


def test_footnotes_are_not_short_rows(tmp_path):
    with pytest.raises(InputError, match="row 2 has 1 cell, but"):
        read(tmp_path, "a,b,c\n1,2,3\n4,5,6\n7\n")


def test_keywords_decide(tmp_path):
    text = "x;y\n1,5;2\n2,5;3\n"
    assert read(tmp_path, text).X.rows() == [(1.5, 2), (2.5, 3)]
    assert read(tmp_path, text, decimal=".").X["x"].to_list() == [1.5, 2.5]  # the cells leave no other reading
    assert read(tmp_path, "1,2\n3,4\n", header=True).X.rows() == [(3, 4)]
    assert read(tmp_path, "a,b\nc,d\n1,2\n3,4\n", header=2).X.columns == ["a / c", "b / d"]
    assert read(tmp_path, "a,b\n1,2\n", header=False).X.rows() == [("a", "b"), ("1", "2")]
    assert read(tmp_path, "junk,1\na,b\n1,2\n", skip_rows=1).X.columns == ["a", "b"]
    assert read(tmp_path, "a,b\n1,2\n", names=["p", "q"]).X.columns == ["p", "q"]
    assert read(tmp_path, ",a\n0,1\n1,2\n", index=False).X.shape == (2, 2)
    assert read(tmp_path, "id,a\n7,1\n9,2\n", index="id").X.columns == ["a"]
    assert read(tmp_path, 'a,b\n"1,2\n3,4\n', quote="").X["a"].to_list() == ['"1', "3"]
    assert read(tmp_path, "a:b\n1:2\n", separator=":").X.rows() == [(1, 2)]
    assert read(tmp_path, "a,b\n1,é\n".encode("cp437"), encoding="cp437").X["b"].to_list() == ["é"]
    assert read(tmp_path, "a,b\n1,2\n", target=-1).target == "b"


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"separator": ",,"}, "single ASCII character"),
        ({"separator": 3}, "must be a string"),
        ({"encoding": "klingon"}, "one that Python knows"),
        ({"encoding": "ascii"}, "not valid ascii"),
        ({"decimal": "_"}, "'.' or ','"),
        ({"header": 0}, "True, False or the number of header rows"),
        ({"skip_rows": -1}, "at least 0"),
        ({"skip_rows": 99}, "contains no rows after the 99 skipped lines"),
        ({"names": ["a"]}, "names must have one name for each of the 2 columns of t.csv, got 1"),
        ({"names": "ab"}, "list of strings"),
        ({"index": "z"}, "no column 'z'"),
        ({"index": 0}, "index must be the name of a column"),
        ({"target": 7}, "no column 7"),
        ({"target": 1.5}, "name or the index"),
    ],
)
def test_bad_keywords(tmp_path, keywords, words):
    with pytest.raises((InputError, FoldwiseTypeError), match=words):
        read(tmp_path, "a,é\n1,2\n", **keywords)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "contains no rows"),
        (b"\n\n", "contains no rows"),
        (b"a,b\n\x00\x01\x02\x00,3\n", "zero bytes"),
        (b"a,b\n1,2,3,4\n5,6,7,8\n", "the header has 2 cells, but the rows have 4"),
        (b"a,a\n1,2\n", "two columns are called 'a'"),
        (b'a,b\n1,"x\n2,3,4\n5,6\n', "never closed"),
        (b'1,"x\n2,3,4\n5,6\n', "opened in line 1 and never closed"),
        (b"BZh91AY", "bzip2"),
        (b" <!DOCTYPE html><html>404</html>", "a web page"),
        (b"%PDF-1.4 and so on", "a PDF document"),
    ],
)
def test_refused(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read(tmp_path, text)


def test_each_missing_cell_is_counted_in_one_note(tmp_path):
    (tmp_path / "t.csv").write_text("k,n\nx,1\ny,unknown\n,3\nz,4\nz,5\n")
    said = [note.text for note in read_table(tmp_path / "t.csv").notes.about("missing")]
    assert said == ["found 1 missing cell in 'n' ('unknown' among numbers).", "found 1 missing cell (empty)."]


def test_the_note_on_stray_cells_names_them_and_is_gone_when_they_are_given(tmp_path):
    cells = ["1", "abc", "3", "n.n.", *map(str, range(20))]
    (tmp_path / "t.csv").write_text("k,n\n" + "".join(f"x,{cell}\n" for cell in cells))
    [note] = read_table(tmp_path / "t.csv").notes.about("numbers")
    assert note.text.startswith("'n' is read as text, because 2 of 24 cells are not numbers ('abc', 'n.n.').")
    assert not read_table(tmp_path / "t.csv", missing_values={"n": ["abc", "n.n."]}).notes.about("numbers")
    [note] = read_table(tmp_path / "t.csv", missing_values={"n": "abc"}).notes.about("numbers")
    assert "1 of 23 cells is not a number ('n.n.')" in note.text
