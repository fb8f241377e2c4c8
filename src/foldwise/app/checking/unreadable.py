"""Cells of new rows that are of another kind than the column had in training, such as text among numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from foldwise.data.notes import counted
from foldwise.data.reading.dates import dates_of
from foldwise.storage.table_check import EMPTY, WORDS, kind_of

ONE = {"number": "number", "truth": "boolean", "text": "text", "date": "date or time"}
TRUTHS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


@dataclass(frozen=True)
class UnreadableCells:
    """Cells of a column that are not what the model was trained on.

    Attributes
    ----------
    column : str
        The column.
    kind : str
        What it contained in training: "number", "truth", "text" or "date".
    n_cells, n_known : int
        Such cells, and all cells that are not missing.
    example : str
        The first such cell.
    """

    column: str
    kind: str
    n_cells: int
    n_known: int
    example: str

    def sentence(self) -> str:
        """Say how many cells there are, with an example.

        >>> UnreadableCells("age", "number", 199, 200, "29 years").sentence()
        "'age': 199 of 200 cells are no longer numbers, for example '29 years'."
        """
        cells = f"{self.column!r}: {self.n_cells:,} of {counted(self.n_known, 'cell')}"
        if self.n_cells == 1:
            return f"{cells} is no longer a {ONE[self.kind]}: {self.example!r}."
        return f"{cells} are no longer {WORDS[self.kind]}, for example {self.example!r}."


class ReadableCells:
    """Converts the columns of each batch to their kinds. Cells that cannot be converted become missing and count."""

    def __init__(self) -> None:
        self._found: dict[str, UnreadableCells] = {}
        self._known: dict[str, int] = {}

    def of(self, frame: pl.DataFrame, kinds: Mapping[str, str]) -> pl.DataFrame:
        """Return the batch with the cells that can be read."""
        for name, kind in kinds.items():
            column = frame[name]
            n_known = len(column) - column.null_count()
            self._known[name] = self._known.get(name, 0) + n_known
            if kind_of(column) == kind or not n_known or (kind == "text" and column.dtype.is_integer()):
                continue
            readable = converted(column, kind)
            lost = column.is_not_null() & readable.is_null()
            if lost.any():
                first = UnreadableCells(name, kind, 0, 0, str(column.filter(lost)[0]))
                found = self._found.get(name, first)
                self._found[name] = replace(found, n_cells=found.n_cells + int(lost.sum()))
                frame = frame.with_columns(readable)
        return frame

    def found(self) -> tuple[UnreadableCells, ...]:
        """The columns with cells that could not be read."""
        return tuple(replace(one, n_known=self._known[name]) for name, one in self._found.items())


def converted(column: pl.Series, kind: str) -> pl.Series:
    """Return a column as numbers, booleans or dates, with null for cells that are none."""
    empty = pl.Series(column.name, [None] * len(column), dtype=EMPTY[kind])
    if kind_of(column) != "text":
        return empty
    text = column.cast(pl.String)
    if kind == "number":
        return text.cast(pl.Float64, strict=False)
    if kind == "truth":
        return text.str.to_lowercase().replace_strict(TRUTHS, default=None, return_dtype=pl.Boolean)
    dates = dates_of(text)
    return dates.alias(column.name) if dates.dtype.is_temporal() else empty
