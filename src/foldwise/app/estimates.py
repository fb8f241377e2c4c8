"""Honest estimates with intervals, and tests of whether two models differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from foldwise.app.selection import HonestPredictions, OutOfFoldRows
from foldwise.arrays import Floats
from foldwise.evaluation.comparing.paired import TTest, corrected_t_test
from foldwise.evaluation.estimates import Estimate, Spread, StudentSpread
from foldwise.evaluation.intervals import share_tested
from foldwise.evaluation.metrics.metric import Metric
from foldwise.evaluation.scored_rows import ScoredRows
from foldwise.folds.splits import Split

LEAST_SCORES = 8
LEAST_FOLDS = 4  # whose scores say how much folds differ

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
    rows = scored_rows(honest, tested, groups)
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


def scored_rows(honest: HonestPredictions, tested: OutOfFoldRows, groups: NDArray[np.intp] | None) -> ScoredRows:
    """The rows that an estimate rests on."""
    index, weights = honest.index, tested.weights_at(honest.index)
    weights = np.ones(len(index)) if weights is None else weights
    there = None if groups is None else groups[tested.rows[index]]
    return ScoredRows(tested.truth[index], honest.predicted, weights, tested.fold[index], there)


def paired_test(
    first: HonestPredictions, second: HonestPredictions, tested: OutOfFoldRows, metric: Metric, splits: Sequence[Split]
) -> TTest | None:
    """Compare two models by the corrected t-test. Folds are cut into parts if there are fewer than eight."""
    parts = max(1, -(-LEAST_SCORES // len(first.folds)))
    gaps = fold_scores(first, tested, metric, parts) - fold_scores(second, tested, metric, parts)
    gaps = gaps[np.isfinite(gaps)]
    return corrected_t_test(gaps, share_tested(splits) / parts) if len(gaps) > 1 else None
