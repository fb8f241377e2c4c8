"""Compiled scores of rows for many settings; the innermost loop runs over settings, so that it is vectorized."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.folds.protocol import Rows
from foldwise.folds.sums.coding import CellSlots

Singles = NDArray[np.float32]
Choices = NDArray[np.int16]


@njit(nogil=True, cache=True)
def add_look_ups(slots: CellSlots, rows: Rows, table: Floats, scores: Floats) -> None:
    """Add Σ over columns of `table` (slots, K, S) to the `scores` (n, K, S) of some rows, column by column.

    Four columns are added at a time, in the same order, so that sums are loaded and stored less often.
    """
    n_columns = slots.shape[1]
    fours = n_columns // 4 * 4
    for i in range(rows.size):
        here = slots[rows[i]]
        for c in range(scores.shape[1]):
            out = scores[i, c]
            for j in range(0, fours, 4):
                p, q = table[here[j], c], table[here[j + 1], c]
                u, v = table[here[j + 2], c], table[here[j + 3], c]
                for s in range(out.size):
                    out[s] = (((out[s] + p[s]) + q[s]) + u[s]) + v[s]
            for j in range(fours, n_columns):
                p = table[here[j], c]
                for s in range(out.size):
                    out[s] += p[s]


@njit(nogil=True, cache=True, fastmath={"contract"})
def add_squares(
    numbers: Floats, rows: Rows, mean: Floats, scale: Floats, log_norm: Floats, total: Floats, scores: Floats
) -> None:
    """Add Σ over non-missing cells of log_norm - scale·(x - mean)² to the `scores` (n, K, S) of some rows.

    `total` (K, S) is log_norm summed over all columns, for rows without missing cells.
    """
    n_classes, n_columns, n_settings = scale.shape
    squares = np.empty(n_columns)
    fours = n_columns // 4 * 4
    for i in range(rows.size):
        x = numbers[rows[i]]
        for c in range(n_classes):
            whole = 0.0
            for j in range(n_columns):
                t = x[j] - mean[c, j]
                squares[j] = t * t
                whole += squares[j]
            out = scores[i, c]
            if not np.isfinite(whole):  # a missing cell, or an overflow
                for j in range(n_columns):
                    if not np.isnan(x[j]):
                        for s in range(n_settings):
                            loss = squares[j] * scale[c, j, s] if scale[c, j, s] > 0 else 0.0
                            out[s] += log_norm[c, j, s] - loss
                continue
            for s in range(n_settings):
                out[s] += total[c, s]
            for j in range(0, fours, 4):
                a, b, d, e = scale[c, j], scale[c, j + 1], scale[c, j + 2], scale[c, j + 3]
                qa, qb, qd, qe = squares[j], squares[j + 1], squares[j + 2], squares[j + 3]
                for s in range(n_settings):
                    out[s] -= qa * a[s] + qb * b[s] + qd * d[s] + qe * e[s]
            for j in range(fours, n_columns):
                for s in range(n_settings):
                    out[s] -= squares[j] * scale[c, j, s]


@njit(nogil=True, cache=True)
def gaps_to_best(scores: Floats, log_prior: Floats, best: Floats, gaps: Floats) -> None:
    """Add the prior to `scores` (n, K, S); write the largest to `best` (n, S) and the differences to it to `gaps`.

    `gaps` is (n, K, S), with -inf for the first class with the largest score. With two classes it is (n, 1, S), for
    the other class.
    """
    n_classes, n_settings = log_prior.shape
    for i in range(scores.shape[0]):
        best[i] = -np.inf
        for c in range(n_classes):
            for s in range(n_settings):
                scores[i, c, s] += log_prior[c, s]
                best[i, s] = max(best[i, s], scores[i, c, s])
        if n_classes == 2:
            for s in range(n_settings):
                gaps[i, 0, s] = min(scores[i, 0, s], scores[i, 1, s]) - best[i, s]
            continue
        for s in range(n_settings):
            found = False
            for c in range(n_classes):
                first = not found and scores[i, c, s] == best[i, s]
                gaps[i, c, s] = -np.inf if first else scores[i, c, s] - best[i, s]
                found |= first


@njit(nogil=True, cache=True)
def normalize(scores: Floats, best: Floats, rest: Floats, best_first: bool, out: Floats) -> None:
    """Compute `out` = `scores` - `best` - `rest` for every class.

    `NaiveBayes` subtracts `best` first, because a `rest` of log 2 would be lost beside scores of -1e31; scikit-learn
    subtracts the sum of both.
    """
    for i in range(scores.shape[0]):
        for c in range(scores.shape[1]):
            for s in range(best.shape[1]):
                if best_first:
                    out[i, c, s] = (scores[i, c, s] - best[i, s]) - rest[i, s]
                else:
                    out[i, c, s] = scores[i, c, s] - (rest[i, s] + best[i, s])


@njit(nogil=True, cache=True)
def choose(scores: Floats, log_prior: Floats, by_prior: bool, labels: Choices) -> None:
    """Write the class with the largest score + prior of each row and setting to `labels` (n, S); ties go to the first.

    If every class is impossible, the first class is taken, or with `by_prior` the most frequent one.
    """
    n_classes, n_settings = log_prior.shape
    best = np.empty(n_settings)
    winner = np.empty(n_settings)
    for i in range(scores.shape[0]):
        for s in range(n_settings):
            best[s] = scores[i, 0, s] + log_prior[0, s]
            winner[s] = 0.0  # as a float, so that all vectors have the same width
        for c in range(1, n_classes):
            for s in range(n_settings):
                value = scores[i, c, s] + log_prior[c, s]
                above = value > best[s]
                best[s] = value if above else best[s]
                winner[s] = c if above else winner[s]
        chosen = labels[i]
        for s in range(n_settings):
            chosen[s] = np.int16(winner[s])
        if by_prior:
            for s in range(n_settings):
                if best[s] == -np.inf:
                    for c in range(n_classes):
                        if log_prior[c, s] > log_prior[chosen[s], s]:
                            chosen[s] = c
