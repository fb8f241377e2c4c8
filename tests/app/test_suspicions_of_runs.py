"""What a run says about groups, time and duplicates, and which baseline it names."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from foldwise.app.cli.written_config import config_text
from foldwise.data import read_table
from tests.app.fakes import fake_fit

GROUPS = "'nr' may name groups (30 values with 4 rows each)."
TIME = "'day' orders the rows."


def panel():
    rng = np.random.default_rng(0)
    nr = np.repeat(np.sort(rng.choice(1000, 30, replace=False)), 4)
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=k) for k in range(120)]
    return pl.DataFrame({"nr": nr, "day": days, "x": rng.normal(size=120), "y": rng.choice(["a", "b"], 120)})


def warnings_of(run):
    return " ".join(run.facts["audit"]["warnings"])


def test_groups_and_time_are_among_the_warnings_unless_they_are_given():
    run = fake_fit(panel(), target="y", models=["naive_bayes"], cv=3)
    first, second = run.facts["audit"]["warnings"][:2]
    assert first.startswith(GROUPS)
    assert "pass groups='nr'. Otherwise scores may be too optimistic." in first
    assert second.startswith(TIME)
    said = " ".join(str(run).split())
    assert GROUPS in said
    assert TIME in said
    assert not any(GROUPS in note for note in run.facts["audit"]["notes"])
    grouped = warnings_of(fake_fit(panel(), target="y", models=["naive_bayes"], cv=3, groups="nr"))
    assert "may name groups" not in grouped
    assert TIME in grouped
    timed = warnings_of(fake_fit(panel(), target="y", models=["naive_bayes"], cv=3, time="day"))
    assert GROUPS in timed
    assert TIME not in timed


def test_numbers_that_are_read_as_text_are_among_the_warnings(tmp_path):
    """The cells that are not numbers are the first ones."""
    cells = ["about 2000"] * 40 + [str(k % 7) for k in range(200)]
    pl.DataFrame({"income": cells, "x": range(240), "y": ["a", "b"] * 120}).write_csv(tmp_path / "t.csv")
    run = fake_fit(read_table(tmp_path / "t.csv", target="y"), models=["naive_bayes"], cv=3)
    words = "'income' is read as text, because 40 of 240 cells are not numbers ('about 2000')."
    assert words in warnings_of(run)
    assert not any(words in note for note in run.facts["audit"]["notes"])


def test_the_written_config_offers_both(tmp_path):
    panel().write_csv(tmp_path / "t.csv")
    lines = config_text(tmp_path / "t.csv", read_table(tmp_path / "t.csv", target="y"), None, {}).splitlines()
    assert '# groups = "nr"' in lines
    assert '# time = "day"' in lines


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({}, "120 rows are duplicates (not counting the first copy of each). Copies of the same row may end up in"),
        ({"time": "day"}, "120 rows are duplicates (not counting the first copy of each). Copies have the same time"),
        ({"groups": "nr"}, "120 rows are duplicates (not counting the first copy of each). Copies have the same group"),
    ],
)
def test_duplicates_agree_in_group_and_time_too(named, words):
    table = panel()
    run = fake_fit(pl.concat([table, table]), target="y", models=["naive_bayes"], cv=3, **named)
    assert words in warnings_of(run)


@pytest.mark.parametrize("named", [{"time": "day"}, {"groups": "who"}])
def test_rows_of_different_times_or_groups_are_no_duplicates(named):
    table = panel().drop("nr").with_columns(x=pl.lit(1.0))  # x and y alone are the same in many rows
    table = table.with_columns(who=np.arange(120)) if "groups" in named else table
    table = table.drop("day") if "groups" in named else table
    assert "duplicate" not in warnings_of(fake_fit(table, target="y", models=["naive_bayes"], cv=3, **named))


def test_the_sentence_names_the_baseline_of_the_training_rows():
    rng = np.random.default_rng(0)
    table = panel().with_columns(y=pl.Series(np.where(rng.random(120) < np.arange(120) / 120, "late", "early")))
    run = fake_fit(table, target="y", models=["naive_bayes"], cv=3, time="day")
    [accuracy] = [one for one in run.facts["headline"]["others"] if one["metric"] == "accuracy"]
    words = f"the most frequent class of the earlier rows would be right {accuracy['baseline']:.1%} of the time"
    assert words in " ".join(run.facts["headline"]["words"])


def test_the_parts_of_a_time_column_can_be_kept():
    notes = fake_fit(panel(), target="y", models=["naive_bayes"], cv=3, time="day").facts["audit"]["notes"]
    assert (
        "time: 'day' was used as time and left out of the features. To use its month and weekday as features, pass a "
        "copy of the column under another name." in notes
    )
