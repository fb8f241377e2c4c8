"""`ScoredRows`: predictions of some rows, and the standard error of any metric on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.evaluation.metrics.metric import SMALLEST, Metric
from foldwise.evaluation.row_parts import ScoreParts

BLOCKS = 50  # of a jackknife
DRAWS = 100  # of a bootstrap


@dataclass(frozen=True)
class ScoredRows:
    """The rows that an estimate rests on."""

    truth: NDArray[Any]  # codes of classes, or values
    predicted: Floats
    weights: Floats
    fold: NDArray[np.intp]
    groups: NDArray[np.intp] | None

    def parts(self, metric: Metric) -> ScoreParts | None:
        """What each row adds to a score that is a proportion. None for other scores."""
        if metric.row_parts is None:
            return None
        return metric.row_parts(self.truth, self.predicted, self.weights, self.fold)

    def error(self, metric: Metric) -> tuple[float, float]:
        """The standard error of any other score, and its degrees of freedom.

        It is at least the change that one more error would make: without errors among the rows, errors are rare but
        not impossible.
        """
        units = np.arange(len(self.truth)) if self.groups is None else self.groups
        moved, least = self.influence(metric), 0.0
        if moved is not None:
            share = self.weights / self.weights.sum()
            sums = np.bincount(np.unique(units, return_inverse=True)[1], share * moved)
            error = np.sqrt((sums**2).sum())
            if metric.task == "classification" and metric.row_scores is not None:
                value = float(share @ metric.by_row(self.truth, self.predicted))
                least = abs(worst_row(self.predicted, metric) - value) / len(moved)
        elif metric.task == "regression":
            error = self.bootstrap_error(metric, units)
        else:
            error, least = self.jackknife_error(metric, units), 1 / len(self.truth)
        freedom = np.inf if self.groups is None else max(1.0, len(np.unique(units)) - 1.0)
        return float(max(error, least)), freedom

    def influence(self, metric: Metric) -> Floats | None:
        """How far each row moves a score: the score is about its expected value plus the weighted mean of these.

        For a mean over rows, these are the deviations from the mean. Functions of such means, such as their root and
        R², are linearized. None for other scores.
        """
        share = self.weights / self.weights.sum()
        if metric.influence is not None:
            return metric.influence(self.truth, self.predicted, share)
        if metric.row_scores is None:
            return None
        losses = metric.by_row(self.truth, self.predicted)
        mean = float(share @ losses)
        return np.asarray((losses - mean) / (2 * max(np.sqrt(mean), SMALLEST) if metric.root else 1.0))

    def bootstrap_error(self, metric: Metric, units: NDArray[np.intp]) -> float:
        """The standard error of a score of values, by drawing rows, or groups, with replacement.

        A jackknife would be wrong for medians, which hardly move when few rows are left out.
        """
        rng, codes = np.random.default_rng(0), np.unique(units, return_inverse=True)[1]
        n_units, found = int(codes.max()) + 1, []
        for _ in range(DRAWS):
            weights = self.weights * rng.multinomial(n_units, np.full(n_units, 1 / n_units))[codes]
            some = np.flatnonzero(weights)
            found.append(metric(self.truth[some], self.predicted[some], weights[some]))
        return float(np.nanstd(found, ddof=1))

    def jackknife_error(self, metric: Metric, units: NDArray[np.intp]) -> float:
        """The standard error of a score of labels, by leaving out blocks of rows, or of groups, one after the other."""
        codes, n = np.unique(units, return_inverse=True)[1], self.predicted.shape[1]
        n_blocks = min(BLOCKS, int(codes.max()) + 1)
        block = np.random.default_rng(0).permutation(codes.max() + 1)[codes] % n_blocks
        pairs, cell = np.unique(self.truth * n + self.predicted.argmax(axis=1), return_inverse=True)
        cells = np.bincount(block * len(pairs) + cell, self.weights, n_blocks * len(pairs)).reshape(n_blocks, -1)
        truth, labels = pairs // n, np.eye(n)[pairs % n]
        kept = np.maximum(cells.sum(axis=0) - cells, 0.0)
        found = np.array([metric(truth[some > 0], labels[some > 0], some[some > 0]) for some in kept])
        defined = found[np.isfinite(found)]
        return float(np.sqrt((len(defined) - 1) * np.var(defined))) if len(defined) > 1 else 0.0

    def variance(self, metric: Metric) -> float | None:
        """The variance of one row. Without an error among the rows, two of each kind are added."""
        moved = self.influence(metric)
        if moved is None:
            return None
        share = self.weights / self.weights.sum()
        if metric.averages_rows and metric.row_parts is not None:  # a proportion of rows
            size = 1 / float((share**2).sum())
            value = float(share @ metric.by_row(self.truth, self.predicted))
            value = (value * size + 2) / (size + 4)
            return value * (1 - value)
        return float(share @ moved**2)


def worst_row(proba: Floats, metric: Metric) -> float:
    """The worst score that any row could have, given its probabilities."""
    n_rows, n_classes = proba.shape
    every = [metric.by_row(np.full(n_rows, k, dtype=np.int64), proba) for k in range(n_classes)]
    return float(np.min(every) if metric.greater_is_better else np.max(every))
