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
from foldwise.data.reading.parsed_file import READ_ERRORS, ParsedFile, first_line
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
    try:
        frame = read(io.BytesIO(source.data))
    except READ_ERRORS as error:
        raise InputError(
            f"{source.name} cannot be read as {format}: {first_line(error)}.",
            "the file may be cut off, or in another format than its name says.",
        ) from error
    frame, seen = with_missing(frame, options.missing_values)
    return ParsedFile(frame, tuple(missing_notes(seen, frame)))


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
    records = whole_list(data, source.name) if whole else records_of(data, source.name)
    try:
        frame = pl.DataFrame(records, infer_schema_length=None, strict=True) if records else pl.DataFrame()
    except (*READ_ERRORS, TypeError, ValueError):
        try:
            frame = pl.DataFrame(records, infer_schema_length=None, strict=False)
            refuse_lost_cells(records, frame, source.name)
        except (*READ_ERRORS, TypeError, ValueError) as error:
            raise InputError(
                f"{source.name}: its records are no table: {first_line(error)}.", "each field holds one kind of value."
            ) from error
    notes.append(Note("format", "a JSON list of records." if whole else "JSON lines, a record each."))
    frame, seen = with_missing(frame, options.missing_values)
    return ParsedFile(frame, (*notes, *missing_notes(seen, frame)))


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


def whole_list(data: bytes, name: str) -> list[dict[str, object]]:
    found = json_value(data, name, "")
    return [record(entry, f"{name}, entry {number}") for number, entry in enumerate(found)]


def records_of(data: bytes, name: str) -> list[dict[str, object]]:
    """The records, one a line; blank lines are none."""
    lines = enumerate(data.split(b"\n"), 1)
    return [
        record(json_value(line, name, f", line {number}"), f"{name}, line {number}")
        for number, line in lines
        if line.strip()
    ]


def json_value(text: bytes, name: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name}{where} is not JSON: {first_line(error)}.", "JSON lines hold one record each."
        ) from error


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
