"""Check that a table has the columns of a model, of the same kinds as when the model was fitted.

Other columns are ignored and the order does not matter, because a file to predict often contains the target or an
identifier. Integers in a text column become text, because a file whose categories all look like numbers is read as
numbers. Every other change of type is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from foldwise.data.frames import as_polars
from foldwise.data.notes import Note
from foldwise.data.schema import listing, nearest_name
from foldwise.errors import InputError

KINDS = ("number", "truth", "text", "date")
WORDS = {"number": "numbers", "truth": "booleans", "text": "text", "date": "dates or times"}
EMPTY: dict[str, Any] = {"number": pl.Float64, "truth": pl.Boolean, "text": pl.String, "date": pl.Datetime("us")}


@dataclass(frozen=True)
class MatchedTable:
    """A table with the columns of a model, and notes on what was changed."""

    X: pl.DataFrame
    notes: tuple[Note, ...]


def kinds_of(frame: pl.DataFrame) -> dict[str, str]:
    """Return what each column contains: number, truth, text or date."""
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
    present = {column.name: column for column in frame}
    missing = [name for name in kinds if name not in present]
    extra = [name for name in frame.columns if name not in kinds]
    if missing:
        what = "columns" if len(missing) > 1 else "column"
        raise InputError(
            f"the table lacks the {what} {listing(missing)}, with which the model was trained.",
            f"{renamed_words(missing, extra)}add the {what} to the table. It has {listing(frame.columns)}.",
        )
    if not frame.height:
        raise InputError("the table has no rows.", "pass at least one row.")
    notes = []
    if extra:
        notes.append(ignored_columns(extra))
    columns = []
    for name, kind in kinds.items():
        column, note = as_kind(present[name], kind)
        columns.append(column)
        if note is not None:
            notes.append(note)
    return MatchedTable(pl.DataFrame(columns), tuple(notes))


def renamed_words(missing: Sequence[str], extra: Sequence[str]) -> str:
    """Ask whether columns that a table lacks are there under a similar name. Empty if none is similar.

    >>> renamed_words(["class"], ["Class", "name"])
    "is 'Class' the column 'class'? Then rename it. Otherwise "
    """
    near = [(name, nearest_name(extra, name, 0.7)) for name in missing]
    found = [f"{other!r} the column {name!r}" for name, other in near if other is not None]
    if not found:
        return ""
    them = "it" if len(found) == 1 else "them"
    return f"is {', and '.join(found[:3])}? Then rename {them}. Otherwise "


def ignored_columns(names: list[str]) -> Note:
    """Note that a table has columns that the model does not use."""
    if len(names) == 1:
        return Note("columns", f"column {names[0]!r} was ignored, because the model was trained without it.")
    return Note("columns", f"columns {listing(names)} were ignored, because the model was trained without them.")


def as_kind(column: pl.Series, kind: str) -> tuple[pl.Series, Note | None]:
    """Convert one column to the kind it had, or refuse it if that would change the meaning of its values."""
    came = kind_of(column)
    if column.null_count() == len(column) and came != kind:
        return pl.Series(column.name, np.full(len(column), None), dtype=EMPTY[kind]), None
    if came == kind:
        return column, None
    if kind == "text" and column.dtype.is_integer():
        text = f"converted {column.name!r} from integers to text, its type when the model was fitted."
        return column.cast(pl.String), Note("types", text, column.name)
    if kind == "number" and came == "text":
        check_numbers(column)
    first = column.drop_nulls()[0]
    raise InputError(
        f"column {column.name!r} contains {WORDS[came]} such as {first!r}, but it contained {WORDS[kind]} when the "
        "model was fitted.",
        f"read it as before, for example with kinds={{{column.name!r}: …}} or missing_values= of read_table.",
    )


def check_numbers(column: pl.Series) -> None:
    """Raise if some cell is not a number, and name it."""
    cells = column.drop_nulls().cast(pl.String)
    words = cells.filter(cells.str.strip_chars().cast(pl.Float64, strict=False).is_null())
    if len(words):
        raise InputError(
            f"column {column.name!r} contains {words[0]!r}, but it contained numbers when the model was fitted.",
            f"if that means missing, read the table with missing_values={{{column.name!r}: {words[0]!r}}}. Otherwise "
            "convert the column to numbers.",
        )
