"""A table that was read: its columns as a frame, its target, the description of the columns, what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl
from numpy.typing import NDArray

from foldwise.data.notes import Note, Notes
from foldwise.data.schema import Schema


@dataclass(frozen=True, repr=False)
class Table:
    """Columns `X` (a polars frame), labels `y` (an array, or None without a target), `schema` of X, `name`.

    `notes` says how the file was read and what is worth knowing about its columns.
    """

    X: pl.DataFrame
    y: NDArray[Any] | None
    schema: Schema
    name: str
    target: str | None = None
    decided: tuple[Note, ...] = ()
    declared: Mapping[str, str] = field(default_factory=dict)  # kind of a column, where somebody said it

    @cached_property
    def notes(self) -> Notes:
        """What was decided while reading."""
        return Notes(self.decided)

    def __repr__(self) -> str:
        return f"{self._title()}\n{self.schema}"

    def _repr_html_(self) -> str:
        return f"<p>{self._title()}</p>{self.X.head()._repr_html_()}"

    def _title(self) -> str:
        rows, columns = self.X.shape
        target = "no target" if self.target is None else f"target {self.target!r}"
        return f"Table {self.name!r}: {rows:,} rows, {columns} columns, {target}"
