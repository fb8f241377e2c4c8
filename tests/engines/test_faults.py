"""What goes wrong is said clearly: hostile names, changed tables, lost connections, read-only roles, NaN and NULL."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import numpy as np
import polars as pl
import psycopg
import pytest

from foldwise import NaiveBayes
from foldwise.engines import KeyFolds, TableFacts, facts_of, scans, table_of
from foldwise.engines.asking import Asker
from foldwise.engines.connecting import masked
from foldwise.engines.drawing import draw
from foldwise.errors import EngineError, InputError
from foldwise.evaluation import nested_in_engine
from tests.engines.conftest import loader
from tests.engines.tables import assert_same_facts, mixed_table
from tests.slow import slow

HOSTILE = "'); drop table t; --"


def hostile_table() -> pl.DataFrame:
    frame = mixed_table(120).with_columns(pl.col("color").fill_null(HOSTILE))
    names = {"far": HOSTILE, "color": "a \"b\" \\ 'c'", "label": "label; select 1", "whole": "%s {0} :x"}
    return frame.rename(names).with_columns(
        pl.when(pl.col("id") % 2 == 0).then(pl.lit(HOSTILE)).otherwise(pl.lit('"; drop')).alias("label; select 1")
    )


@pytest.mark.parametrize("engine", ["duckdb", "postgres", *slow("sqlite", "spark")])
def test_hostile_names_and_categories(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = hostile_table()
    plain_names = ["id", "far", "gaps", "whole", "by class", "color", "flag", "label"]
    given: dict[str, Any] = {"key": "id", "outer": 2, "inner": 2}
    if engine == "spark":  # it would compile a program for each statement
        request.getfixturevalue("spark_interpreter")
    with loader(engine, request, tmp_path) as load:
        table, plain_table = load(frame), load(frame.rename(dict(zip(frame.columns, plain_names, strict=True))))
        facts = facts_of(table, "label; select 1", folds=KeyFolds("id", outer=2), values=["%s {0} :x"])
        found = nested_in_engine(NaiveBayes(), [{}], table, "label; select 1", **given)
        assert int(table.count().execute()) == 120
        plain = nested_in_engine(NaiveBayes(), [{}], plain_table, "label", **given)
    assert_same_facts(facts, frame)
    assert facts.classes is not None
    assert HOSTILE in facts.classes.tolist()
    assert_same_study(found, plain)


def assert_same_study(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found.inner_scores, wanted.inner_scores, rtol=1e-12)
    np.testing.assert_allclose(found.fold_scores, wanted.fold_scores, rtol=1e-12)
    assert found.sample_rows == wanted.sample_rows


# what Foldwise calls the columns that it adds to tables, and other columns of statements and answers
ADDED = ["(fold)", "(index of fold 0)", "(index of fold 1)", "(drawn)", "(digits)", "(most rows of the class)"]
ADDED += ["(label)", "(key)", "block", "b0_0", "b1_0", "drawn"]
OTHERS = ["label", "key", "fold", "fold0", "fold1", "n", "most", "one", "keys", "low", "high", "x0", "c0", "d0", "r0"]
OTHERS += ["h0", "s0", "q0", "j0", "rest0", "level", "sample", "score", "bin"]
# most engines ignore upper and lower case
NAMES = {"added": ADDED, "upper": [name.upper() for name in ADDED], "others": OTHERS}


@pytest.mark.parametrize("some", ["added", *slow("upper", "others")])
@pytest.mark.parametrize("engine", ["duckdb", "postgres", *slow("sqlite", "spark")])
def test_columns_with_internal_names(engine: str, some: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Columns may be called what Foldwise calls columns: all answers stay the same."""
    rng, n = np.random.default_rng(4), 300
    label = rng.choice(["a", "b"], n)
    cells: list[Any] = [rng.normal(size=n) + (label == "a") for _ in NAMES[some]]
    cells[0], cells[1] = (rng.choice([*"uvw"], n) for _ in range(2))
    names = {f"column {i}": name for i, name in enumerate(NAMES[some])}
    frame = pl.DataFrame({"id": np.arange(n), **dict(zip(names, cells, strict=True)), "y": label})
    if engine == "spark":  # it would compile a program for each statement
        request.getfixturevalue("spark_interpreter")
    with loader(engine, request, tmp_path) as load:
        wanted = answers_about(load(frame), "id", "y")
        assert_same_answers(answers_about(load(frame.rename(names)), "id", "y"), wanted)


