"""Confidence intervals of mean scores over splits that share training rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from foldwise.evaluation.estimates import StudentSpread, check_level
from foldwise.folds.splits import LeaveOneOutSplits, Split


def corrected_half_width(
    scores: NDArray[np.float64], test_share: float, level: float = 0.95
) -> NDArray[np.float64]:  # scores without their last axis
    """Compute half the width of the corrected resampled t interval of the mean over the last axis."""
    check_level(level)
    n = scores.shape[-1]
    return np.asarray(stats.t.ppf(0.5 + level / 2, max(n - 1, 1)) * corrected_error(scores, test_share))


def corrected_ends(
    scores: NDArray[np.float64], test_share: float, level: float, bounds: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the limits of the corrected resampled t intervals, clipped to the possible scores."""
    means, half = scores.mean(axis=-1), corrected_half_width(scores, test_share, level)
    return np.clip(means - half, *bounds), np.clip(means + half, *bounds)


def corrected_error(scores: NDArray[np.float64], test_share: float) -> NDArray[np.float64]:
    """Compute the standard error of the mean over the last axis, as corrected by Nadeau and Bengio (2003).

    Splits share training rows, so the plain variance of their scores is too small. It is multiplied by
    1/J + n_test/n_train (`test_share`) instead of 1/J. With a single split the result is NaN.
    """
    n = scores.shape[-1]
    if n < 2:
        return np.full(scores.shape[:-1], np.nan)
    return np.asarray(np.sqrt(np.var(scores, axis=-1, ddof=1) * (1 / n + test_share)))


def corrected_spread(scores: NDArray[np.float64], splits: Sequence[Split]) -> StudentSpread:
    """Return the spread of the mean of one score per split."""
    return StudentSpread(float(corrected_error(scores, share_tested(splits))), max(len(scores) - 1, 1))


def share_tested(splits: Sequence[Split]) -> float:
    """Return n_test/n_train, averaged over splits."""
    if isinstance(splits, LeaveOneOutSplits):  # listing their training rows would take long
        return 1 / max(1, len(splits) - 1)
    return sum(len(split.test) for split in splits) / sum(len(split.train) for split in splits)
