"""Does a cluster contain two groups? A test of its density on held-out rows, with few assumptions about its shape.

Half of the rows of a cluster are split by 2-means, and all rows are projected on the line through the two centers. The
training half also chooses three windows of equal width: a peak, a valley, a peak. A density with a single peak, however
skewed or elongated, has at least as many rows in the valley as in the lower peak. The other half tests that. A cluster
of k-means is a convex region, so a log-concave density (normal, uniform, exponential) keeps a single peak on any line.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.special import betainc

from foldwise.clusters.assignment import Floats, Ints, Labels
from foldwise.clusters.lloyd import new_bounds, rows_of, run_lloyd
from foldwise.clusters.seeding import blocks_of, draw_seeds

REPEATS = 5  # of the division into halves
STARTS = 3  # of 2-means
FEWEST = 16  # rows of a cluster that is tested
MOST = 4000  # rows of a cluster that are used
FINEST, COARSEST = 16, 6  # windows in the range of the projections


@njit(nogil=True)
def choose_windows(z: Floats) -> tuple[float, float, float, float]:
    """Return the start of three windows (lower peak, valley, higher peak) and their width.

    `z` are the sorted projections of training rows. Windows are chosen for the most significant valley. The width is 0
    if there is none.
    """
    n = z.size
    low, high = z[n // 50], z[n - 1 - n // 50]
    best, lower, valley, higher, width = 0.0, 0.0, 0.0, 0.0, 0.0
    for m in range(COARSEST, FINEST + 1, 2):
        h = (high - low) / m
        if h <= 0.0:
            break
        n_starts = 2 * m - 1  # windows overlap by half
        counts = np.empty(n_starts)
        for s in range(n_starts):
            a = low + 0.5 * h * s
            counts[s] = np.searchsorted(z, a + h) - np.searchsorted(z, a)
        for s in range(2, n_starts - 2):
            first, last = np.argmax(counts[: s - 1]), s + 2 + np.argmax(counts[s + 2 :])
            peak = min(counts[first], counts[last])
            score = (peak - counts[s]) / np.sqrt(peak + counts[s] + 1.0)
            if score > best:
                best, width = score, h
                if counts[first] > counts[last]:
                    first, last = last, first
                lower, valley, higher = low + 0.5 * h * first, low + 0.5 * h * s, low + 0.5 * h * last
    return lower, valley, higher, width


@njit(nogil=True, cache=True)
def count_windows(train: Floats, test: Floats, uniforms: Floats) -> tuple[float, float, float]:
    """Split the training rows in two, choose windows, and count the test rows in them.

    Returns the counts of the lower peak, the valley and the higher peak; which is lower was decided in training.
    """
    n, d = train.shape
    ones, blocks, kept = np.ones(n), blocks_of(train), np.empty((0, n))
    rows, lowest, line = rows_of(train, ones), np.inf, np.zeros(d)
    for s in range(uniforms.shape[0]):
        seeds = draw_seeds(train, ones, blocks, uniforms[s], kept)
        start = np.empty((2, d))
        start[0], start[1] = train[seeds[0]], train[seeds[1]]
        centers, inertia, _ = run_lloyd(rows, new_bounds(n), start, 100, 0.0)
        if inertia < lowest:
            lowest = inertia
            line = centers[1] - centers[0]
    z = np.empty(n)
    for i in range(n):
        z[i] = (train[i] * line).sum()
    lower, valley, higher, width = choose_windows(np.sort(z))
    in_lower = in_valley = in_higher = 0.0
    for i in range(test.shape[0]):
        t = (test[i] * line).sum()
        in_lower += lower <= t < lower + width
        in_valley += valley <= t < valley + width
        in_higher += higher <= t < higher + width
    return in_lower, in_valley, in_higher


def valley_p_value(peaks: tuple[float, float], valley: float) -> float:
    """Return the p-value of "the valley is at least as dense as the lower peak": binomial, the worse of both peaks."""
    if min(peaks) <= 0:
        return 1.0
    # P(B ≤ v) for B binomial of n = v + peak trials and probability 1/2, also for averages of counts
    return max(float(betainc(peak, valley + 1.0, 0.5)) for peak in peaks)


def split_p_value(x: Floats, rng: np.random.Generator) -> float:
    """Return the p-value of a single peak in the rows of one cluster; small if it should be split."""
    if len(x) < FEWEST:
        return 1.0
    counts = np.zeros(3)
    for _ in range(REPEATS):
        order = rng.permutation(len(x))[:MOST]
        half = len(order) // 2
        for train, test in ((order[:half], order[half:]), (order[half:], order[:half])):
            counts += count_windows(x[train], x[test], rng.random((STARTS, 2, 4)))
    lower, valley, higher = counts / REPEATS
    return valley_p_value((lower, higher), valley)


def split_p_values(x: Floats, labels: Labels, k: int, rng: np.random.Generator) -> Floats:  # (k,)
    """Return the p-value of each cluster."""
    return np.array([split_p_value(np.ascontiguousarray(x[labels == c]), rng) for c in range(k)])


__all__ = ["Ints", "split_p_value", "split_p_values", "valley_p_value"]