@pytest.mark.parametrize("engine", ["duckdb", "postgres", *slow("sqlite", "spark")])
def test_targets_and_keys_with_internal_names(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    rng, n = np.random.default_rng(4), 300
    label = rng.choice(["a", "b"], n)
    numbers = {f"column {i}": rng.normal(size=n) + (label == "a") for i in range(4)}
    frame = pl.DataFrame({"id": np.arange(n), **numbers, "y": label})
    if engine == "spark":  # it would compile a program for each statement
        request.getfixturevalue("spark_interpreter")
    with loader(engine, request, tmp_path) as load:
        wanted = answers_about(load(frame), "id", "y")
        for key, target in [("(drawn)", "(fold)"), ("(key)", "(label)"), ("(digits)", "(most rows of the class)")]:
            names = {"id": key, "y": target, "column 2": "key", "column 3": "label"}
            assert_same_answers(answers_about(load(frame.rename(names)), key, target), wanted)


def answers_about(table: Any, key: str, target: str) -> tuple[Any, Any, Any]:
    """Facts, nested scores with a sample, and rows that are drawn, without the names of the columns."""
    facts = facts_of(table, target, folds=KeyFolds(key, 2, 2), values=[table.columns[4]])
    study = nested_in_engine(NaiveBayes(), [{}], table, target, key=key, outer=2, inner=2, sample=200)
    drawn = draw(table, target, 100)
    assert drawn.outside is not None
    assert drawn.sample.columns == drawn.outside.columns == list(table.columns)
    return facts, study, [drawn.sample, drawn.outside, drawn.kept_out]


def assert_same_answers(found: tuple[Any, Any, Any], wanted: tuple[Any, Any, Any]) -> None:
    assert found[0].cells.keys() == wanted[0].cells.keys()
    for cell, facts in wanted[0].cells.items():
        ours = found[0].cells[cell]
        assert ours.class_rows.tolist() == facts.class_rows.tolist()
        np.testing.assert_allclose(ours.moments.mean, facts.moments.mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours.moments.m2, facts.moments.m2, rtol=1e-12)
        assert [one.to_dict() for one in ours.counts.columns] == [one.to_dict() for one in facts.counts.columns]
        assert [one.to_dict() for one in ours.values.columns] == [one.to_dict() for one in facts.values.columns]
    assert_same_study(found[1], wanted[1])
    for rows, others in zip(found[2], wanted[2], strict=True):
        assert sorted(rows.rows()) == sorted(others.rows())


class ChangesAfter:
    """Changes the table after some statements."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, change: Any, after: int) -> None:
        self.left, self.change = after, change
        for name in ("ask", "ask_sql", "ask_text"):
            monkeypatch.setattr(Asker, name, self.counted(getattr(Asker, name)))

    def counted(self, ask: Any) -> Any:
        def counting(*given: Any) -> Any:
            answer = ask(*given)
            self.left -= 1
            if not self.left:
                self.change()
            return answer

        return counting


@pytest.mark.parametrize("after", [1, *slow(2, 3)])
def test_a_table_that_changes(
    after: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with loader("duckdb", request, tmp_path) as load:
        table = load(mixed_table(100))
        name, raw = table.get_name(), table.get_backend().con
        ChangesAfter(monkeypatch, lambda: raw.execute(f"insert into {name} select * from {name} limit 1"), after)
        with pytest.raises(EngineError, match="changed while it was read"):
            facts_of(table, "label")


@pytest.mark.parametrize("engine", ["postgres", "sqlite", "file", "duckdb"])
def test_others_change_cells_meanwhile(
    engine: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The number of rows stays the same, so that counts tell nothing."""
    frame = mixed_table(100)
    if engine == "file":
        frame.write_parquet(tmp_path / "t.parquet")
        changed = frame.with_columns(pl.col("far") + 1)
        ChangesAfter(monkeypatch, lambda: changed.write_parquet(tmp_path / "t.parquet"), 2)
        with pytest.raises(EngineError, match="changed while it was read"):
            facts_of(table_of(tmp_path / "t.parquet"), "label")
        return
    with loader(engine, request, tmp_path) as load, closing_all() as opened:
        table = load(frame)
        name = table.get_name()
        if engine == "postgres":
            url = request.getfixturevalue("postgresql_server").replace("+psycopg", "")
            other: Any = psycopg.connect(url, autocommit=True)
        elif engine == "sqlite":
            other = sqlite3.connect(tmp_path / "tables.sqlite", timeout=0, isolation_level=None)
        else:
            other = table.get_backend().con.cursor()
        opened.append(other)

        def change() -> None:
            with contextlib.suppress(sqlite3.OperationalError):  # SQLite lets nobody write meanwhile
                other.execute(f"update {name} set far = 5, color = 'red'")

        ChangesAfter(monkeypatch, change, 1)
        assert_same_facts(facts_of(table, "label"), frame)
        monkeypatch.undo()
        other.execute(f"update {name} set far = 5")
        again = facts_of(table, "label", columns=["far"])  # the next call sees it
        assert again.total.moments.mean.tolist() == [[5.0]] * 3


@pytest.mark.slow
@pytest.mark.usefixtures("spark_interpreter")
def test_spark_notices_changed_counts(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Spark has no snapshot of a table in memory, but each statement counts the rows of the classes again."""
    with loader("spark", request, tmp_path) as load:
        backend = load(mixed_table(10)).get_backend()
        parts = [backend._session.createDataFrame(mixed_table(n).to_arrow()) for n in (100, 101)]

        def become(n_rows: int) -> None:
            parts[n_rows - 100].createOrReplaceTempView("changing")

        for after in (1, 2, 3):
            become(100)
            changing = backend.table("changing")
            assert facts_of(changing, "label").n_rows == 100
            ChangesAfter(monkeypatch, lambda: become(101), after)
            with pytest.raises(EngineError, match="changed while it was read"):
                facts_of(changing, "label")
            monkeypatch.undo()
        assert facts_of(changing, "label").n_rows == 101


@pytest.mark.slow
@pytest.mark.parametrize("change", ["cells", "another file", "a file less"])
@pytest.mark.usefixtures("spark_interpreter")
def test_spark_notices_changed_files(
    change: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The rows of all classes and folds stay as many as before, so that counts tell nothing."""
    frame, folder = mixed_table(100), tmp_path / "a {b} [c] 100%"  # special in patterns and addresses
    changed = frame.with_columns(pl.col("far") + 1)
    folder.mkdir()
    with loader("spark", request, tmp_path) as load:
        backend = load(frame).get_backend()
        session = backend._session
        for part in range(2):
            frame[50 * part : 50 * part + 50].write_parquet(folder / f"{part}.parquet")
        given = session.read.option("__globPaths__", "false").parquet(str(folder))
        given.createOrReplaceTempView("changing")
        table = backend.table("changing")
        assert_same_facts(facts_of(table, "label"), frame)  # nothing changes

        def act() -> None:
            if change == "cells":
                changed[50:].write_parquet(folder / "1.parquet")
            elif change == "another file":
                (folder / "1.parquet").unlink()
                changed[50:].write_parquet(folder / "2.parquet")
                session.catalog.refreshTable("changing")
            else:
                (folder / "1.parquet").unlink()

        ChangesAfter(monkeypatch, act, 2)
        with pytest.raises(EngineError, match="changed while it was read"):
            facts_of(table, "label")
        monkeypatch.undo()
        if change == "cells":
            assert_same_facts(facts_of(table, "label"), pl.concat([frame[:50], changed[50:]]))
            changed.write_parquet(folder / "2.parquet")  # not part of the table, until it is refreshed
            assert facts_of(table, "label").n_rows == 100


@contextlib.contextmanager
def closing_all() -> Iterator[list[Any]]:
    """Closes what was put into a list."""
    opened: list[Any] = []
    yield opened
    for one in opened:
        one.close()


def test_a_column_that_vanishes(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with loader("duckdb", request, tmp_path) as load:
        table = load(mixed_table(100))
        name, raw = table.get_name(), table.get_backend().con
        ChangesAfter(monkeypatch, lambda: raw.execute(f"alter table {name} drop column far"), 1)
        with pytest.raises(EngineError, match=r"DuckDB could not run a statement.*far"):
            facts_of(table, "label")


def test_a_column_that_vanishes_from_postgres(
    monkeypatch: pytest.MonkeyPatch, postgres_url: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Nobody can drop it during a call; a call that begins afterwards says what is missing."""
    frame, refused = mixed_table(100), []
    with loader("postgres", request, tmp_path) as load, psycopg.connect(postgres_url, autocommit=True) as other:
        table = load(frame)
        drop = f"alter table {table.get_name()} drop column far"
        other.execute("set lock_timeout = '20ms'")

        def change() -> None:
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute(drop)
            refused.append(drop)

        ChangesAfter(monkeypatch, change, 1)
        assert_same_facts(facts_of(table, "label"), frame)
        assert refused
        monkeypatch.undo()
        other.execute(drop)
        for ask in (
            lambda: facts_of(table, "label"),
            lambda: nested_in_engine(NaiveBayes(), [{}], table, "label", key="id", outer=2, inner=2),
            lambda: draw(table, "label", 50),
        ):
            with pytest.raises(EngineError, match=r"PostgreSQL could not run a statement.*far.*does not exist"):
                ask()
        assert facts_of(table.drop("far"), "label").n_rows == 100  # the connection is as it was


@pytest.fixture
def postgres_url(postgresql_server: str) -> str:
    return postgresql_server.replace("+psycopg", "")


@pytest.mark.parametrize(("is_nested", "after"), [(False, 2), (True, 3), *slow((True, 1), (True, 2))])
def test_a_connection_that_drops(
    is_nested: bool,
    after: int,
    monkeypatch: pytest.MonkeyPatch,
    postgres_url: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    with loader("postgres", request, tmp_path) as load, psycopg.connect(postgres_url, autocommit=True) as other:
        name = load(mixed_table(100)).get_name()
        table = table_of(postgres_url, table=name)
        raw = table.get_backend().con
        kill = "select pg_terminate_backend(%s)"
        ChangesAfter(monkeypatch, lambda: other.execute(kill, [raw.info.backend_pid]), after)
        given = {"key": "id", "outer": 2, "inner": 2}
        call = partial(nested_in_engine, NaiveBayes(), [{}], **given) if is_nested else facts_of
        with pytest.raises(EngineError, match="PostgreSQL could not run a statement"):
            call(table, "label")
        raw.close()


def test_a_read_only_role(postgres_url: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = mixed_table(100)
    with loader("postgres", request, tmp_path) as load, psycopg.connect(postgres_url, autocommit=True) as other:
        name = load(frame).get_name()
        other.execute("drop role if exists reader")
        other.execute("create role reader login")
        other.execute("revoke create, temporary on database postgres from public")
        reader = postgres_url.replace("postgres@", "reader@")
        with pytest.raises(InputError, match="permission denied"):
            table_of(reader, table=name)
        other.execute(f"grant select on {name} to reader")
        table = table_of(reader, table=name)
        assert_same_facts(facts_of(table, "label", folds=KeyFolds("id", outer=2)), frame)
        by_query = table_of(reader, query=f"select * from {name} where id >= 0")
        assert facts_of(by_query, "label").n_rows == 100
        study, plain = (
            nested_in_engine(NaiveBayes(), [{}], one, "label", key="id", outer=2, inner=2, sample=n)
            for one, n in ((table, 60), (by_query, 60))
        )
        assert_same_study(study, plain)
        drawn = draw(table, "label", 50)
        assert drawn.outside is not None
        assert {*drawn.sample["id"], *drawn.outside["id"]} <= {*frame["id"]}
        table.get_backend().con.close()
        by_query.get_backend().con.close()
        other.execute("drop owned by reader")


def test_passwords_are_masked() -> None:
    with pytest.raises(EngineError) as caught:
        table_of("postgresql://ann:geheim@127.0.0.1:1/shop?connect_timeout=2", table="t")
    assert "geheim" not in str(caught.value)
    assert "ann:***@127.0.0.1" in str(caught.value)
    assert masked("host=x password=geheim user=ann") == "host=x password=*** user=ann"


def test_nan_in_parquet_files_of_other_libraries(tmp_path: Path) -> None:
    """DuckDB 2.0.0 concludes from the statistics of such files that NaN does not occur."""
    frame = pl.DataFrame({"x": [1.0, float("nan"), 3.0, None], "y": ["a", "a", "b", "b"]})
    frame.write_parquet(tmp_path / "polars.parquet")
    table = table_of(tmp_path / "polars.parquet")
    before = table.get_backend().raw_sql("select current_setting('disabled_optimizers')").fetchone()
    facts = facts_of(table, "y")
    assert facts.total.moments.rows.tolist() == [[1.0], [1.0]]
    assert facts.total.moments.mean.tolist() == [[1.0], [3.0]]
    assert table.get_backend().raw_sql("select current_setting('disabled_optimizers')").fetchone() == before


def test_infinity_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1.0, float("inf"), 3.0], "y": ["a", "a", "b"]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match="column 'x' contains infinity"):
        facts_of(table_of(tmp_path / "t.parquet"), "y")


@pytest.mark.parametrize(("format", "other"), [("parquet", "csv"), ("csv", "parquet")])
def test_folders_and_globs(format: str, other: str, tmp_path: Path) -> None:
    frame = mixed_table(90)
    for part in range(3):
        getattr(frame[part * 30 : part * 30 + 30], f"write_{format}")(tmp_path / f"part{part}.{format}")
    for source in (tmp_path, str(tmp_path / f"*.{format}"), sorted(tmp_path.iterdir())):
        assert_same_facts(facts_of(table_of(source), "label", folds=KeyFolds("id", outer=2)), frame)
    found = nested_in_engine(NaiveBayes(), [{}], table_of(tmp_path), "label", key="id", outer=2, inner=2)
    assert found.n_rows == found.sample_rows == 90
    with pytest.raises(InputError, match="no Parquet or CSV files"):
        table_of(tmp_path / f"*.{other}")
    (tmp_path / f"more.{other}").touch()
    with pytest.raises(InputError, match="must all be Parquet or all be CSV"):
        table_of(tmp_path)


@pytest.mark.parametrize("d", [150, *slow(5000)])
def test_many_columns_take_several_statements(d: int) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(30, d))).with_columns(pl.Series("y", ["a", "b"] * 15))
    table = ibis.duckdb.connect().create_table("wide", frame.to_arrow())
    facts = facts_of(table, "y")
    assert len(facts.statements) == 1 + 2 * -(-d // scans.NUMBERS_PER_STATEMENT)
    local = NaiveBayes().fit(frame.drop("y"), frame["y"])
    found = NaiveBayes().fit_facts(facts)
    np.testing.assert_allclose(
        found.predict_log_proba(frame.drop("y")), local.predict_log_proba(frame.drop("y")), atol=1e-9 * d
    )


def test_partitions_are_learned_and_forgotten(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = mixed_table(300)
    with loader("duckdb", request, tmp_path) as load:
        table = load(frame)
        parts = [table.filter(table.id < 1000), table.filter(table.id >= 1000), table]
        first, second, whole = (facts_of(part.drop("id"), "label") for part in parts)
    model = NaiveBayes().fit_facts(first).partial_fit(second)
    X = frame.drop("id", "label")
    wanted = NaiveBayes().fit_facts(whole).predict_log_proba(X)
    np.testing.assert_allclose(model.predict_log_proba(X), wanted, atol=1e-9)
    np.testing.assert_allclose(NaiveBayes().fit_facts(first + second).predict_log_proba(X), wanted, atol=1e-9)
    model.forget(first)
    assert model.class_count_.sum() == second.n_rows
    wanted = NaiveBayes().fit_facts(second).predict_log_proba(X)
    np.testing.assert_allclose(model.predict_log_proba(X), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "nothing"}, "no column 'nothing'"),
        ({"target": "label", "values": ["color"]}, "numeric columns"),
        ({"target": "label", "max_levels": 2}, "more than max_levels"),
        ({"target": "color"}, "missing in"),
        ({"target": "label", "columns": ["gaps"], "gram": True}, "missing cells"),
        ({"target": "label", "columns": "far"}, "columns must be a list of names, got the text 'far'"),
        ({"target": "label", "values": "far"}, "values must be a list of names, got the text 'far'"),
        ({"target": "label", "columns": ["far", "far"]}, "columns must name each column once, got 'far' twice"),
        ({"target": "label", "columns": ["far", "label"]}, "'label' is also one of the columns"),
    ],
)
def test_invalid_arguments(
    arguments: dict[str, Any], message: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with loader("duckdb", request, tmp_path) as load, pytest.raises(InputError, match=message):
        facts_of(load(mixed_table(100)), **arguments)


def test_nan_in_decimals_of_postgres(postgres_url: str) -> None:
    """A decimal of PostgreSQL may be NaN, which is missing as in any column."""
    query = """select i as id, case i % 4 when 0 then 'NaN'::numeric when 1 then null else i end as x,
        case when i < 20 then 'a' else 'b' end as y from generate_series(0, 39) as i"""
    table = table_of(postgres_url, query=query)
    facts = facts_of(table, "y", columns=["x"])
    assert facts.total.moments.rows.tolist() == [[10.0], [10.0]]
    assert facts.total.moments.mean.tolist() == [[10.5], [30.5]]
    found = nested_in_engine(NaiveBayes(), [{}], table, "y", key="id", outer=2, inner=2)
    assert np.isfinite(found.score)
    rows = draw(table, "y", 100).sample
    assert rows.schema["x"] == pl.Float64
    assert rows["x"].drop_nulls().is_nan().sum() == 10
    table.get_backend().disconnect()


def test_a_closed_connection_of_duckdb(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with loader("duckdb", request, tmp_path) as load:
        table = load(mixed_table(50))
        ChangesAfter(monkeypatch, table.get_backend().disconnect, 1)
        for _ in range(2):
            with pytest.raises(EngineError, match=r"DuckDB could not run a statement: .*closed\. Hint"):
                facts_of(table, "label")


def test_types_that_ibis_does_not_know(postgres_url: str) -> None:
    backend = ibis.postgres.from_connection(psycopg.connect(postgres_url, autocommit=True))
    schema = ibis.schema({"x": "float64", "v": dt.Unknown("tsvector")})
    table = backend.sql("select 1.5::float8 as x, 'a'::tsvector as v", schema=schema)
    with pytest.raises(InputError, match="the target 'v' has a type that Ibis does not know"):
        facts_of(table, "v")
    with pytest.raises(InputError, match=r"column 'v' must contain .* but has a type that Ibis does not know"):
        facts_of(table, "x")
    backend.disconnect()


def test_folds_without_rows_are_refused(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = mixed_table(60)
    with loader("duckdb", request, tmp_path) as load:
        table = load(frame)
        with pytest.raises(InputError, match=r"no row is in fold \d+, because the table has only 60 rows"):
            nested_in_engine(NaiveBayes(), [{}], table, "label", key="id", outer=50)
        with pytest.raises(InputError, match=r"no row is in inner fold \d+ of outer fold 0"):
            nested_in_engine(NaiveBayes(), [{}], table, "label", key="id", outer=2, inner=50)
        facts = facts_of(table, "label", folds=KeyFolds("id", outer=3))
        plain = facts_of(table, "label", columns=["far"])
    for wrong in (-1, 3):
        for part in (facts.train, facts.test):
            with pytest.raises(InputError, match=f"outer must be an index from 0 to 2, got {wrong}"):
                part(wrong)
    with pytest.raises(InputError, match="no inner folds"):
        facts.test(0, 0)
    with pytest.raises(InputError, match="only facts with the same columns can be merged"):
        facts + plain
    with pytest.raises(InputError, match=r"only facts with the same folds can be merged; got KeyFolds.* and None"):
        facts + facts_of_all(facts)
    with pytest.raises(TypeError, match="unsupported operand"):
        facts + 1  # type: ignore[operator]


def facts_of_all(facts: TableFacts) -> TableFacts:
    """The same facts without folds."""
    return replace(facts, cells={(): facts.total}, folds=None)


BROKEN_LINES = {
    b"600000,0.5,\xe9t\xe9,y": "late.csv is not UTF-8",
    b"600000,0.5,y": "line 50,002 of late.csv has 3 cells, but the first lines have 4",
    b"600000,n.k.,x,y": "line 50,002 of late.csv has 'n.k.' in the column 'a', whose first cells are numbers",
    b'600000,0.5,"x,y': "line 50,002 of late.csv has a quoted cell without an end",
}


@pytest.mark.parametrize("line", BROKEN_LINES)
def test_csv_files_with_a_broken_line(line: bytes, tmp_path: Path) -> None:
    """DuckDB guesses from the first lines, so the error comes from a later statement."""
    lines = [b'%d,%d.5,"x",%s' % (row, row % 7, b"yn"[row % 2 : row % 2 + 1]) for row in range(50_000)]
    (tmp_path / "late.csv").write_bytes(b"\n".join([b"id,a,b,target", *lines, line, b""]))
    with pytest.raises(EngineError, match=BROKEN_LINES[line]):
        facts_of(table_of(tmp_path / "late.csv"), "target")


def test_csv_files_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "early.csv").write_bytes("name,target\nPenélope,y\nAnn,n\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"early.csv is not UTF-8. Hint: convert it"):
        table_of(tmp_path / "early.csv")
