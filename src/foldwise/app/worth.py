"""What honest probabilities are worth: an estimate with its interval, and whether two models differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from foldwise.app.choice import Honest, Stack
from foldwise.app.measures import Floats, Measure
from foldwise.evaluation.comparing.paired import TTest, corrected_t_test
from foldwise.evaluation.estimates import Estimate, StudentSpread
from foldwise.evaluation.intervals import corrected_error, share_tested
from foldwise.folds.splits import Split

LEAST_SCORES = 8
FREEDOM = 9  # as of ten folds: models of other rows would have been others
METHOD = "members, weights and temperature chosen again without the rows of each fold, from stored predictions"


def fold_scores(honest: Honest, stack: Stack, measure: Measure, parts: int = 1) -> Floats:
    """One score for each fold that is scored, or for each of so many parts of it: every so manyth row."""
    found = []
    for fold in honest.folds:
        here = np.flatnonzero(stack.fold[honest.places] == fold)
        for part in range(parts):
            some = here[part::parts]
            places = honest.places[some]
            found.append(measure(stack.codes[places], honest.proba[some], stack.weighing(places)))
    return np.array(found)


def score_of(honest: Honest, stack: Stack, measure: Measure) -> float:
    """The score over all scored rows, as the confusion matrix shows them; where it ranks rows, the mean over folds.

    Models of different folds do not rank rows on one scale; and a class is in few folds where it has few rows.
    """
    if measure.ranks:
        return float(np.nanmean(fold_scores(honest, stack, measure)))
    return measure(stack.codes[honest.places], honest.proba, stack.weighing(honest.places))


def parts_of(n_folds: int) -> int:
    """In how many parts folds are cut, so that a test of two models has nearly ten scores of each to compare."""
    return max(1, -(-LEAST_SCORES // n_folds))


def estimate_of(
    honest: Honest,
    stack: Stack,
    measure: Measure,
    splits: Sequence[Split],
    *,
    naive: float | None = None,
    groups: NDArray[np.intp] | None = None,
    method: str = METHOD,
) -> Estimate:
    """The score over all scored rows and how far it may be off.

    Of a mean over rows: its standard error from rows, from groups of rows and from folds, whichever is greatest. Of any
    other score: the corrected resampled error of the folds. Never less than what one more miss would change: rows that
    are all right say that mistakes are rare, not that there are none.
    """
    by_fold = fold_scores(honest, stack, measure)
    if measure.rows is None:
        value = score_of(honest, stack, measure)
        error = float(corrected_error(by_fold[np.isfinite(by_fold)], share_tested(splits)))
        error = max(error, 1.0 / len(honest.places))
        return Estimate(value, method, StudentSpread(error, max(len(by_fold) - 1, 1)), naive, None, measure.bounds)
    losses = measure.rows(stack.codes[honest.places], honest.proba)
    weights = stack.weighing(honest.places)
    weights = np.ones(len(losses)) if weights is None else weights
    share = weights / weights.sum()
    value = float(losses @ share)
    parts = share * (losses - value)
    errors = [np.sqrt((parts**2).sum()), abs(worst(honest.proba, measure) - value) / len(losses)]
    if groups is not None:
        errors.append(np.sqrt((np.bincount(groups[stack.rows[honest.places]], parts) ** 2).sum()))
    if len(by_fold) >= 4:
        errors.append(float(np.std(by_fold, ddof=1) / np.sqrt(len(by_fold))))
    variance = float(share @ (losses - value) ** 2)
    return Estimate(value, method, StudentSpread(float(max(errors)), FREEDOM), naive, variance, measure.bounds)


def worst(proba: Floats, measure: Measure) -> float:
    """The score of the row that could be most wrong, by what was said of it."""
    assert measure.rows is not None
    n_rows, n_classes = proba.shape
    every = [measure.rows(np.full(n_rows, k, dtype=np.int64), proba) for k in range(n_classes)]
    return float(np.min(every) if measure.greater else np.max(every))


def differs(first: Honest, second: Honest, stack: Stack, measure: Measure, splits: Sequence[Split]) -> TTest | None:
    """The corrected test of two models by their scores on the same folds, or on parts of them where they are few."""
    parts = parts_of(len(first.folds))
    gaps = fold_scores(first, stack, measure, parts) - fold_scores(second, stack, measure, parts)
    gaps = gaps[np.isfinite(gaps)]
    return corrected_t_test(gaps, share_tested(splits) / parts) if len(gaps) > 1 else None
