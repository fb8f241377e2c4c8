"""Likeness: the agreement of labels within groups of rows, corrected for chance.

It is 1 if labels always agree, and 0 if they agree no more than any two rows of the table. For classes it is the
chance-corrected agreement of pairs, for numbers the intraclass correlation. Both are 1 - (variance within groups) /
(total variance), with classes one-hot encoded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Ints


class Likeness:
    """The likeness of the labels of a table: classes as codes, or numbers as floats."""

    def __init__(self, labels: NDArray[np.int64] | NDArray[np.float64]) -> None:
        self.labels = labels
        self.quantity = labels.dtype.kind == "f"
        self.total = self._variance(np.zeros(len(labels), dtype=np.int64))

    def within(self, units: Ints) -> float:
        """Compute the likeness among rows of the same unit; NaN if no unit has two rows, or all labels are equal."""
        variance = self._variance(units)
        return 1 - variance / self.total if self.total > 0 else np.nan

    def beside(self, first: Ints, second: Ints) -> float:
        """Compute the likeness of the first and the second row of each pair."""
        if not len(first) or not self.total > 0:
            return np.nan
        a, b = self.labels[first], self.labels[second]
        apart = float(np.mean((a - b) ** 2) / 2) if self.quantity else float(np.mean(a != b))
        return 1 - apart / self.total

    def _variance(self, units: Ints) -> float:
        """Compute the variance of labels around the mean of their unit, over units with at least two rows."""
        sizes = np.bincount(units)
        freedom = len(units) - np.count_nonzero(sizes)
        if freedom <= 0:
            return np.nan
        if self.quantity:
            means = np.bincount(units, self.labels) / np.maximum(sizes, 1)
            return float(np.sum((self.labels - means[units]) ** 2) / freedom)
        # with one-hot labels, a unit of m rows has the sum of squares m - (sum of counts²) / m
        n_classes = int(self.labels.max()) + 1
        cells, counts = np.unique(units.astype(np.int64) * n_classes + self.labels, return_counts=True)
        squares = float(np.sum(counts.astype(np.float64) ** 2 / sizes[cells // n_classes]))
        return (len(units) - squares) / freedom
