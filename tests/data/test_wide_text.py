"""Text with many columns gives the same table, notes and errors as text that is read column by column."""

from __future__ import annotations

import random
import warnings

import numpy as np
import polars as pl
import pytest

from foldwise import read_table
from foldwise.data.reading import delimited, wide_text
from foldwise.errors import FoldwiseError
from tests.data.fuzzing import mutated_files
from tests.slow import slow

NUMBERS = ["0", "7", "-3", "+4", "12", "1.5", "-2.25", "1e3", ".5", "3.", "99999999999999999999", "inf"]
OTHERS = ["", "NA", "?", "NaN", "null", "true", "FALSE", "007", "a", "x y", "-", " 5", "$5", "1,5", "2026-01-31", "é"]


def wide_csv(seed, n_rows=12, n_columns=40, separator=",", end="\n"):
    """Columns of numbers, of numbers beside a few other cells, and of text."""
    rng = random.Random(seed)
    columns = []
    for _ in range(n_columns):
        numbers = rng.sample(NUMBERS, rng.randint(1, 4)) if rng.random() < 0.9 else OTHERS
        others = rng.sample(OTHERS, rng.randint(1, 3)) if rng.random() < 0.5 else []
        share = rng.choice([0.05, 0.3, 1.0])
        columns.append([rng.choice(others if others and rng.random() < share else numbers) for _ in range(n_rows)])
    rows = [[f"c{j}" for j in range(n_columns)], *zip(*columns, strict=True)]
    return end.join(separator.join(cell.replace(separator, "") for cell in row) for row in rows) + end


def answer(path, **options):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = read_table(path, **options)
    except FoldwiseError as error:
        return str(error)
    return table.X.schema, table.X.rows(), table.schema, str(table.notes)


def both_answers(path, monkeypatch, **options):
    """The answer of the code for many columns where it applies, and that of reading all columns as text."""
    monkeypatch.setattr(wide_text, "FEWEST_COLUMNS", 1)
    wide = answer(path, **options)
    monkeypatch.setattr(wide_text, "FEWEST_COLUMNS", 1 << 30)
    monkeypatch.setattr(delimited.DelimitedParser, "_typed", lambda self: None)
    plain = answer(path, **options)
    monkeypatch.undo()
    return wide, plain


@pytest.mark.parametrize(("separator", "end"), [(",", "\n"), (";", "\r\n"), ("\t", "\n")])
@pytest.mark.parametrize("seed", [*range(3), *slow(*range(3, 8))])
def test_cells_are_those_of_single_columns(tmp_path, monkeypatch, seed, separator, end):
    path = tmp_path / "wide.csv"
    path.write_bytes(wide_csv(seed, separator=separator, end=end).encode())
    wide, plain = both_answers(path, monkeypatch)
    assert repr(wide) == repr(plain)
    options = {"missing_values": ["a", "0"], "kinds": {"c3": "categorical"}}
    wide, plain = both_answers(path, monkeypatch, **options)
    assert repr(wide) == repr(plain)


def test_mutated_files_are_read_alike(tmp_path, monkeypatch):
    for i, (name, data) in enumerate(mutated_files(5, 40)):
        path = tmp_path / f"{i}{name}"
        path.write_bytes(data)
        wide, plain = both_answers(path, monkeypatch)
        assert repr(wide) == repr(plain), path


def test_the_first_cells_of_a_column_decide_whether_it_may_hold_numbers(tmp_path, monkeypatch):
    path = tmp_path / "wide.csv"
    path.write_text("a,b,c\n" + "NA,NA,x\n" * 60 + "1,x,1\n2,,2\n")
    wide, plain = both_answers(path, monkeypatch)
    assert repr(wide) == repr(plain)


def test_many_columns_are_one_chunk_each(tmp_path):
    rng = np.random.default_rng(0)
    X = pl.DataFrame(rng.normal(size=(20, 600))).with_columns(pl.lit(3).alias("n"), pl.lit("x").alias("t"))
    X.write_csv(tmp_path / "wide.csv")
    found = read_table(tmp_path / "wide.csv").X
    assert found.equals(X.with_columns(pl.col("n").cast(pl.Int64)))
    assert {column.n_chunks() for column in found} == {1}


def test_wide_tables_are_shown_in_a_few_lines(tmp_path):
    rng = np.random.default_rng(0)
    X = pl.DataFrame(np.where(rng.random((40, 600)) < 0.2, -999, rng.normal(50, 1, (40, 600))))
    X.write_csv(tmp_path / "wide.csv")
    table = read_table(tmp_path / "wide.csv")
    for shown in (repr(table), str(table.schema), repr(table.findings)):
        assert len(shown.splitlines()) <= 102
        assert shown.endswith("… and 500 more columns")
    assert "… and 500 more columns" in table.schema._repr_html_()
    n_notes = len(table.notes.about("disguised missing"))
    assert n_notes > 590
    assert f"disguised missing: … and {n_notes - 30} more notes" in str(table.notes)
    assert len(repr(table.audit()).splitlines()) < 40
