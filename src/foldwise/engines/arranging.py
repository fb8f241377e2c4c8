"""From sums about pivots to moments and Gram matrices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.engines.table_facts import Cell
from foldwise.summaries.gram import Gram
from foldwise.summaries.moments import POOR_PIVOT, Moments, two_sum


def grams_of(moments: Moments, products: Floats, pivots: Floats) -> tuple[Gram, ...]:
    """Center sums of products (K, d, d) about the pivots, with the moments of the columns on the diagonal."""
    found = []
    for c in range(len(products)):
        n = float(moments.rows[c].max(initial=0.0))
        shift = (moments.high[c] - pivots[c]) + moments.low[c]  # of the mean from the pivot
        centered = products[c] - np.multiply.outer(n * shift, shift)
        np.fill_diagonal(centered, moments.m2[c])
        empty = Gram.empty(len(shift))
        found.append(Gram(n, int(n), moments.high[c], moments.low[c], centered) if n else empty)
    return tuple(found)


def moments_about(pivots: Floats, weight: Floats, s1: Floats, s2: Floats) -> Moments:
    """Make moments from sums about pivots (K, d)."""
    shift = np.divide(s1, weight, out=np.zeros_like(s1), where=weight > 0)
    high, low = two_sum(np.where(weight > 0, pivots, 0.0), shift)
    return Moments(weight, high, low, np.maximum(s2 - s1 * shift, 0.0), weight)


def constant_where_equal(moments: Moments, low: Floats, high: Floats) -> Moments:
    """Where the least value is the largest one, it is the mean, and the sum of squares is 0 without rounding errors."""
    constant = (moments.weight > 0) & (low == high)
    mean, rest = np.where(constant, low, moments.high), np.where(constant, 0.0, moments.low)
    return Moments(moments.weight, mean, rest, np.where(constant, 0.0, moments.m2), moments.rows)


def poor_columns(parts: Mapping[Cell, Moments], pivots: Floats) -> NDArray[np.intp]:
    """Find the columns in which the pivot is so far from the mean of a class that digits are lost."""
    poor = np.zeros(pivots.shape[1], dtype=bool)
    for part in parts.values():
        shift = np.where(part.weight > 0, (part.high - pivots) + part.low, 0.0)
        poor |= (part.weight * shift * shift > POOR_PIVOT * part.m2).any(axis=0)
    return np.flatnonzero(poor)


def class_means(parts: Mapping[Cell, Moments]) -> Floats:  # (K, d)
    """Return the means of all rows of each class."""
    found = list(parts.values())
    total = found[0]
    for part in found[1:]:
        total = total + part
    return total.mean


def replaced(into: Moments, part: Moments, columns: NDArray[np.intp]) -> Moments:
    """Replace some columns of moments."""
    arrays = []
    for old, new in zip(vars(into).values(), vars(part).values(), strict=True):
        wide = old.copy()
        wide[:, columns] = new
        arrays.append(wide)
    return Moments(*arrays)
