"""Honest estimates with intervals, and tests of whether two models differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foldwise.app.selection import HonestPredictions, OutOfFoldRows
from foldwise.evaluation.comparing.paired import TTest, corrected_t_test
from foldwise.evaluation.estimates import Estimate, StudentSpread
from foldwise.evaluation.intervals import corrected_error, share_tested
from foldwise.evaluation.metrics.metric import Floats, Metric
from foldwise.folds.splits import Split

LEAST_SCORES = 8
FREEDOM = 9  # as with ten folds
METHOD = "for each fold, members, weights and temperature are chosen again without its rows"


def fold_scores(honest: HonestPredictions, tested: OutOfFoldRows, metric: Metric, parts: int = 1) -> Floats:
    """One score per scored fold, or per part of it: with n parts, each part takes every n-th row."""
    found = []
    for fold in honest.folds:
        here = np.flatnonzero(tested.fold[honest.index] == fold)
        for part in range(parts):
            some = here[part::parts]
            index = honest.index[some]
            found.append(metric(tested.codes[index], honest.proba[some], tested.weights_at(index)))
    return np.array(found)


def score_of(honest: HonestPredictions, tested: OutOfFoldRows, metric: Metric) -> float:
    """Score all held-out rows together. Ranking metrics are averaged over folds.

    Models of different folds do not rank rows on a common scale.
    """
    if metric.ranks:
        return float(np.nanmean(fold_scores(honest, tested, metric)))
    return metric(tested.codes[honest.index], honest.proba, tested.weights_at(honest.index))


def honest_estimate(
    honest: HonestPredictions,
    tested: OutOfFoldRows,
    metric: Metric,
    splits: Sequence[Split],
    *,
    naive: float | None = None,
    groups: NDArray[np.intp] | None = None,
    method: str = METHOD,
) -> Estimate:
    """Estimate the score on new rows with its standard error.

    For a mean over rows, the standard error is the largest of those computed from rows, from groups and from folds.
    For any other metric, it is the corrected resampled error of the folds. It is never smaller than the change that
    one more error would make: without errors among the rows, errors are rare but not impossible.
    """
    by_fold = fold_scores(honest, tested, metric)
    if not metric.averages_rows:
        value = score_of(honest, tested, metric)
        error = float(corrected_error(by_fold[np.isfinite(by_fold)], share_tested(splits)))
        error = max(error, 1.0 / len(honest.index))
        return Estimate(value, method, StudentSpread(error, max(len(by_fold) - 1, 1)), naive, None, metric.bounds)
    losses = metric.by_row(tested.codes[honest.index], honest.proba)
    weights = tested.weights_at(honest.index)
    weights = np.ones(len(losses)) if weights is None else weights
    share = weights / weights.sum()
    value = float(losses @ share)
    parts = share * (losses - value)
    errors = [np.sqrt((parts**2).sum()), abs(worst_row(honest.proba, metric) - value) / len(losses)]
    if groups is not None:
        errors.append(np.sqrt((np.bincount(groups[tested.rows[honest.index]], parts) ** 2).sum()))
    if len(by_fold) >= 4:
        errors.append(float(np.std(by_fold, ddof=1) / np.sqrt(len(by_fold))))
    variance = float(share @ (losses - value) ** 2)
    return Estimate(value, method, StudentSpread(float(max(errors)), FREEDOM), naive, variance, metric.bounds)


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
