"""Transpose columns into rows: a compiled copy of eight columns at a time, so that each cache line is written once."""

from __future__ import annotations

from typing import Any

from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def transpose_into(cells: NDArray[Any], start: int, stop: int, rows: NDArray[Any]) -> None:
    """`rows[i, j] = cells[j, start + i]` for the rows start..stop."""
    d = cells.shape[0]
    n = stop - start
    eights = d // 8 * 8
    for j in range(0, eights, 8):
        x0, x1, x2, x3 = cells[j, start:], cells[j + 1, start:], cells[j + 2, start:], cells[j + 3, start:]
        x4, x5, x6, x7 = cells[j + 4, start:], cells[j + 5, start:], cells[j + 6, start:], cells[j + 7, start:]
        for i in range(n):
            row = rows[i]
            row[j] = x0[i]
            row[j + 1] = x1[i]
            row[j + 2] = x2[i]
            row[j + 3] = x3[i]
            row[j + 4] = x4[i]
            row[j + 5] = x5[i]
            row[j + 6] = x6[i]
            row[j + 7] = x7[i]
    for j in range(eights, d):
        x = cells[j, start:]
        for i in range(n):
            rows[i, j] = x[i]
