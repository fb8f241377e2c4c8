"""The tolerance of the law: how far a session's answer may differ from that of a refit.

Sums of floats depend on the order of summation, which depends on the CPU, on BLAS and on the number of threads. So
answers agree within a tolerance, not bit for bit. Counts are exact. Labels are exact except where the two best scores
lie within the tolerance.

Mean scores that agree within the tolerance are tied, and of tied settings the first one wins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import TargetValues

RELATIVE = 1e-10
MOVES = 10  # times the movement of the refit itself when its rows are permuted, if that is larger


def tolerance(expected: Any, scale: float = 1.0, moved: float = 0.0) -> NDArray[np.float64]:
    """Compute how far predictions may differ from the expected ones.

    Parameters
    ----------
    expected : array-like
        The predictions of a refit. Infinite ones count as 0.
    scale : float, default=1.0
        Lower bound of the magnitude: 1 for log-probabilities and decision values, the standard deviation of the
        training targets for regression.
    moved : float, default=0.0
        How far the predictions of the refit move when its rows are permuted.

    Returns
    -------
    array of float
        The largest allowed difference for each prediction.

    Examples
    --------
    >>> tolerance([-0.5, -1024.0]).round(12).tolist()
    [1e-10, 1.024e-07]
    """
    magnitude = np.abs(np.asarray(expected, dtype=np.float64))
    magnitude = np.where(np.isfinite(magnitude), magnitude, 0.0)
    return np.maximum(RELATIVE * np.maximum(magnitude, scale), MOVES * moved)


def gaps(a: Any, b: Any) -> NDArray[np.float64]:
    """|a - b|, and 0 if both are the same infinity or both are NaN."""
    with np.errstate(invalid="ignore"):
        gap: NDArray[np.float64] = np.abs(np.asarray(a, dtype=np.float64) - b)
    gap[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    return gap


def are_close(ours: Any, theirs: Any, scale: float = 1.0) -> bool:
    """Whether predictions agree within the tolerance."""
    ours, theirs = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    return ours.shape == theirs.shape and bool((gaps(ours, theirs) <= tolerance(theirs, scale)).all())


def tie_slack(scores: Any, unit: float = 1.0) -> NDArray[np.float64]:  # (…, settings)
    """How far below another one each score may lie and still be tied with it: 1e-10 · max(|score|, scale).

    The scale is 1. Scores of a quantity may be much smaller if its unit is, so for them it is min(1, s), where s is the
    largest |score| or the variance of the target (`unit`), whichever is larger.
    """
    magnitude = np.abs(np.asarray(scores, dtype=np.float64))
    magnitude = np.where(np.isfinite(magnitude), magnitude, 0.0)
    largest = magnitude.max(axis=-1, keepdims=True, initial=0.0)
    scale = np.minimum(np.maximum(largest, min(unit, 1.0)), 1.0)  # np.clip takes three times as long
    return np.asarray(RELATIVE * np.maximum(magnitude, scale))


def ranks(scores: Any, unit: float = 1.0) -> NDArray[np.int32]:  # (settings,)
    """Rank mean scores, 1 for the best; scores within the tolerance are tied, and failed settings (NaN) come last."""
    scores = np.asarray(scores, dtype=np.float64)
    failed = np.isnan(scores)
    known = scores[~failed]
    found = np.full(len(scores), 1 + len(known), dtype=np.int32)
    better_than = np.searchsorted(np.sort(-known), -known - tie_slack(known, unit))  # the number of better settings
    found[~failed] = 1 + better_than
    return found


def first_best(scores: Any, unit: float = 1.0) -> NDArray[np.intp]:  # (…, settings) -> (…)
    """The index of the first score that is tied with the best one. NaN is worse than any number.

    Examples
    --------
    >>> int(first_best([0.3, 0.9 - 1e-13, 0.9, float("nan")]))
    1
    """
    scores = np.asarray(scores, dtype=np.float64)
    known = np.where(np.isnan(scores), -np.inf, scores)
    tied = known + tie_slack(known, unit) >= known.max(axis=-1, keepdims=True)
    return np.asarray(tied.argmax(axis=-1))


def tie_unit(target: Any, rows: Any = slice(None)) -> float:
    """The `unit` of ties: the variance of a quantity on some rows; 1 for classes."""
    return float(np.var(target.numbers[rows])) if isinstance(target, TargetValues) else 1.0
