"""What is suspected about columns: identifiers and groups. Nothing is left out because of a suspicion."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from foldwise import read_table
from foldwise.data.findings import find
from foldwise.data.target import encode_target


def notes_of(tmp_path, topic, **columns):
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    return [note.column for note in read_table(tmp_path / "t.csv").notes.about(topic)]


def test_284_different_values_in_300_rows_may_identify_rows(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.permutation(np.concatenate([np.arange(284), np.arange(16)]))
    columns = {
        "name": [f"Anna Nr{k}" for k in values],
        "code": [int(1000 + 37 * k) for k in values],
        "measured": rng.normal(size=300).round(3).tolist(),
        "often": (values % 100).tolist(),
        "remark": [f"a long text about the row of number {k} in the table" for k in values],
    }
    assert notes_of(tmp_path, "identifier", **columns) == ["name", "code"]
    note = read_table(tmp_path / "t.csv").notes.about("identifier")[1]
    assert note.text == (
        "'code' may identify rows (284 different values in 300 rows). If it does, pass drop='code' to leave it out."
    )


@pytest.mark.parametrize("name", ["Speaker Number", "patient_id", "customerId", "Subject", "store_nr"])
def test_a_column_that_looks_like_a_group_is_suggested(tmp_path, name):
    columns = {name: [k % 15 for k in range(300)], "height": [k % 15 for k in range(300)]}
    assert notes_of(tmp_path, "groups", **columns) == [name]
    assert f"pass groups={name!r}" in read_table(tmp_path / "t.csv").notes.about("groups")[0].text


def test_a_group_needs_several_groups_of_several_rows(tmp_path):
    assert notes_of(tmp_path, "groups", speaker=[0, 1] * 50) == []
    assert notes_of(tmp_path, "groups", user_id=[7 * k for k in range(100)]) == []
    assert notes_of(tmp_path, "groups", school=[k % 13 for k in range(300)]) == []  # years of schooling


def panel(n_units, n_times, rng):
    """A panel of units at times: the unit and the time of each row, sorted by unit."""
    codes = np.sort(rng.choice(9000, n_units, replace=False) + 1000)
    return np.repeat(codes, n_times), np.tile(np.arange(n_times), n_units)


def test_groups_of_a_panel_are_suggested_whatever_the_name(tmp_path):
    rng = np.random.default_rng(0)
    nr, wave = panel(100, 8, rng)
    columns = {
        "nr": nr,
        "unit": [f"u{k}" for k in nr],
        "year": 1980 + wave,
        "week": np.tile(np.arange(100), 8),
        "trial": np.tile(np.arange(50), 16),  # counts rows
        "school": rng.integers(5, 20, 800),
        "minutes": rng.poisson(60, 800),
        "name": [f"c{k}" for k in rng.integers(0, 80, 800)],  # categories drawn at random
        "x": rng.normal(size=800),
    }
    assert notes_of(tmp_path, "groups", **columns) == ["nr", "unit"]
    assert "(100 values with 8 rows each)" in read_table(tmp_path / "t.csv").notes.about("groups")[0].text


def test_few_rows_per_group_suffice_if_the_name_says_so(tmp_path):
    who = [f"N{k}A{k % 2}" for k in (*range(190), *range(154))]
    assert notes_of(tmp_path, "groups", **{"Individual ID": who, "label": who}) == ["Individual ID"]


def days(n, first=dt.date(2020, 1, 1)):
    return [first + dt.timedelta(days=k) for k in range(n)]


def test_a_date_that_orders_the_rows_is_suggested_as_time(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200).tolist()
    assert notes_of(tmp_path, "time", day=days(200), x=x) == ["day"]
    [note] = read_table(tmp_path / "t.csv").notes.about("time")
    assert note.text == (
        "'day' orders the rows. If the model will predict later rows, pass time='day'. Otherwise scores may be too "
        "optimistic."
    )
    assert notes_of(tmp_path, "time", day=days(200)[::-1], x=x) == ["day"]
    assert notes_of(tmp_path, "time", symbol=[k // 40 for k in range(200)], day=days(40) * 5, x=x) == ["day"]
    text = [f"{one:%b} {one.day} {one.year}" for one in days(200)]
    assert notes_of(tmp_path, "time", date=text, x=x) == ["date"]
    waves = [one for _ in range(50) for one in days(4)]
    more = {"day": [*days(12), *waves[12:]], "nr": np.repeat(rng.permutation(50), 4), "x": x}
    assert notes_of(tmp_path, "time", **more) == ["day"]  # in order within each nr


def test_other_dates_are_not_suggested_as_time(tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "hired": rng.permutation(days(200)).tolist(),
        "birth_date": days(200),
        "half": [days(2)[k // 100] for k in range(200)],
        "clock": [f"{k // 60:02}:{k % 60:02}" for k in range(200)],
    }
    assert notes_of(tmp_path, "time", **columns) == []


def test_amounts_and_populations_do_not_identify_rows(tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "population": np.exp(rng.normal(15, 1.5, 500)).astype(int),
        "amount": 250 + np.exp(rng.normal(7.8, 0.8, 500)).astype(int),
        "code": rng.permutation(9 * 10**5)[:500] + 10**5,
        "serial": rng.permutation(600)[:500],
        "last_name": [f"Name{k}" for k in (*range(480), *range(20))],
    }
    assert notes_of(tmp_path, "identifier", **columns) == ["code", "serial", "last_name"]


@pytest.mark.parametrize("dtype", ["Int64", "UInt8", "int64[pyarrow]"])
def test_nullable_whole_numbers_stay_whole_numbers(dtype):
    pd = pytest.importorskip("pandas")
    classes = encode_target(pd.Series([2, 1, 2], dtype=dtype), 3).classes
    assert classes.dtype.kind in "iu"
    assert classes.tolist() == [1, 2]


def test_a_second_header_row_that_only_counts_columns(tmp_path):
    (tmp_path / "t.csv").write_text("name,age,city\n1,2,3\nAnna,30,Rome\nBen,41,Oslo\nCora,22,Rome\n")
    table = read_table(tmp_path / "t.csv")
    assert table.X.columns == ["name", "age", "city"]
    assert table.X["age"].to_list() == [30, 41, 22]
    assert "the second only counts the columns" in str(table.notes.about("header"))


def test_numbers_in_the_first_row_of_data_are_data(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,3\n4,5,6\n7,8,9\n")
    assert read_table(tmp_path / "t.csv").X.height == 3


def test_orange_headers_with_listed_values_and_roles(tmp_path):
    (tmp_path / "t.tab").write_text(
        "id\tsize\tcolor\tw\tkind\nString\tC\tred blue\tc\td\nmeta\t\t\tweight\tclass\n"
        "a1\t1.5\tred\t1\t1\nb2\t2.5\tblue\t2\t0\nc3\t3.5\tred\t1\t1\n"
    )
    table = read_table(tmp_path / "t.tab", target="kind")
    assert table.X.columns == ["id", "size", "color", "w"]
    assert table.y.tolist() == ["1", "0", "1"]
    said = str(table.notes.about("role")).replace("\n  ", " ")
    assert "'id' as meta. Pass drop='id' to leave it out" in said
    assert "Pass weights='w'" in said
    assert "Pass target='kind'" in said
    assert table.findings["color"].kind == "categorical"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_that_comes_back_is_of_the_library_that_went_in(library):
    from foldwise import NaiveBayes, SelectFeatures
    from foldwise.models.column_transformers import KeepColumns

    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"] * 20)
    frame = make({"good": np.where(y == "a", 0.0, 1.0) + rng.normal(0, 0.1, 40), "noise": rng.normal(size=40)})
    assert type(SelectFeatures(NaiveBayes(), cv=3).fit(frame, y).transform(frame)) is type(frame)
    assert type(KeepColumns(["noise"]).fit(frame).transform(frame)) is type(frame)


def test_amounts_of_money_do_not_identify_rows(tmp_path):
    amounts = [f"${1000 + 37 * k:,}" for k in range(300)]
    assert notes_of(tmp_path, "identifier", price=amounts, code=[1000 + 37 * k for k in range(300)]) == ["code"]


def test_a_last_row_of_totals_is_named(tmp_path):
    columns = {"shop": ["a", "b", "a", "Total:"], "sales": [1.5, 2.0, 3.0, 6.5], "late": ["no", "yes", "no", None]}
    assert notes_of(tmp_path, "rows", **columns) == ["shop"]
    [note] = read_table(tmp_path / "t.csv", target="late").notes.about("rows")
    assert "pass drop_unlabeled=True" in note.text
    columns["shop"] = ["a", "Total", "a", "Total"]  # a category
    assert notes_of(tmp_path, "rows", **columns) == []
    assert notes_of(tmp_path, "rows", shop=["a", "total"], sales=[1.5, 2.0]) == []  # a complete row


def test_dates_written_in_two_ways_are_read_if_declared(tmp_path):
    days = [f"2024-{month:02}-{day:02}" for month in range(1, 7) for day in range(1, 29)]
    mixed = [f"{int(one[5:7])}/{int(one[8:])}/{one[:4]}" if k % 3 else one for k, one in enumerate(days)]
    assert notes_of(tmp_path, "date", day=mixed, n=list(range(len(days)))) == ["day"]
    [note] = read_table(tmp_path / "t.csv").notes.about("date")
    assert "'%Y-%m-%d' and '%m/%d/%Y'. Pass kinds={'day': 'date'}" in note.text
    found = read_table(tmp_path / "t.csv", kinds={"day": "date"}).X["day"]
    assert found.cast(pl.String).to_list() == days
    in_doubt = [f"{k % 12 + 1}/{k % 11 + 1}/2024" if k % 2 else days[k] for k in range(len(days))]
    assert notes_of(tmp_path, "date", day=in_doubt, n=list(range(len(days)))) == []
    with pytest.raises(ValueError, match="is declared date, but row 1 contains"):
        read_table(tmp_path / "t.csv", kinds={"day": "date"})


def test_types_of_times_are_named_in_words(tmp_path):
    times = {"when": pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 9), eager=True)}
    pl.DataFrame(times).write_parquet(tmp_path / "t.parquet")
    [found] = read_table(tmp_path / "t.parquet").findings
    assert found.reason == "timestamps from 2024-01-01 00:00:00 to 2024-01-09 00:00:00"


@pytest.mark.parametrize(
    ("cells", "kind", "words"),
    [
        (["28:16", "1:30", "12:10"], "date", "text written as a duration, such as '28:16'"),
        (["23:16", "1:30", "12:10"], "date", "text written as a time of day, such as '23:16'"),
        (["5 days", "3 days", "1 day"], "date", "text written as a duration, such as '5 days'"),
        (["5 days late", "3 days late", "1 day late"], "categorical", "3 categories"),
        (["3/14/2024 2:30 PM", "3/15/2024 1:05 AM", "4/1/2024 1:05 AM"], "date", "text written as day, month and year"),
    ],
)
def test_durations_are_told_from_times_of_day_and_from_words(cells, kind, words):
    found = find(pl.Series("x", cells))
    assert found.kind == kind
    assert found.reason.startswith(words)


def test_decimal_commas_are_named_only_where_there_are_some(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n" + "1,5;10%\n2,5;5%\n" * 5)
    [note] = read_table(tmp_path / "t.csv").notes.about("numbers")
    assert "It has percent signs (13% becomes 13), as in '10%'" in note.text
