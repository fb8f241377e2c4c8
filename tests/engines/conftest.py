"""Each engine really running, with a function that loads a frame into it: DuckDB, SQLite, PostgreSQL, Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import ibis
import polars as pl
import pytest

from tests.slow import slow

Loader = Callable[[pl.DataFrame], Any]  # a frame to a table expression
NUMBERS = count()
SQL_TYPES = {pl.Float64: "double precision", pl.Int64: "bigint", pl.Boolean: "boolean", pl.String: "text"}


def plain_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The types that all engines have."""
    return frame.with_columns(pl.col(pl.Int8, pl.Int16, pl.Int32).cast(pl.Int64), pl.col(pl.Float32).cast(pl.Float64))


def postgres_loader(connection: Any) -> Loader:
    backend = ibis.postgres.from_connection(connection)

    def load(frame: pl.DataFrame) -> Any:
        frame, name = plain_frame(frame), f"t{next(NUMBERS)}"
        quoted = ['"' + column.replace('"', '""') + '"' for column in frame.columns]
        types = [SQL_TYPES[type(kind)] for kind in frame.dtypes]
        columns = ", ".join(f"{column} {kind}" for column, kind in zip(quoted, types, strict=True))
        connection.execute(f"create table {name} ({columns})")
        with connection.cursor().copy(f"copy {name} from stdin") as copy:
            for row in frame.iter_rows():
                copy.write_row(row)
        return backend.table(name)

    return load


def spark_loader(session: Any, tmp_path: Path) -> Loader:
    backend = ibis.pyspark.connect(session)

    def load(frame: pl.DataFrame) -> Any:
        path = tmp_path / f"t{next(NUMBERS)}"
        path.mkdir()
        half = (frame.height + 1) // 2
        for part in range(2):  # several partitions
            plain_frame(frame)[part * half : (part + 1) * half].write_parquet(path / f"{part}.parquet")
        return backend.read_parquet(str(path))

    return load


@pytest.fixture(params=["duckdb", "sqlite", "postgres", *slow("spark")])
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Loader]:
    """Loads a frame into each engine."""
    with loader(request.param, request, tmp_path) as found:
        yield found


@contextmanager
def loader(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Loader]:
    """Loads a frame into an engine; the connection is closed at the end."""
    if engine == "spark":
        yield spark_loader(request.getfixturevalue("spark_session"), tmp_path)
        return
    if engine == "postgres":
        import psycopg

        url = request.getfixturevalue("postgresql_server").replace("+psycopg", "")
        with psycopg.connect(url, autocommit=True) as connection:
            yield postgres_loader(connection)
        return
    backend = ibis.duckdb.connect() if engine == "duckdb" else ibis.sqlite.connect(tmp_path / "tables.sqlite")
    yield lambda frame: backend.create_table(f"t{next(NUMBERS)}", plain_frame(frame).to_arrow())
    backend.disconnect()


@pytest.fixture
def spark_interpreter(spark_session: Any) -> Iterator[None]:
    """Spark evaluates statements step by step, which is faster if tables are small."""
    options = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    before = {name: spark_session.conf.get(name) for name in options}
    for name, value in options.items():
        spark_session.conf.set(name, value)
    yield
    for name, value in before.items():
        spark_session.conf.set(name, value)
