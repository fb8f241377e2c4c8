"""Where a numeric column is cut into bins: equal widths, equal frequencies, or by the classes.

All work on distinct values with their weights and give cut points in order; a cell equal to a cut lies below it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.values import ValueWeights

TIE = 1e-12  # of entropies in bits: of cuts that are equally good, the first


def equal_width(values: ValueWeights, n_bins: int) -> Floats:
    """Cuts that part the range of the column evenly."""
    if not len(values.x):
        return np.empty(0)
    low, high = float(values.x.min()), float(values.x.max())
    if low == high:
        return np.empty(0)
    steps = np.arange(1, n_bins) / n_bins
    return np.unique(low * (1 - steps) + high * steps)


def equal_frequency(values: ValueWeights, n_bins: int) -> Floats:
    """Cuts behind which lie 1/n, 2/n, … of the weight, midway between two values; equal values stay together."""
    x, weight = values.pooled()
    if len(x) < 2:
        return np.empty(0)
    below = np.cumsum(weight)
    # in whole numbers where weights are; the margin keeps sums that round from moving a cut
    wanted = np.arange(1, n_bins) * below[-1] * (1 - 1e-12)
    indices = np.unique(np.searchsorted(below * n_bins, wanted))
    return midway(x, indices[indices < len(x) - 1])


def by_entropy(values: ValueWeights, n_classes: int) -> Floats:
    """The cuts of Fayyad and Irani (1993): recursively at the least class entropy, while the gain pays for itself."""
    x = np.unique(values.x)
    weight, _ = values.by_bin(np.searchsorted(x, values.x), len(x), n_classes)
    cuts, pending = [], [(0, len(x))]
    while pending:
        first, last = pending.pop()
        found = best_cut(weight[first:last])
        if found >= 0:
            middle = first + found + 1
            cuts.append(middle - 1)
            pending += [(first, middle), (middle, last)]
    return midway(x, np.sort(np.array(cuts, dtype=np.intp)))


@njit(nogil=True, cache=True)
def best_cut(weight: Floats) -> int:  # (values, K)
    """The value behind which to cut; -1 where no cut gains enough."""
    total = weight.sum(axis=0)
    n, k = total.sum(), np.count_nonzero(total)
    if k < 2 or n <= 1:
        return -1
    best, after, of_parts = -1, np.inf, 0.0
    left, right = np.zeros_like(total), np.zeros_like(total)
    for i in range(len(weight) - 1):
        n_near = 0  # classes of this value and the next
        for c in range(total.size):
            left[c] += weight[i, c]
            rest = total[c] - left[c]
            right[c] = rest if rest > TIE * total[c] else 0.0  # sums that round leave no class behind
            n_near += weight[i, c] > 0 or weight[i + 1, c] > 0
        if n_near < 2:  # no best cut lies between two values of one and the same class
            continue
        h_left, h_right = entropy(left), entropy(right)
        bits = (left.sum() * h_left + right.sum() * h_right) / n
        if bits < after - TIE:
            best, after = i, bits
            of_parts = np.count_nonzero(left) * h_left + np.count_nonzero(right) * h_right
    before = entropy(total)
    # log2(3^k - 2), without the power, which overflows for many classes
    delta = k * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0 ** -float(k)) - (k * before - of_parts)
    return best if before - after > (np.log2(n - 1) + delta) / n else -1


@njit(nogil=True, cache=True)
def entropy(weight: Floats) -> float:  # (K,)
    """In bits; 0 where there is no weight."""
    total, bits = weight.sum(), 0.0
    for w in weight:
        if w > 0:
            bits -= w / total * np.log2(w / total)
    return bits


def midway(x: Floats, indices: NDArray[np.intp]) -> Floats:
    """Points between the values at these indices and the next ones; never the next value itself."""
    low, high = x[indices], x[indices + 1]
    middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)
