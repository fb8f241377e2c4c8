"""Check a table against a model: its columns are present and of the kind they had when the model was fitted.

Extra columns are ignored and the order does not matter, because a file to predict often holds the target or an
identifier. Whole numbers in a text column become text, because a file whose categories all look like numbers is read
so. Every other change of type is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from foldwise.data.frames import as_polars
from foldwise.data.notes import Note
from foldwise.data.schema import listing
from foldwise.errors import InputError

KINDS = ("number", "truth", "text", "date")
WORDS = {"number": "numbers", "truth": "truth values", "text": "text", "date": "dates or times"}


@dataclass(frozen=True)
class MatchedTable:
    """A table with the columns of a model, and notes on what was changed."""

    X: pl.DataFrame
    notes: tuple[Note, ...]


def kinds_of(frame: pl.DataFrame) -> dict[str, str]:
    """What each column holds: number, truth, text or date."""
    return {column.name: kind_of(column) for column in frame}


def kind_of(column: pl.Series) -> str:
    dtype = column.dtype
    if dtype == pl.Boolean:
        return "truth"
    if dtype.is_numeric() or dtype == pl.Null:
        return "number"
    return "date" if dtype.is_temporal() else "text"


def match_columns(X: Any, kinds: Mapping[str, str]) -> MatchedTable:
    """Return the columns of a table that a model needs, in its order and types."""
    frame = as_polars(X)
    absent = [name for name in kinds if name not in frame.columns]
    if absent:
        what = "columns" if len(absent) > 1 else "column"
        raise InputError(
            f"the table lacks the {what} {listing(absent)}, on which the model was fitted.",
            f"it has {listing(frame.columns)}.",
        )
    if not frame.height:
        raise InputError("the table has no rows.", "pass one row at least.")
    notes = []
    extra = [name for name in frame.columns if name not in kinds]
    if extra:
        notes.append(Note("columns", f"{listing(extra)}: not known to the model, left out."))
    columns = []
    for name, kind in kinds.items():
        column, note = as_kind(frame[name], kind)
        columns.append(column)
        if note is not None:
            notes.append(note)
    return MatchedTable(pl.DataFrame(columns), tuple(notes))


EMPTY: dict[str, Any] = {"number": pl.Float64, "truth": pl.Boolean, "text": pl.String, "date": pl.Datetime("us")}


def as_kind(column: pl.Series, kind: str) -> tuple[pl.Series, Note | None]:
    """One column in the kind it had; refused where that would change the meaning of its values."""
    came = kind_of(column)
    if column.null_count() == len(column) and came != kind:
        return pl.Series(column.name, np.full(len(column), None), dtype=EMPTY[kind]), None
    if came == kind:
        return column, None
    if kind == "text" and column.dtype.is_integer():
        text = f"{column.name!r} holds whole numbers, and held text when the model was fitted: compared as text."
        return column.cast(pl.String), Note("types", text, column.name)
    first = column.drop_nulls()[0]
    raise InputError(
        f"the column {column.name!r} holds {WORDS[came]} such as {first!r}, but held {WORDS[kind]} when the model was "
        "fitted.",
        f"read it as it was then, for instance by kinds={{{column.name!r}: …}} or missing_values= of read_table.",
    )
