"""Compiled sums over rows of numbers, by class: Σw, Σw(x-p), Σw(x-p)² about a pivot p.

The plain kernels let NaN and infinity flow into the sums, so a finite sum proves that all cells were finite: the
check costs nothing. Serial and without the GIL; threads are the caller's business.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

REORDER = {"reassoc", "contract", "nsz"}  # sums may be vectorised; NaN and infinity keep their meaning


@njit(nogil=True, cache=True)
def sums_by_row(cells: Floats, y: Ints, w: Floats, pivot: Floats, weight: Floats, s1: Floats, s2: Floats) -> None:
    """Sums over all cells (n, d); `weight` (K,), `s1` and `s2` (K, d) are added to."""
    n, d = cells.shape
    for i in range(n):
        c = y[i]
        wi = w[i]
        weight[c] += wi
        for j in range(d):
            t = cells[i, j] - pivot[c, j]
            wt = wi * t
            s1[c, j] += wt
            s2[c, j] += wt * t


@njit(nogil=True, cache=True)
def sums_by_row_masked(
    cells: Floats, y: Ints, w: Floats, pivot: Floats, weight: Floats, s1: Floats, s2: Floats
) -> None:
    """The same over the present cells; `weight` is (K, d)."""
    n, d = cells.shape
    for i in range(n):
        c = y[i]
        wi = w[i]
        for j in range(d):
            t = cells[i, j] - pivot[c, j]
            present = t == t
            t = t if present else 0.0
            wt = wi * t
            weight[c, j] += wi if present else 0.0
            s1[c, j] += wt
            s2[c, j] += wt * t


@njit(nogil=True, cache=True, fastmath=REORDER)
def sums_by_column(
    cells: Floats, start: int, stop: int, class_weights: Floats, pivot: Floats, s1: Floats, s2: Floats
) -> None:
    """Sums over all cells (d, ·) of rows start..stop; `class_weights` (K, n) is a row's weight in its own class, 0 elsewhere.

    One sweep a class: for a few classes faster than any scatter, because nothing depends on the row before.
    """
    for j in range(cells.shape[0]):
        x = cells[j, start:stop]
        for c in range(pivot.shape[0]):
            w = class_weights[c]
            p = pivot[c, j]
            a = 0.0
            b = 0.0
            for i in range(stop - start):
                t = x[i] - p
                wt = w[i] * t
                a += wt
                b += wt * t
            s1[c, j] += a
            s2[c, j] += b


@njit(nogil=True, cache=True)
def spread_weights(y: Ints, w: Floats, class_weights: Floats) -> None:
    """Each row's weight into the row of its class (K, n)."""
    class_weights[:] = 0.0
    for i in range(y.size):
        class_weights[y[i], i] = w[i]


def first_infinite(cells: NDArray[Any]) -> tuple[int, int] | None:
    """Row and column of the first infinite cell, if any."""
    places = np.argwhere(np.isinf(cells))
    return None if places.size == 0 else (int(places[0, 0]), int(places[0, 1]))
