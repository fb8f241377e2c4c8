"""Sums over rows in the very order of `np.sum` over a contiguous vector: where sums tie, the last bit decides.

numpy adds one by one below 8 terms, in eight strands up to 128, and above that in halves, each in the same way.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwise.summaries.number_kernels import Floats

HALVED = 128
DEPTH = 60  # halvings: more than any length has


@njit(nogil=True, cache=True)
def sum_rows(values: Floats, start: int, n: int, strands: Floats, total: Floats) -> None:
    """Σ of `values[start : start + n]` (…, S) over rows into `total` (S). `strands` (8, S) is room to work in."""
    if n <= HALVED:
        sum_strands(values, start, n, strands, total)
        return
    # halves are visited without recursion, which the compiler does not cache safely
    starts, sizes, begun = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64), np.zeros(DEPTH, np.int64)
    left = np.empty((DEPTH, total.size))
    top = 0
    starts[0], sizes[0] = start, n
    while True:
        half = sizes[top] // 2
        half -= half % 8
        if sizes[top] > HALVED:
            begun[top] = 1
            starts[top + 1], sizes[top + 1], begun[top + 1] = starts[top], half, 0
            top += 1
            continue
        sum_strands(values, starts[top], sizes[top], strands, total)
        top -= 1
        while top >= 0 and begun[top] == 2:
            for s in range(total.size):
                total[s] = left[top, s] + total[s]
            top -= 1
        if top < 0:
            return
        left[top] = total
        begun[top] = 2
        half = sizes[top] // 2
        half -= half % 8
        starts[top + 1], sizes[top + 1], begun[top + 1] = starts[top] + half, sizes[top] - half, 0
        top += 1


@njit(nogil=True, cache=True)
def sum_strands(values: Floats, start: int, n: int, strands: Floats, total: Floats) -> None:
    """The same for at most 128 rows."""
    n_settings = total.size
    done = 0
    if n < 8:
        total[:] = 0.0
    else:
        strands[:] = values[start : start + 8]
        done = n - n % 8
        for i in range(8, done, 8):
            for k in range(8):
                for s in range(n_settings):
                    strands[k, s] += values[start + i + k, s]
        for s in range(n_settings):
            low = (strands[0, s] + strands[1, s]) + (strands[2, s] + strands[3, s])
            total[s] = low + ((strands[4, s] + strands[5, s]) + (strands[6, s] + strands[7, s]))
    for i in range(done, n):
        for s in range(n_settings):
            total[s] += values[start + i, s]
