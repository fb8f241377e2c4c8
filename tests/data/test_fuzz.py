"""Whatever a file holds, only our own errors come out: a few seconds of it here, 20,000 cases with `make fuzz`."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldwise import read_table
from foldwise.data.reading.delimiters import DelimiterIndex
from foldwise.data.reading.sniffing import Dialect
from tests.data.fuzzing import arff, delimited, mutated_files, run, survives

SLOW = pytest.mark.fuzz
FREELY = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=75, **FREELY)
@given(delimited(), st.sampled_from(["t.csv", "t.tsv", "t.txt"]))
def test_delimited(data, name):
    run(name, data)


@settings(max_examples=75, **FREELY)
@given(arff())
def test_arff(data):
    run("t.arff", data)


def test_mutated_files(tmp_path):
    outcomes = [survives(name, data, tmp_path) for name, data in mutated_files(seed=1, cases=75)]
    assert any(outcomes)
    assert not all(outcomes)


@SLOW
@settings(max_examples=8_000, **FREELY)
@given(delimited(), st.sampled_from(["t.csv", "t.tsv", "t.txt"]))
def test_many_delimited(data, name):
    run(name, data)


@SLOW
@settings(max_examples=6_000, **FREELY)
@given(arff())
def test_many_arff(data):
    run("t.arff", data)


@SLOW
@pytest.mark.parametrize("part", range(8))
def test_many_mutated_files(part, tmp_path):
    seed = int(os.environ.get("FUZZ_SEED", "100")) + part
    read = sum(survives(name, data, tmp_path) for name, data in mutated_files(seed, cases=1_000))
    print(f"part {part}: {read} of 1,000 were read, the others refused")
    assert 0 < read < 1_000


NAMES = ["alpha", "beta 2", "gamma_(mm)", "Δ"]
COLUMNS = st.one_of(
    st.tuples(st.just("numbers"), st.lists(st.one_of(st.none(), st.integers(-(10**6), 10**6)), min_size=4, max_size=4)),
    st.tuples(st.just("fractions"), st.lists(st.one_of(st.none(), st.integers(-999, 999)), min_size=4, max_size=4)),
    st.tuples(
        st.just("words"),
        st.lists(
            st.sampled_from([None, "red", "dark blue", "it's", 'say "hi"', "a,b;c|d", "né", "x\ny"]),
            min_size=4,
            max_size=4,
        ),
    ),
)


def as_text(kind, cell, decimal):
    if cell is None:
        return ""
    if kind == "fractions":
        return f"{cell / 8:.4f}".replace(".", decimal)  # eighths are exact; 1,000 with three digits could be either
    return str(cell)


@settings(max_examples=100, **FREELY)
@given(
    st.lists(COLUMNS, min_size=2, max_size=4),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_what_is_written_is_read(columns, separator, quoting, encoding, end, comma):
    """The law of reading: a table written in any dialect comes back as it was."""
    decimal = "," if comma and separator != "," else "."
    columns = [("numbers", [1, 2, 3, 5]), *columns[1:]]  # a column of numbers tells the header from the rows
    names = NAMES[: len(columns)] if encoding != "cp1252" else ["a", "b", "c", "d"][: len(columns)]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=end)
    writer.writerow(names)
    for row in range(4):
        writer.writerow([as_text(kind, cells[row], decimal) for kind, cells in columns])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(out.getvalue().encode(encoding))
        frame = read_table(path, index=False).X
    assert frame.columns == names
    for series, (kind, cells) in zip(frame, columns, strict=True):
        assert series.to_list() == [cell / 8 if kind == "fractions" and cell is not None else cell for cell in cells]


@settings(max_examples=100, **FREELY)
@given(
    st.lists(
        st.lists(st.sampled_from(["a", "", "b c", 'd"e', "f,g", '"', ","]), min_size=1, max_size=5),
        min_size=1,
        max_size=6,
    )
)
def test_counted_rows_are_those_of_csv(rows):
    """Row lengths from the places of marks, and their plain twin: Python's csv module."""
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    delimiters = DelimiterIndex(out.getvalue().encode(), Dialect(","))
    assert delimiters.odd == 0
    assert delimiters.widths(quoted=True).tolist() == [len(row) for row in rows]
    assert not delimiters.blank.any()
    blank = DelimiterIndex(b"\n1,2\r\n\r\n3", Dialect(","))
    assert blank.blank.tolist() == [True, False, True, False]
    assert blank.widths(quoted=True).tolist() == [1, 2, 1, 1]
