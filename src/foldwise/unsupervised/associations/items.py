"""Turns the columns of a table into items: a category, a range of numbers, or a product in a basket."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.frames import as_polars
from foldwise.errors import InputError
from foldwise.unsupervised.associations.baskets import Baskets, read_baskets
from foldwise.unsupervised.matrix import findings_of, listed_columns

Bits = NDArray[np.uint64]
FEW_VALUES = 5  # numbers with at most so many different values become one item per value
UNUSED = ("identifier", "text", "date", "nested")  # kinds of columns whose values hardly ever repeat


@dataclass(frozen=True, eq=False)
class Items:
    """Items of a table and the rows that contain them, one bit per row.

    An item is a value of a column, a range of it, or the column itself in a table of baskets. `known` has one row per
    column and marks the rows whose cell is not missing.
    """

    names: tuple[str, ...]
    columns: NDArray[np.int64]  # (n_items,): index of the column of each item
    bits: Bits  # (n_items, n_words)
    known: Bits  # (n_columns, n_words)
    is_complete: NDArray[np.bool_]  # (n_columns,): no cell of the column is missing
    n_rows: int
    left_out: tuple[str, ...]  # sentences on columns that have no items

    def counts(self) -> NDArray[np.int64]:
        """Count the rows that contain each item."""
        return np.asarray(np.bitwise_count(self.bits).sum(axis=1, dtype=np.int64))

    def take(self, kept: NDArray[np.intp]) -> Items:
        """Select items."""
        names = tuple(self.names[i] for i in kept.tolist())
        bits = np.ascontiguousarray(self.bits[kept])
        return Items(names, self.columns[kept], bits, self.known, self.is_complete, self.n_rows, self.left_out)


@dataclass(frozen=True)
class ItemColumn:
    """How one column becomes items: by its values, or by ranges between cuts."""

    name: str
    levels: tuple[Any, ...] = ()
    cuts: tuple[float, ...] = ()

    def encode(self, column: pl.Series) -> tuple[list[str], list[NDArray[np.bool_]], NDArray[np.bool_]]:
        """Return the names of the items, the rows that contain each, and the rows that are not missing."""
        if self.cuts:
            numbers = floats(column)
            known = ~np.isnan(numbers)
            part = np.searchsorted(np.asarray(self.cuts), numbers, side="left")  # the first cut >= the number
            part[~known] = -1
            names = range_names(self.name, self.cuts)
            return names, [part == k for k in range(len(names))], known
        rows = [(column == level).fill_null(False).to_numpy() for level in self.levels]
        return [f"{self.name} = {level}" for level in self.levels], rows, is_present(column)


@dataclass(frozen=True)
class ItemPlan:
    """How each column of a table becomes items, learned from some rows and applied to any."""

    columns: tuple[ItemColumn, ...]
    left_out: tuple[str, ...]

    def encode(self, table: pl.DataFrame | Baskets) -> Items:
        """Find the items of the rows of a table."""
        if isinstance(table, Baskets):
            return products(table)
        names: list[str] = []
        rows: list[NDArray[np.bool_]] = []
        of_column, known = [], []
        for j, plan in enumerate(self.columns):
            found, contains, present = plan.encode(table[plan.name])
            names += found
            rows += contains
            of_column += [j] * len(found)
            known.append(present)
        present_cells = stacked(known, table.height)
        return Items(
            names=tuple(names),
            columns=np.array(of_column, dtype=np.int64),
            bits=pack(stacked(rows, table.height).T),
            known=pack(present_cells.T),
            is_complete=np.array([one.all() for one in known], dtype=bool),
            n_rows=table.height,
            left_out=self.left_out,
        )


def products(baskets: Baskets) -> Items:
    """Make each product an item. Nothing is missing: a product is in a basket or not."""
    n = baskets.width
    known = pack(np.ones((baskets.height, 1), dtype=bool))
    return Items(
        names=baskets.columns,
        columns=np.arange(n),
        bits=pack(baskets.cells),
        known=np.repeat(known, n, axis=0),
        is_complete=np.ones(n, dtype=bool),
        n_rows=baskets.height,
        left_out=(),
    )


def plan_items(table: pl.DataFrame | Baskets, min_count: int, bins: int) -> ItemPlan:
    """Decide how columns become items. Values that occur in fewer than `min_count` rows cannot be frequent."""
    if isinstance(table, Baskets):
        return ItemPlan((), ())
    columns, left_out = [], []
    for column, finding in zip(table.iter_columns(), findings_of(table), strict=True):
        if finding.kind in UNUSED or finding.reason == "every cell is missing":
            why = finding.reason if finding.kind == "constant" else f"{finding.kind}: {finding.reason}"
            left_out.append(f"{column.name!r} ({why})")
        elif column.dtype.is_numeric() and has_many_values(column):
            columns.append(ItemColumn(column.name, cuts=quantile_cuts(column, bins)))
        else:
            columns.append(ItemColumn(column.name, levels=frequent_levels(column, min_count)))
    return ItemPlan(tuple(columns), tuple(left_out))


def has_many_values(column: pl.Series) -> bool:
    """Whether a numeric column has more than a few different values, not counting missing cells."""
    numbers = floats(column)
    return any(len(np.unique(part[~np.isnan(part)])) > FEW_VALUES for part in (numbers[:1000], numbers))


def floats(column: pl.Series) -> NDArray[np.float64]:
    """The cells of a numeric column, NaN where they are missing."""
    return column.to_numpy().astype(np.float64, copy=False)


def quantile_cuts(column: pl.Series, bins: int) -> tuple[float, ...]:
    """Cut points that divide the cells into `bins` ranges of about equal size; fewer where values repeat."""
    numbers = floats(column)
    numbers = numbers[~np.isnan(numbers)]
    shares = np.arange(1, bins) / bins
    cuts = np.unique(np.quantile(numbers, shares, method="inverted_cdf"))
    cuts = cuts[cuts < numbers.max()]
    return tuple(cuts.tolist()) or (float(np.unique(numbers)[-2]),)


def frequent_levels(column: pl.Series, min_count: int) -> tuple[Any, ...]:
    """Return the values that occur in at least `min_count` rows, sorted."""
    column = column.drop_nulls()
    if column.dtype.is_float():
        column = column.drop_nans()
    counts = column.value_counts(name="__rows__").filter(pl.col("__rows__") >= min_count)
    return tuple(counts[column.name].sort().to_list())


def range_names(column: str, cuts: tuple[float, ...]) -> list[str]:
    """Name the ranges between cuts.

    >>> range_names("age", (30.0, 45.0))
    ['age ≤ 30', '30 < age ≤ 45', 'age > 45']
    """
    ends = [f"{cut:.6g}" for cut in cuts]
    between = [f"{low} < {column} ≤ {high}" for low, high in pairwise(ends)]
    return [f"{column} ≤ {ends[0]}", *between, f"{column} > {ends[-1]}"]


def is_present(column: pl.Series) -> NDArray[np.bool_]:
    """Mark the cells that are not missing."""
    present = column.is_not_null().to_numpy()
    return present & ~column.is_nan().fill_null(False).to_numpy() if column.dtype.is_float() else present


def stacked(rows: list[NDArray[np.bool_]], n: int) -> NDArray[np.bool_]:
    """Stack one array per item, also if there are none."""
    return np.stack(rows) if rows else np.zeros((0, n), dtype=bool)


def pack(cells: NDArray[np.bool_]) -> Bits:  # (n_columns, n_words)
    """Pack the columns of a boolean table into words of 64 rows; the last word is filled with zeros."""
    packed = np.packbits(cells, axis=0, bitorder="little")
    padded = np.zeros((cells.shape[1], -(-len(packed) // 8) * 8), dtype=np.uint8)
    padded[:, : len(packed)] = packed.T
    return padded.view(np.uint64)


def read_rows(table: Any, least: int, purpose: str) -> pl.DataFrame | Baskets:
    """Read a table, and refuse one with too few rows or without columns."""
    baskets = read_baskets(table)
    read = as_polars(table) if baskets is None else baskets
    if not read.width or read.height < least:
        rows, columns = f"{read.height:,} row{'s' * (read.height != 1)}", f"{read.width:,} columns"
        raise InputError(
            f"{purpose} need a table of at least {least} row{'s' * (least != 1)}, got "
            f"{rows if read.width else columns}.",
            "pass more rows." if read.width else "pass at least two columns.",
        )
    return read


def check_columns(items: Items, purpose: str) -> None:
    """Refuse items that can never occur together, because they all come from one column, or do not exist."""
    n_columns = len(np.unique(items.columns))
    if n_columns < 2:
        out = f" Left out: {listed_columns(items.left_out)}." if items.left_out else ""
        have = "no column" if n_columns == 0 else "only one column"
        raise InputError(
            f"{purpose} need items from at least two columns, but {have} has values that vary and repeat.{out}",
            "pass columns with categories or numbers that vary, or lower min_support.",
        )
