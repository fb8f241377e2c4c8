"""What a caller declares of columns, and the types that carry it: a cell that does not fit is named, none is lost."""

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
"""The kind in which each kind that may be declared is kept; None leaves the column as it is."""


@dataclass(frozen=True)
class ColumnDeclarations:
    """What the caller says of columns: their descriptions, and the finer kind of each by its name."""

    columns: tuple[Column, ...]
    kinds: dict[str, str]

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns that are read as the text they are."""
        return tuple(column.name for column in self.columns if column.kind != "numeric")


def parse_kinds(kinds: Mapping[str, str | Column] | Schema | None) -> ColumnDeclarations:
    """What the caller says of columns."""
    if isinstance(kinds, Schema):
        return ColumnDeclarations(kinds.columns, {column.name: column.kind for column in kinds})
    if not isinstance(kinds, Mapping | None):
        raise InputError(
            f"kinds must be a mapping from column to kind, or a Schema; got {type(kinds).__name__}.",
            "pass for example kinds={'zip': 'categorical'}.",
        )
    declared = []
    finer = {}
    for name, kind in (kinds or {}).items():
        if isinstance(kind, Column):
            column = kind
        elif not isinstance(kind, str) or kind not in STORED:
            raise InputError(
                f"column {name!r} has the unknown kind {kind!r}.", f"use one of {', '.join(map(repr, STORED))}."
            )
        else:
            finer[name] = kind
            stored = STORED[kind]
            if stored is None:
                continue
            column = Column(name, stored)
        if column.name != name:
            raise InputError(f"kinds gives {name!r} the description of a column called {column.name!r}.")
        finer.setdefault(name, column.kind)
        declared.append(column)
    return ColumnDeclarations(tuple(declared), finer)


def apply_declarations(frame: pl.DataFrame, declared: ColumnDeclarations) -> pl.DataFrame:
    """The frame with each declared column in the type that carries its kind."""
    for name in declared.kinds:
        column_index("kinds", str(name), frame.columns)
    return frame.with_columns([CASTS[column.kind](frame[column.name], column) for column in declared.columns])


def as_numeric(series: pl.Series, column: Column) -> pl.Series:
    if series.dtype.is_numeric():
        return series
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    numbers = series.cast(pl.Float64, strict=False)
    hint = "add it to missing_values, or declare it categorical."
    if series.dtype == pl.String:  # of 1,200 and 'unknown' the second is to be named: it kept the first from being read
        unreadable = series.set(series.str.strip_chars().str.contains(POINT).fill_null(True), None)
        refuse_lost(unreadable, numbers, column, "a number", hint)
    return refuse_lost(series, numbers, column, "a number", hint)


def as_categorical(series: pl.Series, column: Column) -> pl.Series:
    text = series.cast(pl.String)
    if column.levels is None:
        return text  # no levels are declared: they are learned from the training rows
    levels = pl.Enum(list(dict.fromkeys(str(level) for level in column.levels)))
    hint = "declare it too, or add it to missing_values."
    return refuse_lost(text, text.cast(levels, strict=False), column, "one of its levels", hint)


def as_binary(series: pl.Series, column: Column) -> pl.Series:
    lowered = series.cast(pl.String).str.to_lowercase()
    marks = lowered.replace({"1": "true", "1.0": "true", "0": "false", "0.0": "false"})
    truth = marks.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    return refuse_lost(series, truth, column, "true, false, 1 or 0", "declare it categorical.")


def as_date(series: pl.Series, column: Column) -> pl.Series:
    if series.dtype.is_temporal():
        return series
    dates = dates_of(series.cast(pl.String))
    return refuse_lost(series, dates, column, "a date such as 2026-01-31", "declare it categorical.")


CASTS: dict[str, Callable[[pl.Series, Column], pl.Series]] = {
    "numeric": as_numeric,
    "categorical": as_categorical,
    "binary": as_binary,
    "date": as_date,
}


def first_lost(before: pl.Series, after: pl.Series) -> int | None:
    """The first row whose cell a cast has lost."""
    lost = (before.is_not_null() & after.is_null()).arg_true()
    return int(lost[0]) if len(lost) else None


def refuse_lost(before: pl.Series, after: pl.Series, column: Column, wanted: str, hint: str) -> pl.Series:
    """Refuse a cast that lost a cell: nothing becomes missing silently."""
    row = first_lost(before, after)
    if row is not None:
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
