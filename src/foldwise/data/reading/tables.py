"""`read_table`: a file is opened, read by the reader of its format, and its columns become what is declared of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from foldwise.data.notes import Note
from foldwise.data.reading.arff import read_arff
from foldwise.data.reading.columnar import read_feather, read_json, read_parquet
from foldwise.data.reading.databases import read_duckdb, read_sqlite
from foldwise.data.reading.declarations import apply_declarations, labels, parse_kinds
from foldwise.data.reading.delimited import read_delimited
from foldwise.data.reading.excel import read_excel
from foldwise.data.reading.layout import given_names
from foldwise.data.reading.missing import with_column_tokens
from foldwise.data.reading.options import ReadOptions, header_rows, token_strings
from foldwise.data.reading.parsed_file import ParsedFile
from foldwise.data.reading.source_file import SourceFile, open_file
from foldwise.data.schema import Schema, check_unique_names, listing
from foldwise.data.table import Table
from foldwise.data.view import view_of_frame
from foldwise.errors import FoldwiseTypeError, FoldwiseWarning, InputError

READERS: dict[str, Callable[[SourceFile, ReadOptions], ParsedFile]] = {
    "text": read_delimited,
    "arff": read_arff,
    "parquet": read_parquet,
    "feather": read_feather,
    "json": read_json,
    "excel": read_excel,
    "sqlite": read_sqlite,
    "duckdb": read_duckdb,
}


KEYWORDS = {
    "text": ("separator", "quote", "encoding", "decimal", "header", "skip_rows"),
    "arff": ("encoding",),
    "json": ("encoding",),
    "excel": ("header", "skip_rows", "sheet"),
    "sqlite": ("table",),
    "duckdb": ("table",),
}
"""The keywords on how a file is written that apply to each format; the others apply to all."""


def read_table(
    path: str | Path,
    target: str | int | None = None,
    kinds: Mapping[str, Any] | Schema | None = None,
    missing_values: Mapping[str, Any] | Sequence[str] | str | None = None,
    *,
    separator: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | int | None = None,
    names: Sequence[str] | None = None,
    skip_rows: int | None = None,
    index: str | bool | None = None,
    sheet: str | int | None = None,
    table: str | None = None,
) -> Table:
    """Read a file as it came into a `Table`; `table.notes` says what was decided.

    Delimited text of any separator, quoting, encoding and decimal mark (.csv, .tsv, .tab, .txt, .data, .dat), ARFF and
    KEEL, Parquet, Feather, JSON lines, gzip of these, a table of a SQLite file; with extras Excel (`foldwise[excel]`)
    and DuckDB (`foldwise[duckdb]`).

    Parameters
    ----------
    path : path of the file
    target : the column to predict, by its name or its index (-1 is the last); without it `y` is None and `X` holds
        every column
    kinds : kind of a column by its name (`"numeric"`, `"count"`, `"binary"`, `"categorical"`, `"ordinal"`, `"text"`,
        `"date"`, `"identifier"`, `"constant"`), or a `Column` that also declares the levels, or a `Schema`.
        Categories are kept as the text they are in the file, also for the target: declare it categorical to keep `01`
        and `1` apart
    missing_values : cells of text that mean "missing"; by default, in text and Excel files only, an empty cell, `?`,
        `NA`, `N/A`, `n/a`, `#N/A`, `NaN`, `nan`, `null` and `NULL`; and, in columns of numbers, `-` and the like. A
        mapping names further ones column by column: `{"age": [0, 999]}`
    separator, quote, encoding, decimal : how text is written; `quote=""` gives quotes no meaning
    header : True for one row of names, False for none, or how many rows hold them
    names : names for all columns, instead of those in the file
    skip_rows : how many lines stand before the header
    index : the column that only numbers the rows, to be left out; a first column without a name that counts the rows is
        left out by itself, unless this is False
    sheet, table : which sheet of a workbook (name or index), which table of a database

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "weather.csv"
    >>> _ = path.write_text("outlook;humidity;play\\nsunny;85,5;no\\nrainy;;yes\\n")
    >>> table = read_table(path, target="play")
    >>> table
    Table 'weather': 2 rows, 2 columns, target 'play'
    outlook   categorical
    humidity  numeric
    >>> table.y
    array(['no', 'yes'], dtype=object)
    >>> print(table.notes.about("decimal mark"))
    decimal mark: ','.
    """
    declared = parse_kinds(kinds)
    options = ReadOptions(
        missing_values=None if isinstance(missing_values, Mapping) else token_strings(missing_values),
        separator=separator,
        quote=quote,
        encoding=encoding,
        decimal=decimal,
        header=header_rows(header),
        names=names,
        skip_rows=skip_rows,
        sheet=sheet,
        table=table,
        as_text=declared.as_text,
    )
    source = open_file(Path(path))
    check_keywords(source, options)
    parsed = READERS[source.format](source, options)
    frame = parsed.frame
    if not frame.width:
        raise InputError(f"{source.name} holds no columns.", "a table has a row of names and rows of cells.")
    if options.names is not None and source.format != "text":
        given = given_names(options.names, frame.width, source.name)
        check_unique_names(given)
        frame = frame.rename(dict(zip(frame.columns, given, strict=True)))
    frame, indexed = without_index(frame, index, parsed.unnamed if options.names is None else (), source.name)
    if isinstance(missing_values, Mapping):
        frame, marked = with_column_tokens(frame, missing_values, options, parsed.decimal)
        indexed += marked
    frame = apply_declarations(frame, declared)
    warn_of_pandas_index(frame, source.name)
    notes = (*parsed.notes, *indexed)
    finer = {**parsed.kinds, **declared.kinds}
    if target is None:
        return Table(frame, None, schema_of(frame), source.stem, None, notes, finer)
    label = target_of(target, frame.columns, source.name)
    X = frame.drop(label)
    return Table(X, labels(frame[label]), schema_of(X), source.stem, label, notes, finer)


def check_keywords(source: SourceFile, options: ReadOptions) -> None:
    """Refuse a keyword that says nothing about a file of this format."""
    for name in ("separator", "quote", "encoding", "decimal", "header", "skip_rows", "sheet", "table"):
        if getattr(options, name) is not None and name not in KEYWORDS.get(source.format, ()):
            known = ", ".join(f"{word}=" for word in KEYWORDS.get(source.format, ())) or "none of these"
            raise InputError(
                f"{source.name} is read as {source.format}, to which {name}= does not apply.",
                f"what applies to it: {known}.",
            )


def schema_of(frame: pl.DataFrame) -> Schema:
    return view_of_frame(nw.from_native(frame)).schema


def target_of(target: Any, columns: Sequence[str], file: str) -> str:
    """The name of the target, which may be given by its index."""
    if isinstance(target, str) and target in columns:
        return target
    if isinstance(target, int) and not isinstance(target, bool) and -len(columns) <= target < len(columns):
        return columns[target]
    if not isinstance(target, str | int):
        raise FoldwiseTypeError(f"target must be the name or the index of a column, got {target!r}.")
    raise InputError(f"{file} has no column {target!r} to use as target.", f"its columns are {listing(columns)}.")


def without_index(
    frame: pl.DataFrame, index: str | bool | None, unnamed: Sequence[str], file: str
) -> tuple[pl.DataFrame, list[Note]]:
    """The frame without the column that only numbers its rows."""
    if not isinstance(index, str | bool | None):
        raise FoldwiseTypeError(f"index must be the name of a column, or False to keep every column, got {index!r}.")
    if isinstance(index, str):
        if index not in frame.columns:
            raise InputError(f"{file} has no column {index!r} to use as index.", f"it has {listing(frame.columns)}.")
        return frame.drop(index), [Note("index", f"{index!r} was left out, as requested.", index)]
    if index is False or frame.width < 2 or frame.height < 2:
        return frame, []
    first = frame[:, 0]
    if (
        first.name not in unnamed
        or len(unnamed) == frame.width
        or first.dtype != pl.Int64
        or first.null_count()
        or first[0] not in (0, 1)
    ):
        return frame, []
    if not bool((first.diff().drop_nulls() == 1).all()):
        return frame, []
    note = f"the first column has no name and counts the rows from {first[0]}: left out; index=False keeps it."
    return frame.drop(first.name), [Note("index", note)]


def warn_of_pandas_index(frame: pl.DataFrame, file: str) -> None:
    if "__index_level_0__" in frame.columns:
        warnings.warn(
            f"{file} holds the index of a pandas frame as the column '__index_level_0__'. "
            "Hint: pass index='__index_level_0__', or write the file with index=False.",
            FoldwiseWarning,
            stacklevel=3,
        )
