"""Compiled sums of Gaussian kernels, log Σ w·exp(-((x - v)/h)²/2), with a relative error below 1e-13 for every x.

Values are sorted, and those near x are found by bisection; all others add less than 1e-17 of the sum. A few values are
summed one by one. Many are summed by boxes of width h/2: with u = (v - center)/h and t = (x - center)/h,
exp(-(t - u)²/2) = exp(-t²/2) · exp(-u²/2) · Σ_k (t·u)^k / k!, so that a box is a polynomial in t whose coefficients
Σ w·exp(-u²/2)·u^k/k! are computed once. The sums of all boxes are positive, so nothing cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.data.cells import read_only
from foldwise.summaries.number_kernels import REORDER

TERMS = 32  # for |t·u| <= 13/4, the next term is below 1e-17 of the sum
FEW_TERMS = 20  # their error is exp(-t²/2)·(t/4)^20/20! < 2e-22 of the weight of a box: enough near a value
FEW_WITHIN = 2.0  # bandwidths to the nearest value within which they are enough
FEW_MARGIN = 2 * np.log(1e23)  # the margin if the least weight is a millionth of the total
BOX = 0.5  # width of a box in bandwidths
NEAR = 8.0  # bandwidths to the nearest value within which boxes are used; beyond, t is too large
NEGLIGIBLE = np.log(1e17)
TOO_FAR = 1e150  # bandwidths whose square overflows


class KernelSums(NamedTuple):
    """The values of all columns and classes in one array; those of column j and class c begin at starts[j·K + c]."""

    values: Floats  # (M,)
    weight: Floats  # (M,)
    starts: Ints  # (d·K + 1,)
    bandwidth: Floats  # (d·K,)
    log_norm: Floats  # (d·K,), -log(Σw · h · √2π)
    margin: Floats  # (d·K,), squared reach minus squared distance to the nearest value
    box: Ints  # (M,), the box of each value, or -1
    center: Floats  # (B,)
    moments: Floats  # (TERMS, B)
    informative: Ints  # (d,), 0 for a column without influence


def kernel_sums(
    parts: Sequence[tuple[Floats, Floats]], bandwidth: Floats, informative: Ints
) -> KernelSums:  # parts: values and weights of each column and class
    """Prepare the sums from values, weights and bandwidths (d·K,)."""
    starts = np.cumsum([0, *(len(x) for x, _ in parts)], dtype=np.int64)
    values, weight = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    total = np.array([w.sum() for _, w in parts])
    least = np.array([w.min(initial=np.inf) for _, w in parts])
    log_norm = -np.log(total * bandwidth * np.sqrt(2 * np.pi))
    margin = 2 * (NEGLIGIBLE + np.log(total / least))
    box = np.full(len(values), -1, dtype=np.int64)
    n_boxes = number_boxes(values, starts, bandwidth, box)
    center, moments = np.zeros(n_boxes), np.zeros((TERMS, n_boxes))
    fill_boxes(values, weight, starts, bandwidth, box, center, moments)
    arrays = (values, weight, starts, bandwidth, log_norm, margin, box, center, moments, informative)
    return KernelSums(*(read_only(array) for array in arrays))


@njit(nogil=True, cache=True)
def number_boxes(values: Floats, starts: Ints, bandwidth: Floats, box: Ints) -> int:
    """Number the boxes of all values; no boxes are used if they would hold fewer than three values each."""
    n = 0
    for e in range(bandwidth.size):
        first = n - 1
        edge = -np.inf
        for i in range(starts[e], starts[e + 1]):
            if values[i] > edge:
                n += 1
                edge = values[i] + BOX * bandwidth[e]
            box[i] = n - 1
        if 3 * (n - 1 - first) > starts[e + 1] - starts[e]:
            n = first + 1
            for i in range(starts[e], starts[e + 1]):
                box[i] = -1
    return n


@njit(nogil=True, cache=True)
def fill_boxes(
    values: Floats, weight: Floats, starts: Ints, bandwidth: Floats, box: Ints, center: Floats, moments: Floats
) -> None:
    """Compute the centers and coefficients of the boxes."""
    for e in range(bandwidth.size):
        h = bandwidth[e]
        last = -1
        for i in range(starts[e], starts[e + 1]):
            b = box[i]
            if b < 0:
                break
            if b != last:
                center[b] = values[i] + 0.5 * BOX * h
                last = b
            u = (values[i] - center[b]) / h
            term = weight[i] * np.exp(-0.5 * u * u)
            for k in range(TERMS):
                moments[k, b] += term
                term *= u / (k + 1)


@njit(nogil=True, cache=True)
def sum_of_values(values: Floats, weight: Floats, a: int, b: int, x: float, h: float, nearest: float) -> float:
    """Sum w·exp(-(t² - nearest²)/2) over values a..b, where t is their distance in bandwidths; it never underflows."""
    total = 0.0
    for i in range(a, b):
        t = (x - values[i]) / h
        total += weight[i] * np.exp(-0.5 * (t - nearest) * (t + nearest))
    return total


@njit(nogil=True, cache=True, fastmath=REORDER)
def sum_of_boxes(center: Floats, moments: Floats, x: float, h: float, t: Floats, s: Floats) -> float:
    """Sum exp(-t²/2)·Σ_k moments_k·t^k over boxes, one power of all boxes at a time, so that it vectorizes."""
    terms, n = moments.shape
    for i in range(n):
        t[i] = (x - center[i]) / h
        s[i] = moments[terms - 1, i]
    for k in range(terms - 2, -1, -1):
        line = moments[k]
        for i in range(n):
            s[i] = s[i] * t[i] + line[i]
    total = 0.0
    for i in range(n):
        total += s[i] * np.exp(-0.5 * t[i] * t[i])
    return total


@njit(nogil=True, cache=True)
def add_kernel_scores(cells: Floats, sums: KernelSums, scores: Floats) -> int:
    """Add the log-densities of values (n, d) to scores (n, K); returns the first row with an infinite value, or -1."""
    n, d = cells.shape
    n_classes = scores.shape[1]
    t, s = np.empty(sums.center.size), np.empty(sums.center.size)
    for j in range(d):
        for c in range(n_classes):
            e = j * n_classes + c
            first, last, h = sums.starts[e], sums.starts[e + 1], sums.bandwidth[e]
            for i in range(n):
                x = cells[i, j]
                if np.isinf(x):
                    return i
                if x != x or sums.informative[j] == 0:
                    continue
                at = first + np.searchsorted(sums.values[first:last], x)
                nearest = np.inf
                if at < last:
                    nearest = (sums.values[at] - x) / h
                if at > first:
                    nearest = min(nearest, (x - sums.values[at - 1]) / h)
                if nearest > TOO_FAR:
                    scores[i, c] = -np.inf
                    continue
                reach = h * np.sqrt(nearest * nearest + sums.margin[e])
                a = first + np.searchsorted(sums.values[first:at], x - reach)
                b = at + np.searchsorted(sums.values[at:last], x + reach)
                if b <= a:  # so far away that x ± reach rounds to x: use the two nearest values
                    a, b = max(at - 1, first), min(at + 1, last)
                if sums.box[first] >= 0 and nearest <= NEAR and b - a > 3 * (sums.box[b - 1] - sums.box[a] + 1):
                    near = nearest <= FEW_WITHIN and sums.margin[e] <= FEW_MARGIN
                    boxes = slice(sums.box[a], sums.box[b - 1] + 1)
                    moments = sums.moments[: FEW_TERMS if near else TERMS, boxes]
                    total = sum_of_boxes(sums.center[boxes], moments, x, h, t, s)
                    scores[i, c] += sums.log_norm[e] + np.log(total)
                else:
                    total = sum_of_values(sums.values, sums.weight, a, b, x, h, nearest)
                    scores[i, c] += sums.log_norm[e] + np.log(total) - 0.5 * nearest * nearest
    return -1
