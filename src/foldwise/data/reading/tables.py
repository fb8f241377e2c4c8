"""`read_table`: open a file, read it with the reader of its format, and convert its columns to their declared kinds."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from foldwise.data.columns import NUMPY_TYPES
from foldwise.data.notes import Note
from foldwise.data.reading.arff import read_arff
from foldwise.data.reading.columnar import read_feather, read_json, read_parquet
from foldwise.data.reading.databases import read_duckdb, read_sqlite
from foldwise.data.reading.declarations import apply_declarations, labels, parse_kinds
from foldwise.data.reading.delimited import read_delimited
from foldwise.data.reading.excel import read_excel
from foldwise.data.reading.layout import given_names
from foldwise.data.reading.missing import everywhere, plain_tokens, with_column_tokens
from foldwise.data.reading.protocol import ParsedFile, ReadOptions, header_rows, token_strings
from foldwise.data.reading.source_file import SourceFile, open_file
from foldwise.data.schema import Column, Schema, check_unique_names, choose_among
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
"""The keywords that apply to each format only; all other keywords apply to all formats."""


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
    drop: Sequence[str] | str = (),
    sheet: str | int | None = None,
    table: str | None = None,
) -> Table:
    """Read a file into a `Table`, and detect how it is written.

    Supported are delimited text (.csv, .tsv, .tab, .txt, .data, .dat) with any separator, quoting, encoding and decimal
    mark, ARFF and KEEL, Parquet, Feather, JSON Lines and JSON lists, all of them also compressed with gzip, and SQLite.
    Excel and DuckDB need the extras `foldwise[excel]` and `foldwise[duckdb]`. `table.notes` says what was detected.

    Parameters
    ----------
    path : str or path
        The file to read.
    target : str or int, optional
        The column to predict, by name or by index (-1 is the last). Without a target (default), `y` is None and `X` has
        all columns.
    kinds : mapping, optional
        The kind of a column by its name: "numeric", "count", "binary", "categorical", "ordinal", "text", "date",
        "time", "duration", "identifier" or "constant". "date:%d.%m.%Y" also sets the date format. A `Column` also
        declares levels. A `Schema` describes all columns. Kinds are detected by default. Categorical cells are kept as
        text, so `01` and `1` differ.
    missing_values : str, list or mapping, optional
        Values that mean "missing". The default in text and Excel files is an empty cell, `?`, `NA`, `N/A`, `n/a`,
        `#N/A`, `NaN`, `nan`, `null` and `NULL`, and among numbers also `-` and the like. A list replaces them. A
        mapping adds values for single columns, and for all columns by `"*"`: `{"age": [0, 999], "*": ["unknown"]}`.
    separator, quote, encoding, decimal : str, optional
        How text is written. `quote=""` treats quotes as ordinary characters. All are detected by default.
    header : bool or int, optional
        True for one row of column names, False for none, or the number of such rows. Detected by default.
    names : list of str, optional
        Names for all columns, instead of those in the file.
    skip_rows : int, optional
        Number of lines before the header. Detected by default.
    index : str or False, optional
        A column that only numbers the rows and is dropped. By default, a first column is dropped if it has no name and
        counts the rows; False keeps it.
    drop : str or list of str, optional
        Columns to leave out.
    sheet : str or int, optional
        The sheet of a workbook, by name or index. The default is the first.
    table : str, optional
        The table of a database. The default is the only one.

    Returns
    -------
    Table
        The columns `X`, the target `y`, the `schema`, and `notes` on how the file was read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "weather.csv"
    >>> _ = path.write_text("outlook;humidity;play\\nsunny;85,5;no\\nrainy;;yes\\n")
    >>> table = read_table(path, target="play")
    >>> table
    Table 'weather': 2 rows, 2 columns, target 'play'
    outlook   categorical
    humidity  numeric
    >>> table.y
    array(['no', 'yes'], dtype=object)
    >>> print(table.notes.about("decimal mark"))
    decimal mark: the decimal mark is ','.
    """
    declared = parse_kinds(kinds)
    options = ReadOptions(
        missing_values=None if isinstance(missing_values, Mapping) else token_strings(missing_values),
        more_missing=everywhere(missing_values),
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
    if not isinstance(path, str | PathLike):
        raise FoldwiseTypeError(f"path must be the path of a file, got {type(path).__name__}.", "pass a str or a Path.")
    source = open_file(Path(path))
    check_keywords(source.name, source.format, options)
    parsed = READERS[source.format](source, options)
    frame = parsed.frame
    if not frame.width:
        raise InputError(f"{source.name} contains no columns.", "pass a file with a header and rows.")
    if options.names is not None and source.format != "text":
        given = given_names(options.names, frame.width, source.name)
        check_unique_names(given)
        frame = frame.rename(dict(zip(frame.columns, given, strict=True)))
    frame, indexed = without_index(frame, index, parsed.unnamed if options.names is None else (), source.name)
    again: set[str] = set()  # columns that were not numbers before their missing values were known
    if isinstance(missing_values, Mapping):
        again = {name for name in missing_values if name in frame.columns and frame[name].dtype == pl.String}
        frame, marked = with_column_tokens(frame, missing_values, options, parsed.decimal)
        indexed += marked
    frame = apply_declarations(frame, declared.without(index))
    frame, dropped = without_columns(frame, [drop] if isinstance(drop, str) else drop, target, source.name)
    indexed += dropped
    warn_of_pandas_index(frame, source.name)
    notes = (*(one for one in parsed.notes if one.topic != "numbers" or one.column not in again), *indexed)
    finer = {**parsed.kinds, **declared.kinds}
    detected = {name: value for name, value in parsed.detected.items() if getattr(options, name) is None}
    reading = {"kinds": declared.kinds, "missing_values": plain_tokens(missing_values)}
    reading = {name: value for name, value in reading.items() if value}
    if target is None:
        return Table(frame, None, schema_of(frame), source.stem, None, notes, finer, reading, detected)
    label = target_of(target, frame.columns, source.name)
    X = frame.clone()
    y = labels(X.drop_in_place(label))  # `drop` makes an expression per column
    return Table(X, y, schema_of(X), source.stem, label, notes, finer, reading, detected)


def check_keywords(file: str, format: str, options: ReadOptions) -> None:
    """Refuse a keyword that does not apply to the format of a file."""
    known = KEYWORDS.get(format, ())
    for name in ("separator", "quote", "encoding", "decimal", "header", "skip_rows", "sheet", "table"):
        if getattr(options, name) is not None and name not in known:
            hint = f"leave {name}= out." + (
                f" Options of this format: {', '.join(f'{word}=' for word in known)}." if known else ""
            )
            raise InputError(f"{name}= does not apply to {file}, which is read as {format}.", hint)


def schema_of(frame: pl.DataFrame) -> Schema:
    """Return the names and kinds of the columns. Numbers are recognized by their types alone, which is faster."""
    types = zip(frame.columns, frame.dtypes, strict=True)
    numbers = {name for name, kind in types if type(kind) in NUMPY_TYPES}
    others = view_of_frame(nw.from_native(frame.select([name for name in frame.columns if name not in numbers]))).schema
    return Schema(tuple(Column(name, "numeric") if name in numbers else others[name] for name in frame.columns))


def target_of(target: Any, columns: Sequence[str], file: str) -> str:
    """Return the name of the target, which may be given by its index."""
    if isinstance(target, str) and target in columns:
        return target
    if isinstance(target, int) and not isinstance(target, bool) and -len(columns) <= target < len(columns):
        return columns[target]
    if not isinstance(target, str | int):
        raise FoldwiseTypeError(f"target must be the name or the index of a column, got {target!r}.")
    hint = choose_among(columns, target)
    if isinstance(target, str) and len(columns) == 1 and target in re.split(r"[^\w ]+", columns[0]):
        hint = "the whole header was read as one column. Leave separator= out, or pass another."
    if all(name == f"x{j}" for j, name in enumerate(columns)):
        hint += " If the first row of the file has the names, pass header=True."
    raise InputError(f"{file} has no column {target!r}, passed as target=.", hint)


def without_index(
    frame: pl.DataFrame, index: str | bool | None, unnamed: Sequence[str], file: str
) -> tuple[pl.DataFrame, list[Note]]:
    """Drop the column that only numbers the rows."""
    if not isinstance(index, str | bool | None):
        raise FoldwiseTypeError(f"index must be the name of a column, or False to keep every column, got {index!r}.")
    if isinstance(index, str):
        if index not in frame.columns:
            raise InputError(f"{file} has no column {index!r}, passed as index=.", choose_among(frame.columns, index))
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
        or not bool((first.diff().drop_nulls() == 1).all())
    ):
        return frame, []
    note = f"the first column has no name and counts the rows from {first[0]}. It was left out. index=False keeps it."
    return frame.drop(first.name), [Note("index", note)]


def without_columns(
    frame: pl.DataFrame, drop: Sequence[str], target: str | int | None, file: str
) -> tuple[pl.DataFrame, list[Note]]:
    """Drop the columns that a caller leaves out."""
    for name in drop:
        if name not in frame.columns:
            raise InputError(f"{file} has no column {name!r}, passed as drop=.", choose_among(frame.columns, name))
        if name == target:
            raise InputError(
                f"{name!r} is the target, so it cannot be dropped.", "leave it out of drop=, or choose another target=."
            )
    if not drop:
        return frame, []
    return frame.drop(*drop), [Note("drop", f"{name!r} was left out, as requested.", name) for name in drop]


def warn_of_pandas_index(frame: pl.DataFrame, file: str) -> None:
    if "__index_level_0__" in frame.columns:
        warnings.warn(
            f"{file} contains the index of a pandas frame as column '__index_level_0__'. "
            "Hint: pass index='__index_level_0__', or write the file without the index.",
            FoldwiseWarning,
            stacklevel=3,
        )
