"""Compiled scores of rows for many settings at once: the innermost loop runs over settings, so it vectorises."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.summaries.number_kernels import Floats, Ints

Places = NDArray[np.intp]


@njit(nogil=True, cache=True)
def count_rows(codes: Ints, rows: Places, y: Ints, w: Floats, base: Ints, weight: Floats, held: Floats) -> None:
    """Weight and rows (of a weight above 0) of each slot and class (slots, K), over some rows of codes (n, d)."""
    d = codes.shape[1]
    for i in range(rows.size):
        c = y[i]
        wi = w[i]
        one = 1.0 if wi > 0 else 0.0
        for j in range(d):
            slot = base[j] + codes[rows[i], j]
            weight[slot, c] += wi
            held[slot, c] += one


@njit(nogil=True, cache=True)
def add_code_row(codes: Ints, row: int, base: Ints, table: Floats, scores: Floats) -> None:
    """`scores` (K, S) of one row plus Σ over columns of `table` (slots, K, S)."""
    for j in range(codes.shape[1]):
        slot = base[j] + codes[row, j]
        for c in range(scores.shape[0]):
            for s in range(scores.shape[1]):
                scores[c, s] += table[slot, c, s]


@njit(nogil=True, cache=True, fastmath={"contract"})
def add_number_row(numbers: Floats, row: int, mean: Floats, scale: Floats, log_norm: Floats, scores: Floats) -> bool:
    """`scores` (K, S) of one row plus Σ log_norm - scale·(x - mean)² over present cells; False at an infinite one."""
    for j in range(numbers.shape[1]):
        x = numbers[row, j]
        if x != x:
            continue
        if np.isinf(x):
            return False
        for c in range(scores.shape[0]):
            t = x - mean[c, j]
            q = t * t
            for s in range(scores.shape[1]):
                scores[c, s] += log_norm[c, j, s] - q * scale[c, j, s]
    return True


@njit(nogil=True, cache=True)
def add_rows(
    codes: Ints,
    base: Ints,
    table: Floats,
    numbers: Floats,
    mean: Floats,
    scale: Floats,
    log_norm: Floats,
    rows: Places,
    scores: Floats,
) -> int:
    """`scores` (n, K, S) of some rows, without the prior. Returns the first row with an infinite cell, or -1."""
    for i in range(rows.size):
        add_code_row(codes, rows[i], base, table, scores[i])
        if not add_number_row(numbers, rows[i], mean, scale, log_norm, scores[i]):
            return i
    return -1


@njit(nogil=True, cache=True, fastmath={"contract"})
def choose(
    codes: Ints,
    base: Ints,
    table: Floats,
    numbers: Floats,
    mean: Floats,
    scale: Floats,
    log_norm: Floats,
    log_prior: Floats,
    rows: Places,
    labels: NDArray[np.int16],
) -> int:
    """The most probable class of each row and setting into `labels` (n, S): the sums of `add_rows`, then the choice.

    A row's scores (K, S) never leave the nearest cache. The first of equals wins, and where every class is impossible
    the prior chooses. Returns the first row with an infinite cell, or -1.
    """
    n_classes, n_settings = log_prior.shape
    scores = np.empty((n_classes, n_settings))
    best = np.empty(n_settings)
    place = np.empty(n_settings)
    for i in range(rows.size):
        scores[:] = 0.0
        add_code_row(codes, rows[i], base, table, scores)
        if not add_number_row(numbers, rows[i], mean, scale, log_norm, scores):
            return i
        for s in range(n_settings):
            best[s] = scores[0, s] + log_prior[0, s]
            place[s] = 0.0  # as a float: compared and chosen in vectors of one width
        for c in range(1, n_classes):
            for s in range(n_settings):
                value = scores[c, s] + log_prior[c, s]
                above = value > best[s]
                best[s] = value if above else best[s]
                place[s] = c if above else place[s]
        chosen = labels[i]
        for s in range(n_settings):
            chosen[s] = np.int16(place[s])
            if best[s] == -np.inf:
                for c in range(n_classes):
                    if log_prior[c, s] > log_prior[chosen[s], s]:
                        chosen[s] = c
    return -1
