"""Intervals of scores over splits that share training rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from foldwise.errors import InputError


def corrected_half_width(
    scores: NDArray[np.float64], test_share: float, level: float = 0.95
) -> NDArray[np.float64]:  # scores without their last axis
    """Half the corrected resampled t interval (Nadeau & Bengio 2003) around the mean over the last axis.

    Scores of different splits share training rows, so their plain variance is too small: the factor is
    1/J + n_test/n_train (`test_share`) instead of 1/J. It knows no bounds of a score, so an interval around a high
    accuracy may pass 1. Of one split it is NaN.
    """
    check_level(level)
    n = scores.shape[-1]
    if n < 2:
        return np.full(scores.shape[:-1], np.nan)
    variance = np.var(scores, axis=-1, ddof=1) * (1 / n + test_share)
    return np.asarray(stats.t.ppf(0.5 + level / 2, n - 1) * np.sqrt(variance))


def check_level(level: float) -> None:
    """Refuse a level that is no probability."""
    if not 0 < level < 1:
        raise InputError(f"the level of an interval lies between 0 and 1, got {level!r}.", "0.95 is 95 %.")
