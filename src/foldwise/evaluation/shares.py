"""`ShareSpread`: intervals of proportions, such as accuracy, that stay sensible near 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from foldwise.arrays import Floats


@dataclass(frozen=True)
class ShareSpread:
    """The spread of the mean of one or more proportions, each with its effective number of rows.

    Attributes
    ----------
    shares : tuple of float
        The proportions. Accuracy is one, balanced accuracy is the mean of one per class.
    sizes : tuple of float
        How many independent rows would give each proportion the same error.
    freedom : float
        Degrees of freedom of Student's t. Infinitely many make it normal.
    inflation : float
        Factor of the error and of the distances to the bounds, for variation that does not come from the rows.

    Notes
    -----
    Each proportion has the interval of Wilson (1927), which neither leaves [0, 1] nor loses its width at the ends. The
    interval of their mean adds the squares of the distances to the bounds (Zou and Donner, 2008).

    Examples
    --------
    >>> "{:.3f} to {:.3f}".format(*ShareSpread((1.0,), (100.0,)).between(1.0, 0.95))
    '0.963 to 1.000'
    >>> "{:.3f} to {:.3f}".format(*ShareSpread((0.9, 0.5), (80.0, 20.0)).between(0.7, 0.95))
    '0.591 to 0.803'
    """

    shares: tuple[float, ...]
    sizes: tuple[float, ...]
    freedom: float = np.inf
    inflation: float = 1.0

    @property
    def error(self) -> float:
        """The standard error. A proportion of 0 or 1 counts as if two rows of each kind had come in addition."""
        variances = [self._variance(p, n) / n for p, n in zip(self.shares, self.sizes, strict=True)]
        return float(self.inflation * np.sqrt(sum(variances)) / len(self.shares))

    @staticmethod
    def _variance(share: float, size: float) -> float:
        if not 0 < share < 1:
            share = (share * size + 2) / (size + 4)
        return share * (1 - share)

    def between(self, value: float, level: float) -> tuple[float, float]:
        """The ends of the interval around the mean of the proportions."""
        z = float(stats.t.ppf(0.5 + level / 2, self.freedom))
        shares = np.array(self.shares)
        low, high = wilson_bounds(shares, np.array(self.sizes), z)
        below, above = (np.sqrt(((end - shares) ** 2).sum()) / len(shares) for end in (low, high))
        return value - self.inflation * float(below), value + self.inflation * float(above)

    def widened(self, variance: float) -> ShareSpread:
        """The same with an independent variance added."""
        ratio = self.error**2 / (self.error**2 + variance)
        return replace(self, sizes=tuple(ratio * n for n in self.sizes))


def wilson_bounds(share: Floats, size: Floats, z: float) -> tuple[Floats, Floats]:
    """Bounds of proportions by Wilson's score method.

    Parameters
    ----------
    share : ndarray
        The proportions.
    size : ndarray
        Their numbers of rows, which need not be whole.
    z : float
        The quantile, 1.96 for 95%.

    Returns
    -------
    tuple of ndarray
        Lower and upper bounds.

    Examples
    --------
    >>> low, high = wilson_bounds(np.array([0.5]), np.array([100.0]), 1.96)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.404, 0.596)
    """
    center = (share + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2)) / (1 + z**2 / size)
    return np.asarray(np.minimum(center - half, share)), np.asarray(np.maximum(center + half, share))
