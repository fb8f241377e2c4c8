"""Newton's method for smooth convex functions, to the last digits: where a search stops must not show."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Floats = NDArray[np.float64]
Local = tuple[float, Floats, Floats]  # value, gradient, Hessian

STEPS = 200
NEAR = 1e-9  # of the value: expected gains below it are those of the last, quadratic phase
DONE = 1e-28


def minimize(function: Callable[[Floats], Local], start: Floats) -> Floats:
    """Where a convex function is least."""
    x = start
    value, gradient, hessian = function(x)
    last = np.inf
    for _ in range(STEPS):
        step = -solve(hessian, gradient)
        gain = float(-gradient @ step)  # twice what the quadratic model promises
        scale = abs(value) + 1e-300
        if not gain > DONE * scale or (gain <= NEAR * scale and gain >= last):  # as near as rounding allows
            return x
        last = gain if gain <= NEAR * scale else np.inf
        share = 1.0
        while True:
            further = function(x + share * step)
            if gain <= NEAR * scale or further[0] <= value - 1e-4 * share * gain or share < 1e-12:
                break
            share /= 2
        x, (value, gradient, hessian) = x + share * step, further
    return x


def solve(hessian: Floats, gradient: Floats) -> Floats:
    """The Newton step; where the Hessian is singular, the shortest one."""
    try:
        scale = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
        factor = cho_factor(hessian / np.outer(scale, scale))
        return np.asarray(cho_solve(factor, gradient / scale) / scale)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0])
