"""Descent of a smooth function within bounds: a quasi-Newton method that controls its steps by a trust region.

Meant for the few logarithms of hyperparameters, where each evaluation fits models and the curvature may be negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Evaluate = Callable[[Vector], tuple[float, Vector]]

FIRST_RADIUS = 2.0  # the first step changes parameters by a factor of exp(2), about 7
SMALLEST_RADIUS = 0.01  # a step of one percent
ENOUGH = 0.1  # of the expected decrease; a step with less is rejected


@dataclass(frozen=True)
class Box:
    """Bounds of each coordinate."""

    low: Vector
    high: Vector

    def clip(self, x: Vector) -> Vector:
        return np.clip(x, self.low, self.high)

    def free(self, x: Vector, gradient: Vector) -> NDArray[np.bool_]:
        """The coordinates that may move downhill."""
        return np.asarray(~(((x <= self.low) & (gradient > 0)) | ((x >= self.high) & (gradient < 0))))


def descend(
    evaluate: Evaluate,
    start: Vector,
    box: Box,
    *,
    max_steps: int,
    tol: float,
    is_over: Callable[[], bool] = lambda: False,
) -> list[tuple[Vector, float]]:
    """Walk downhill from a start. Returns the points that were accepted, with their values, the last being the best.

    At most `max_steps` points are evaluated. The descent ends when a step is expected to lower the value by less than
    the share `tol` of it, or when `is_over()`. A value that is not finite is never accepted.
    """
    x = box.clip(start)
    value, gradient = evaluate(x)
    path = [(x, value)]
    radius = min(FIRST_RADIUS, float((box.high - box.low).max()) / 2)
    curvature: NDArray[np.float64] | None = None  # an estimate of the Hessian, by symmetric rank-one updates
    for _ in range(max_steps - 1):
        free = box.free(x, gradient)
        if not (np.isfinite(value) and free.any()) or radius < SMALLEST_RADIUS or is_over():
            break
        first = float(np.linalg.norm(gradient[free])) / radius
        B = np.eye(len(x)) * first if curvature is None else curvature
        step = np.zeros_like(x)
        step[free] = smallest_model(gradient[free], B[np.ix_(free, free)], radius)
        step = box.clip(x + step) - x
        expected = -float(gradient @ step + 0.5 * step @ B @ step)
        if expected <= tol * abs(value):
            break
        new_value, new_gradient = evaluate(x + step)
        length = float(np.linalg.norm(step))
        if not np.isfinite(new_value):
            radius = length / 4
            continue
        change = new_gradient - gradient
        if curvature is None:
            scale = float(step @ change) / length**2
            B = np.eye(len(x)) * (scale if scale > 0 else first)
        curvature = rank_one_update(B, step, change)
        ratio = (value - new_value) / expected
        if ratio > 0.75 and length > 0.8 * radius:
            radius = min(2 * radius, float((box.high - box.low).max()))
        elif ratio < 0.25:
            radius = max(length / 4, min(length / 2, SMALLEST_RADIUS * 2))
        if ratio > ENOUGH:
            x, value, gradient = x + step, new_value, new_gradient
            path.append((x, value))
    return path


def smallest_model(gradient: Vector, B: NDArray[np.float64], radius: float) -> Vector:
    """Minimize g·p + ½ p·B·p over steps p of at most this length; B may have negative eigenvalues."""
    values, Q = np.linalg.eigh(B)
    g = Q.T @ gradient
    least = max(0.0, -float(values[0])) + 1e-12 * max(1.0, float(np.abs(values).max()))

    def step(shift: float) -> Vector:
        return -g / (values + shift)

    low = least
    if np.linalg.norm(step(low)) > radius:
        high = low + float(np.linalg.norm(gradient)) / radius + float(np.abs(values).max())
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if np.linalg.norm(step(middle)) > radius else (low, middle)
        low = high
    return np.asarray(Q @ step(low))


def rank_one_update(B: NDArray[np.float64], step: Vector, change: Vector) -> NDArray[np.float64]:
    """The symmetric rank-one update: afterwards B · step is the change of the gradient."""
    error = change - B @ step
    along = float(error @ step)
    if abs(along) < 1e-8 * float(np.linalg.norm(error) * np.linalg.norm(step)) or along == 0:
        return B
    return np.asarray(B + np.outer(error, error) / along)
