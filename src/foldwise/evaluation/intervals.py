"""Intervals of scores over splits that share training rows."""

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
    """Half the corrected resampled t interval around the mean over the last axis."""
    check_level(level)
    n = scores.shape[-1]
    return np.asarray(stats.t.ppf(0.5 + level / 2, max(n - 1, 1)) * corrected_error(scores, test_share))


def corrected_ends(
    scores: NDArray[np.float64], test_share: float, level: float, bounds: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of the corrected resampled t intervals around the means, which no score can lie beyond."""
    means, half = scores.mean(axis=-1), corrected_half_width(scores, test_share, level)
    return np.clip(means - half, *bounds), np.clip(means + half, *bounds)


def corrected_error(scores: NDArray[np.float64], test_share: float) -> NDArray[np.float64]:
    """The standard error of the mean over the last axis as Nadeau and Bengio (2003) correct it.

    Scores of different splits share training rows, so their plain variance is too small: the factor is
    1/J + n_test/n_train (`test_share`) instead of 1/J. Of one split it is NaN.
    """
    n = scores.shape[-1]
    if n < 2:
        return np.full(scores.shape[:-1], np.nan)
    return np.asarray(np.sqrt(np.var(scores, axis=-1, ddof=1) * (1 / n + test_share)))


def corrected_spread(scores: NDArray[np.float64], splits: Sequence[Split]) -> StudentSpread:
    """The spread of the mean of one score a split."""
    return StudentSpread(float(corrected_error(scores, share_tested(splits))), max(len(scores) - 1, 1))


def share_tested(splits: Sequence[Split]) -> float:
    """n_test/n_train, of splits on the average."""
    if isinstance(splits, LeaveOneOutSplits):  # whose training rows are listed when they are asked for
        return 1 / max(1, len(splits) - 1)
    return sum(len(split.test) for split in splits) / sum(len(split.train) for split in splits)
