"""Databases that run exported queries, each with a table of rows."""

from __future__ import annotations

import sqlite3
from typing import Any

import duckdb
import numpy as np
import polars as pl
import polars.selectors as cs
import sqlalchemy as sa

from foldwise import SqlExport

HOSTILE = """t"; DROP TABLE rows; --'"""  # the name of every table


def run(export: SqlExport, frame: pl.DataFrame, table: str, server: Any = None) -> tuple[list[Any], int]:
    """The rows that the query of an export returns, in the order of the table, and the differences of its check."""
    make = {"duckdb": in_duckdb, "sqlite": in_sqlite, "postgres": in_postgres, "spark": in_spark}[export.dialect]
    return make(export, frame, table, server)


def in_duckdb(export: SqlExport, frame: pl.DataFrame, table: str, server: None) -> tuple[list[Any], int]:
    with duckdb.connect(config={"threads": 1, "memory_limit": "2GB"}) as connection:
        connection.register("source", frame.to_arrow())
        connection.execute(f"CREATE TABLE {quoted(table)} AS SELECT * FROM source")
        return connection.execute(export.query).fetchall(), one_number(connection.execute(export.check).fetchall())


def in_sqlite(export: SqlExport, frame: pl.DataFrame, table: str, server: None) -> tuple[list[Any], int]:
    connection = sqlite3.connect(":memory:")
    connection.set_progress_handler(lambda: 0, 1_000_000)  # lets Python handle signals during a query
    columns = ", ".join(map(quoted, frame.columns))
    connection.execute(f"CREATE TABLE {quoted(table)} ({columns})")
    marks = ", ".join("?" * frame.width)
    written = frame.with_columns(cs.temporal().cast(pl.String))  # as SQLite stores dates
    connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", written.rows())
    found = connection.execute(export.query).fetchall(), one_number(connection.execute(export.check).fetchall())
    connection.close()
    return found


def in_postgres(export: SqlExport, frame: pl.DataFrame, table: str, server: str) -> tuple[list[Any], int]:
    engine = sa.create_engine(server)
    types = {pl.String: "TEXT", pl.Boolean: "BOOLEAN", pl.Float64: "DOUBLE PRECISION"}
    types |= {pl.Date: "DATE", pl.Datetime: "TIMESTAMP", pl.Time: "TIME"}
    columns = ", ".join(f"{quoted(c.name)} {types.get(type(c.dtype), 'BIGINT')}" for c in frame.iter_columns())
    try:
        raw = engine.raw_connection()
        with raw.cursor() as cursor:
            cursor.execute(f"CREATE TEMPORARY TABLE {quoted(table)} ({columns})")
            marks = ", ".join(["%s"] * frame.width)
            name = quoted(table).replace("%", "%%")
            cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", frame.rows())
            cursor.execute(export.query)
            rows = cursor.fetchall()
            cursor.execute(export.check)
            return rows, one_number(cursor.fetchall())
    finally:
        raw.rollback()
        raw.close()
        engine.dispose()


def in_spark(export: SqlExport, frame: pl.DataFrame, table: str, session: Any) -> tuple[list[Any], int]:
    name = "`" + table.replace("`", "``") + "`"
    frame = frame.with_columns(cs.time().cast(pl.String))  # Spark has no time of day
    arrow = frame.to_arrow(compat_level=pl.CompatLevel.oldest())  # pandas would turn missing text into "NaN"
    session.createDataFrame(arrow).createOrReplaceTempView(name)
    rows = [tuple(row) for row in session.sql(export.query).collect()]
    return rows, int(session.sql(export.check).collect()[0][0])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def one_number(rows: list[Any]) -> int:
    ((number,),) = rows
    return int(number)


def compare(rows: list[Any], model: Any, X: Any, tolerance: float) -> None:
    """Predictions of the database, without kept columns, equal those of Python."""
    if hasattr(model, "predict_proba"):
        labels, proba = model.predict(X), model.predict_proba(X)
        assert [row[0] for row in rows] == labels.tolist()
        np.testing.assert_allclose(np.array([row[1:] for row in rows], dtype=float), proba, atol=tolerance, rtol=0)
    elif hasattr(model, "classes_"):
        assert [row[0] for row in rows] == model.predict(X).tolist()
    else:
        np.testing.assert_allclose([row[0] for row in rows], model.predict(X), rtol=tolerance)
