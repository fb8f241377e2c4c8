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
def add_codes(codes: Ints, rows: Places, base: Ints, table: Floats, scores: Floats) -> None:
    """`scores` (n, K, S) plus Σ over columns of `table` (slots, K, S)."""
    d = codes.shape[1]
    n_classes, n_settings = scores.shape[1], scores.shape[2]
    for i in range(rows.size):
        for j in range(d):
            slot = base[j] + codes[rows[i], j]
            for c in range(n_classes):
                for s in range(n_settings):
                    scores[i, c, s] += table[slot, c, s]


@njit(nogil=True, cache=True, fastmath={"contract"})
def add_numbers(numbers: Floats, rows: Places, mean: Floats, scale: Floats, log_norm: Floats, scores: Floats) -> int:
    """`scores` (n, K, S) plus Σ log_norm - scale·(x - mean)² over present cells. The first infinite row, or -1."""
    d = numbers.shape[1]
    n_classes, n_settings = scores.shape[1], scores.shape[2]
    for i in range(rows.size):
        for j in range(d):
            x = numbers[rows[i], j]
            if x != x:
                continue
            if np.isinf(x):
                return i
            for c in range(n_classes):
                t = x - mean[c, j]
                q = t * t
                for s in range(n_settings):
                    scores[i, c, s] += log_norm[c, j, s] - q * scale[c, j, s]
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
    """The most probable class of each row and setting into `labels` (n, S): `add_codes`, `add_numbers` and the choice.

    A row's scores (K, S) never leave the nearest cache. The first of equals wins, and where every class is impossible
    the prior chooses. Returns the first row with an infinite cell, or -1.
    """
    n_classes, n_settings = log_prior.shape
    scores = np.empty((n_classes, n_settings))
    best = np.empty(n_settings)
    place = np.empty(n_settings)
    for i in range(rows.size):
        scores[:] = 0.0
        for j in range(codes.shape[1]):
            slot = base[j] + codes[rows[i], j]
            for c in range(n_classes):
                for s in range(n_settings):
                    scores[c, s] += table[slot, c, s]
        for j in range(numbers.shape[1]):
            x = numbers[rows[i], j]
            if x != x:
                continue
            if np.isinf(x):
                return i
            for c in range(n_classes):
                t = x - mean[c, j]
                q = t * t
                for s in range(n_settings):
                    scores[c, s] += log_norm[c, j, s] - q * scale[c, j, s]
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
