"""Scan many numeric columns at once, which is faster than one after the other in wide tables.

The scan only rules columns out. All other columns are examined by the code for single columns, so results are the same
with and without it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.arrays import Floats, Ints
from foldwise.data.columns import NUMPY_TYPES

MOST_ROWS = 20_000  # with more rows a scan sorts longer than single columns take
FEWEST_COLUMNS = 64
BLOCK_CELLS = 1_000_000
EXACT = 2.0**53  # larger integers are not exact as floats
FEW_RUNS = 64  # distinct values per column that are counted by class
FEW_SHARE = 0.2  # of the rows: with more distinct values a column does not hold categories


@dataclass(frozen=True)
class ColumnScan:
    """What a scan knows about each of its columns.

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    names : tuple of str
        The columns, all numeric.
    n_present : ndarray of int
        Cells that are neither null nor NaN.
    n_distinct : ndarray of int
        Distinct present values.
    low, high : ndarray of float
        The smallest and the largest present value, NaN where there is none.
    second, n_low : ndarray
        The second smallest present value, NaN where there is none, and how many cells hold the smallest.
    middle : ndarray of float
        A value that is at most the median of the values above the smallest, NaN where there is none.
    in_order : ndarray of bool
        Whether no cell is missing and each one is larger than the one above it, or each one is smaller.
    has_fraction : ndarray of bool
        Whether some present value is not an integer.
    signature : ndarray of int
        Equal for columns with equal cells.
    cut_errors : ndarray of int
        How often the class changes along the sorted column, beyond once from each class to the next.
    group_errors : ndarray of int
        Rows that do not have the most frequent class of their value; -1 where a column has too many values.
    """

    n_rows: int
    names: tuple[str, ...]
    n_present: Ints
    n_distinct: Ints
    low: Floats
    high: Floats
    second: Floats
    n_low: Ints
    middle: Floats
    in_order: NDArray[np.bool_]
    has_fraction: NDArray[np.bool_]
    signature: Ints
    cut_errors: Ints
    group_errors: Ints

    def ruled_out(self, columns: NDArray[np.bool_]) -> frozenset[str]:
        """The names of some columns."""
        return frozenset(self.names[j] for j in np.flatnonzero(columns))

    @property
    def decimals(self) -> frozenset[str]:
        """Columns with decimals and more than two values, which are numbers and nothing else."""
        return self.ruled_out(self.has_fraction & (self.n_distinct > 2))

    @property
    def complete(self) -> frozenset[str]:
        """Columns without a missing cell."""
        return self.ruled_out(self.n_present == self.n_rows)

    @property
    def unique(self) -> frozenset[str]:
        """Columns that are not equal to another one that was scanned."""
        _, index, counts = np.unique(self.signature, return_inverse=True, return_counts=True)
        return self.ruled_out(counts[index] == 1)

    def undisguised(self, sentinels: Collection[float]) -> frozenset[str]:
        """Columns in which no value looks like a missing cell: their ends are neither usual ones nor a 0 far off."""
        usual = np.isin(self.low, list(sentinels)) | np.isin(self.high, list(sentinels))
        few_zeros = (self.n_low >= 2) & (2 * self.n_low <= self.n_present)
        with np.errstate(invalid="ignore"):
            near = (~self.has_fraction & (self.second < 5)) | (self.second < 0.05 * self.middle)
        zero_far_off = (self.low == 0) & ((few_zeros & ~near) | np.isinf(self.high))
        return self.ruled_out(~(usual | zero_far_off) | (self.n_distinct < 6))

    def undetermining(self, most_errors: float) -> frozenset[str]:
        """Columns that leave the class of more rows than this undetermined."""
        few = self.n_distinct <= FEW_SHARE * self.n_rows + 1
        by_category = few & ((self.group_errors < 0) | (self.group_errors <= most_errors))
        return self.ruled_out((self.cut_errors > most_errors) & ~by_category)


def scan_columns(X: pl.DataFrame, codes: NDArray[np.int64] | None = None) -> ColumnScan | None:
    """Scan the numeric columns of a table, if it is wide enough for that to pay.

    Parameters
    ----------
    X : polars.DataFrame
        The table.
    codes : ndarray of int, default=None
        The class of each row as 0, 1, …, or -1 where it is missing.

    Returns
    -------
    ColumnScan or None
        None if the table has few numeric columns or many rows.
    """
    columns = [column for column, kind in zip(X.get_columns(), X.dtypes, strict=True) if type(kind) in NUMPY_TYPES]
    if len(columns) < FEWEST_COLUMNS or not 0 < X.height <= MOST_ROWS:
        return None
    parts = [scan_block(cells, codes) for cells in blocks(columns)]
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    exact = (np.abs(np.nan_to_num(joined[2])) < EXACT) & (np.abs(np.nan_to_num(joined[3])) < EXACT)
    kept = [columns[j].name for j in np.flatnonzero(exact)]
    return ColumnScan(X.height, tuple(kept), *(column[exact] for column in joined))


def blocks(columns: list[pl.Series]) -> Iterator[Floats]:
    """The columns as arrays (columns, rows) of a bounded number of cells, missing cells as NaN."""
    width = max(1, BLOCK_CELLS // len(columns[0]))
    for start in range(0, len(columns), width):
        cells = pl.DataFrame(columns[start : start + width]).to_numpy().T.astype(np.float64, order="C")
        cells += 0.0  # -0.0 becomes 0.0
        yield cells


def scan_block(cells: Floats, codes: NDArray[np.int64] | None) -> tuple[NDArray[np.generic], ...]:
    """The fields of a scan after the names, for some columns."""
    n_columns, n_rows = cells.shape
    present = ~np.isnan(cells)
    n_present = present.sum(axis=1)
    classes = np.zeros(n_rows, dtype=np.int64) if codes is None else codes
    by_class = np.argsort(classes, kind="stable")
    order = np.argsort(cells[:, by_class], axis=1, kind="stable")  # by value, then by class; NaN last
    ranked = np.take_along_axis(cells[:, by_class], order, axis=1)
    labels = classes[by_class][order]
    inside = np.arange(n_rows) < n_present[:, None]
    changes = np.zeros(cells.shape, dtype=bool)
    changes[:, 1:] = (ranked[:, 1:] != ranked[:, :-1]) & inside[:, 1:]
    n_distinct = changes.sum(axis=1) + (n_present > 0)
    n_low = np.where(n_distinct > 1, changes.argmax(axis=1), n_present)

    def at(rank: Ints, where: NDArray[np.bool_]) -> Floats:
        return np.where(where, ranked[np.arange(n_columns), np.clip(rank, 0, n_rows - 1)], np.nan)

    low, high = at(np.zeros(n_columns, dtype=np.int64), n_present > 0), at(n_present - 1, n_present > 0)
    second, middle = at(n_low, n_distinct > 1), at(n_low + (n_present - n_low - 1) // 2, n_distinct > 1)
    with np.errstate(invalid="ignore"):
        has_fraction = ((cells != np.round(cells)) & present).any(axis=1)
        rising, falling = cells[:, 1:] > cells[:, :-1], cells[:, 1:] < cells[:, :-1]
    in_order = np.logical_or(rising.all(axis=1), falling.all(axis=1))
    known = inside & (labels >= 0)
    class_changes = ((labels[:, 1:] != labels[:, :-1]) & known[:, 1:] & known[:, :-1]).sum(axis=1)
    n_classes = int(classes.max()) + 1
    cut_errors = np.maximum(class_changes - (n_classes - 1), 0)
    errors = group_errors(changes, labels, known, n_distinct, n_classes)
    ends = (low, high, second, n_low, middle)
    return n_present, n_distinct, *ends, in_order, has_fraction, signatures(cells), cut_errors, errors


def signatures(cells: Floats) -> Ints:
    """A number per column that is equal for equal columns, and otherwise different unless by rare chance."""
    weights = np.random.default_rng(0).integers(1, 1 << 62, cells.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(
        1
    )
    bits = cells.view(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(31))) * weights
    found: Ints = (mixed ^ (mixed >> np.uint64(29))).sum(axis=1, dtype=np.uint64).view(np.int64)
    return found


def group_errors(
    changes: NDArray[np.bool_], labels: NDArray[np.int64], known: NDArray[np.bool_], n_distinct: Ints, n_classes: int
) -> Ints:
    """Rows that do not have the most frequent class of their value, for columns of few values."""
    n_columns, n_rows = changes.shape
    errors = np.full(n_columns, -1, dtype=np.int64)
    few = np.flatnonzero(n_distinct <= min(FEW_RUNS, FEW_SHARE * n_rows + 1))
    if len(few):
        used, runs = known[few], np.cumsum(changes[few], axis=1)
        cell = (np.arange(len(few))[:, None] * FEW_RUNS + runs) * n_classes + labels[few]
        counts = np.bincount(cell[used], minlength=len(few) * FEW_RUNS * n_classes)
        best = counts.reshape(len(few), FEW_RUNS, n_classes).max(axis=2).sum(axis=1)
        errors[few] = used.sum(axis=1) - best
    return errors
