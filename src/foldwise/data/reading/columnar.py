"""Files whose cells know their types: Parquet, Feather, JSON lines. Missing cells are those the file calls so."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from foldwise.data.notes import Note
from foldwise.data.reading.missing import is_numeric, missing_notes
from foldwise.data.reading.options import ReadOptions
from foldwise.data.reading.parsed_file import CUT_OFF, READ_ERRORS, ParsedFile, first_line, read_errors
from foldwise.data.reading.source_file import SourceFile
from foldwise.data.reading.text_encoding import as_utf8
from foldwise.errors import InputError


def read_parquet(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """A Parquet file."""
    return read_with_polars(source, options, "Parquet", pl.read_parquet)


def read_feather(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """A Feather (Arrow IPC) file."""
    return read_with_polars(source, options, "Feather", pl.read_ipc)


def read_with_polars(
    source: SourceFile, options: ReadOptions, format: str, read: Callable[[Any], pl.DataFrame]
) -> ParsedFile:
    """A file by one of polars' readers."""
    with read_errors(f"{source.name} cannot be read as {format}", hint=CUT_OFF):
        frame = read(io.BytesIO(source.data))
    return parsed_cells(frame, options)


def parsed_cells(frame: pl.DataFrame, options: ReadOptions, *notes: Note) -> ParsedFile:
    """A frame whose cells have their types; only what the caller names becomes missing."""
    frame, seen = with_missing(frame, options.missing_values)
    return ParsedFile(frame, (*notes, *missing_notes(seen, frame)))


def with_missing(frame: pl.DataFrame, tokens: Sequence[str] | None) -> tuple[pl.DataFrame, list[str]]:
    """The frame with tokens as missing cells, and those that it held; without any, cells are as the file has them."""
    words = list(tokens or ())
    numbers = {float(token): token for token in words if is_numeric(token)}
    changed, seen = [], []
    for column in frame:
        if column.dtype in (pl.String, pl.Categorical, pl.Enum):
            cells = column.cast(pl.String)
            marked = cells.is_in(words)
        elif column.dtype.is_numeric():
            cells = column.cast(pl.Float64)
            marked = cells.is_in(list(numbers))
        else:
            continue
        if marked.any():
            seen += [numbers.get(cell, cell) for cell in cells.filter(marked).unique().to_list()]
            changed.append(pl.select(pl.when(~marked).then(column).alias(column.name)).to_series())  # levels are kept
    return frame.with_columns(changed), [word for word in words if word in seen]


def read_json(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """JSON lines, one record a line, or one JSON list of records."""
    data, notes = as_utf8(source.data, options.encoding, source.name)
    whole = data.lstrip().startswith(b"[")
    records = records_of(data, whole, source.name)
    try:
        frame = pl.DataFrame(records, infer_schema_length=None, strict=True) if records else pl.DataFrame()
    except (*READ_ERRORS, TypeError, ValueError):
        hint = "each field holds one kind of value."
        with read_errors(f"{source.name}: its records are not a table", TypeError, ValueError, hint=hint):
            frame = pl.DataFrame(records, infer_schema_length=None, strict=False)
            refuse_lost_cells(records, frame, source.name)
    format = Note("format", "a JSON list of records." if whole else "JSON lines, a record each.")
    return parsed_cells(frame, options, *notes, format)


def refuse_lost_cells(records: list[dict[str, Any]], frame: pl.DataFrame, file: str) -> None:
    """Refuse values that no type of the frame holds: numbers of forty digits."""
    for column in frame:
        for row in column.is_null().arg_true():
            value = records[row].get(column.name)
            if value is not None:
                raise InputError(
                    f"{file}: {column.name!r} of record {row} holds {str(value)[:60]}, which no number here can hold.",
                    "write it as text, in quotes.",
                )


def records_of(data: bytes, whole: bool, name: str) -> list[dict[str, object]]:
    """The records of one list, or one per line; blank lines are none."""
    if whole:
        return [record(entry, f"{name}, entry {i}") for i, entry in enumerate(json_value(data, name))]
    lines = [(f"{name}, line {i}", line) for i, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    return [record(json_value(line, where), where) for where, line in lines]


def json_value(text: bytes, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {first_line(error)}.", "JSON lines hold one record each.") from error


def record(value: object, where: str) -> dict[str, object]:
    """One record: names and single values."""
    if not isinstance(value, dict):
        raise InputError(f"{where} is {type(value).__name__}, not a record.", 'write rows as {"name": value, …}.')
    for key, cell in value.items():
        if isinstance(cell, dict | list):
            raise InputError(
                f"{where}: {key!r} holds {type(cell).__name__}, but a cell is one value.", "flatten the records first."
            )
    return value
