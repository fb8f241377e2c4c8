"""Connections that Foldwise opens itself."""

from __future__ import annotations

import gc
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import ibis
import polars as pl
import psycopg
import pytest

import foldwise
from foldwise import NaiveBayes
from foldwise.app.database_predictions import DatabaseWriter
from foldwise.engines import KeyFolds, facts_of, table_of
from foldwise.engines.drawing import draw, row_batches
from foldwise.errors import EngineError, InputError
from foldwise.evaluation import nested_in_engine
from tests.app.command_line import ask
from tests.engines.tables import assert_same_facts, mixed_table
from tests.slow import slow

HOSTILE = ["'); drop table t; --", "a \"b\" \\ 'c'", "shop.orders", "select", "%s {0}", "Ünïcode;"]


def database_file(engine: str, path: Path, tables: dict[str, pl.DataFrame]) -> Path:
    """Write tables to a file of DuckDB or SQLite."""
    connect = ibis.duckdb.connect if engine == "duckdb" else ibis.sqlite.connect
    backend = connect(path)
    for name, frame in tables.items():
        backend.create_table(name, frame.to_arrow())
    backend.disconnect()
    return path


@contextmanager
def opened(source: Any, **given: Any) -> Iterator[Any]:
    """A table of a database, whose connection is closed afterwards."""
    table = table_of(source, **given)
    try:
        yield table
    finally:
        table.get_backend().disconnect()


@pytest.mark.parametrize(("engine", "ending"), [("duckdb", "duckdb"), ("sqlite", "sqlite"), *slow(("duckdb", "ddb"))])
def test_duckdb_and_sqlite_files_by_table_and_query(engine: str, ending: str, tmp_path: Path) -> None:
    frame, folds = mixed_table(150), KeyFolds("id", 2, 2)
    path = database_file(engine, tmp_path / f"p.{ending}", {"orders": frame, "others": frame[:3]})
    with opened(path, table="orders") as table:
        assert_same_facts(facts_of(table, "label", folds=folds), frame)
        assert draw(table, "label", 50).n_rows == 150
    with opened(path, query="select * from orders where id < 700") as table:
        some = frame.filter(pl.col("id") < 700)
        assert table.columns == tuple(frame.columns)
        assert_same_facts(facts_of(table, "label", folds=folds), some)
        found = nested_in_engine(NaiveBayes(), [{}], table, "label", key="id", outer=2, inner=2)
        assert found.n_rows == 100
        assert draw(table, "label", 50).n_rows == 100
    with pytest.raises(InputError, match=r"contains 2 tables: .*orders.*others.* Hint: pass table="):
        table_of(path)
    with pytest.raises(InputError, match="the database has no table 'missing'"):
        table_of(path, table="missing")
    with pytest.raises(InputError, match="the query cannot be read"):
        table_of(path, query="select * from missing")
    with opened(database_file(engine, tmp_path / f"one.{ending}", {"single": frame})) as table:
        assert facts_of(table, "label").n_rows == 150


@pytest.mark.parametrize("schema", ["main", "shop"])
def test_a_table_of_a_schema_of_duckdb(schema: str, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "p.duckdb")) as raw:
        raw.execute(f"create schema if not exists {schema}")
        raw.execute(f"create table {schema}.orders as select i, i % 3 = 0 as y from range(9) t(i)")
        raw.execute("create view seen as select 1 as x")
    with opened(tmp_path / "p.duckdb", table=f"{schema}.orders") as table:
        assert facts_of(table, "y").n_rows == 9


def test_predictions_of_rows_of_a_duckdb_file(tmp_path: Path) -> None:
    frame = mixed_table(150)
    X = frame.drop("id", "label")
    model = NaiveBayes().fit(X, frame["label"].to_numpy())
    foldwise.save_model(tmp_path / "m.foldwise", model, X, target="label")
    path, out = database_file("duckdb", tmp_path / "p.duckdb", {"orders": frame}), tmp_path / "out.csv"
    given = ["predict", tmp_path / "m.foldwise", path, "--query", "select * from orders where id < 70"]
    assert ask(*given, "--keep", "id", "-o", out)[0] == 0
    found = pl.read_csv(out)
    assert found["id"].to_list() == list(range(0, 70, 7))
    assert found["predicted_class"].to_list() == model.predict(X[:10]).tolist()


