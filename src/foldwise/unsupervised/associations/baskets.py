"""Reads tables of booleans, or of zeros and ones, as baskets: each column is a product, each row a purchase."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.frames import as_polars
from foldwise.data.table import Table
from foldwise.data.view import array_names, frame_of, is_frame


@dataclass(frozen=True, eq=False)
class Baskets:
    """Which row contains which product."""

    columns: tuple[str, ...]
    cells: NDArray[np.bool_]  # (n_rows, n_columns)

    @property
    def height(self) -> int:
        return len(self.cells)

    @property
    def width(self) -> int:
        return len(self.columns)

    def __getitem__(self, rows: NDArray[np.intp]) -> Baskets:
        return Baskets(self.columns, self.cells[rows])


def read_baskets(table: Any) -> Baskets | None:
    """Return the baskets of a table; None if some cell is neither 0 nor 1. A missing cell counts as 0.

    The table is read as a whole, which is much faster than column by column.
    """
    table = table.X if isinstance(table, Table) else table
    if isinstance(table, list | tuple) and table and all(map(is_basket, table)):
        return listed_baskets(table)
    if is_frame(table):
        frame = table if isinstance(table, nw.DataFrame) else frame_of(table)
        kinds = frame.schema.dtypes()
        if not all(kind == nw.Boolean or kind.is_numeric() for kind in kinds):
            return None
        names, values = tuple(map(str, frame.columns)), np.asarray(frame.to_numpy())
        if values.dtype.kind == "O":  # with missing cells
            filled = as_polars(table).with_columns(pl.col(pl.Boolean).fill_null(False))
            values = filled.to_numpy()
    elif isinstance(table, np.ndarray) and table.ndim == 2 and not np.ma.isMaskedArray(table):
        names, values = tuple(array_names(table.shape[1])), table
    else:
        return None
    if not values.size:
        return None
    if values.dtype.kind not in "biuf":
        return None
    if values.dtype.kind != "b":
        present = np.nan_to_num(values, nan=0.0) if values.dtype.kind == "f" else values
        ones = present == 1
        if not (ones | (present == 0)).all() or not has_both(values):
            return None
        values = ones
    return Baskets(names, values)


def is_basket(row: Any) -> bool:
    """Whether a row is a list of names of products."""
    return isinstance(row, list | tuple | set | frozenset) and all(isinstance(item, str) for item in row)


def listed_baskets(rows: Sequence[Collection[str]]) -> Baskets:
    """Return the baskets of lists of products, whose columns are the products in alphabetical order."""
    columns = tuple(sorted({item for row in rows for item in row}))
    index = {name: j for j, name in enumerate(columns)}
    cells = np.zeros((len(rows), len(columns)), dtype=bool)
    for i, row in enumerate(rows):
        cells[i, [index[item] for item in row]] = True
    return Baskets(columns, cells)


def has_both(values: NDArray[Any]) -> bool:
    """Whether the table contains a 0 and a 1, and not only one of them, which may be a constant."""
    return bool((values == 0).any() and (values == 1).any())
