"""`foldwise fit` and `predict` on many files, on large files and on PostgreSQL, with passwords and hostile names."""

from __future__ import annotations

import gc
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import polars as pl
import psycopg
import pytest
from psycopg import sql

import foldwise
from foldwise import NaiveBayes, save_model
from foldwise.app import engine_tables
from foldwise.app.cli.fit import FitRequest
from tests.app.command_line import ask, refused
from tests.app.fakes import fake_runs
from tests.engines.conftest import SQL_TYPES
from tests.engines.tables import mixed_table
from tests.slow import slow

N_ROWS, N_SAMPLE = 3_000, 1_000
OPTIONS = ("--target", "label", "--models", "naive_bayes", "--budget", "8s", "--jobs", "1", "--out", "run")
HOSTILE = "o'clock\"); drop table victims; --"
ROLE = "guarded"


@pytest.fixture(autouse=True)
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may read fewer rows than the tables have, each of them with seven columns."""
    monkeypatch.setattr(engine_tables, "memory_bytes", lambda: 20 * 16 * 7 * N_SAMPLE)


@pytest.fixture
def url(postgresql_server: str) -> str:
    return postgresql_server.replace("+psycopg", "")


@pytest.fixture
def connection(url: str) -> Iterator[Any]:
    with psycopg.connect(url, autocommit=True) as found:
        yield found


@pytest.fixture
def load(connection: Any) -> Iterator[Any]:
    """Creates a table of PostgreSQL, which is dropped at the end."""
    created = []

    def create(frame: pl.DataFrame, name: str) -> str:
        parts = zip(frame.columns, frame.dtypes, strict=True)
        columns = [sql.SQL("{} {}").format(sql.Identifier(one), sql.SQL(SQL_TYPES[type(kind)])) for one, kind in parts]
        created.append(sql.Identifier(name))
        connection.execute(sql.SQL("create table {} ({})").format(created[-1], sql.SQL(", ").join(columns)))
        with connection.cursor().copy(sql.SQL("copy {} from stdin").format(created[-1])) as copy:
            for row in frame.iter_rows():
                copy.write_row(row)
        return name

    yield create
    for name in created:
        connection.execute(sql.SQL("drop table {}").format(name))


def rows_of(seed: int = 3) -> pl.DataFrame:
    return mixed_table(N_ROWS, seed).drop("id")


def check_sampled(said: str) -> None:
    """The summary and the top of the report say that a sample was drawn; the final model knows all other rows."""
    assert f"sample of {N_SAMPLE:,} rows" in " ".join(said.split())
    assert f"sample of {N_SAMPLE:,} rows" in Path("run/report.html").read_text().partition("<h2")[0]
    assert (Path("run") / "model.foldwise").is_file()


@pytest.fixture
def files(here: Path) -> None:
    """The same rows as one file and as two."""
    frame = rows_of()
    frame.write_parquet("big.parquet")
    Path("orders").mkdir()
    for part in range(2):
        frame[part::2].write_parquet(f"orders/{part}.parquet")


@pytest.mark.parametrize("source", ["big.parquet", "orders", "orders/*.parquet"])
@pytest.mark.usefixtures("files")
def test_files_that_are_too_large_stay_where_they_are(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    request = FitRequest(Path(source), {"target": "label"})
    assert request.check() == Path(f"{Path(source).parts[0].removesuffix('.parquet')}-run")
    table = request.source()
    assert table.count().to_pyarrow().as_py() == N_ROWS
    engine_tables.close_engine(table)
    monkeypatch.setattr(engine_tables, "memory_bytes", lambda: 10**12)
    assert request.in_engine is (source != "big.parquet")


@pytest.mark.parametrize("source", slow("big.parquet", "orders", "orders/*.parquet"))
@pytest.mark.usefixtures("files")
def test_runs_on_files_that_are_too_large(source: str) -> None:
    with fake_runs():
        code, said, error = ask("fit", source, *OPTIONS)
    assert code == 0, error
    check_sampled(said)


def test_a_run_is_named_after_its_source() -> None:
    names = {"big.parquet": "big", "orders": "orders", "orders/*.parquet": "orders", "postgresql:/host/db": "query"}
    assert {path: engine_tables.name_of(Path(path), None) for path in names} == names
    assert engine_tables.name_of(Path("postgresql:/host/db"), "sales") == "sales"


@pytest.mark.slow
@pytest.mark.parametrize("by", ["--table", "--query"])
def test_a_table_of_postgresql_and_its_password(
    by: str, here: Path, url: str, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server trusts everybody, so that it takes any password. None of the files of the run contains it."""
    name = load(rows_of(), "large_orders")
    address = url.replace("@", ":geheim@" if by == "--table" else ":geheim%40@", 1)
    source = (by, name) if by == "--table" else (by, f"select * from {name} where whole >= 0")
    given = ["fit", address, *source, *OPTIONS]
    monkeypatch.setattr(sys, "argv", ["foldwise", *given])
    with fake_runs():
        code, said, error = ask(*given)
    assert code == 0, error
    check_sampled(said)
    assert "geheim" not in said + error
    files = {one.name: one.read_bytes() for one in Path("run").rglob("*") if one.is_file()}
    assert {"run.json", "options.json", "trials.sqlite", "report.html", "progress.json"} <= {*files}
    assert [name for name, content in files.items() if b"geheim" in content] == []
    assert b"postgres:***@" in files["run.json"]
    assert b"postgres:***@" in files["report.html"]
    with sqlite3.connect("run/trials.sqlite") as trials:
        assert "postgres:***@" in "\n".join(trials.iterdump())


