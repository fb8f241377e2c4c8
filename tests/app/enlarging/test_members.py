"""Members of the final model learn from all rows of a table that is larger than memory, but not from the test rows."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ibis
import numpy as np
import polars as pl
import psycopg
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

import foldwise
from foldwise.app import engine_tables
from foldwise.app.blend import Blend
from foldwise.app.enlarging import boosters, members
from foldwise.app.enlarging import training_rows as training
from foldwise.app.enlarging.bayes import bayes_from_facts
from foldwise.app.enlarging.boosters import booster_on_more_rows
from foldwise.app.enlarging.linear import linear_from_sums
from foldwise.app.enlarging.members import train_on_more_rows
from foldwise.app.enlarging.spooling import SpooledRows
from foldwise.app.enlarging.table_state import TableState
from foldwise.app.enlarging.training_rows import CannotLearnError, TrainingRows
from foldwise.app.final_model import FinalModel, TrainedMember
from foldwise.app.large_facts import large_words
from foldwise.app.timing import Clock
from foldwise.engines import table_of
from foldwise.errors import InputError
from foldwise.models import catalogue
from tests.app.enlarging.large_tables import (
    N_ROWS,
    N_SAMPLE,
    fitted_member,
    keys,
    large_table,
    small_memory,
    training_rows,
)
from tests.app.fakes import fake_runs
from tests.engines.conftest import loader
from tests.engines.conftest import spark_interpreter as spark_interpreter
from tests.slow import slow


@pytest.fixture(params=["label", "amount"])
def rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> TrainingRows:
    """The training rows of a folder of Parquet files, for classes and for a quantity."""
    frame = large_table().drop({"label": "amount", "amount": "label"}[request.param])
    for i in range(2):
        frame[i * N_ROWS // 2 : (i + 1) * N_ROWS // 2].write_parquet(tmp_path / f"{i}.parquet")
    small_memory(monkeypatch, frame.width)
    return training_rows(table_of(tmp_path), request.param)


def learned_from(rows: TrainingRows) -> pl.DataFrame:
    """All rows that are not kept out, read from the files."""
    frame: pl.DataFrame = pl.from_arrow(rows.large.table.to_pyarrow())
    return frame.filter(~pl.col("skewed").is_in(list(keys(rows.kept_out))))


def test_no_row_of_the_estimate_is_learned_from(rows: TrainingRows) -> None:
    test = rows.task.test
    assert test is not None
    streamed = pl.concat(list(rows.batches(rows.n_rows)))
    assert keys(test.X) <= keys(rows.kept_out)
    assert not keys(streamed) & keys(rows.kept_out)
    assert streamed.height == rows.n_rows == N_ROWS - rows.kept_out.height
    some = pl.concat(list(rows.batches(3 * N_SAMPLE)))
    assert keys(some) < keys(streamed)
    assert some.height == pytest.approx(3 * N_SAMPLE, rel=0.05)
    assert keys(rows.task.table.X) <= keys(some)


def test_a_model_that_memorizes_rows_shows_whether_the_estimate_is_honest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    names = [f"n{i}" for i in rng.integers(0, 4_000, N_ROWS)]
    frame = pl.DataFrame({"name": names, "x": rng.normal(size=N_ROWS), "label": rng.choice(["no", "yes"], N_ROWS)})
    frame.write_parquet(tmp_path / "noise.parquet")
    small_memory(monkeypatch, frame.width)
    rows = training_rows(table_of(tmp_path / "noise.parquet"), "label")
    test = rows.task.test
    assert test is not None
    member = fitted_member(rows, "naive_bayes", model__families={"x": "gaussian"}, model__alpha=0.1)
    assert member["model"].families_["name"] == "categorical"

    def loss(of: TrainingRows) -> float:
        model, _ = bayes_from_facts(member, of)
        return float(log_loss(test.y, model.predict_proba(test.X)))

    assert loss(rows) > np.log(2)  # labels are random
    cheating = replace(rows, task=replace(rows.task, test=replace(test, outside=False)), asked={})
    assert cheating.kept_out.is_empty()
    assert loss(cheating) < 0.9 * np.log(2)  # each test row was learned


@pytest.mark.parametrize("families", ["gaussian", "binned"])
@pytest.mark.parametrize("rows", ["label"], indirect=True)
def test_naive_bayes_equals_a_fit_to_the_rows(rows: TrainingRows, families: str) -> None:
    chosen = dict.fromkeys(["wide", "skewed"], families)
    member = fitted_member(rows, "naive_bayes", model__families=chosen, model__cuts="frequency")
    model, n_rows = bayes_from_facts(member, rows)
    frame = learned_from(rows)
    local = clone(member).fit(frame.drop("label"), (frame["label"] == "yes").to_numpy().astype(int))
    assert n_rows == rows.n_rows
    assert model["model"].class_count_.tolist() == local["model"].class_count_.tolist()
    X = rows.task.test.X
    difference = np.abs(model.predict_proba(X) - local.predict_proba(X))
    # the cut points of DuckDB are approximate
    assert difference.max() < 1e-9 if families == "gaussian" else difference.mean() < 0.005
    before = np.abs(member.predict_proba(X) - local.predict_proba(X))
    assert difference.mean() < before.mean() / 2


@pytest.mark.parametrize("rows", ["label"], indirect=True)
def test_kernel_densities_of_too_many_values_are_refused_by_name(rows: TrainingRows) -> None:
    member = fitted_member(rows, "naive_bayes", model__families={"wide": "kde", "skewed": "gaussian"})
    with pytest.raises(InputError, match="'kde' needs the distinct values of column 'wide'"):
        bayes_from_facts(member, rows)


@pytest.mark.parametrize("rows", ["amount"], indirect=True)
@pytest.mark.parametrize("model", ["ridge", "linear_regression"])
def test_linear_models_equal_a_fit_to_the_prepared_rows(rows: TrainingRows, model: str) -> None:
    params = {"model__regressor__alpha": 50.0} if model == "ridge" else {}
    member = fitted_member(rows, model, **params)
    found, n_rows = linear_from_sums(member, rows)
    frame = learned_from(rows)
    local = clone(member["model"]).fit(member["prepare"].transform(frame), frame["amount"].to_numpy())
    X = rows.task.test.X
    wanted = local.predict(member["prepare"].transform(X))
    assert n_rows == rows.n_rows
    np.testing.assert_allclose(found.predict(X), wanted, rtol=1e-10)  # of about 1,000,000: 1e-5 of the spread
    assert np.abs(member.predict(X) - wanted).max() > 1e-2


@pytest.mark.parametrize(("model", "tolerance"), [("lightgbm", 1e-6), ("xgboost", 0.01)])
def test_boosters_read_rows_part_by_part(
    rows: TrainingRows, model: str, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (boosters, training):
        monkeypatch.setattr(module, "BATCH", 1_500)
    monkeypatch.setattr(boosters, "memory_share", lambda: 10**9)
    member = fitted_member(rows, model)
    found, n_rows = booster_on_more_rows(member, rows, N_SAMPLE, 0.1, 1.0, 1)
    assert n_rows == rows.n_rows
    frame = pl.concat(list(rows.batches(rows.n_rows)))
    local = clone(member["model"]).fit(member[:-1].transform(frame), rows.y_of(frame))
    X = rows.task.test.X
    before, after, wanted = (predicted(one, X) for one in (member, found, [member[:-1], local]))
    unit = max(1.0, float(np.std(wanted)))
    assert np.abs(after - wanted).mean() < tolerance * unit
    assert np.abs(before - wanted).mean() > 0.02 * unit


def predicted(model: Any, X: Any) -> Any:
    """Probabilities or values."""
    if isinstance(model, list):
        before, model = model
        X = before.transform(X)
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("rows", ["label"], indirect=True)
def test_memory_and_time_limit_the_rows_of_boosters(rows: TrainingRows, monkeypatch: pytest.MonkeyPatch) -> None:
    member = fitted_member(rows, "lightgbm")
    given = (member, rows, N_SAMPLE)
    monkeypatch.setattr(boosters, "memory_share", lambda: 100_000)
    with pytest.raises(CannotLearnError, match="not enough memory"):
        booster_on_more_rows(*given, 0.1, 1.0, 1)
    monkeypatch.setattr(boosters, "memory_share", lambda: 400_000)
    assert booster_on_more_rows(*given, 0.1, 1.0, 1)[1] == pytest.approx(400_000 / 80, rel=0.05)
    with pytest.raises(CannotLearnError, match="not enough time"):
        booster_on_more_rows(*given, 1000.0, 1.0, 1)


@pytest.mark.parametrize("rows", ["label"], indirect=True)
@pytest.mark.parametrize("model", ["lightgbm", "xgboost"])
def test_training_stops_at_the_deadline(rows: TrainingRows, model: str) -> None:
    member = fitted_member(rows, model)
    prepared = np.asarray(boosters.preparing(member)(rows.task.table.X), dtype=np.float64)
    train = {"lightgbm": boosters.train_lightgbm, "xgboost": boosters.train_xgboost}[model]
    estimator = boosters.booster_of(member["model"])
    n_trees = []
    with pytest.raises(CannotLearnError, match="not enough time"):
        train(estimator, SpooledRows(prepared, rows.task.y), 1, lambda: n_trees.append(1) or len(n_trees) == 3)
    assert len(n_trees) == 3


@pytest.mark.parametrize("engine", ["postgres", *slow("sqlite", "spark")])
def test_other_engines(
    engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    frame = large_table(4_000).drop("amount").with_columns(pl.col("skewed").round(2) + pl.arange(4_000) * 1e-6)
    small_memory(monkeypatch, frame.width, 1_000)
    monkeypatch.setattr(boosters, "memory_share", lambda: 10**9)
    if engine == "spark":  # it would compile a program for each statement
        request.getfixturevalue("spark_interpreter")
    with loader(engine, request, tmp_path) as load:
        rows = training_rows(load(frame), "label")
        kept_out = keys(rows.kept_out)
        # quantiles take Spark a quarter of a minute; they are tested with its facts
        families = {"wide": "gaussian", "skewed": "gaussian" if engine == "spark" else "binned"}
        member = fitted_member(rows, "naive_bayes", model__families=families)
        model, n_rows = bayes_from_facts(member, rows)
        assert n_rows == rows.n_rows == 4_000 - len(kept_out)
        wanted = frame.filter(~pl.col("skewed").is_in(list(kept_out)))["label"].value_counts().sort("label")
        assert model["model"].class_count_.tolist() == wanted["count"].to_list()
        streamed = pl.concat(list(rows.batches(rows.n_rows)))
        assert not keys(streamed) & kept_out
        assert booster_on_more_rows(fitted_member(rows, "lightgbm"), rows, 1_000, 0.01, 1.0, 1)[1] == rows.n_rows


@pytest.mark.parametrize("model", slow("ridge", "linear_regression"))
@pytest.mark.parametrize("engine", ["postgres", "sqlite"])
def test_linear_models_on_other_engines(
    engine: str, model: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    frame = large_table(4_000).drop("label")
    small_memory(monkeypatch, frame.width, 1_000)
    with loader(engine, request, tmp_path) as load:
        rows = training_rows(load(frame), "amount")
        member = fitted_member(rows, model)
        found, n_rows = linear_from_sums(member, rows)
        known = frame.filter(~pl.col("skewed").is_in(list(keys(rows.kept_out))))
        assert n_rows == known.height == rows.n_rows
        prepare, X = member["prepare"], rows.task.test.X
        local = clone(member["model"]).fit(prepare.transform(known), known["amount"].to_numpy())
        np.testing.assert_allclose(found.predict(X), local.predict(prepare.transform(X)), rtol=1e-10)
        assert np.abs(member.predict(X) - found.predict(X)).max() > 1e-2


def other_connection(engine: str, table: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A connection besides that of a table, to change it."""
    if engine == "postgres":
        return psycopg.connect(request.getfixturevalue("postgresql_server").replace("+psycopg", ""), autocommit=True)
    if engine == "sqlite":
        return sqlite3.connect(tmp_path / "tables.sqlite", isolation_level=None)
    return table.get_backend().con.cursor()


