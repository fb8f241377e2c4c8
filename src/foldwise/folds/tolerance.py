"""The tolerance of the law: how far a session's answer may lie from that of a refit.

Sums of floats depend on their order, and with it on the CPU, on BLAS and on the number of threads. So the promise is a
tolerance, never equal bits. Counts are exact; labels are, except where the two best scores lie within the tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

RELATIVE = 1e-10
MOVES = 10  # or so many times as much as the peer itself moves when its rows are permuted, whichever is larger


def tolerance(expected: Any, scale: float = 1.0, moved: float = 0.0) -> NDArray[np.float64]:
    """How far answers may lie from the expected ones.

    Parameters
    ----------
    expected
        The answers of a refit. Infinite ones count as 0.
    scale
        The least magnitude that counts: 1 for log-probabilities and decision values, the standard deviation of the
        training targets for regression values.
    moved
        How far the refit itself moves when its rows are permuted.

    Examples
    --------
    >>> tolerance([-0.5, -1024.0]).round(12).tolist()
    [1e-10, 1.024e-07]
    """
    magnitude = np.abs(np.asarray(expected, dtype=np.float64))
    magnitude = np.where(np.isfinite(magnitude), magnitude, 0.0)
    return np.maximum(RELATIVE * np.maximum(magnitude, scale), MOVES * moved)


def gaps(a: Any, b: Any) -> NDArray[np.float64]:
    """|a - b|, and 0 where both are the same infinity or both are missing."""
    with np.errstate(invalid="ignore"):
        gap: NDArray[np.float64] = np.abs(np.asarray(a, dtype=np.float64) - b)
    gap[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    return gap


def are_close(ours: Any, theirs: Any, scale: float = 1.0) -> bool:
    """Whether answers agree within the tolerance."""
    ours, theirs = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    return ours.shape == theirs.shape and bool((gaps(ours, theirs) <= tolerance(theirs, scale)).all())
