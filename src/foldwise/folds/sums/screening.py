"""Labels from categories in single precision, and the rows that need double precision.

The difference of each class to class 0 is summed pack by pack. Every loop over settings is separate, so that it is
vectorized; assigning to a slice would take longer than the sums.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.folds.protocol import Rows
from foldwise.folds.sums.coding import CellSlots
from foldwise.folds.sums.kernels import Choices, Singles

SINGLE = float(np.finfo(np.float32).eps)
DOUBLE = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float32).tiny)


@njit(nogil=True, cache=True)
def screen(
    table: Floats,
    log_prior: Floats,
    base: Ints,
    sizes: Ints,
    first: Ints,
    pack_base: Ints,
    packed: CellSlots,
    rows: Rows,
    labels: Choices,
) -> tuple[bool, Rows]:
    """Write the labels (n, S) of some rows, from `table` (slots, K, S).

    Returns whether this was possible, which infinite entries prevent, and the indices of the rows left to decide.
    """
    n_classes, n_settings = log_prior.shape
    single = np.empty((table.shape[0], n_classes - 1, n_settings), dtype=np.float32)
    reach, height = np.zeros(n_settings), np.zeros(n_settings)
    contrast(table, log_prior, base, sizes, single, reach, height)
    if not (np.isfinite(reach).all() and np.isfinite(height).all()):
        return False, np.empty(0, dtype=np.intp)
    start = np.empty((n_classes - 1, n_settings), dtype=np.float32)
    margin = np.empty(n_settings, dtype=np.float32)
    # every term and every sum is rounded once, by at most eps / 2 of the largest possible sum; two sums are compared
    n_roundings = 2 * base.size + first.size + 2
    for s in range(n_settings):
        margin[s] = n_roundings * (SINGLE * reach[s] + DOUBLE * (height[s] + reach[s])) + TINY
        for c in range(n_classes - 1):
            start[c, s] = log_prior[c + 1, s] - log_prior[0, s]
    sums = np.empty((pack_base[-1], n_classes - 1, n_settings), dtype=np.float32)
    pack_differences(single, base, sizes, first, pack_base, sums)
    return True, choose_packed(packed, rows, sums, start, margin, labels)


@njit(nogil=True, cache=True)
def contrast(
    table: Floats, log_prior: Floats, base: Ints, sizes: Ints, single: Singles, reach: Floats, height: Floats
) -> None:
    """Write the difference of class c + 1 to class 0 for each slot to `single` (slots, K - 1, S), with bounds.

    `reach` (S) bounds the sums of differences to class 0, and `height` (S) those of class 0. Each is a sum over
    columns of the largest absolute entry.
    """
    n_others, n_settings = single.shape[1:]
    high, apart = np.empty(n_settings), np.empty((n_others, n_settings))
    sum_high, sum_apart = np.abs(log_prior[0]), np.abs(log_prior[1:] - log_prior[0])
    for j in range(base.size):
        high[:] = 0.0
        apart[:] = 0.0
        for slot in range(base[j], base[j] + sizes[j]):
            zero = table[slot, 0]
            for s in range(n_settings):
                high[s] = max(high[s], abs(zero[s]))
            for c in range(n_others):
                here, out, most = table[slot, c + 1], single[slot, c], apart[c]
                for s in range(n_settings):
                    over = here[s] - zero[s]
                    out[s] = over
                    most[s] = max(most[s], abs(over))
        sum_high += high
        sum_apart += apart
    for s in range(n_settings):
        height[s] = sum_high[s]
        for c in range(n_others):
            reach[s] = max(reach[s], sum_apart[c, s])


@njit(nogil=True, cache=True)
def pack_differences(single: Singles, base: Ints, sizes: Ints, first: Ints, pack_base: Ints, sums: Singles) -> None:
    """Write the difference of class c + 1 to class 0 for each slot of a pack to `sums` (slots, K - 1, S)."""
    n_others, n_settings = sums.shape[1:]
    for p in range(first.size - 1):
        run = pack_base[p + 1] - pack_base[p]  # consecutive slots with the same digit
        for j in range(first[p], first[p + 1]):
            run //= sizes[j]
            slot = pack_base[p]
            while slot < pack_base[p + 1]:
                for digit in range(base[j], base[j] + sizes[j]):
                    for _ in range(run):
                        for c in range(n_others):
                            here, out = single[digit, c], sums[slot, c]
                            if j == first[p]:
                                for s in range(n_settings):
                                    out[s] = here[s]
                            else:
                                for s in range(n_settings):
                                    out[s] += here[s]
                        slot += 1


@njit(nogil=True, cache=True)
def choose_packed(
    packed: CellSlots, rows: Rows, table: Singles, start: Singles, margin: Singles, labels: Choices
) -> Rows:
    """Write labels (n, S) from single-precision sums of `table` (slots, K - 1, S), beginning with `start` (K - 1, S).

    Returns the rows in which the two best classes of some setting differ by at most `margin` (S), which need double
    precision. Five packs are added at a time, so that sums are stored less often.
    """
    n_others, n_settings = start.shape
    sums = np.empty((n_others, n_settings), dtype=np.float32)
    best = np.empty(n_settings, dtype=np.float32)
    second = np.empty(n_settings, dtype=np.float32)
    winner = np.empty(n_settings, dtype=np.float32)
    unsure = np.empty(rows.size, dtype=np.intp)
    n_unsure = 0
    fives = packed.shape[1] // 5 * 5
    for i in range(rows.size):
        here = packed[rows[i]]
        for c in range(n_others):
            out, begin = sums[c], start[c]
            for s in range(n_settings):
                out[s] = begin[s]
            for p in range(0, fives, 5):
                u, v, w = table[here[p], c], table[here[p + 1], c], table[here[p + 2], c]
                x, y = table[here[p + 3], c], table[here[p + 4], c]
                for s in range(n_settings):
                    out[s] += ((u[s] + v[s]) + (w[s] + x[s])) + y[s]
            for p in range(fives, here.size):
                u = table[here[p], c]
                for s in range(n_settings):
                    out[s] += u[s]
        near = np.int32(0)
        chosen = labels[i]
        if n_others == 1:
            value = sums[0]
            for s in range(n_settings):
                chosen[s] = value[s] > 0
            for s in range(n_settings):
                near |= np.int32(abs(value[s]) <= margin[s])
        else:
            for s in range(n_settings):
                best[s], second[s], winner[s] = 0.0, -np.inf, 0.0
            for c in range(n_others):
                value = sums[c]
                for s in range(n_settings):
                    above = value[s] > best[s]
                    second[s] = best[s] if above else max(second[s], value[s])
                    best[s] = value[s] if above else best[s]
                    winner[s] = c + 1 if above else winner[s]
            for s in range(n_settings):
                chosen[s] = np.int16(winner[s])
            for s in range(n_settings):
                near |= np.int32(best[s] - second[s] <= margin[s])
        if near:
            unsure[n_unsure] = i
            n_unsure += 1
    return unsure[:n_unsure]
