"""`Sums`: the weight and the weighted sum of columns, by class, for counts and indicators; dense or sparse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from foldwise.arrays import Floats, Ints
from foldwise.data.cells import ChunkedCells
from foldwise.data.view import SparseView
from foldwise.summaries.alignment import rows_left, weight_kept
from foldwise.summaries.class_tables import ClassTables
from foldwise.summaries.passes import ThreadShare

Check = Callable[[Floats, tuple[str, ...], int], None]


@dataclass(frozen=True)
class Sums(ClassTables):
    """Weight, Σw·x and number of rows of the cells that are not missing, by class and column."""

    weight: Floats  # (K, d), as all of them
    total: Floats
    rows: Floats
    hits: Floats  # rows in which x is not 0

    def __add__(self, other: Sums) -> Sums:
        pairs = zip(self._arrays().values(), other._arrays().values(), strict=True)
        return self._make(a + b for a, b in pairs)

    def __sub__(self, other: Sums) -> Sums:
        rows, hits = rows_left(self.rows, other.rows), rows_left(self.hits, other.hits)
        weight = weight_kept(self.weight, other.weight, rows)
        return Sums(weight, weight_kept(self.total, other.total, hits), rows, hits)


def sums_of(cells: ChunkedCells, share: ThreadShare, check: Check) -> Sums:
    """Summarize a share of the rows in one pass; `check(rows, names, first row)` refuses cells that are not counts."""
    total = Sums.empty(share.n_classes, len(cells.names))
    for window in share.windows(cells.chunk_rows):
        rows = cells.chunk(window.start, window.stop).rows
        check(rows, cells.names, window.start)
        present = ~np.isnan(rows)
        by_weight = members(window.y, window.w, share.n_classes)
        by_row = members(window.y, (window.w > 0).astype(np.float64), share.n_classes)
        total = total + Sums(
            by_weight @ present.astype(np.float64),
            by_weight @ np.where(present, rows, 0.0),
            by_row @ present.astype(np.float64),
            by_row @ (present & (rows != 0)).astype(np.float64),
        )
    return total


def members(y: Ints, values: Floats, n_classes: int) -> Any:
    """Return a sparse matrix (K, rows) that sums rows by class."""
    return sp.csr_array((values, (y, np.arange(len(y)))), shape=(n_classes, len(y)))


def sums_of_sparse(view: SparseView, share: ThreadShare) -> Sums:
    """Summarize a share of the rows of a sparse matrix, which has no missing cells."""
    rows = slice(share.start, share.stop)
    y, n_rows = share.y[rows], share.stop - share.start
    w = np.ones(n_rows) if share.weights is None else share.weights[rows]
    matrix = view.matrix[rows].astype(np.float64)
    marks = matrix.copy()
    marks.data = (marks.data != 0).astype(np.float64)

    def by_class(values: Floats, cells: Any) -> Floats:
        return np.asarray((members(y, values, share.n_classes) @ cells).todense())

    def totals(values: Floats) -> Floats:
        sums = np.bincount(y, weights=values, minlength=share.n_classes)
        return np.repeat(sums[:, None], matrix.shape[1], axis=1)

    counted = (w > 0).astype(np.float64)
    return Sums(totals(w), by_class(w, matrix), totals(counted), by_class(counted, marks))
