"""Compiled kernels that add log-likelihoods of rows to scores (n, K). Values are stored by row or by column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.summaries.code_kernels import Slots
from foldwise.summaries.number_kernels import REORDER

Span = tuple[int, int]
TILE_CELLS = 8192  # sums per tile of rows, which fit into the cache


@njit(nogil=True, cache=True)
def masked_gaussian(x: Floats, mean: Floats, scale: Floats, log_norm: Floats) -> float:
    """Compute the log-density of the present values of one row in one class; NaN if a value is infinite."""
    total = 0.0
    for j in range(x.size):
        v = x[j]
        if v == v:
            if np.isinf(v):
                return np.nan
            t = v - mean[j]
            total += log_norm[j] - t * t * scale[j]
    return total


@njit(nogil=True, cache=True, fastmath=REORDER)
def gaussian_by_row(
    cells: Floats, mean: Floats, scale: Floats, log_norm: Floats, constant: Floats, scores: Floats
) -> int:
    """Add Σ log_norm - scale·(x-mean)² over present values; returns the first row with an infinite value, or -1."""
    n, d = cells.shape
    for i in range(n):
        for c in range(mean.shape[0]):
            a = 0.0
            for j in range(d):
                t = cells[i, j] - mean[c, j]
                a += t * t * scale[c, j]
            if a < np.inf:
                scores[i, c] += constant[c] - a
            else:  # a missing or infinite value, or an overflow
                b = masked_gaussian(cells[i], mean[c], scale[c], log_norm[c])
                if b != b:
                    return i
                scores[i, c] += b
    return -1


@njit(nogil=True, cache=True, fastmath={"contract"})
def gaussian_by_column(
    cells: Floats, span: Span, mean: Floats, scale: Floats, log_norm: Floats, constant: Floats, scores: Floats
) -> int:
    """Do the same for values by column, for the rows `span`; one tile of rows at a time, vectorized over rows."""
    start, stop = span
    n_classes = mean.shape[0]
    tile = max(128, TILE_CELLS // n_classes)
    sums = np.empty((n_classes, tile))
    for first in range(start, stop, tile):
        last = min(first + tile, stop)
        sums[:] = 0.0
        for j in range(cells.shape[0]):
            x = cells[j, first:last]
            for c in range(n_classes):
                m = mean[c, j]
                s = scale[c, j]
                a = sums[c]
                for r in range(last - first):
                    t = x[r] - m
                    a[r] += t * t * s
        for r in range(last - first):
            i = first - start + r
            for c in range(n_classes):
                a = sums[c, r]
                if a < np.inf:
                    scores[i, c] += constant[c] - a
                else:
                    b = masked_gaussian(cells[:, first + r], mean[c], scale[c], log_norm[c])
                    if b != b:
                        return i
                    scores[i, c] += b
    return -1


@njit(nogil=True, cache=True)
def codes_by_row(cells: Ints, low: Ints, width: Slots, base: Slots, table: Floats, scores: Floats) -> None:
    """Add Σ table[slot of the value] for many classes, one row of the table at a time."""
    n, d = cells.shape
    for i in range(n):
        for j in range(d):
            row = table[base[j] + min(np.uint64(cells[i, j] - low[j]), width[j])]
            for c in range(scores.shape[1]):
                scores[i, c] += row[c]


@njit(nogil=True, cache=True)
def codes_by_row_few(cells: Ints, low: Ints, width: Slots, base: Slots, table: Floats, scores: Floats) -> None:
    """Do the same for a few classes: find the slots of a row once, then sum in a register for each class."""
    n, d = cells.shape
    slots = np.empty(d, np.uint64)
    for i in range(n):
        for j in range(d):
            slots[j] = base[j] + min(np.uint64(cells[i, j] - low[j]), width[j])
        for c in range(scores.shape[1]):
            a = 0.0
            for j in range(d):
                a += table[slots[j], c]
            scores[i, c] += a


@njit(nogil=True, cache=True)
def codes_by_column(
    cells: Ints, start: int, stop: int, low: Ints, width: Slots, base: Slots, table: Floats, scores: Floats
) -> None:
    """Do the same for values by column and many classes."""
    for j in range(cells.shape[0]):
        x = cells[j, start:stop]
        for i in range(stop - start):
            row = table[base[j] + min(np.uint64(x[i] - low[j]), width[j])]
            for c in range(scores.shape[1]):
                scores[i, c] += row[c]


@njit(nogil=True, cache=True)
def codes_by_column_few(
    cells: Ints, start: int, stop: int, low: Ints, width: Slots, base: Slots, table: Floats, scores: Floats
) -> None:
    """Do the same for values by column and a few classes; `table` is (K, slots) here.

    Two columns at a time halve the memory traffic of the sums; four were slower.
    """
    n_classes = scores.shape[1]
    d = cells.shape[0]
    even = d // 2 * 2
    sums = np.empty((n_classes, TILE_CELLS))
    for first in range(start, stop, TILE_CELLS):
        last = min(first + TILE_CELLS, stop)
        n = last - first
        sums[:] = 0.0
        for j in range(0, even, 2):
            x0 = cells[j, first:last]
            x1 = cells[j + 1, first:last]
            l0, l1 = low[j], low[j + 1]
            w0, w1 = width[j], width[j + 1]
            b0, b1 = base[j], base[j + 1]
            for c in range(n_classes):
                t = table[c]
                a = sums[c]
                for r in range(n):
                    a[r] += t[b0 + min(np.uint64(x0[r] - l0), w0)] + t[b1 + min(np.uint64(x1[r] - l1), w1)]
        for j in range(even, d):
            x = cells[j, first:last]
            for c in range(n_classes):
                t = table[c]
                a = sums[c]
                for r in range(n):
                    a[r] += t[base[j] + min(np.uint64(x[r] - low[j]), width[j])]
        for r in range(n):
            for c in range(n_classes):
                scores[first - start + r, c] += sums[c, r]


def linear_scores(counts: Any, log_table: Floats) -> Floats:  # (n, d) · (d, K) -> (n, K)
    """Compute Σ_j count·log θ, where 0·log 0 is 0. A positive count with θ = 0 makes the score -inf."""
    impossible = np.isneginf(log_table)
    with np.errstate(over="ignore"):  # a score that overflows is impossible too
        scores = np.asarray(counts @ np.where(impossible, 0.0, log_table))
    if not impossible.any():
        return scores
    hits = np.asarray(counts @ impossible.astype(np.float64))
    return np.where(hits > 0, -np.inf, scores)
