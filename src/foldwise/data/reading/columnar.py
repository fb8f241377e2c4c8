"""Files whose cells know their types: Parquet, Feather, JSON lines. Missing cells are those the file calls so."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import polars as pl
import polars.selectors as cs

from foldwise.data.notes import Note
from foldwise.data.reading.asking import Asked
from foldwise.data.reading.decoding import as_utf8
from foldwise.data.reading.missing import is_numeric
from foldwise.data.reading.parsed import REFUSALS, Parsed, first_line
from foldwise.data.reading.source import Source
from foldwise.errors import InputError


def read_parquet(source: Source, asked: Asked) -> Parsed:
    """A Parquet file."""
    return by_polars(source, asked, "Parquet", pl.read_parquet)


def read_feather(source: Source, asked: Asked) -> Parsed:
    """A Feather (Arrow IPC) file."""
    return by_polars(source, asked, "Feather", pl.read_ipc)


def by_polars(source: Source, asked: Asked, format: str, read: Callable[[Any], pl.DataFrame]) -> Parsed:
    """A file by one of polars' readers."""
    try:
        frame = read(io.BytesIO(source.data))
    except REFUSALS as error:
        raise InputError(
            f"{source.name} cannot be read as {format}: {first_line(error)}.",
            "the file may be cut off, or in another format than its name says.",
        ) from error
    return Parsed(with_missing(frame, asked))


def with_missing(frame: pl.DataFrame, asked: Asked) -> pl.DataFrame:
    """The frame with the caller's tokens as missing cells; without any, cells are as the file has them."""
    if asked.missing_values is None:
        return frame
    text = cs.by_dtype(pl.String, pl.Categorical, pl.Enum).cast(pl.String)
    frame = frame.with_columns(pl.when(text.is_in(list(asked.missing_values))).then(None).otherwise(text).name.keep())
    numbers = [float(token) for token in asked.missing_values if is_numeric(token)]
    return frame.with_columns(pl.when(~cs.numeric().cast(pl.Float64).is_in(numbers)).then(cs.numeric()).name.keep())


def read_json(source: Source, asked: Asked) -> Parsed:
    """JSON lines, one record a line, or one JSON list of records."""
    data, notes = as_utf8(source.data, asked.encoding, source.name)
    whole = data.lstrip().startswith(b"[")
    records = whole_list(data, source.name) if whole else records_of(data, source.name)
    try:
        frame = pl.DataFrame(records, infer_schema_length=None, strict=True) if records else pl.DataFrame()
    except (*REFUSALS, TypeError, ValueError):
        try:
            frame = pl.DataFrame(records, infer_schema_length=None, strict=False)
        except (*REFUSALS, TypeError, ValueError) as error:
            raise InputError(
                f"{source.name}: its records are no table: {first_line(error)}.", "each field holds one kind of value."
            ) from error
    notes.append(Note("format", "a JSON list of records." if whole else "JSON lines, a record each."))
    return Parsed(with_missing(frame, asked), tuple(notes))


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
