"""Convert columns to the kinds that a caller declares. A cell that does not fit is refused, never dropped silently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import polars as pl

from foldwise.data.arguments import column_index
from foldwise.data.reading.dates import DURATION, ISO, TIME, dates_of, fits, formats_of, instants
from foldwise.data.reading.numbers import POINT
from foldwise.data.schema import Column, Kind, Schema
from foldwise.errors import InputError

STORED: dict[str, Kind | None] = {
    "numeric": "numeric",
    "count": "numeric",
    "binary": "binary",
    "categorical": "categorical",
    "text": "categorical",
    "identifier": "categorical",
    "date": "date",
    "time": "date",
    "duration": "date",
    "ordinal": None,
    "constant": None,
}
"""The kind in which each declared kind is stored; None leaves the column as it is."""
ALSO_CALLED = {"datetime": "date", "timestamp": "date", "number": "numeric", "float": "numeric", "int": "numeric"}
ALSO_CALLED |= {"category": "categorical", "bool": "binary", "boolean": "binary", "string": "text", "id": "identifier"}
EXAMPLES = {"time": "a time such as 18:30", "duration": "a duration such as 36:15:00 or 1h 30m"}


class UnreadableCellError(InputError):
    """A cell does not fit the declared kind of its column.

    Parameters
    ----------
    message, hint : str
        As in `FoldwiseError`.
    column, cell : str
        The column, and the cell as text.
    row : int
        The index of the row.
    """

    def __init__(self, message: str, hint: str = "", column: str = "", cell: str = "", row: int = 0) -> None:
        super().__init__(message, hint)
        self.column, self.cell, self.row = column, cell, row


@dataclass(frozen=True)
class ColumnDeclarations:
    """What a caller declares about columns: their descriptions, and the more specific kind of each."""

    columns: tuple[Column, ...]
    kinds: dict[str, str]

    def without(self, name: object) -> ColumnDeclarations:
        """Return the declarations of other columns."""
        kinds = {column: kind for column, kind in self.kinds.items() if column != name}
        return ColumnDeclarations(tuple(column for column in self.columns if column.name != name), kinds)

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns whose cells are read as text."""
        return tuple(column.name for column in self.columns if column.kind != "numeric")


def parse_kinds(kinds: Mapping[str, str | Column] | Schema | None) -> ColumnDeclarations:
    """Check the argument `kinds` of `read_table`."""
    if isinstance(kinds, Schema):
        return ColumnDeclarations(kinds.columns, {column.name: column.kind for column in kinds})
    if not isinstance(kinds, Mapping | None):
        raise InputError(
            f"kinds must be a mapping from column to kind, or a Schema, got {type(kinds).__name__}.",
            "for example, pass kinds={'zip': 'categorical'}.",
        )
    declared = []
    finer = {}
    for name, kind in (kinds or {}).items():
        if isinstance(kind, Column):
            column = kind
        elif not isinstance(kind, str) or base_kind(kind) not in STORED:
            likely = ALSO_CALLED.get(str(kind)) or next(iter(get_close_matches(str(kind), STORED, 1)), "")
            near = f"{likely!r}? Known kinds: " if likely else ""
            raise InputError(
                f"kinds gives column {name!r} the unknown kind {kind!r}.",
                f"{'did you mean ' if near else 'use one of '}{near}{', '.join(map(repr, STORED))}.",
            )
        else:
            finer[name] = kind
            stored = STORED[base_kind(kind)]
            if stored is None:
                continue
            column = Column(name, stored)
        if column.name != name:
            raise InputError(f"kinds maps {name!r} to a Column of another name, {column.name!r}.")
        finer.setdefault(name, column.kind)
        declared.append(column)
    return ColumnDeclarations(tuple(declared), finer)


def base_kind(kind: str) -> str:
    """Return a kind without the format of a date.

    >>> base_kind("date:%d.%m.%Y")
    'date'
    """
    base, mark, form = kind.partition(":")
    return base if mark and base == "date" and form else kind


