"""The folds of a run: nothing that is tested is learned from, be it a moment or a group."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise.app.splitting import make_splits, n_folds
from foldwise.app.task import make_task
from foldwise.errors import InputError


def table_of(n=240, **columns):
    rng = np.random.default_rng(0)
    return pl.DataFrame({"x": rng.normal(size=n), "y": rng.choice(["a", "b"], n), **columns})


@pytest.mark.parametrize("n_days", [3, 4, 7, 50])
def test_rows_of_one_moment_are_not_parted_and_all_are_later_than_what_was_learned(n_days):
    day = np.random.default_rng(1).integers(n_days, size=240)
    splits, words = make_splits(make_task(table_of(day=day), "y", time="day"), 0)
    assert len(splits) == min(5, n_days - 1)
    assert words.startswith(f"{len(splits)} fold")
    for split in splits:
        assert day[split.train].max() < day[split.test].min()
    assert len(np.unique(np.concatenate([split.test for split in splits]))) == sum(len(s.test) for s in splits)
    assert day[splits[-1].test].max() == n_days - 1


def test_a_short_run_has_fewer_folds():
    task = make_task(table_of(), "y")
    assert [len(make_splits(task, 0, short=short)[0]) for short in (False, True)] == [10, 5]
    assert [n_folds(20_000, 18, short=short) for short in (False, True)] == [5, 3]
    assert n_folds(50_000, 2, short=False) == 3


def test_in_time_a_group_that_is_tested_is_not_learned_from():
    person = np.random.default_rng(2).integers(60, size=240)
    task = make_task(table_of(day=np.arange(240), person=person), "y", time="day", groups="person")
    splits, words = make_splits(task, 0)
    assert "person" in words
    for split in splits:
        assert not set(person[split.train]) & set(person[split.test])


def test_dates_that_are_text_are_ordered_as_dates():
    written = [f"{1 + i % 28}.{1 + i // 28}.2020" for i in range(240)]
    task = make_task(table_of(day=written), "y", time="day")
    assert task.moments.tolist() == list(range(240))


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["u", "v"], "text that is not a date"),
        ([3, 3], "have the same time"),
        ([3, 4], "at least three periods of 'day'"),
    ],
)
def test_a_column_that_orders_too_little_is_refused(cells, says):
    with pytest.raises(InputError, match=says):
        make_splits(make_task(table_of(day=cells * 120), "y", time="day"), 0)


def test_groups_at_all_times_leave_no_earlier_rows():
    task = make_task(table_of(day=[1, 1, 2, 2, 3, 3] * 40, who=["a", "b"] * 120), "y", groups="who", time="day")
    with pytest.raises(InputError, match=r"no earlier rows are left for training.*leave groups= or time= out"):
        make_splits(task, 0)


def test_rows_of_weight_0_are_not_there():
    y = np.array(["a", "b"] * 119 + ["ghost", "ghost"])
    weight = np.where(np.arange(240) % 3 == 0, 0.0, 2.0)
    weight[-2:] = 0
    frame = table_of(w=weight).with_columns(y=y)
    task = make_task(frame, "y", weights="w")
    there = weight > 0
    assert task.n_rows == there.sum()
    assert task.classes.tolist() == ["a", "b"]
    assert f"{240 - there.sum()} rows with weight 0" in str(task.table.notes)
    assert task.table.X["x"].to_list() == frame["x"].to_numpy()[there].tolist()