def test_what_cannot_be_read_is_refused(here: Path, url: str, load: Any) -> None:
    name = load(rows_of(), "large_orders")
    assert "could not be" not in (said := refused("fit", url, "--table", "nobody", *OPTIONS))
    assert "the database has no table 'nobody'" in said
    assert "the query cannot be read" in refused("fit", url, "--query", "select nothing from nowhere", *OPTIONS)
    assert "cannot be combined" in refused("fit", url, "--table", name, "--query", "select 1", *OPTIONS)
    assert not Path("run").exists()


@pytest.fixture
def model(here: Path) -> Path:
    X = rows_of().drop("label")
    save_model(here / "m.foldwise", NaiveBayes().fit(X, rows_of()["label"].to_numpy()), X, target="label")
    return here / "m.foldwise"


@pytest.fixture
def role_with_password(connection: Any, url: str) -> Iterator[str]:
    """The address of a role that the server asks for a password, whoever else it trusts."""
    rules = Path(connection.execute("show hba_file").fetchone()[0])
    before = rules.with_suffix(".before")
    shutil.copy2(rules, before)
    rules.write_text(f"local all {ROLE} scram-sha-256\n{before.read_text()}")
    connection.execute(f"create role {ROLE} login password 'geheim'")
    connection.execute(f"grant create on schema public to {ROLE}")
    connection.execute("select pg_reload_conf()")
    address = url.replace("postgres@", f"{ROLE}@")
    for _ in range(100):
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            break
        time.sleep(0.05)  # until the server has read its rules again
    yield address
    rules.write_text(before.read_text())
    connection.execute(f"drop owned by {ROLE}")
    connection.execute(f"drop role {ROLE}")
    connection.execute("select pg_reload_conf()")


def test_a_password_comes_from_the_environment_or_pgpass(
    model: Path,
    load: Any,
    connection: Any,
    role_with_password: str,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(here))
    connection.execute(f"grant select on {load(rows_of(), 'large_orders')} to {ROLE}")
    given = ("predict", model, role_with_password, "--table", "large_orders")

    def written(name: str) -> int:
        code, _, error = ask(*given, "--to-table", name)
        assert code == 0, error
        return int(connection.execute(f"select count(*) from {name}").fetchone()[0])

    assert "the password comes from PGPASSWORD or .pgpass" in refused(*given)
    monkeypatch.setenv("PGPASSWORD", "hush")
    said = refused(*given)
    assert "cannot connect to postgresql://" in said
    assert "hush" not in said
    monkeypatch.setenv("PGPASSWORD", "geheim")
    assert written("by_environment") == N_ROWS
    monkeypatch.delenv("PGPASSWORD")
    host = parse_qs(urlsplit(role_with_password).query)["host"][0]
    (here / ".pgpass").write_text(f"{host}:*:*:{ROLE}:geheim\n")
    (here / ".pgpass").chmod(0o600)
    assert written("by_file") == N_ROWS


def test_hostile_names_are_quoted(model: Path, load: Any, connection: Any, url: str) -> None:
    victims = load(pl.DataFrame({"a": [1, 2]}), "victims")
    load(rows_of().with_columns(pl.int_range(pl.len()).alias(HOSTILE)), HOSTILE)
    kept = '"{}"'.format(HOSTILE.replace('"', '""'))
    code, _, error = ask("predict", model, url, "--table", HOSTILE, "--keep", kept, "--to-table", f"{HOSTILE} 2")
    assert code == 0, error
    name = sql.Identifier(f"{HOSTILE} 2")
    try:
        kept = sql.SQL("select {}, predicted_class from {} order by 1").format(sql.Identifier(HOSTILE), name)
        found = connection.execute(kept).fetchall()
        wanted = foldwise.open_model(model).predict(rows_of().drop("label")).tolist()
        assert found == list(enumerate(wanted))
    finally:
        connection.execute(sql.SQL("drop table if exists {}").format(name))
    assert connection.execute(f"select count(*) from {victims}").fetchone() == (2,)


@pytest.mark.slow
def test_a_run_on_a_table_with_a_hostile_name(here: Path, load: Any, connection: Any, url: str) -> None:
    victims = load(pl.DataFrame({"a": [1, 2]}), "victims")
    load(rows_of().rename({"whole": HOSTILE}), HOSTILE)
    with fake_runs():
        code, said, error = ask("fit", url, "--table", HOSTILE, *OPTIONS)
    assert code == 0, error
    check_sampled(said)
    assert connection.execute(f"select count(*) from {victims}").fetchone() == (2,)


@pytest.mark.filterwarnings("ignore:.*ServerCursor:ResourceWarning")  # Ibis leaves its cursor open
def test_an_error_while_rows_are_read_leaves_nothing_behind(model: Path, load: Any, connection: Any, url: str) -> None:
    load(rows_of().with_columns(pl.int_range(pl.len()).alias("n")), "large_orders")
    query = f"select *, 1 / ({N_ROWS - 1} - n) as one from large_orders order by n"
    said = refused("predict", model, url, "--query", query, "--to-table", "half")
    assert "division by zero" in said
    assert connection.execute("select to_regclass('half')").fetchone() == (None,)
    gc.collect()
