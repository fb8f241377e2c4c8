"""Newton's method for smooth convex functions, run to full precision so that results do not depend on the start."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from foldwise.arrays import Floats

LocalExpansion = tuple[float, Floats, Floats]  # value, gradient, Hessian

STEPS = 200
NEAR = 1e-9  # relative to the value: smaller expected gains belong to the last, quadratic phase
DONE = 1e-28


def minimize(function: Callable[[Floats], LocalExpansion], start: Floats) -> Floats:
    """Find the minimum of a convex function."""
    x = start
    value, gradient, hessian = function(x)
    last = np.inf
    for _ in range(STEPS):
        step = -solve(hessian, gradient)
        gain = float(-gradient @ step)  # twice what the quadratic model promises
        scale = abs(value) + 1e-300
        if not gain > DONE * scale or (gain <= NEAR * scale and gain >= last):  # as close as rounding allows
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
    """Compute the Newton step; if the Hessian is singular, the shortest one."""
    try:
        scale = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
        factor = cho_factor(hessian / np.outer(scale, scale))
        return np.asarray(cho_solve(factor, gradient / scale) / scale)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0])