@pytest.mark.slow
def test_a_run_on_a_query_of_a_duckdb_file(tmp_path: Path) -> None:
    path = database_file("duckdb", tmp_path / "p.duckdb", {"orders": mixed_table(200)})
    given = ["fit", path, "--query", "select * exclude (id) from orders where id < 1050", "--target", "label"]
    code, said, _ = ask(*given, "--out", tmp_path / "r", "--budget", "6s", "--models", "naive_bayes")
    assert code == 0
    assert "150 rows" in " ".join(said.split())


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
def test_hostile_names_of_tables(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = mixed_table(40).select("id", "whole", "label")
    tables = {name: frame[: 10 + i] for i, name in enumerate(HOSTILE)}
    if engine == "postgres":
        source = request.getfixturevalue("postgresql_server").replace("+psycopg", "")
        with psycopg.connect(source, autocommit=True) as connection:
            for name, rows in tables.items():
                quoted = psycopg.sql.Identifier(name)
                connection.execute(psycopg.sql.SQL("drop table if exists {}").format(quoted))
                connection.execute(
                    psycopg.sql.SQL("create table {} (id bigint, whole bigint, label text)").format(quoted)
                )
                with connection.cursor().copy(psycopg.sql.SQL("copy {} from stdin").format(quoted)) as copy:
                    for row in rows.iter_rows():
                        copy.write_row(row)
    else:
        source = database_file(engine, tmp_path / f"p.{engine}", tables)
    for name, rows in tables.items():
        with opened(source, table=name) as table:
            assert_same_facts(facts_of(table, "label", folds=KeyFolds("id", 2)), rows)
    with pytest.raises(InputError, match="the database has no table"):
        table_of(source, table=f"{HOSTILE[0]} again")
    with opened(source, table=HOSTILE[-1]) as table:  # nothing was dropped
        assert {*HOSTILE} <= {*names_of_tables(engine, table.get_backend())}


def names_of_tables(engine: str, backend: Any) -> list[str]:
    catalog = "sqlite_schema" if engine == "sqlite" else "information_schema.tables"
    column = "name" if engine == "sqlite" else "table_name"
    return [name for (name,) in backend.con.execute(f"select {column} from {catalog}").fetchall()]


def test_files_that_are_not_databases(tmp_path: Path) -> None:
    for ending in ("duckdb", "sqlite"):
        path = tmp_path / f"p.{ending}"
        with pytest.raises(InputError, match="does not exist"):
            table_of(path)
        path.write_text("this is a text, which is long enough to be the header of a database file, but it is not one")
        with pytest.raises(InputError, match=rf"p\.{ending} cannot be opened as a (DuckDB|SQLite) file"):
            table_of(path)


def test_a_package_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pl.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]}).write_parquet(tmp_path / "t.parquet")
    table, address = table_of(tmp_path / "t.parquet"), "postgresql://ann@127.0.0.1:1/shop"
    sqlite3.connect(tmp_path / "t.sqlite").close()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "ibis", None)
        duckdb_hint = r"'ibis-framework', which is not installed\. Hint: run pip install 'foldwise\[duckdb\]'"
        for call in (lambda: table_of(tmp_path / "t.parquet"), lambda: facts_of(table, "y")):
            with pytest.raises(InputError, match=duckdb_hint):
                call()
        with pytest.raises(InputError, match=duckdb_hint):
            table_of(tmp_path / "t.sqlite")
        with pytest.raises(InputError, match=r"'ibis-framework', .* 'foldwise\[postgres\]'"):
            table_of(address, table="t")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "psycopg", None)
        hint = r"PostgreSQL needs the package 'psycopg', which is not installed\. .*'foldwise\[postgres\]'"
        with pytest.raises(InputError, match=hint):
            table_of(address, table="t")
        with pytest.raises(InputError, match=hint), DatabaseWriter(address, "t"):
            pass
    with monkeypatch.context() as patch:  # Ibis was installed by another extra
        patch.delattr(ibis, "duckdb")
        patch.delitem(sys.modules, "ibis.backends.duckdb")
        patch.setitem(sys.modules, "duckdb", None)
        with pytest.raises(InputError, match=r"the package 'duckdb', which is not installed\. .*'foldwise\[duckdb\]'"):
            table_of(tmp_path / "t.parquet")


def test_duckdb_spills_into_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary, current = tmp_path / "temporary", tmp_path / "current"
    temporary.mkdir()
    current.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.chdir(current)
    pl.DataFrame({"x": range(1000)}).write_parquet(tmp_path / "a.parquet")
    table = table_of(tmp_path / "a.parquet", memory="40MB")
    raw = table.get_backend().con
    raw.execute("set threads = 1")
    raw.execute("set preserve_insertion_order = false")
    # sorting 80 MB in 40 MB of memory
    sorted_rows = raw.sql("select i, hash(i) as h from range(5000000) t(i) order by h").to_arrow_reader(100_000)
    sorted_rows.read_next_batch()
    [folder] = temporary.iterdir()
    assert list(folder.iterdir())
    assert not list(current.iterdir())
    del sorted_rows
    table.get_backend().disconnect()
    del raw, table
    gc.collect()
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_of_unrelated_tables_are_refused(ending: str, tmp_path: Path) -> None:
    for name, columns in (("a", {"x": [1, 2], "wage": [3, 4]}), ("b", {"x": [1, 2], "size": [3, 4]})):
        frame = pl.DataFrame(columns)
        write = frame.write_csv if ending == "csv" else frame.write_parquet
        write(tmp_path / f"{name}.{ending}")
    with pytest.raises(InputError, match=rf"but a\.{ending} has 'wage', which b\.{ending} does not have.* one file"):
        table_of(tmp_path)
    (tmp_path / f"b.{ending}").unlink()
    assert table_of(tmp_path).columns == ("x", "wage")


