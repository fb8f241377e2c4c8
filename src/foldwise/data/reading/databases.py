"""Read one table of a SQLite or DuckDB file, opened read-only. Views are not read: that would run SQL from the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from foldwise.data.frames import series_of_values
from foldwise.data.notes import Note
from foldwise.data.reading.columnar import parsed_cells
from foldwise.data.reading.expansion import check_cells
from foldwise.data.reading.protocol import ParsedFile, ReadOptions, import_extra, read_errors
from foldwise.data.reading.source_file import SourceFile
from foldwise.data.schema import check_unique_names, listing
from foldwise.errors import InputError

PYTHON_CELL = 16  # bytes of a cell: a reference to a Python object that others share, then its value in a frame


@contextmanager
def opened_sqlite(source: SourceFile) -> Iterator[tuple[Any, dict[str, str]]]:
    """Open a SQLite file: the connection, and the SQL of each table by its name."""
    uri = f"{source.path.absolute().as_uri()}?mode=ro"
    with (
        read_errors(f"{source.name} cannot be read as a SQLite file", sqlite3.Error),
        closing(sqlite3.connect(uri, uri=True)) as connection,
    ):
        connection.execute("PRAGMA trusted_schema = OFF")
        found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        names = [str(name) for (name,) in found if not str(name).startswith("sqlite_")]
        yield connection, {name: quoted(name) for name in names}


@contextmanager
def opened_duckdb(source: SourceFile) -> Iterator[tuple[Any, dict[str, str]]]:
    """Open a DuckDB file: the connection, and the SQL of each table by its name. The package duckdb is an extra."""
    hint = "run pip install 'foldwise[duckdb]', or export the table as Parquet."
    duckdb = import_extra("duckdb", f"{source.name} is a DuckDB file", hint)
    forbidden = ("enable_external_access", "autoload_known_extensions", "autoinstall_known_extensions")
    with (
        TemporaryDirectory(prefix="foldwise-duckdb-") as spilled,  # instead of a folder beside the file
        read_errors(f"{source.name} cannot be read as a DuckDB file", duckdb.Error, RuntimeError),
        duckdb.connect(
            str(source.path), read_only=True, config={**dict.fromkeys(forbidden, False), "temp_directory": spilled}
        ) as connection,
    ):
        found = connection.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        paths = {(schema, name): ".".join(map(quoted, (schema, name))) for schema, name in found}
        yield (
            connection,
            {name if schema == "main" else f"{schema}.{name}": sql for (schema, name), sql in paths.items()},
        )


OPENED = {"sqlite": opened_sqlite, "duckdb": opened_duckdb}


def tables_of(source: SourceFile) -> list[str]:
    """Return the names of the tables of a database file."""
    with OPENED[source.format](source) as (_, tables):
        return list(tables)


def read_sqlite(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """Read a table of a SQLite file."""
    with opened_sqlite(source) as (connection, tables):
        table = chosen_table(list(tables), options, source.path)
        return parsed_rows(connection.execute(f"SELECT * FROM {tables[table]}"), list(tables), table, options)


def read_duckdb(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """Read a table of a DuckDB file."""
    with opened_duckdb(source) as (connection, tables):
        table = chosen_table(list(tables), options, source.path)
        path = tables[table]
        n_rows, *_ = connection.execute(f"SELECT count(*) FROM {path}").fetchone()
        kinds = connection.execute(f"DESCRIBE SELECT * FROM {path}").fetchall()
        check_cells(n_rows, PYTHON_CELL * len(kinds), source.path)  # equal cells take almost no space in the file
        cells = ", ".join(duckdb_cell(name, kind) for name, kind, *_ in kinds)
        return parsed_rows(connection.execute(f"SELECT {cells} FROM {path}"), list(tables), table, options)


def duckdb_cell(name: str, kind: str) -> str:
    """Write a column. Times with a time zone are read in UTC: for others, DuckDB needs the package pytz."""
    column = quoted(name)
    return f"make_timestamp(epoch_us({column})) AS {column}" if kind == "TIMESTAMP WITH TIME ZONE" else column


def chosen_table(tables: Sequence[str], options: ReadOptions, path: Path) -> str:
    """Return the table that was requested, or the only one."""
    if not tables:
        raise InputError(f"{path.name} contains no tables.")
    if options.table is None:
        if len(tables) == 1:
            return tables[0]
        raise InputError(f"{path.name} contains {len(tables)} tables: {listing(tables)}.", "pass table= to choose one.")
    if options.table not in tables:
        raise InputError(f"{path.name} has no table {options.table!r}.", f"choose among {listing(tables)}.")
    return options.table


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def parsed_rows(cursor: Any, tables: Sequence[str], table: str, options: ReadOptions) -> ParsedFile:
    """Return the rows of a query as a frame; a column of mixed types becomes text."""
    names = [str(column[0]) for column in cursor.description or ()]
    check_unique_names(names)
    rows = cursor.fetchall()
    columns = []
    for j, name in enumerate(names):
        cells = [row[j] for row in rows]
        if any(isinstance(cell, bytes | list | dict | tuple) for cell in cells):
            raise InputError(f"column {name!r} of table {table!r} contains bytes or lists, which are not supported.")
        columns.append(column_of(name, cells))
    among = f"one of {listing(tables)}" if len(tables) > 1 else "the only one in the file"
    return parsed_cells(pl.DataFrame(columns), options, Note("table", f"the table is {table!r}, {among}."))


def column_of(name: str, cells: list[Any]) -> pl.Series:
    """Return one column. SQLite may store 2.0 as the integer 2, and allows any type in any cell."""
    if any(type(cell) is float for cell in cells):
        numbers = all(
            cell is None or type(cell) is float or (type(cell) is int and abs(cell) < 2**53) for cell in cells
        )
        cells = [None if cell is None else float(cell) for cell in cells] if numbers else cells
    return series_of_values(name, cells)
