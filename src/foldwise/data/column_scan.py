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

MOST_ROWS = 20_000  # with more rows a scan sorts longer than single columns take
FEWEST_COLUMNS = 64
BLOCK_CELLS = 1_000_000
EXACT = 2.0**53  # larger integers are not exact as floats
FEW_RUNS = 64  # distinct values per column that are counted by class
FEW_SHARE = 0.2  # of the rows: with more distinct values a column does not hold categories

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


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
    n_present: Counts
    n_distinct: Counts
    low: Floats
    high: Floats
    has_fraction: NDArray[np.bool_]
    signature: Counts
    cut_errors: Counts
    group_errors: Counts

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
        """Columns in which no value looks like a missing cell: their ends are not among the usual ones."""
        usual = np.isin(self.low, list(sentinels)) | np.isin(self.high, list(sentinels)) | (self.low == 0)
        return self.ruled_out(~usual | (self.n_distinct < 6))

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
    names = [name for name, kind in X.schema.items() if kind.is_float() or (kind.is_integer() and kind != pl.Int128)]
    if len(names) < FEWEST_COLUMNS or not 0 < X.height <= MOST_ROWS:
        return None
    parts = [scan_block(cells, codes) for cells in blocks(X, names)]
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    exact = (np.abs(np.nan_to_num(joined[2])) < EXACT) & (np.abs(np.nan_to_num(joined[3])) < EXACT)
    kept = [name for name, sure in zip(names, exact.tolist(), strict=True) if sure]
    return ColumnScan(X.height, tuple(kept), *(column[exact] for column in joined))


def blocks(X: pl.DataFrame, names: list[str]) -> Iterator[Floats]:
    """The columns as arrays (rows, columns) of a bounded number of cells, missing cells as NaN."""
    width = max(1, BLOCK_CELLS // X.height)
    for start in range(0, len(names), width):
        yield X.select(names[start : start + width]).to_numpy().astype(np.float64) + 0.0  # -0.0 becomes 0.0


def scan_block(cells: Floats, codes: NDArray[np.int64] | None) -> tuple[NDArray[np.generic], ...]:
    """The fields of a scan after the names, for some columns."""
    present = ~np.isnan(cells)
    n_present = present.sum(axis=0)
    classes = np.zeros(len(cells), dtype=np.int64) if codes is None else codes
    by_class = np.argsort(classes, kind="stable")
    order = np.argsort(cells[by_class], axis=0, kind="stable")  # by value, then by class; NaN last
    ranked = np.take_along_axis(cells[by_class], order, axis=0)
    labels = classes[by_class][order]
    inside = np.arange(len(cells))[:, None] < n_present
    changes = np.zeros(cells.shape, dtype=bool)
    changes[1:] = (ranked[1:] != ranked[:-1]) & inside[1:]
    n_distinct = changes.sum(axis=0) + (n_present > 0)
    low = np.where(n_present > 0, ranked[0], np.nan)
    high = np.where(n_present > 0, np.take_along_axis(ranked, np.maximum(n_present - 1, 0)[None], axis=0)[0], np.nan)
    with np.errstate(invalid="ignore"):
        has_fraction = ((cells != np.round(cells)) & present).any(axis=0)
    signature = np.array([hash(column.tobytes()) for column in np.ascontiguousarray(cells.T)], dtype=np.int64)
    known = inside & (labels >= 0)
    class_changes = ((labels[1:] != labels[:-1]) & known[1:] & known[:-1]).sum(axis=0)
    n_classes = int(classes.max()) + 1
    cut_errors = np.maximum(class_changes - (n_classes - 1), 0)
    errors = group_errors(np.cumsum(changes, axis=0), labels, known, n_distinct, n_classes)
    return n_present, n_distinct, low, high, has_fraction, signature, cut_errors, errors


def group_errors(
    runs: NDArray[np.int64], labels: NDArray[np.int64], known: NDArray[np.bool_], n_distinct: Counts, n_classes: int
) -> Counts:
    """Rows that do not have the most frequent class of their value, for columns of few values."""
    errors = np.full(runs.shape[1], -1, dtype=np.int64)
    few = np.flatnonzero(n_distinct <= min(FEW_RUNS, FEW_SHARE * len(runs) + 1))
    if len(few):
        used = known[:, few]
        cell = (np.arange(len(few)) * FEW_RUNS + runs[:, few]) * n_classes + labels[:, few]
        counts = np.bincount(cell[used], minlength=len(few) * FEW_RUNS * n_classes)
        best = counts.reshape(len(few), FEW_RUNS, n_classes).max(axis=2).sum(axis=1)
        errors[few] = used.sum(axis=0) - best
    return errors