def test_two_tables_of_one_duckdb_file(tmp_path: Path) -> None:
    """In one process, DuckDB opens a file again only with the same settings."""
    path = database_file("duckdb", tmp_path / "p.duckdb", {"a": mixed_table(10), "b": mixed_table(20)})
    a, b = table_of(path, table="a"), table_of(path, table="b")
    assert (a.count().execute(), b.count().execute()) == (10, 20)
    folders = {
        tuple(t.get_backend().con.execute("select current_setting('temp_directory')").fetchone()) for t in (a, b)
    }
    [[folder]] = folders
    a.get_backend().disconnect()
    del a
    gc.collect()
    assert Path(folder).exists()  # the other connection uses it
    b.get_backend().disconnect()
    del b
    gc.collect()
    assert not Path(folder).exists()


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
def test_the_end_of_a_query(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A query may end with a semicolon or a comment, as in a file of SQL."""
    if engine == "postgres":
        source, table = (
            request.getfixturevalue("postgresql_server").replace("+psycopg", ""),
            "generate_series(1, 9) as t(id)",
        )
    else:
        source, table = database_file(engine, tmp_path / f"p.{engine}", {"t": mixed_table(9)}), "t"
    for end in (";", " ; \n", " -- all of them"):
        with opened(source, query=f"select id, id % 2 as y from {table}{end}") as found:
            assert facts_of(found, "y").n_rows == 9


def test_tables_that_are_not_there(postgresql_server: str, tmp_path: Path) -> None:
    path = database_file("duckdb", tmp_path / "p.duckdb", {"orders": mixed_table(5), "others": mixed_table(5)})
    with pytest.raises(
        InputError, match=r"no table 'order'\. Hint: did you mean 'orders'\? Choose among 'orders', 'others'"
    ):
        table_of(path, table="order")
    url = postgresql_server.replace("+psycopg", "")
    for name in ("nowhere", "nowhere.nothing"):
        with pytest.raises(InputError, match=f"the database has no table '{name}'"):
            table_of(url, table=name)
    with pytest.raises(InputError, match=r"two columns with the name 'x'\. Hint: .* with AS"):
        table_of(url, query="select 1 as x, 2 as x")


def test_addresses_of_other_databases() -> None:
    for address in ("mysql://ann:geheim@db/shop", "postgresql+psycopg://ann:geheim@db/shop"):
        for given in ({}, {"table": "t"}):
            with pytest.raises(
                InputError, match=r"must start with postgresql://, got '.*ann:\*\*\*@db/shop'"
            ) as caught:
                table_of(address, **given)
            assert "geheim" not in str(caught.value)
    with pytest.raises(EngineError, match=r"cannot connect to postgresql://ann:\*\*\*@127"):
        table_of("PostgreSQL://ann:geheim@127.0.0.1:1/shop?connect_timeout=2", table="t")


def test_types_of_postgres(postgresql_server: str, tmp_path: Path) -> None:
    """Enumerations and identifiers become text, money and domains numbers."""
    url = postgresql_server.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop schema if exists types cascade")
        connection.execute("create schema types")
        connection.execute("create type types.mood as enum ('sad', 'happy')")
        connection.execute("create domain types.whole as int check (value >= 0)")
        connection.execute(
            """create table types.t as select i as id,
            (case when i % 2 = 0 then 'sad' else 'happy' end)::types.mood as m,
            md5(i::text)::uuid as u, '10.0.0.1'::inet as ip, 12.5::money as "mo""ney", i::types.whole as w,
            case when i % 3 = 0 then 'a' else 'b' end as y from generate_series(1, 60) as i"""
        )
        try:
            for given in ({"table": "types.t"}, {"query": "select * from types.t;"}):
                with opened(url, **given) as table:
                    facts = facts_of(table, "y", columns=["m", "u", 'mo"ney', "w"])
                    assert facts.categorical == ("m", "u")
                    assert facts.total.moments.mean[:, 0].tolist() == [12.5, 12.5]
                    found = nested_in_engine(
                        NaiveBayes(), [{}], table, "m", key="id", columns=["w", "y"], outer=2, inner=2
                    )
                    assert found.n_rows == 60
                    for most in (20, 100):  # a part of the rows, and all
                        rows = draw(table, "m", most).sample
                        assert set(rows["m"]) == {"sad", "happy"}
                        assert rows.schema["u"] == rows.schema["ip"] == pl.String
                    assert next(row_batches(table, 100)).schema["u"] == pl.String
        finally:
            connection.execute("drop schema types cascade")
