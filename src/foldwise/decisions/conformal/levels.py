"""The level of an interval or a set: its check, its quantile among calibration scores, and what theorems guarantee."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.arguments import at_least_zero
from foldwise.errors import InputError

BLOCK_CELLS = 1 << 22  # predictions of rows × calibration rows in memory at a time
CLOSED = 1e-13  # of the larger end of an interval
SLACK = 1e-10  # scores that are equal but for rounding are ties
ROUNDING = 1e-9  # 0.95 · 20 is 19, also where the product of floats is slightly more


def check_coverage(coverage: Any) -> float:
    """Return a coverage, which must be between 0 and 1."""
    hint = "write 0.9 for 90%."
    value = at_least_zero("coverage", coverage, hint)
    if not 0 < value < 1:
        raise InputError(f"coverage must be above 0 and below 1, got {coverage!r}.", hint)
    return value


def rank_of(coverage: float, n_scores: int) -> int:
    """Return which of the sorted scores is the quantile, counted from 1: the ⌈(n + 1) · coverage⌉-th."""
    return math.ceil((n_scores + 1) * coverage - ROUNDING)


def least_rows(coverage: float) -> int:
    """Return how many calibration rows a finite quantile needs."""
    return math.ceil(coverage / (1 - coverage) - ROUNDING)


def quantile_of(ordered: Floats, coverage: float) -> float:
    """Return the conformal quantile of sorted scores; infinite if there are too few."""
    rank = rank_of(coverage, len(ordered))
    return float(ordered[rank - 1]) if rank <= len(ordered) else math.inf


def closed(low: Floats, high: Floats) -> Floats:  # (rows, 2)
    """Return intervals whose ends belong to them: rounding must not exclude a value whose score equals the quantile."""
    with np.errstate(invalid="ignore"):
        slack = CLOSED * np.where(np.isfinite(low) & np.isfinite(high), np.maximum(np.abs(low), np.abs(high)), 0.0)
    return np.column_stack([low - slack, high + slack])


def set_text(chosen: Sequence[bool] | NDArray[np.bool_], classes: Sequence[Any]) -> str:
    """Write a set of classes as one cell. Classes are separated by |, or quoted as JSON if a name contains one."""
    names = [str(name) for name, inside in zip(classes, chosen, strict=True) if inside]
    if any("|" in str(name) for name in classes):
        return json.dumps(names, ensure_ascii=False)
    return "|".join(names)


def plus_intervals(predicted: Floats, fold: NDArray[np.intp], residuals: Floats, coverage: float) -> Floats:
    """Return the intervals of CV+ and jackknife+.

    They are quantiles of the predictions of fold models (rows, folds), minus or plus the residuals of the calibration
    rows that each of them left out.
    """
    n_rows, n_scores = len(predicted), len(residuals)
    rank = rank_of(coverage, n_scores)
    found = np.tile([-np.inf, np.inf], (n_rows, 1))
    if rank > n_scores:
        return found
    size = max(1, BLOCK_CELLS // n_scores)
    for start in range(0, n_rows, size):
        block = slice(start, start + size)
        some = predicted[block][:, fold]
        found[block, 0] = np.partition(some - residuals, n_scores - rank, axis=1)[:, n_scores - rank]
        found[block, 1] = np.partition(some + residuals, rank - 1, axis=1)[:, rank - 1]
    return closed(*found.T)


def guaranteed_coverage(method: str, coverage: float, n_rows: int, n_folds: int) -> float:
    """Return the coverage that theorems guarantee for exchangeable rows.

    Parameters
    ----------
    method : {"cross", "split", "cv+", "jackknife+"}
        How the model is calibrated.
    coverage : float
        The coverage that was requested.
    n_rows : int
        Number of calibration rows.
    n_folds : int
        Number of folds.

    Returns
    -------
    float
        0 if nothing is guaranteed.

    Notes
    -----
    Split: 1 - α. Jackknife+: 1 - 2α. CV+ (Barber et al. 2021, theorem 4 and corollary 1): 1 - 2α minus
    min{2(1 - 1/K) / (n/K + 1), (1 - K/n) / (K + 1)}. The model of all rows with out-of-fold scores: nothing.

    Examples
    --------
    >>> round(guaranteed_coverage("cv+", 0.9, 100, 5), 3)
    0.724
    """
    alpha = 1 - coverage
    if method == "split":
        return coverage
    if method == "jackknife+":
        return max(0.0, 1 - 2 * alpha)
    if method == "cv+" and n_folds:
        excess = min(2 * (1 - 1 / n_folds) / (n_rows / n_folds + 1), (1 - n_folds / n_rows) / (n_folds + 1))
        return max(0.0, 1 - 2 * alpha - excess)
    return 0.0
