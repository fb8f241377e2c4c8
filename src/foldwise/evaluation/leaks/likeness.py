"""How alike the labels of some rows are, beyond what any two rows of the table have in common.

1 where they always agree, 0 where they do no more than by chance. For classes it is agreement of pairs corrected for
chance, for quantities the intraclass correlation; both are 1 - (variance within) / (variance of all), with a class as
a vector of one 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Likeness:
    """Of the labels of a table: classes as codes, or quantities as floats."""

    def __init__(self, labels: NDArray[np.int64] | NDArray[np.float64]) -> None:
        self.labels = labels
        self.quantity = labels.dtype.kind == "f"
        self.total = self._variance(np.zeros(len(labels), dtype=np.int64))

    def within(self, units: Ints) -> float:
        """Among rows of the same unit; NaN where no unit has two rows, or all labels are alike."""
        variance = self._variance(units)
        return 1 - variance / self.total if self.total > 0 else np.nan

    def beside(self, first: Ints, second: Ints) -> float:
        """Between the first and the second row of each pair."""
        if not len(first) or not self.total > 0:
            return np.nan
        a, b = self.labels[first], self.labels[second]
        apart = float(np.mean((a - b) ** 2) / 2) if self.quantity else float(np.mean(a != b))
        return 1 - apart / self.total

    def _variance(self, units: Ints) -> float:
        """The variance of labels about the mean of their unit, of units with two rows or more."""
        sizes = np.bincount(units)
        freedom = len(units) - np.count_nonzero(sizes)
        if freedom <= 0:
            return np.nan
        if self.quantity:
            means = np.bincount(units, self.labels) / np.maximum(sizes, 1)
            return float(np.sum((self.labels - means[units]) ** 2) / freedom)
        # of vectors of one 1, a unit of m rows has the sum of squares m - (sum of counts²) / m
        n_classes = int(self.labels.max()) + 1
        cells, counts = np.unique(units.astype(np.int64) * n_classes + self.labels, return_counts=True)
        squares = float(np.sum(counts.astype(np.float64) ** 2 / sizes[cells // n_classes]))
        return (len(units) - squares) / freedom
