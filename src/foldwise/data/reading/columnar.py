"""Read files whose cells have types: Parquet, Feather and JSON. Only nulls and requested values are missing."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import polars as pl

from foldwise.data.notes import Note
from foldwise.data.reading.expansion import check_rows
from foldwise.data.reading.missing import missing_notes, with_missing
from foldwise.data.reading.protocol import CUT_OFF, READ_ERRORS, ParsedFile, ReadOptions, first_line, read_errors
from foldwise.data.reading.source_file import SourceFile
from foldwise.data.reading.text_encoding import as_utf8
from foldwise.errors import InputError


def read_parquet(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """Read a Parquet file."""
    return read_with_polars(source, options, "Parquet", pl.scan_parquet, pl.read_parquet)


def read_feather(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """Read a Feather (Arrow IPC) file."""
    return read_with_polars(source, options, "Feather", pl.scan_ipc, pl.read_ipc)


def read_with_polars(
    source: SourceFile,
    options: ReadOptions,
    format: str,
    scan: Callable[[Any], pl.LazyFrame],
    read: Callable[[Any], pl.DataFrame],
) -> ParsedFile:
    """Read a file by one of polars' readers, unless its cells would fill the memory."""
    with read_errors(f"{source.name} cannot be read as {format}", hint=CUT_OFF):
        check_rows(scan(io.BytesIO(source.data)), source.path)
        frame = read(io.BytesIO(source.data))
    return parsed_cells(frame, options)


def parsed_cells(frame: pl.DataFrame, options: ReadOptions, *notes: Note) -> ParsedFile:
    """Return a frame whose cells have types, with the values that the caller lists as missing."""
    frame, seen = with_missing(frame, options.missing_values)
    return ParsedFile(frame, (*notes, *missing_notes(seen, frame)))


def read_json(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """Read JSON lines (one record per line) or one JSON list of records."""
    data, notes = as_utf8(source.data, options.encoding, source.name)
    whole = data.lstrip().startswith(b"[")
    records = records_of(data, whole, source.name)
    try:
        frame = pl.DataFrame(records, infer_schema_length=None, strict=True) if records else pl.DataFrame()
    except (*READ_ERRORS, TypeError, ValueError):
        hint = "each field must have values of one type."
        with read_errors(f"the records of {source.name} do not form a table", TypeError, ValueError, hint=hint):
            frame = pl.DataFrame(records, infer_schema_length=None, strict=False)
            refuse_lost_cells(records, frame, source.name)
    format = Note("format", f"the file has one JSON {'list of records' if whole else 'record per line'}.")
    return parsed_cells(frame, options, *notes, format)


def refuse_lost_cells(records: list[dict[str, Any]], frame: pl.DataFrame, file: str) -> None:
    """Refuse values that no type of the frame can represent, such as numbers with forty digits."""
    for column in frame:
        for row in column.is_null().arg_true():
            value = records[row].get(column.name)
            if value is not None:
                raise InputError(
                    f"{file}: {column.name!r} of record {row} is {str(value)[:60]}, which is too large for a number.",
                    "write it as a string, in quotes.",
                )


def records_of(data: bytes, whole: bool, name: str) -> list[dict[str, object]]:
    """Return the records of one list, or of all lines that are not blank."""
    if whole:
        return [record(entry, f"{name}, entry {i}") for i, entry in enumerate(json_value(data, name))]
    lines = [(f"{name}, line {i}", line) for i, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    return [record(json_value(line, where), where) for where, line in lines]


def json_value(text: bytes, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:  # its own number of the line would contradict ours
        at = f" at character {error.colno}" if error.lineno == 1 else ""
        raise InputError(f"{where} is not JSON: {error.msg.lower()}{at}.", "write one record per line.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {first_line(error)}.", "write one record per line.") from error


def record(value: object, where: str) -> dict[str, object]:
    """Return a record, which must map names to single values."""
    if not isinstance(value, dict):
        raise InputError(
            f"{where} must be a record, but is of type {type(value).__name__}.", 'write rows as {"name": value, …}.'
        )
    for key, cell in value.items():
        if isinstance(cell, dict | list):
            raise InputError(
                f"{where}: {key!r} must be a single value, but is of type {type(cell).__name__}.",
                "flatten the records first.",
            )
    return value
