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

from foldwise.arrays import Floats, Ints
from foldwise.clusters.all_k import cluster_from_seeds, new_clusterings
from foldwise.clusters.assignment import ClusterLabels
from foldwise.clusters.lloyd import greatest, rows_of
from foldwise.clusters.seeding import blocks_of

REPEATS = 5  # of the division into halves
STARTS = 3  # of 2-means
FEWEST = 16  # rows of a cluster that is tested
MOST = 4000  # rows of a cluster that are used
MAX_ITER = 100  # of 2-means
TWO = np.array([2])
FINEST, COARSEST = 16, 6  # windows in the range of the projections


@njit(nogil=True, cache=True)
def n_below(z: Floats, value: float) -> int:
    """Count the sorted values below `value`."""
    low, high = 0, z.size
    while low < high:
        middle = (low + high) // 2
        if z[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True, cache=True)
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
            counts[s] = n_below(z, a + h) - n_below(z, a)
        for s in range(2, n_starts - 2):
            first, last = greatest(counts[: s - 1]), s + 2 + greatest(counts[s + 2 :])
            peak = min(counts[first], counts[last])
            score = (peak - counts[s]) / np.sqrt(peak + counts[s] + 1.0)
            if score > best:
                best, width = score, h
                if counts[first] > counts[last]:
                    first, last = last, first
                lower, valley, higher = low + 0.5 * h * first, low + 0.5 * h * s, low + 0.5 * h * last
    return lower, valley, higher, width


def count_windows(train: Floats, test: Floats, uniforms: Floats) -> list[int]:
    """Split the training rows in two, choose windows, and count the test rows in them.

    Returns the counts of the lower peak, the valley and the higher peak; which is lower was decided in training.
    """
    found = new_clusterings(train, TWO, len(uniforms))
    cluster_from_seeds(rows_of(train, np.ones(len(train))), blocks_of(train), uniforms, TWO, MAX_ITER, 0.0, found)
    line = found.centers[0, 1] - found.centers[0, 0]
    *starts, width = choose_windows(np.sort(train @ line))
    projected = test @ line
    return [int(np.sum((start <= projected) & (projected < start + width))) for start in starts]


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


def split_p_values(x: Floats, labels: ClusterLabels, k: int, rng: np.random.Generator) -> Floats:  # (k,)
    """Return the p-value of each cluster."""
    return np.array([split_p_value(np.ascontiguousarray(x[labels == c]), rng) for c in range(k)])


__all__ = ["Ints", "split_p_value", "split_p_values", "valley_p_value"]
