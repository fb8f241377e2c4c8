"""One table of a SQLite or DuckDB file, opened read-only. Views are not read: that would run what the file says."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.data.notes import Note
from foldwise.data.reading.columnar import parsed_cells
from foldwise.data.reading.options import ReadOptions
from foldwise.data.reading.parsed_file import READ_ERRORS, ParsedFile, import_extra, read_errors
from foldwise.data.reading.source_file import SourceFile
from foldwise.data.schema import check_unique_names, listing
from foldwise.errors import InputError


def read_sqlite(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """A table of a SQLite file, by Python's own module."""
    uri = f"{source.path.absolute().as_uri()}?mode=ro"
    with (
        read_errors(f"{source.name} cannot be read as a SQLite file", sqlite3.Error),
        closing(sqlite3.connect(uri, uri=True)) as connection,
    ):
        connection.execute("PRAGMA trusted_schema = OFF")
        found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        tables = [str(name) for (name,) in found if not str(name).startswith("sqlite_")]
        table = chosen_table(tables, options, source.path)
        cursor = connection.execute(f"SELECT * FROM {quoted(table)}")
        names = [str(column[0]) for column in cursor.description]
        rows = cursor.fetchall()
    return table_of(names, rows, tables, table, options, source.name)


def read_duckdb(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """A table of a DuckDB file, by the package duckdb: an extra."""
    hint = "pip install 'foldwise[duckdb]', or export the table as Parquet."
    duckdb = import_extra("duckdb", f"{source.name} is a DuckDB file", hint)
    forbidden = ("enable_external_access", "autoload_known_extensions", "autoinstall_known_extensions")
    with (
        read_errors(f"{source.name} cannot be read as a DuckDB file", duckdb.Error, RuntimeError),
        duckdb.connect(str(source.path), read_only=True, config=dict.fromkeys(forbidden, False)) as connection,
    ):
        found = connection.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        tables = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in found}
        table = chosen_table(list(tables), options, source.path)
        cursor = connection.execute(f"SELECT * FROM {'.'.join(map(quoted, tables[table]))}")
        names = [str(column[0]) for column in cursor.description or ()]
        rows = cursor.fetchall()
    return table_of(names, rows, list(tables), table, options, source.name)


def chosen_table(tables: Sequence[str], options: ReadOptions, path: Path) -> str:
    """The table that was requested, or the only one."""
    if not tables:
        raise InputError(f"{path.name} holds no table.")
    if options.table is None:
        if len(tables) == 1:
            return tables[0]
        raise InputError(f"{path.name} holds {len(tables)} tables: {listing(tables)}.", "pass table= to choose one.")
    if options.table not in tables:
        raise InputError(f"{path.name} has no table {options.table!r}.", f"its tables are {listing(tables)}.")
    return options.table


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def table_of(
    names: list[str], rows: list[tuple[Any, ...]], tables: Sequence[str], table: str, options: ReadOptions, file: str
) -> ParsedFile:
    """The rows as a frame; a column of mixed types becomes text."""
    check_unique_names(names)
    columns = []
    for j, name in enumerate(names):
        cells = [row[j] for row in rows]
        if any(isinstance(cell, bytes | list | dict | tuple) for cell in cells):
            raise InputError(f"column {name!r} of table {table!r} in {file} holds bytes or lists, which are no cells.")
        columns.append(column_of(name, cells))
    note = Note("table", f"{table!r}" + (f" of {listing(tables)}." if len(tables) > 1 else ", the only one."))
    return parsed_cells(pl.DataFrame(columns), options, note)


def column_of(name: str, cells: list[Any]) -> pl.Series:
    """One column: SQLite keeps 2.0 as the whole number 2 where a column is declared decimal, and any cell anywhere."""
    if any(type(cell) is float for cell in cells):
        numbers = all(
            cell is None or type(cell) is float or (type(cell) is int and abs(cell) < 2**53) for cell in cells
        )
        cells = [None if cell is None else float(cell) for cell in cells] if numbers else cells
    try:
        return pl.Series(name, cells, strict=True)
    except (TypeError, *READ_ERRORS):
        return pl.Series(name, [None if cell is None else str(cell) for cell in cells], dtype=pl.String)
