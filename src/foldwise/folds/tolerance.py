"""The tolerance of the law: how far a session's answer may differ from that of a refit.

Sums of floats depend on the order of summation, which depends on the CPU, on BLAS and on the number of threads. So
answers agree within a tolerance, not bit for bit. Counts are exact. Labels are exact except where the two best scores
lie within the tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