CHANGES = {
    "a row more": "insert into {table} select * from {table} where skewed = (select max(skewed) from {table})",
    "a row less": "delete from {table} where skewed = (select max(skewed) from {table})",
    "another class": "update {table} set label = 'no' where skewed = (select max(skewed) from {table})",
    "a cell": "update {table} set wide = 1000 where skewed = (select max(skewed) from {table})",
    "a missing cell": "update {table} set color = null where skewed = (select max(skewed) from {table})",
}


@pytest.mark.parametrize("engine", ["duckdb", "postgres", *slow("sqlite")])
@pytest.mark.parametrize("change", CHANGES)
def test_what_counts_as_a_change(engine: str, change: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = large_table(500).with_columns(
        pl.when(pl.col("skewed") == pl.col("skewed").max()).then(pl.lit("yes")).otherwise("label").alias("label"),
        pl.when(pl.col("skewed") == pl.col("skewed").max()).then(pl.lit("red")).otherwise("color").alias("color"),
        pl.when(pl.int_range(pl.len()) == 7).then(float("nan")).otherwise("wide").alias("wide"),
    )
    with loader(engine, request, tmp_path) as load:
        table = load(frame)
        by_class, by_value = (TableState.of(table, target, None) for target in ("label", "amount"))
        assert (by_class.by_class, by_value.by_class) == (True, False)
        assert not by_class.has_changed(table)
        assert not by_value.has_changed(table)
        with contextlib.closing(other_connection(engine, table, request, tmp_path)) as other:
            other.execute(CHANGES[change].format(table=table.get_name()))
        assert by_class.has_changed(table)
        assert by_value.has_changed(table) or change == "another class"


@pytest.mark.slow
def test_files_of_spark_that_change(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A table in memory has none, so that its rows are counted."""
    with loader("spark", request, tmp_path) as load:
        table = load(large_table(100))
        session = table.get_backend()._session
        [folder] = [one for one in tmp_path.iterdir() if one.is_dir()]
        state = TableState.of(table, "label", None)
        assert not state.has_changed(table)
        large_table(100)[:50].reverse().write_parquet(folder / "0.parquet")  # the same facts
        assert state.has_changed(table)
        for rows in (large_table(100), large_table(101)):
            session.createDataFrame(rows.to_arrow()).createOrReplaceTempView("in_memory")
            table = table.get_backend().table("in_memory")
            if rows.height == 100:
                state = TableState.of(table, "label", None)
            assert state.has_changed(table) is (rows.height == 101)


def test_files_that_change(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    large_table(100).write_parquet(path)
    state = TableState.of(table_of(path), "label", None)
    assert not state.has_changed(table_of(path))
    large_table(100).reverse().write_parquet(path)  # the same facts
    assert state.has_changed(table_of(path))


def enlarged(rows: TrainingRows, member: Any) -> tuple[Any, Any]:
    """What the end of a run does with a member: the final model, and what the report says about it."""
    task = rows.task
    candidate = SimpleNamespace(batch=SimpleNamespace(rung=0), model="naive_bayes")
    setup: Any = SimpleNamespace(
        task=task,
        time=SimpleNamespace(end=60.0, reporting=lambda files: 0.0, n_workers=1),
        samples=SimpleNamespace(refit=lambda rung: None),
        specs=catalogue(),
        refit_seconds=lambda batch: 0.1,
    )
    selection: Any = SimpleNamespace(candidates=[candidate])
    blend = Blend([member], [1.0], [None], None, [0.5, 0.5], 0.0, task.classes)
    final = FinalModel(selection, blend, {0: 1.0}, (), None, None, None, "", 0, 0.0, None)
    found = train_on_more_rows(setup, final, Clock(60.0), interrupted=False)
    result: Any = SimpleNamespace(setup=setup, final=found)
    return found, large_words(result, tested_outside=True)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("source", ["file", *slow("postgres", "sqlite")])
def test_a_table_that_changes_after_the_sample(
    source: str, when: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The run is not lost: its model stays as it was trained on the sample, and the report says why."""
    frame, path = large_table(4_000).drop("amount"), tmp_path / "a.parquet"
    small_memory(monkeypatch, frame.width, 1_000)
    with contextlib.ExitStack() as opened:
        if source == "file":
            frame.write_parquet(path)
            table = table_of(path)
        else:
            table = opened.enter_context(loader(source, request, tmp_path))(frame)
        rows = training_rows(table, "label")
        member = fitted_member(rows, "naive_bayes", model__families={"wide": "gaussian", "skewed": "gaussian"})
        same, words = enlarged(rows, member)
        assert same.trained == (TrainedMember("naive Bayes", rows.n_rows, ""),)
        assert "changed" not in words

        def change() -> None:
            if source == "file":
                frame[:3_990].write_parquet(path)
                return
            with contextlib.closing(other_connection(source, table, request, tmp_path)) as other:
                other.execute(f"delete from {table.get_name()} where skewed > 3")

        if when == "before":
            change()
        else:
            train = members.MemberWork.train
            monkeypatch.setattr(members.MemberWork, "train", lambda *given: [train(*given), change()][0])
        found, words = enlarged(rows, member)
    assert found.model.members == [member]
    assert found.trained == (TrainedMember("naive Bayes", rows.task.n_rows, "the table changed during the run"),)
    assert "In the final model, naive Bayes was trained on 1,000 rows. The table changed during the run" in words
    assert "It was tested on 500 other rows." in words


def test_a_table_that_is_gone_after_the_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frame = large_table(4_000).drop("amount")
    small_memory(monkeypatch, frame.width, 1_000)
    connection = ibis.duckdb.connect()
    rows = training_rows(connection.create_table("t", frame.to_arrow()), "label")
    member = fitted_member(rows, "naive_bayes", model__families={"wide": "gaussian", "skewed": "gaussian"})
    connection.drop_table("t")
    found, words = enlarged(rows, member)
    [trained] = found.trained
    assert trained.n_rows == 1_000
    assert trained.reason.startswith("DuckDB could not run a statement")
    assert "not trained on more rows because of an error: DuckDB could not run a statement" in words
    connection.disconnect()


@pytest.mark.slow
def test_the_report_of_a_run_on_a_table_that_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frame, path = large_table(4_000).drop("amount"), tmp_path / "a.parquet"
    frame.write_parquet(path)
    small_memory(monkeypatch, frame.width, 1_000)
    draw = engine_tables.draw_tables
    change: Any = lambda: frame[:3_990].write_parquet(path)  # noqa: E731
    monkeypatch.setattr("foldwise.app.task.draw_tables", lambda *given: [draw(*given), change()][0])
    with fake_runs():
        run = foldwise.fit(table_of(path), target="label", budget=8, models=["naive_bayes"], n_jobs=1)
    assert {one["only_sample"] for one in run.facts["final"]["members"]} == {"the table changed during the run"}
    said = "The table changed during the run, so no model was trained on more than the sample."
    assert said in " ".join(str(run).split())
    top, _, rest = run.report(tmp_path / "report.html").read_text().partition("<h2")
    assert said in top
    assert "the table changed during the run" in rest
    assert run.facts["headline"]["test"]["n_rows"] == 500


@pytest.mark.slow
def test_a_run_with_boosters_says_what_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = large_table(40_000).drop("amount")
    frame.write_parquet(tmp_path / "a.parquet")
    small_memory(monkeypatch, frame.width, 5_000)
    monkeypatch.setattr(boosters, "memory_share", lambda: 10**9)
    run = foldwise.fit(table_of(tmp_path), target="label", budget=15, models=["lightgbm"], n_jobs=1)
    members = {one["title"]: one for one in run.facts["final"]["members"]}
    light = members["LightGBM"]
    assert light["rows"] > 5_000 or light["only_sample"] == "there was not enough time"  # on a busy machine
    words = run.facts["headline"]["words"][0]
    assert "LightGBM was trained on " in words
    assert f"{light['rows']:,}" in words
