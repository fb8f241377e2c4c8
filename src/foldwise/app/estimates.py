"""Honest estimates with intervals, and tests of whether two models differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.selection import HonestPredictions, OutOfFoldRows
from foldwise.evaluation.comparing.paired import TTest, corrected_t_test
from foldwise.evaluation.estimates import Estimate, Spread, StudentSpread
from foldwise.evaluation.intervals import share_tested
from foldwise.evaluation.metrics.metric import Floats, Metric
from foldwise.evaluation.row_parts import ScoreParts, area_parts, mean_parts, recall_parts
from foldwise.folds.splits import Split

LEAST_SCORES = 8
LEAST_FOLDS = 4  # whose scores say how much folds differ
BLOCKS = 50  # of a jackknife
DRAWS = 100  # of a bootstrap
SMALLEST = 1e-300  # a divisor that is not 0

# Both come from simulated runs of 500 rows with unstable trees, whose truth is known (benchmarks/fit_intervals.md).
# Models of other folds have learned from the rows of a fold, so scores of one setting on two folds are correlated, by
# about 0.012 with ten folds. The selection for a fold therefore knows a little of it: about folds × correlation of the
# advantage that the selection on all folds seems to have, whatever the number of folds. It is subtracted from means
# over rows. Areas and balanced accuracy, less biased, stay equal to the curves and tables that show them.
LEAKED = 0.1
# Other training rows would have led to other models and to another selection. The standard deviation of estimates over
# tables is 1.25 to 1.4 times the standard error of the rows, for accuracy, balanced accuracy and areas alike.
INFLATION = 1.45
METHOD = "for each fold, the models, their weights and the calibration are chosen again without the rows of that fold"
VALUES_METHOD = "for each fold, the models and their weights are chosen again without the rows of that fold"


def fold_scores(honest: HonestPredictions, tested: OutOfFoldRows, metric: Metric, parts: int = 1) -> Floats:
    """One score per scored fold, or per part of it: with n parts, each part takes every n-th row."""
    found = []
    for fold in honest.folds:
        here = np.flatnonzero(tested.fold[honest.index] == fold)
        for part in range(parts):
            some = here[part::parts]
            index = honest.index[some]
            found.append(metric(tested.truth[index], honest.predicted[some], tested.weights_at(index)))
    return np.array(found)


def score_of(honest: HonestPredictions, tested: OutOfFoldRows, metric: Metric) -> float:
    """Score all held-out rows together. Ranking metrics are averaged over folds.

    Models of different folds do not rank rows on a common scale.
    """
    if metric.ranks:
        return float(np.nanmean(fold_scores(honest, tested, metric)))
    return metric(tested.truth[honest.index], honest.predicted, tested.weights_at(honest.index))


def honest_estimate(
    honest: HonestPredictions,
    tested: OutOfFoldRows,
    metric: Metric,
    splits: Sequence[Split],
    *,
    search_score: float | None = None,
    groups: NDArray[np.intp] | None = None,
    method: str = METHOD,
) -> Estimate:
    """Estimate the score on new rows with its interval.

    Parameters
    ----------
    honest : HonestPredictions
        Predictions of each fold by a selection that did not see it.
    tested : OutOfFoldRows
        The rows they belong to.
    metric : Metric
        The score.
    splits : sequence of Split
        The folds.
    search_score : float, default=None
        The score of the selection that saw all folds. A share `LEAKED` of its advantage is subtracted from means over
        rows.
    groups : ndarray, default=None
        Codes of groups, one per row of the table.
    method : str
        How the predictions were made, in words.

    Returns
    -------
    Estimate
        The standard error is that of the rows, or of the groups, times `INFLATION`. It is at least that of the folds.
    """
    if groups is None and tested.repeated:
        groups = np.arange(int(tested.rows.max()) + 1)  # predictions of one row are not independent
    rows = ScoredRows.of(honest, tested, groups)
    value = score_of(honest, tested, metric)
    by_fold = fold_scores(honest, tested, metric)
    by_fold = by_fold[np.isfinite(by_fold)]
    n_repeats = int(tested.repeat.max(initial=0)) + 1  # folds of several divisions overlap, so they count once
    between = float(np.std(by_fold, ddof=1) / np.sqrt(len(by_fold) / n_repeats)) if len(by_fold) >= LEAST_FOLDS else 0.0
    parts = rows.parts(metric)
    spread: Spread
    if parts is not None:
        found = parts.spread(rows.groups)
        spread = replace(found, inflation=max(INFLATION, between / found.error))
    else:
        error, freedom = rows.error(metric)
        spread = StudentSpread(max(INFLATION * error, between), freedom)
    variance = rows.variance(metric)
    estimate = Estimate(value, method, spread, search_score, variance, metric.bounds)
    leaks = search_score is not None and (metric.averages_rows or metric.task == "regression")
    return without_leak(estimate, metric) if leaks else estimate


def without_leak(estimate: Estimate, metric: Metric) -> Estimate:
    """Subtract what the selection for a fold learned about it through models that were trained on its rows."""
    assert estimate.search_score is not None
    gap = metric.signed(estimate.search_score) - metric.signed(estimate.value)
    if not gap > 0:
        return estimate
    return replace(estimate, value=metric.signed(metric.signed(estimate.value) - LEAKED * gap))


@dataclass(frozen=True)
class ScoredRows:
    """The rows that an estimate rests on."""

    truth: NDArray[Any]  # codes of classes, or values
    predicted: Floats
    weights: Floats
    fold: NDArray[np.intp]
    groups: NDArray[np.intp] | None

    @classmethod
    def of(cls, honest: HonestPredictions, tested: OutOfFoldRows, groups: NDArray[np.intp] | None) -> ScoredRows:
        index, weights = honest.index, tested.weights_at(honest.index)
        weights = np.ones(len(index)) if weights is None else weights
        there = None if groups is None else groups[tested.rows[index]]
        return cls(tested.truth[index], honest.predicted, weights, tested.fold[index], there)

    def parts(self, metric: Metric) -> ScoreParts | None:
        """What each row adds to a score that is a proportion. None for other scores."""
        if metric.task == "regression":
            return None
        if metric.ranks:
            by_weight = metric.name == "roc_auc_ovr_weighted"
            return area_parts(self.truth, self.predicted, self.weights, self.fold, by_weight=by_weight)
        hits = (self.predicted.argmax(axis=1) == self.truth).astype(np.float64)
        if metric.name == "accuracy":
            return mean_parts(hits, self.weights)
        return recall_parts(self.truth, hits, self.weights) if metric.name == "balanced_accuracy" else None

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
            if metric.task == "classification":
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

        For a mean over rows, these are the deviations from the mean. Roots of means and R² are functions of such means
        and are linearized. None for other scores.
        """
        share = self.weights / self.weights.sum()
        if metric.row_scores is not None:
            losses = metric.by_row(self.truth, self.predicted)
            mean = float(share @ losses)
            return np.asarray((losses - mean) / (2 * max(np.sqrt(mean), SMALLEST) if metric.root else 1.0))
        if metric.name != "r2":
            return None
        squares = (self.predicted - self.truth) ** 2
        mean = float(share @ squares)
        around = (self.truth - share @ self.truth) ** 2
        variance = max(float(share @ around), SMALLEST)
        return np.asarray(mean / variance**2 * (around - variance) - (squares - mean) / variance)

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
        if metric.name == "accuracy":
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


def paired_test(
    first: HonestPredictions, second: HonestPredictions, tested: OutOfFoldRows, metric: Metric, splits: Sequence[Split]
) -> TTest | None:
    """Compare two models by the corrected t-test. Folds are cut into parts if there are fewer than eight."""
    parts = max(1, -(-LEAST_SCORES // len(first.folds)))
    gaps = fold_scores(first, tested, metric, parts) - fold_scores(second, tested, metric, parts)
    gaps = gaps[np.isfinite(gaps)]
    return corrected_t_test(gaps, share_tested(splits) / parts) if len(gaps) > 1 else None
