"""`binned`: rows grouped by their predicted probability, for calibration curves and the expected calibration error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats


@dataclass(frozen=True)
class ReliabilityBins:
    """Rows grouped by their predicted probability; bins without rows, or without weight, are left out."""

    low: Floats
    high: Floats
    rows: NDArray[np.intp]
    weights: Floats  # sums over the rows
    squares: Floats  # sums of squared weights
    predicted: Floats  # mean predicted probability
    observed: Floats  # observed frequency

    @property
    def error(self) -> float:
        """Expected calibration error: the mean of |predicted - observed|, weighted by the rows."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.weights))


def binned(predicted: Floats, observed: Floats, edges: Floats, weights: Floats | None = None) -> ReliabilityBins:
    """Group rows into bins (low, high], as scikit-learn's `calibration_curve` does. A single edge makes one bin."""
    edges = np.repeat(edges, 2) if len(edges) == 1 else edges
    indices, n_bins = np.searchsorted(edges[1:-1], predicted), len(edges) - 1
    given = np.ones(len(predicted)) if weights is None else weights

    def sums(values: Floats) -> Floats:
        return np.asarray(np.bincount(indices, weights=values, minlength=n_bins), dtype=np.float64)

    total = sums(given)
    full = total > 0
    rows = np.bincount(indices, minlength=n_bins)[full]
    means = [sums(given * values)[full] / total[full] for values in (predicted, observed)]
    return ReliabilityBins(edges[:-1][full], edges[1:][full], rows, total[full], sums(given**2)[full], *means)


def equal_widths(bins: int) -> Floats:
    """The edges of bins of equal width."""
    return np.linspace(0.0, 1.0, bins + 1)
