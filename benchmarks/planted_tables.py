"""Tables with a known number of clusters, and tables without any, for `planted_clusters.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SHAPES = (
    "normal",
    "uniform",
    "elongated normal",
    "elongated uniform",
    "exponential",
    "lognormal",
    "correlated skewed",
    "heavy tails",
)


Range = tuple[float, float]
SEPARATION: Range = (4.0, 6.0)  # least distance of two centers, in standard deviations within a group
NOISE: Range = (1.5, 3.5)  # standard deviation of a noise column


def planted(seed: int, separation: Range = SEPARATION, wide: Range = NOISE) -> tuple[NDArray[np.float64], int]:
    """Return a table and its number of clusters, 1 to 10: normal groups of equal or unequal size, and noise columns."""
    rng = np.random.default_rng([20, seed])
    k = 1 + seed % 10
    d, noise = int(rng.integers(3, 9)), int(rng.choice([0, 2, 5]))
    sizes = np.full(k, int(rng.integers(60, 160)))
    if rng.random() < 0.5:
        sizes = np.maximum(40, (sizes * rng.uniform(0.4, 2.0, k)).astype(int))
    centers = np.zeros((k, d))
    distance = rng.uniform(*separation)
    spread = distance * 0.55 * k ** (1 / d)
    placed = 0
    while placed < k:  # groups keep their distance from each other
        center = rng.normal(size=d) * spread
        if placed == 0 or np.linalg.norm(centers[:placed] - center, axis=1).min() >= distance:
            centers[placed] = center
            placed += 1
        else:
            spread *= 1.02
    widths = rng.uniform(0.8, 1.2, k)
    shapes = zip(centers, widths, sizes, strict=True)
    rows = np.vstack([c + w * rng.uniform(0.7, 1.3, d) * rng.normal(size=(n, d)) for c, w, n in shapes])
    return np.hstack([rows, *(noise_column(len(rows), wide, rng) for _ in range(noise))]), k


def noise_column(n: int, wide: Range, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a column that says nothing about the groups: normal, uniform or skewed, narrow or wide."""
    scale = rng.uniform(*wide)
    draws = (rng.normal(size=n), rng.uniform(-1, 1, n) * np.sqrt(3), rng.exponential(size=n))
    return scale * draws[int(rng.integers(3))][:, None]


def structureless(seed: int) -> tuple[NDArray[np.float64], str]:
    """Return a table without clusters, and the name of its shape."""
    rng = np.random.default_rng([21, seed])
    shape = SHAPES[seed % len(SHAPES)]
    n, d = int(rng.integers(200, 1200)), int(rng.integers(2, 13))
    if shape == "uniform":
        return rng.uniform(size=(n, d)), shape
    if shape == "elongated uniform":
        return rng.uniform(size=(n, d)) * np.r_[5.0, np.ones(d - 1)], shape
    if shape == "exponential":
        return rng.exponential(size=(n, d)), shape
    if shape == "lognormal":
        return rng.lognormal(0.0, 0.7, size=(n, d)), shape
    if shape == "heavy tails":
        return rng.standard_t(4, size=(n, d)), shape
    rows = rng.normal(size=(n, d))
    if shape == "elongated normal":
        return rows * np.geomspace(6.0, 1.0, d) @ np.linalg.qr(rng.normal(size=(d, d)))[0], shape
    if shape == "correlated skewed":
        mixed = rng.exponential(size=(n, d)) @ rng.uniform(0, 1, (d, d))
        return np.column_stack([mixed, rng.gamma(2.0, size=n)]), shape
    return rows, shape
