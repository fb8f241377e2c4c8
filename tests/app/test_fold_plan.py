"""Folds that the user asks for: a number, repeated, or a single held-out part; and what runs say of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise.app.config import FitConfig
from foldwise.app.holding_out import held_out_rows
from foldwise.app.selection import OutOfFoldRows
from foldwise.app.splitting import make_splits, repeat_of_folds
from foldwise.app.task import make_task
from foldwise.errors import InputError
from foldwise.fold_plan import FoldPlan
from tests.app.fakes import fake_fit


def table_of(n=120, **columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    return pl.DataFrame({"x": x, "y": np.where(x + rng.normal(size=n) > 0, "a", "b"), **columns})


@pytest.mark.parametrize(
    ("cv", "plan"),
    [
        (10, FoldPlan(10)),
        ("10", FoldPlan(10)),
        ("5x10", FoldPlan(10, 5)),
        (" 3 × 4 ", FoldPlan(4, 3)),
        ("holdout", FoldPlan(1, 1, 0.25)),
        ("holdout:0.3", FoldPlan(1, 1, 0.3)),
        ("holdout=40%", FoldPlan(1, 1, 0.4)),
    ],
)
def test_how_folds_are_written(cv, plan):
    assert FoldPlan.of(cv) == plan


@pytest.mark.parametrize("cv", [1, 0, "-3", "x5", "0x5", "many", "holdout:1.5", "holdout:0", True, 2.5])
def test_what_cannot_be_folds_is_refused(cv):
    with pytest.raises(InputError, match="cv must"):
        FitConfig(cv=cv)


def test_planned_folds_in_any_budget():
    task = make_task(table_of(), "y")
    assert len(make_splits(task, 0, short=True, plan=FoldPlan(7))[0]) == 7
    splits, words = make_splits(task, 0, plan=FoldPlan(4, 3))
    assert words == "4 stratified folds, repeated 3 times"
    assert repeat_of_folds(splits).tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert all(sorted(np.concatenate([s.test for s in splits[k : k + 4]])) == list(range(120)) for k in (0, 4, 8))
    with pytest.raises(InputError, match=r"at most \d+, the number of rows of the smaller class"):
        make_splits(task, 0, plan=FoldPlan(100))
    timed = make_task(table_of(t=np.arange(120)), "y", time="t")
    assert len(make_splits(timed, 0, plan=FoldPlan(8))[0]) == 8
    with pytest.raises(InputError, match="cannot be repeated"):
        make_splits(timed, 0, plan=FoldPlan(5, 2))


def test_a_selection_for_a_repeated_fold_does_not_see_its_rows():
    task = make_task(table_of(), "y")
    splits, _ = make_splits(task, 0, plan=FoldPlan(3, 2))
    rows = np.concatenate([s.test for s in splits])
    fold = np.repeat(np.arange(6), [len(s.test) for s in splits])
    tested = OutOfFoldRows(rows, fold, task.y[rows], None, 6, False, False, 1, repeat_of_folds(splits))
    for k in range(6):
        others = tested.rows[tested.others(k)]
        assert not set(others) & set(splits[k].test)
        assert len(others) == 120 - len(splits[k].test)


@pytest.mark.slow
def test_a_run_with_repeated_folds():
    once = fake_fit(table_of(), target="y", models=["decision_tree", "naive_bayes"], cv=3, budget=40)
    thrice = fake_fit(table_of(), target="y", models=["decision_tree", "naive_bayes"], cv="3x3", budget=40)
    assert thrice.facts["task"]["n_folds"] == 9
    assert thrice.facts["task"]["splitter"] == "3 stratified folds, repeated 3 times"
    widths = [np.ptp(run.estimate.interval()) for run in (once, thrice)]
    assert 0.5 * widths[0] < widths[1] < 2 * widths[0]  # repeated rows are not more rows


def test_a_run_that_holds_out_a_part():
    table = table_of(200)
    run = fake_fit(table, target="y", models=["naive_bayes"], cv="holdout:0.3")
    assert run.task.n_rows == 140
    test = run.facts["headline"]["test"]
    assert (test["n_rows"], test["share"]) == (60, 0.3)
    assert "held-out 30% of the rows (60 rows)" in str(run)
    scores = {one["metric"]: one["value"] for one in test["scores"]}
    held = run.task.test
    right = np.mean(run.predict(held.X) == run.task.classes[held.y])
    assert scores["accuracy"] == pytest.approx(right)
    with pytest.raises(InputError, match="cannot be combined"):
        fake_fit(table, target="y", models=["naive_bayes"], cv="holdout", test=table)


def test_held_out_rows_are_stratified_whole_groups_or_the_latest():
    strata = np.array([0] * 80 + [1] * 20 + [2])
    found = held_out_rows(0.25, strata, None, None, 0)
    assert np.bincount(strata[found], minlength=3).tolist() == [20, 5, 0]
    groups = np.arange(101) // 5
    found = held_out_rows(0.25, strata, groups, None, 0)
    assert not set(groups[found]) & set(groups[~found])
    assert 20 <= found.sum() <= 30
    moments = np.arange(101)[::-1] // 2
    found = held_out_rows(0.25, strata, None, moments, 0)
    assert moments[found].min() > moments[~found].max()


def test_columns_that_are_not_features_are_named():
    rng = np.random.default_rng(1)
    table = table_of(who=np.arange(120) // 6, w=rng.uniform(1, 2, 120), number=np.arange(120))
    timed = fake_fit(table.with_columns(t=np.arange(120) // 2), target="y", models=["naive_bayes"], time="t")
    assert "not used as features: 't' (the time);" in " ".join(str(timed).split())
    assert "time: 't' was used as time and left out of the features." in timed.facts["audit"]["notes"]
    run = fake_fit(table, target="y", models=["naive_bayes"], groups="who", weights="w")
    said = " ".join(str(run).split())
    assert "not used as features: 'who' (the groups); 'w' (the weights); 'number' (it identifies rows" in said
    notes = run.facts["audit"]["notes"]
    assert "groups: 'who' was used as groups and left out of the features." in notes
    assert run.facts["task"]["n_columns"] == 2


def test_the_honest_score_falls_when_groups_are_kept_together():
    """As with the speakers of vowels: what a model knows of a speaker does not help with another one."""
    rng = np.random.default_rng(0)
    speaker = np.repeat(np.arange(15), 12)
    voice = rng.normal(size=(15, 3)) * 10
    label = rng.integers(0, 2, 15)[speaker]
    X = voice[speaker] + rng.normal(size=(180, 3))
    table = pl.DataFrame({f"f{j}": X[:, j] for j in range(3)} | {"Speaker Number": speaker, "y": label.astype(str)})
    free = fake_fit(table.drop("Speaker Number"), target="y", models=["knn"], metric="accuracy", budget=20)
    honest = fake_fit(table, target="y", models=["knn"], metric="accuracy", groups="Speaker Number", budget=20)
    assert free.estimate.value > 0.9
    assert honest.estimate.value < 0.75
