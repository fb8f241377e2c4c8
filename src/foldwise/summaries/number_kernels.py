"""Compiled sums over rows of numbers, by class: Σw, Σw(x-p), Σw(x-p)² about a pivot p.

NaN and infinity propagate into the sums of the plain kernels. So a finite sum proves that all cells are finite, and
this check costs nothing. The kernels are serial and release the GIL; threads are up to the caller.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.data.transpose import transpose_into

REORDER = {"reassoc", "contract", "nsz"}  # sums may be vectorized; NaN and infinity still propagate
LINE = 8  # float64 in a cache line
TILE_CELLS = 1 << 16  # transposed at a time, so that they stay in the cache
LONG_TILE = 16_384  # rows of a column read at once: long runs are faster

PIVOT, S1, S2, WEIGHT, ROWS = range(5)

FEW_CLASSES = 4  # up to this number, one sweep per class is faster than a scatter


def work_table(pivot: Floats) -> Floats:  # (K, d) -> (K, 5, d padded)
    """Return zeroed sums with their pivots: for each class the lines PIVOT, S1, S2, WEIGHT and ROWS.

    Threads that write to the same cache line slow each other down, by half as measured, so each table has its own.
    """
    n_classes, n_columns = pivot.shape
    table = own_lines((n_classes, 5, -(-n_columns // LINE) * LINE))
    table[:, PIVOT, :n_columns] = pivot
    return table


def own_lines(shape: tuple[int, ...]) -> Floats:
    """Return zeros that share no cache line with any other array."""
    size = int(np.prod(shape))
    memory = np.zeros(size + 2 * LINE)
    skip = -(memory.__array_interface__["data"][0] // 8) % LINE
    return memory[skip : skip + size].reshape(shape)


@njit(nogil=True, cache=True)
def sums_by_row(cells: Floats, y: Ints, w: Floats, table: Floats) -> None:
    """Sum all cells (n, d). The weight of a class is added to the first entry of its line; rows are not counted."""
    n, d = cells.shape
    for i in range(n):
        c = y[i]
        wi = w[i]
        table[c, WEIGHT, 0] += wi
        for j in range(d):
            t = cells[i, j] - table[c, PIVOT, j]
            wt = wi * t
            table[c, S1, j] += wt
            table[c, S2, j] += wt * t


@njit(nogil=True, cache=True)
def sums_by_row_masked(cells: Floats, y: Ints, w: Floats, table: Floats) -> None:
    """Sum the cells that are not missing; each column has its own weight and rows."""
    n, d = cells.shape
    for i in range(n):
        c = y[i]
        wi = w[i]
        counted = 1.0 if wi > 0 else 0.0
        for j in range(d):
            t = cells[i, j] - table[c, PIVOT, j]
            present = t == t
            t = t if present else 0.0
            wt = wi * t
            table[c, WEIGHT, j] += wi if present else 0.0
            table[c, ROWS, j] += counted if present else 0.0
            table[c, S1, j] += wt
            table[c, S2, j] += wt * t


@njit(nogil=True, cache=True, fastmath=REORDER)
def sums_by_column_few(cells: Floats, start: int, stop: int, y: Ints, w: Floats, table: Floats) -> None:
    """Do the same as `sums_by_row` for cells (d, ·) of rows start..stop and a few classes.

    One sweep per class over a tile of rows is faster than a scatter, because no row depends on the one before.
    """
    n_classes = table.shape[0]
    in_class = np.empty((n_classes, LONG_TILE))  # a row's weight in its own class, 0 elsewhere
    for first in range(start, stop, LONG_TILE):
        last = min(first + LONG_TILE, stop)
        n = last - first
        in_class[:] = 0.0
        for i in range(n):
            in_class[y[first - start + i], i] = w[first - start + i]
        for c in range(n_classes):
            weight = in_class[c]
            total = 0.0
            for i in range(n):
                total += weight[i]
            table[c, WEIGHT, 0] += total
        for j in range(cells.shape[0]):
            x = cells[j, first:last]
            for c in range(n_classes):
                weight = in_class[c]
                p = table[c, PIVOT, j]
                a = 0.0
                b = 0.0
                for i in range(n):
                    t = x[i] - p
                    wt = weight[i] * t
                    a += wt
                    b += wt * t
                table[c, S1, j] += a
                table[c, S2, j] += b


@njit(nogil=True, cache=True)
def sums_by_column(cells: Floats, start: int, stop: int, y: Ints, w: Floats, table: Floats) -> None:
    """Do the same for many classes: transpose a tile of rows, then sum it by row."""
    tile = max(64, TILE_CELLS // cells.shape[0])
    rows = np.empty((tile, cells.shape[0]))
    for first in range(start, stop, tile):
        last = min(first + tile, stop)
        n = last - first
        transpose_into(cells, first, last, rows)
        at = first - start
        sums_by_row(rows[:n], y[at : at + n], w[at : at + n], table)


@njit(nogil=True, cache=True, fastmath=REORDER)
def add_class_weights(y: Ints, w: Floats, totals: Floats) -> None:
    """Add weights and rows by class to `totals` (2, K); with few classes, one sweep each is faster than a scatter."""
    n_classes = totals.shape[1]
    if n_classes <= 8:
        for c in range(n_classes):
            total = 0.0
            rows = 0.0
            for i in range(y.size):
                wi = w[i] if y[i] == c else 0.0
                total += wi
                rows += 1.0 if wi > 0 else 0.0
            totals[0, c] += total
            totals[1, c] += rows
    else:
        for i in range(y.size):
            totals[0, y[i]] += w[i]
            totals[1, y[i]] += 1.0 if w[i] > 0 else 0.0
