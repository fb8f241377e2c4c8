"""Labels of categories by short sums in single precision, and the rows in which only double precision can decide.

What a class scores over class 0 is summed pack by pack. Every loop over settings stands by itself, so it vectorizes;
assigning to a slice would cost a row more than its sums.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwise.folds.sums.coding import Places, Slots
from foldwise.folds.sums.kernels import Choices, Singles
from foldwise.summaries.number_kernels import Floats, Ints

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
    packed: Slots,
    rows: Places,
    labels: Choices,
) -> tuple[bool, Places]:
    """Labels (n, S) of some rows by `table` (slots, K, S); whether it could be done, and the places left to decide.

    It cannot where an entry is infinite.
    """
    n_classes, n_settings = log_prior.shape
    single = np.empty((table.shape[0], n_classes - 1, n_settings), dtype=np.float32)
    reach, height = np.zeros(n_settings), np.zeros(n_settings)
    contrast(table, log_prior, base, sizes, single, reach, height)
    if not (np.isfinite(reach).all() and np.isfinite(height).all()):
        return False, np.empty(0, dtype=np.intp)
    start = np.empty((n_classes - 1, n_settings), dtype=np.float32)
    margin = np.empty(n_settings, dtype=np.float32)
    # every term and every sum is rounded once, by at most half an eps of all that the terms can sum to;
    # two sums are compared
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
    """What each slot adds to class c + 1 over class 0, into `single` (slots, K - 1, S), and how far sums can go.

    `reach` (S) bounds differences from class 0, `height` class 0 itself, so that both together bound any class: they
    sum, over columns, the greatest that an entry adds.
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
    """What each pack's slot adds to class c + 1 over class 0: `sums` (slots, K - 1, S)."""
    n_others, n_settings = sums.shape[1:]
    for p in range(first.size - 1):
        run = pack_base[p + 1] - pack_base[p]  # of slots in which a column's digit stays as it is
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
    packed: Slots, rows: Places, table: Singles, start: Singles, margin: Singles, labels: Choices
) -> Places:
    """Labels (n, S) by single-precision sums of `table` (slots, K - 1, S) from `start` (K - 1, S).

    Returns the rows in which some setting's two best classes lie within `margin` (S): there precision must decide.
    Five packs are added at a time, so that sums are stored seldom.
    """
    n_others, n_settings = start.shape
    sums = np.empty((n_others, n_settings), dtype=np.float32)
    best = np.empty(n_settings, dtype=np.float32)
    second = np.empty(n_settings, dtype=np.float32)
    place = np.empty(n_settings, dtype=np.float32)
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
                best[s], second[s], place[s] = 0.0, -np.inf, 0.0
            for c in range(n_others):
                value = sums[c]
                for s in range(n_settings):
                    above = value[s] > best[s]
                    second[s] = best[s] if above else max(second[s], value[s])
                    best[s] = value[s] if above else best[s]
                    place[s] = c + 1 if above else place[s]
            for s in range(n_settings):
                chosen[s] = np.int16(place[s])
            for s in range(n_settings):
                near |= np.int32(best[s] - second[s] <= margin[s])
        if near:
            unsure[n_unsure] = i
            n_unsure += 1
    return unsure[:n_unsure]
