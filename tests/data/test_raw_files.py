"""Files as people meet them: each is read right, from its separator to its missing cells, with no code around it.

What "right" is was found by looking into each file.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from foldwise import NaiveBayes, read_table
from foldwise.errors import InputError
from tests.tables import data_folder, needs_real_tables

pytestmark = needs_real_tables

# file: rows, columns, missing cells, {type: columns}, words that the notes hold
RAW: dict[str, tuple[int, int, int, dict[str, int], list[str]]] = {
    "AirQualityUCI_decimal_comma.csv": (
        *(9357, 16, 18384, {"String": 2, "Int64": 9, "Float64": 5}),
        ["byte-order mark", "';'", "','", "114 empty rows at the end", "1 empty column", "'NA'"],
    ),
    "Concrete_Data.xlsx": (1030, 9, 0, {"Int64": 1, "Float64": 8}, ["'Sheet1'", "spaces around 1 column name"]),
    "ReutersCorn-test.arff": (604, 2, 0, {"String": 1, "Enum": 1}, ["ARFF"]),
    "StarWars.csv": (1186, 38, 13454, {"String": 31, "Int64": 7}, ["cp1252", "the first 2 rows are the header"]),
    "Training Dataset.arff": (11055, 31, 0, {"Enum": 31}, ["ARFF"]),
    "actions_under_antiquities_act.csv": (
        344,
        9,
        266,
        {"String": 8, "Int64": 1},
        ["'4,193 (water)'", "is read as text"],
    ),
    "adult-test.csv": (16281, 15, 2203, {"String": 9, "Int64": 6}, ["has no header", "a space follows", "'?'"]),
    "anneal.orig.arff": (898, 39, 22175, {"Enum": 33, "Int64": 4, "Float64": 2}, ["22,175"]),
    "attrition_rownames.csv": (1470, 32, 0, {"String": 15, "Int64": 17}, ["the first row is the header"]),
    "biopics.csv": (
        *(761, 14, 528, {"String": 10, "Int64": 3, "Float64": 1}),
        ["latin-1", "324 missing cells in 'box_office' ('-'", "'$56.7M'", "the currency $"],
    ),
    "credit-g.arff": (1000, 21, 0, {"Enum": 14, "Int64": 7}, ["ARFF"]),
    "gdp_per_capita.csv": (
        *(189, 7, 4, {"String": 5, "Int64": 1, "Float64": 1}),
        ["cp1252", "separated by tabs", "1 line after the table", "'3,995.383'", "'n/a'"],
    ),
    "german.data.txt": (1000, 21, 0, {"String": 13, "Int64": 8}, ["separated by spaces", "has no header"]),
    "hepatitis.arff": (155, 20, 167, {"Enum": 14, "Int64": 4, "Float64": 2}, ["ARFF"]),
    "kr-vs-k.dat": (28056, 7, 0, {"Enum": 7}, ["ARFF"]),
    "labor.arff": (57, 17, 326, {"Enum": 9, "Int64": 5, "Float64": 3}, ["ARFF"]),
    "mammography.csv": (11183, 7, 0, {"Int64": 1, "Float64": 6}, ['quoted with "\'"', "has no header"]),
    "penguins_raw.csv": (344, 17, 336, {"String": 10, "Int64": 3, "Float64": 4}, ["'NA'"]),
    "pulitzer-circulation-data.csv": (50, 7, 0, {"String": 1, "Int64": 6}, ["'2,192,098'", "'-24%'", "percent"]),
    "sms.tsv": (5574, 2, 0, {"String": 2}, ["separated by tabs", "odd in 17 lines", "has no header"]),
    "soybean.arff": (683, 36, 2337, {"Enum": 36}, ["ARFF"]),
    "spam_latin1.csv": (5575, 5, 16657, {"String": 5}, ["cp1252", "x2, x3, x4"]),
    "student-mat_requoted.csv": (395, 33, 0, {"String": 17, "Int64": 16}, ["each line of data is one quoted cell"]),
    "titanic_train.csv": (891, 12, 866, {"String": 5, "Int64": 5, "Float64": 2}, ["the first row is the header"]),
    "vote.arff": (435, 17, 392, {"Enum": 17}, ["ARFF"]),
    "weather.numeric.arff": (14, 5, 0, {"Enum": 3, "Int64": 2}, ["ARFF"]),
    "wholesale.csv": (440, 8, 0, {"Int64": 8}, ["byte-order mark"]),
    "wine_data.csv": (178, 14, 0, {"Int64": 3, "Float64": 11}, ["1 line before the table", "has no header"]),
    "winequality-red.csv": (1599, 12, 0, {"Int64": 1, "Float64": 11}, ["';'"]),
    "zoo.tab": (101, 18, 0, {"String": 18}, ["as in Orange", "target='type'"]),
}

# cells that a wrong reading would change: (file, column, row, value)
CELLS: list[tuple[str, str | int, int, Any]] = [
    ("AirQualityUCI_decimal_comma.csv", "AH", 0, 0.7578),
    ("ReutersCorn-test.arff", "class-att", 0, "0"),
    ("StarWars.csv", 9, 0, 3),
    ("Training Dataset.arff", "Result", 0, "-1"),
    ("adult-test.csv", 14, 0, "<=50K."),
    ("anneal.orig.arff", "formability", 2, "2"),
    ("biopics.csv", "box_office", 1, 56_700_000.0),
    ("credit-g.arff", "checking_status", 1, "0<=X<200"),
    ("gdp_per_capita.csv", "2015", 1, 3995.383),
    ("gdp_per_capita.csv", "Country", 188, "Zimbabwe"),
    ("mammography.csv", 6, 0, -1),
    ("pulitzer-circulation-data.csv", "Daily Circulation, 2004", 0, 2_192_098),
    ("pulitzer-circulation-data.csv", "Change in Daily Circulation, 2004-2013", 1, 13),
    ("sms.tsv", 1, 5573, "Rofl. Its true to its name"),
    ("student-mat_requoted.csv", "G3", 0, 6),
    ("titanic_train.csv", "Name", 0, "Braund, Mr. Owen Harris"),
    ("wholesale.csv", "Channel", 0, 2),
    ("wine_data.csv", 0, 0, 14.23),
    ("zoo.tab", "legs", 0, "4"),
]


def raw(name: str) -> Any:
    return data_folder() / "raw" / name


def test_every_raw_file_is_here():
    assert {path.name for path in (data_folder() / "raw").iterdir()} == set(RAW)


@pytest.mark.parametrize("name", RAW)
def test_raw_file(name):
    rows, columns, missing, types, words = RAW[name]
    table = read_table(raw(name))
    assert table.X.shape == (rows, columns)
    assert sum(table.X.null_count().row(0)) == missing
    assert {t: sum(str(d).startswith(t) for d in table.X.dtypes) for t in types} == types
    notes = " ".join(map(str, table.notes))
    for word in words:
        assert word in notes


@pytest.mark.parametrize(("name", "column", "row", "value"), CELLS)
def test_cells(name, column, row, value):
    frame = read_table(raw(name)).X
    assert (frame[column] if isinstance(column, str) else frame[:, column])[row] == value


TARGETS = {
    "attrition_rownames.csv": "Attrition",
    "penguins_raw.csv": "Species",
    "sms.tsv": 0,
    "spam_latin1.csv": "v1",
    "titanic_train.csv": "Survived",
    "wholesale.csv": "Channel",
    "pulitzer-circulation-data.csv": "Newspaper",
    "actions_under_antiquities_act.csv": "action",
    "biopics.csv": "subject_sex",
    "gdp_per_capita.csv": "Country",
}


# a regression, and two whose targets are missing in some rows: fit says which, and that labels are never guessed
NO_CLASSES = ("Concrete_Data.xlsx", "StarWars.csv", "AirQualityUCI_decimal_comma.csv")


@pytest.mark.parametrize("name", [name for name in RAW if name not in NO_CLASSES])
def test_from_raw_file_to_model(name):
    table = read_table(raw(name), target=TARGETS.get(name, -1))
    model = NaiveBayes().fit(table.X, table.y)
    assert model.predict(table.X[:5]).shape == (5,)


def test_declared_levels_are_kept():
    schema = read_table(raw("credit-g.arff"), target="class").schema
    assert schema["purpose"].levels[:3] == ("new car", "used car", "furniture/equipment")
    assert "vacation" in schema["purpose"].levels  # which no row holds
    assert read_table(raw("soybean.arff")).schema["germination"].levels == ("90-100", "80-89", "lt-80")


def test_keywords_override_what_is_found():
    table = read_table(raw("attrition_rownames.csv"), target="Attrition", index="rownames")
    assert table.X.shape == (1470, 30)
    named = read_table(raw("sms.tsv"), target="label", names=["label", "text"], header=False)
    assert named.X.columns == ["text"]
    assert read_table(raw("winequality-red.csv"), decimal=".", separator=";", header=1, encoding="utf-8").X.width == 12
    text = read_table(raw("biopics.csv"), kinds={"box_office": "text"})
    assert text.X["box_office"][0] == "-"
    with pytest.raises(InputError, match=r"row 172 contains '4,193 \(water\)'"):
        read_table(raw("actions_under_antiquities_act.csv"), kinds={"acres_affected": "numeric"})
    units = read_table(raw("actions_under_antiquities_act.csv"), kinds={"acres_affected": "text"})
    stray = [v for v in units.X["acres_affected"].drop_nulls() if any(c.isalpha() or c in "()*" for c in v)]
    read = read_table(raw("actions_under_antiquities_act.csv"), missing_values=["", *stray])
    assert read.X["acres_affected"].dtype == pl.Float64
