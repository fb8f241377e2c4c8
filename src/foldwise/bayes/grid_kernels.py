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


@njit(nogil=True, cache=True)
def choose(scores: Floats, log_prior: Floats, labels: Places) -> None:
    """The most probable class of each row and setting into `labels` (S, n); `scores` (n, K, S) hold no prior yet.

    The first of equals wins, and where every class is impossible the prior chooses.
    """
    n, n_classes, n_settings = scores.shape
    for i in range(n):
        for s in range(n_settings):
            best = scores[i, 0, s] + log_prior[0, s]
            place = 0
            for c in range(1, n_classes):
                value = scores[i, c, s] + log_prior[c, s]
                if value > best:
                    best = value
                    place = c
            if best == -np.inf:
                for c in range(n_classes):
                    if log_prior[c, s] > log_prior[place, s]:
                        place = c
            labels[s, i] = place
