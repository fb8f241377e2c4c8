"""From a file to a `Table`: ordinary CSV and Parquet, by polars' readers.

What a column is comes from its type and from what the caller declares. Looking at values to find out more (codes,
identifiers, dates, other formats and messy files) is not done here.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl
import polars.selectors as cs
from polars.exceptions import PolarsError

from foldwise.data.schema import Column, Kind, Schema, check_unique_names, listing
from foldwise.data.table import Table
from foldwise.data.view import view_of_frame
from foldwise.errors import FoldwiseWarning, InputError

MISSING_VALUES = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")


def read_table(
    path: str | Path,
    target: str | None = None,
    kinds: Mapping[str, Kind | Column] | Schema | None = None,
    missing_values: Sequence[str] | str | None = None,
) -> Table:
    """Read a CSV or Parquet file into a `Table`.

    Parameters
    ----------
    path : path of a `.csv` or `.parquet` file
    target : name of the column to predict; without it `y` is None and `X` holds every column
    kinds : kind of a column by its name (`"numeric"`, `"categorical"`, `"binary"`, `"date"`), or a `Column` that also
        declares the levels, or a `Schema`; columns not named keep the kind of their type. Categories are kept as the
        text they are in the file, also for the target: declare it categorical to keep `01` and `1` apart
    missing_values : cells of text that mean "missing"; by default, in CSV files only, an empty cell, `?`, `NA`, `N/A`,
        `NaN`, `nan`, `null` and `NULL`

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "weather.csv"
    >>> _ = path.write_text("outlook,humidity,play\\nsunny,85,no\\nrainy,,yes\\n")
    >>> table = read_table(path, target="play")
    >>> table
    Table 'weather': 2 rows, 2 columns, target 'play'
    outlook   categorical
    humidity  numeric
    >>> table.y
    array(['no', 'yes'], dtype=object)
    """
    path = Path(path)
    declared = declared_columns(kinds or {})
    tokens = missing_tokens(missing_values)
    frame = READERS[format_of(path)](path, tokens, [c.name for c in declared if c.kind != "numeric"])
    frame = declare(frame, declared)
    if "__index_level_0__" in frame.columns:
        warnings.warn(
            f"{path.name} holds the index of a pandas frame as the column '__index_level_0__'. "
            "Hint: drop it, or write the file with index=False.",
            FoldwiseWarning,
            stacklevel=2,
        )
    if target is None:
        return Table(frame, None, view_of_frame(nw.from_native(frame)).schema, path.stem)
    if target not in frame.columns:
        raise InputError(
            f"{path.name} has no column {target!r} to use as target.", f"its columns are {listing(frame.columns)}."
        )
    X = frame.drop(target)
    return Table(X, labels(frame[target]), view_of_frame(nw.from_native(X)).schema, path.stem, target)


def declared_columns(kinds: Mapping[str, Kind | Column] | Schema) -> list[Column]:
    """What the caller says of columns."""
    if isinstance(kinds, Schema):
        return list(kinds.columns)
    if not isinstance(kinds, Mapping):
        raise InputError(
            f"kinds must be a mapping from column to kind, or a Schema; got {type(kinds).__name__}.",
            "pass for example kinds={'zip': 'categorical'}.",
        )
    declared = []
    for name, kind in kinds.items():
        column = kind if isinstance(kind, Column) else Column(name, kind)
        if column.name != name:
            raise InputError(f"kinds gives {name!r} the description of a column called {column.name!r}.")
        declared.append(column)
    return declared


def missing_tokens(missing_values: Sequence[str] | str | None) -> list[str] | None:
    """The tokens as a list of strings; one string is one token."""
    if missing_values is None:
        return None
    if isinstance(missing_values, str | int | float):
        return [str(missing_values)]
    return [str(value) for value in missing_values]


def format_of(path: Path) -> str:
    """The format of a file by the end of its name."""
    suffix = path.suffix.lower()
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}.", f"the working folder is {str(Path.cwd())!r}.")
    if suffix not in READERS:
        raise InputError(
            f"{path.name} ends in {suffix!r}, which no reader here knows.",
            f"formats read: {', '.join(sorted(READERS))}.",
        )
    return suffix


def read_csv(path: Path, missing_values: list[str] | None, as_text: list[str]) -> pl.DataFrame:
    """Ordinary CSV: a header row, commas, UTF-8. Types are found from all rows, not from the first few.

    Columns declared to be no numbers are read as the text they are: 007 and 7 stay two categories.
    """
    tokens = list(MISSING_VALUES) if missing_values is None else missing_values
    try:
        header = pl.read_csv(path, n_rows=1, has_header=False, infer_schema=False)
        names = [str(name) for name in header.row(0)]
        check_unique_names(names)
        text = {name: pl.String for name in as_text if name in names}
        frame = pl.read_csv(path, null_values=tokens, infer_schema_length=None, schema_overrides=text)
    except (PolarsError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} cannot be read as CSV: {first_line(error)}", ORDINARY) from error
    if frame.width > 1 and frame[:, -1].null_count():
        return without_blank_lines(frame, check_row_lengths(path, frame.width))
    return frame


ORDINARY = (
    "an ordinary CSV file has a header row, commas between cells, the same number of cells in each row and UTF-8 text."
)


def check_row_lengths(path: Path, width: int) -> list[int]:
    """Refuse a row that is too short, whose last cells the reader would take for missing; returns the blank lines."""
    csv.field_size_limit(1 << 30)
    blank = []
    with path.open(newline="", encoding="utf-8") as lines:
        for number, row in enumerate(csv.reader(lines)):
            if not row:
                blank.append(number - 1)
            elif len(row) < width:
                raise InputError(
                    f"{path.name}: row {number - 1} has {len(row)} cells where the header has {width}.",
                    "write an empty cell for a missing one; nothing is taken as missing silently.",
                )
    return blank


def without_blank_lines(frame: pl.DataFrame, blank: list[int]) -> pl.DataFrame:
    """The rows without those that the reader made of blank lines, which are no rows."""
    rows = [number for number in blank if number < frame.height and all(v is None for v in frame.row(number))]
    if not rows:
        return frame
    kept = pl.Series(range(frame.height), dtype=pl.Int64).is_in(rows).not_()
    return frame.filter(kept)


def read_parquet(path: Path, missing_values: list[str] | None, as_text: list[str]) -> pl.DataFrame:
    """Parquet, whose cells know themselves whether they are missing."""
    try:
        frame = pl.read_parquet(path)
    except (PolarsError, OSError) as error:
        raise InputError(f"{path.name} cannot be read as Parquet: {first_line(error)}") from error
    if missing_values is None:
        return frame
    text = cs.by_dtype(pl.String, pl.Categorical, pl.Enum).cast(pl.String)
    return frame.with_columns(pl.when(text.is_in(missing_values)).then(None).otherwise(text).name.keep())


READERS: dict[str, Callable[[Path, list[str] | None, list[str]], pl.DataFrame]] = {
    ".csv": read_csv,
    ".parquet": read_parquet,
}


def declare(frame: pl.DataFrame, declared: Sequence[Column]) -> pl.DataFrame:
    """The frame with each declared column in the type that carries its kind."""
    changed = []
    for column in declared:
        if column.name not in frame.columns:
            raise InputError(
                f"kinds names the column {column.name!r}, which the table does not have.",
                f"its columns are {listing(frame.columns)}.",
            )
        changed.append(CASTS[column.kind](frame[column.name], column))
    return frame.with_columns(changed)


def as_numeric(series: pl.Series, column: Column) -> pl.Series:
    if series.dtype.is_numeric():
        return series
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    return cast_all(series, pl.Float64, column, "a number", "add it to missing_values, or declare it categorical.")


def as_categorical(series: pl.Series, column: Column) -> pl.Series:
    text = series.cast(pl.String)
    if column.levels is None:
        return text  # no levels are declared: they are learned from the training rows
    levels = list(dict.fromkeys(str(level) for level in column.levels))
    return cast_all(text, pl.Enum(levels), column, "one of its levels", "declare it too, or add it to missing_values.")


def as_binary(series: pl.Series, column: Column) -> pl.Series:
    lowered = series.cast(pl.String).str.to_lowercase()
    marks = lowered.replace({"1": "true", "1.0": "true", "0": "false", "0.0": "false"})
    truth = marks.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    return refuse_lost(series, truth, column, "true, false, 1 or 0", "declare it categorical.")


def as_date(series: pl.Series, column: Column) -> pl.Series:
    if series.dtype.is_temporal():
        return series
    try:
        dates = series.cast(pl.String).str.to_datetime(strict=False)
    except PolarsError:  # no format of dates fits the first cells
        dates = pl.Series(series.name, [None] * len(series), dtype=pl.Datetime)
    return refuse_lost(series, dates, column, "a date such as 2026-01-31", "declare it categorical.")


CASTS: dict[str, Callable[[pl.Series, Column], pl.Series]] = {
    "numeric": as_numeric,
    "categorical": as_categorical,
    "binary": as_binary,
    "date": as_date,
}


def cast_all(series: pl.Series, dtype: Any, column: Column, wanted: str, hint: str) -> pl.Series:
    """Every present cell in another type, or an error that names the first that does not go."""
    return refuse_lost(series, series.cast(dtype, strict=False), column, wanted, hint)


def refuse_lost(before: pl.Series, after: pl.Series, column: Column, wanted: str, hint: str) -> pl.Series:
    """Refuse a cast that lost a cell: nothing becomes missing silently."""
    lost = (before.is_not_null() & after.is_null()).arg_true()
    if len(lost):
        row = int(lost[0])
        raise InputError(
            f"column {column.name!r} is declared {column.kind} but row {row} holds {before[row]!r}, "
            f"which is not {wanted}.",
            hint,
        )
    return after.alias(before.name)


def labels(series: pl.Series) -> Any:
    """The labels as an array: numbers and truth values in their own type, text as objects."""
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    return series.to_numpy()


def first_line(error: Exception) -> str:
    """The first line of another library's message."""
    return str(error).strip().split("\n")[0]
