"""Compiled kernels that count codes by class.

The slots of all columns are stored one after the other: column j has `width[j]` slots from `base[j]` on, and one more
for all codes out of range.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats, Ints

Slots = NDArray[np.uint64]


@njit(nogil=True, cache=True)
def counts_by_row(cells: Ints, y: Ints, w: Floats, low: Ints, width: Slots, base: Slots, counts: Floats) -> None:
    """Count cells (n, d) into `counts` (slots, K)."""
    n, d = cells.shape
    for i in range(n):
        c = y[i]
        wi = w[i]
        for j in range(d):
            counts[base[j] + min(np.uint64(cells[i, j] - low[j]), width[j]), c] += wi


@njit(nogil=True, cache=True)
def counts_by_column(
    cells: Ints,
    start: int,
    stop: int,
    y: Ints,
    w: Floats,
    low: Ints,
    width: Slots,
    base: Slots,
    counts: Floats,
) -> None:
    """Count cells (d, ·) of rows start..stop.

    Four columns at a time, because increments of a single column often wait for the slot that was just written.
    """
    d = cells.shape[0]
    n = stop - start
    fours = d // 4 * 4
    for j in range(0, fours, 4):
        x0 = cells[j, start:stop]
        x1 = cells[j + 1, start:stop]
        x2 = cells[j + 2, start:stop]
        x3 = cells[j + 3, start:stop]
        l0, l1, l2, l3 = low[j], low[j + 1], low[j + 2], low[j + 3]
        w0, w1, w2, w3 = width[j], width[j + 1], width[j + 2], width[j + 3]
        b0, b1, b2, b3 = base[j], base[j + 1], base[j + 2], base[j + 3]
        for i in range(n):
            c = y[i]
            wi = w[i]
            counts[b0 + min(np.uint64(x0[i] - l0), w0), c] += wi
            counts[b1 + min(np.uint64(x1[i] - l1), w1), c] += wi
            counts[b2 + min(np.uint64(x2[i] - l2), w2), c] += wi
            counts[b3 + min(np.uint64(x3[i] - l3), w3), c] += wi
    for j in range(fours, d):
        x = cells[j, start:stop]
        for i in range(n):
            counts[base[j] + min(np.uint64(x[i] - low[j]), width[j]), y[i]] += w[i]
