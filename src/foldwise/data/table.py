"""A table that was read: its columns as a frame, its target, the description of the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
from numpy.typing import NDArray

from foldwise.data.schema import Schema


@dataclass(frozen=True, repr=False)
class Table:
    """Columns `X` (a polars frame), labels `y` (an array, or None without a target), `schema` of X, `name`."""

    X: pl.DataFrame
    y: NDArray[Any] | None
    schema: Schema
    name: str
    target: str | None = None

    def __repr__(self) -> str:
        return f"{self._title()}\n{self.schema}"

    def _repr_html_(self) -> str:
        return f"<p>{self._title()}</p>{self.X.head()._repr_html_()}"

    def _title(self) -> str:
        rows, columns = self.X.shape
        target = "no target" if self.target is None else f"target {self.target!r}"
        return f"Table {self.name!r}: {rows:,} rows, {columns} columns, {target}"