def apply_declarations(frame: pl.DataFrame, declared: ColumnDeclarations) -> pl.DataFrame:
    """Convert each declared column of a frame to the type of its kind."""
    for name in declared.kinds:
        column_index("kinds", str(name), frame.columns)
    converted = []
    for column in declared.columns:
        series, kind = frame[column.name], declared.kinds.get(column.name, column.kind)
        as_dates = column.kind == "date"
        converted.append(as_date(series, column, kind) if as_dates else CASTS[column.kind](series, column))
    return frame.with_columns(converted)


def as_numeric(series: pl.Series, column: Column) -> pl.Series:
    if series.dtype.is_numeric():
        return series
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    numbers = series.cast(pl.Float64, strict=False)
    hint = f"add it to missing_values, or pass kinds={{{column.name!r}: 'categorical'}}."
    if series.dtype == pl.String:  # of 1,200 and 'unknown' report the second: it prevented reading the first
        unreadable = series.set(series.str.strip_chars().str.contains(POINT).fill_null(True), None)
        refuse_lost(unreadable, numbers, declared_as(column), hint, "a number")
    return refuse_lost(series, numbers, declared_as(column), hint, "a number")


def as_categorical(series: pl.Series, column: Column) -> pl.Series:
    text = series.cast(pl.String)
    if column.levels is None:
        return text  # the levels are learned from the training rows
    levels = pl.Enum(list(dict.fromkeys(str(level) for level in column.levels)))
    hint = "declare this level too, or add it to missing_values."
    return refuse_lost(text, text.cast(levels, strict=False), declared_as(column), hint, "one of its levels")


def as_binary(series: pl.Series, column: Column) -> pl.Series:
    lowered = series.cast(pl.String).str.to_lowercase()
    marks = lowered.replace({"1": "true", "1.0": "true", "0": "false", "0.0": "false"})
    truth = marks.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    hint = f"pass kinds={{{column.name!r}: 'categorical'}}."
    return refuse_lost(series, truth, declared_as(column), hint, "true, false, 1 or 0")


def as_date(series: pl.Series, column: Column, kind: str) -> pl.Series:
    """Read dates, times of day or durations; `kind` may give the format, as in "date:%d.%m.%Y"."""
    if series.dtype.is_temporal():
        return series
    text = series.cast(pl.String)
    form = kind.partition(":")[2] or (kind if kind in EXAMPLES else "")
    dates = instants(text, form) if form else dates_of(text)
    if form in ("", ISO) and isinstance(dates.dtype, pl.Datetime) and dates.dtype.time_zone and fits(text, dates):
        return text  # a column of polars has one zone, but models use the local time of each cell
    wanted = EXAMPLES.get(kind, f"written as {form!r}" if form else "a date such as 2026-01-31")
    hint = f"add it to missing_values, or pass kinds={{{column.name!r}: 'text'}}."
    if form and not fits(text, dates):
        if dates.null_count() - text.null_count() > text.count() / 2:  # not single cells that mean missing
            hint = f"correct the format, or pass kinds={{{column.name!r}: 'text'}}."
        others = [one for one in formats_of(text) if one not in (TIME, DURATION)]
        if len(others) == 1:
            hint = f"pass kinds={{{column.name!r}: 'date:{others[0]}'}}, which fits all rows."
    return refuse_lost(series, dates, f"column {column.name!r} is declared {kind.partition(':')[0]}", hint, wanted)


CASTS: dict[str, Callable[[pl.Series, Column], pl.Series]] = {
    "numeric": as_numeric,
    "categorical": as_categorical,
    "binary": as_binary,
}


def declared_as(column: Column) -> str:
    return f"column {column.name!r} is declared {column.kind}"


def refuse_lost(before: pl.Series, after: pl.Series, declared: str, hint: str, wanted: str = "") -> pl.Series:
    """Return the result of a cast, and refuse it if a cell was lost: nothing becomes missing silently."""
    lost = (before.is_not_null() & after.is_null()).arg_true()
    if len(lost):
        row = int(lost[0])
        expected = f", which is not {wanted}" if wanted else ""
        message = f"{declared}, but row {row} contains {before[row]!r}{expected}. Rows are counted from 0."
        raise UnreadableCellError(message, hint, before.name, str(before[row]), row)
    return after.alias(before.name)


def labels(series: pl.Series) -> Any:
    """Return the labels as an array: numbers and booleans in their own type, text as objects."""
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    return series.to_numpy()
