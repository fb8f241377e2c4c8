"""Where a numeric column is cut into bins: equal widths, equal frequencies, or by the classes.

All work on distinct values with their weights and give cut points in order; a cell equal to a cut lies below it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.data.cells import read_only
from foldwise.summaries.number_kernels import Floats, Ints
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
    if len(x) < 2:
        return np.empty(0)
    weight, _ = values.by_bin(np.searchsorted(x, values.x), len(x), n_classes)
    cut_behind = np.zeros(len(x), dtype=np.int64)
    mark_cuts(read_only(weight), cut_behind)
    return midway(x, np.flatnonzero(cut_behind))


def midway(x: Floats, indices: NDArray[np.intp]) -> Floats:
    """Points between the values at these indices and the next ones; never the next value itself."""
    low, high = x[indices], x[indices + 1]
    middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)


@njit(nogil=True, cache=True)
def entropy(weight: Floats, total: float) -> float:
    """In bits."""
    sum_ = 0.0
    for c in range(weight.size):
        if weight[c] > 0:
            share = weight[c] / total
            sum_ -= share * np.log2(share)
    return sum_


@njit(nogil=True, cache=True)
def same_single_class(a: Floats, b: Floats) -> bool:
    """Whether two neighboring values belong to one and the same class: no best cut lies between them."""
    found = -1
    for c in range(a.size):
        if a[c] > 0 or b[c] > 0:
            if found >= 0:
                return False
            found = c
    return True


@njit(nogil=True, cache=True)
def mark_cuts(weight: Floats, cut_behind: Ints) -> None:
    """Mark the values (m, K) behind which to cut. A stack stands in for the recursion."""
    m, n_classes = weight.shape
    stack = np.empty((m + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, m
    waiting = 1
    total, left, right = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    best_left, best_right = np.empty(n_classes), np.empty(n_classes)
    while waiting:
        waiting -= 1
        first, last = stack[waiting, 0], stack[waiting, 1]
        total[:] = 0.0
        for i in range(first, last):
            for c in range(n_classes):
                total[c] += weight[i, c]
        n = total.sum()
        k = np.count_nonzero(total)
        if k < 2 or n <= 1:
            continue
        before = entropy(total, n)
        best, found = np.inf, -1
        left[:] = 0.0
        for i in range(first, last - 1):
            for c in range(n_classes):
                left[c] += weight[i, c]
            if same_single_class(weight[i], weight[i + 1]):
                continue
            for c in range(n_classes):
                rest = total[c] - left[c]
                right[c] = rest if rest > TIE * total[c] else 0.0  # sums that round leave no class behind
            a, b = left.sum(), right.sum()
            after = (a * entropy(left, a) + b * entropy(right, b)) / n
            if after < best - TIE:
                best, found = after, i
                best_left[:] = left
                best_right[:] = right
        if found < 0:
            continue
        k1, k2 = np.count_nonzero(best_left), np.count_nonzero(best_right)
        h1, h2 = entropy(best_left, best_left.sum()), entropy(best_right, best_right.sum())
        # log2(3^k - 2), without the power, which overflows for many classes
        delta = k * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0 ** -float(k)) - (k * before - k1 * h1 - k2 * h2)
        if before - best > (np.log2(n - 1) + delta) / n:
            cut_behind[found] = 1
            stack[waiting, 0], stack[waiting, 1] = first, found + 1
            stack[waiting + 1, 0], stack[waiting + 1, 1] = found + 1, last
            waiting += 2
