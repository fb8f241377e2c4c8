"""One table in several dialects: every file gives the same cells."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from foldwise import read_table
from tests.tables import SHIPPED

NOTES = {
    "penguins.arff": ["ARFF"],
    "penguins_decimal_comma.csv": ["byte-order mark", "';'"],
    "penguins_latin1.csv": [],
    "penguins_no_names.csv": ["has no header", "'?'"],
    "penguins_title.csv": [],
    "penguins_utf16.tsv": ["utf-16"],
}


def test_every_file_is_checked():
    assert sorted(path.name for path in (SHIPPED / "raw").iterdir()) == sorted(NOTES)


@pytest.mark.parametrize("name", NOTES)
def test_the_same_table_in_every_dialect(name):
    expected = read_table(SHIPPED / "penguins.csv").X
    table = read_table(SHIPPED / "raw" / name)
    found = table.X.rename(dict(zip(table.X.columns, expected.columns, strict=True)))
    found = found.with_columns(pl.col(pl.String, pl.Enum).cast(pl.String).str.replace("mâle", "male"))
    assert_frame_equal(found, expected, check_dtypes=False)
    notes = " ".join(map(str, table.notes))
    for words in NOTES[name]:
        assert words in notes


def test_a_separator_that_does_not_occur_is_noted(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    table = read_table(tmp_path / "t.csv", separator=";")
    texts = [note.text for note in table.notes if note.topic == "separator"]
    assert texts[-1] == "';' does not occur in the first rows. They contain ',': leave separator= out."
    assert len([note for note in read_table(tmp_path / "t.csv", separator=",").notes if note.topic == "separator"]) == 1
