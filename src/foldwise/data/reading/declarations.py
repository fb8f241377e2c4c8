"""Convert columns to the kinds that a caller declares. A cell that does not fit is refused, never dropped silently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from foldwise.data.arguments import column_index
from foldwise.data.reading.dates import dates_of
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
    "ordinal": None,
    "constant": None,
}
"""The kind in which each declared kind is stored; None leaves the column as it is."""


@dataclass(frozen=True)
class ColumnDeclarations:
    """What a caller declares about columns: their descriptions, and the more specific kind of each."""

    columns: tuple[Column, ...]
    kinds: dict[str, str]

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
        elif not isinstance(kind, str) or kind not in STORED:
            raise InputError(
                f"kinds gives column {name!r} the unknown kind {kind!r}.", f"use one of {', '.join(map(repr, STORED))}."
            )
        else:
            finer[name] = kind
            stored = STORED[kind]
            if stored is None:
                continue
            column = Column(name, stored)
        if column.name != name:
            raise InputError(f"kinds maps {name!r} to a Column of another name, {column.name!r}.")
        finer.setdefault(name, column.kind)
        declared.append(column)
    return ColumnDeclarations(tuple(declared), finer)


def apply_declarations(frame: pl.DataFrame, declared: ColumnDeclarations) -> pl.DataFrame:
    """Convert each declared column of a frame to the type of its kind."""
    for name in declared.kinds:
        column_index("kinds", str(name), frame.columns)
    return frame.with_columns([CASTS[column.kind](frame[column.name], column) for column in declared.columns])


def as_numeric(series: pl.Series, column: Column) -> pl.Series:
    if series.dtype.is_numeric():
        return series
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    numbers = series.cast(pl.Float64, strict=False)
    hint = "add it to missing_values, or declare the column categorical."
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
    return refuse_lost(series, truth, declared_as(column), "declare the column categorical.", "true, false, 1 or 0")


def as_date(series: pl.Series, column: Column) -> pl.Series:
    if series.dtype.is_temporal():
        return series
    dates = dates_of(series.cast(pl.String))
    hint = "declare the column categorical."
    return refuse_lost(series, dates, declared_as(column), hint, "a date such as 2026-01-31")


CASTS: dict[str, Callable[[pl.Series, Column], pl.Series]] = {
    "numeric": as_numeric,
    "categorical": as_categorical,
    "binary": as_binary,
    "date": as_date,
}


def declared_as(column: Column) -> str:
    return f"column {column.name!r} is declared {column.kind}"


def refuse_lost(before: pl.Series, after: pl.Series, declared: str, hint: str, wanted: str = "") -> pl.Series:
    """Return the result of a cast, and refuse it if a cell was lost: nothing becomes missing silently."""
    lost = (before.is_not_null() & after.is_null()).arg_true()
    if len(lost):
        row = int(lost[0])
        expected = f", which is not {wanted}" if wanted else ""
        raise InputError(f"{declared}, but row {row} contains {before[row]!r}{expected}.", hint)
    return after.alias(before.name)


def labels(series: pl.Series) -> Any:
    """Return the labels as an array: numbers and booleans in their own type, text as objects."""
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    return series.to_numpy()
