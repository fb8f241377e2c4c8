"""`SkewedSpread`: intervals of a mean of skewed losses, or of the root of such a mean.

Most squared errors are small and a few are huge. A table that happens to lack huge ones has too small a mean and also
too small a standard error, so symmetric intervals lie below the truth too often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from foldwise.arrays import Floats

LEAST = 1e-6  # smaller skewness does not change an interval


@dataclass(frozen=True)
class SkewedSpread:
    """The uncertainty of a mean of losses, or of its root, by Hall's transformation.

    Attributes
    ----------
    error : float
        Standard error of the score.
    freedom : float
        Its degrees of freedom.
    skewness : float
        Skewness of the mean: that of one loss, divided by the root of their number.
    root : bool
        Whether the score is the root of the mean.
    per_error : float
        Skewness of a mean of other rows, divided by its standard error, on the scale of the score.

    Notes
    -----
    With the standardized mean t and its skewness k, the distribution of t + k·t²/3 + k²·t³/27 + k/6 is closer to
    Student's t than that of t itself. The interval is found by solving for t (Hall 1992, On the removal of skewness by
    transformation). The interval of a root is the root of the interval of the mean.

    Examples
    --------
    >>> spread = SkewedSpread(error=0.1, freedom=9, skewness=0.5, root=True)
    >>> "{:.2f} to {:.2f}".format(*spread.between(1.0, 0.95))
    '0.82 to 1.69'
    """

    error: float
    freedom: float
    skewness: float
    root: bool
    per_error: float = 0.0

    def between(self, value: float, level: float) -> tuple[float, float]:
        """The limits around a value, which is a loss, or a score that is a negative loss."""
        quantile, size = float(stats.t.ppf(0.5 + level / 2, self.freedom)), abs(value)
        mean, error = (size**2, 2 * size * self.error) if self.root else (size, self.error)
        low, high = (mean - error * self._untransformed(end) for end in (quantile, -quantile))
        if self.root:
            low, high = np.sqrt(max(low, 0.0)), np.sqrt(max(high, 0.0))
        return (float(low), float(high)) if value > 0 else (-float(high), -float(low))

    def _untransformed(self, end: float) -> float:
        k = self.skewness
        return float(3 / k * (np.cbrt(1 + k * (end - k / 6)) - 1)) if abs(k) > LEAST else end

    def widened(self, variance: float) -> SkewedSpread:
        """The same for the score of a test set, whose own mean is skewed too.

        Third moments of independent means add up. That of the test set counts half: its standard error is not estimated
        from its own rows, and half of the skewness of a standardized mean comes from this.
        """
        other = float(np.sqrt(variance))
        error = float(np.sqrt(self.error**2 + variance))
        third = self.skewness * self.error**3 + self.per_error * other * other**3 / 2
        return replace(self, error=error, skewness=third / error**3 if error > 0 else 0.0)


@dataclass(frozen=True)
class MeanMoments:
    """The standard error and the skewness of a mean."""

    error: float
    skewness: float


def mean_moments(losses: Floats, weights: Floats, units: NDArray[np.intp] | None = None) -> MeanMoments:
    """Compute the standard error and the skewness of a weighted mean over independent units of rows.

    Parameters
    ----------
    losses : ndarray of shape (n_rows,)
        The losses.
    weights : ndarray of shape (n_rows,)
        The weights of the rows.
    units : ndarray of shape (n_rows,), optional
        Codes of the units, from 0; rows of a unit depend on each other. None means that each row is a unit.

    Returns
    -------
    MeanMoments
        If all units have the same weight, the standard deviation and the skewness of one unit, each divided by the root
        of the number of units.

    Examples
    --------
    >>> found = mean_moments(np.array([0.0, 0.0, 0.0, 4.0]), np.ones(4))
    >>> round(found.error, 3), round(found.skewness, 3)
    (1.0, 0.577)
    """
    mean = np.average(losses, weights=weights)
    by_row = weights * (losses - mean)
    parts = by_row if units is None else np.asarray(np.bincount(units, by_row), dtype=np.float64)
    n, squares = len(parts), float((parts**2).sum())
    if n < 2 or squares == 0:
        return MeanMoments(0.0, 0.0)
    error = np.sqrt(squares * n / (n - 1)) / weights.sum()
    return MeanMoments(float(error), float((parts**3).sum() / squares**1.5))
