"""The area under the ROC curve, for two classes and for each class against the rest."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Bools, Floats
from foldwise.evaluation.metrics.metric import PredictionBatch

Order = NDArray[np.int64]


def roc_auc(batch: PredictionBatch) -> Floats:  # (settings,)
    """Compute the area under the ROC curve of two classes, by decision values or probabilities."""
    positive = int(batch.columns[1])
    decision = batch.answer.decision
    return areas(batch.probability(positive) if decision is None else decision, batch.truth == positive, batch.weights)


def roc_auc_one_vs_rest(batch: PredictionBatch, by_weight: bool = False) -> Floats:  # (settings,)
    """Compute the mean area of each class against the rest, optionally weighted by class size.

    Classes that no row has, or that all rows have, are left out.
    """
    codes = batch.columns[-1:] if len(batch.columns) == 2 else batch.columns
    found = np.stack([areas(batch.probability(k), batch.truth == k, batch.weights) for k in codes.tolist()])
    totals = np.bincount(batch.truth, weights=batch.weights, minlength=batch.n_classes)[codes]
    defined = ~np.isnan(found[:, 0])
    if not defined.any():
        return np.full(found.shape[1], np.nan)
    return np.average(found[defined], axis=0, weights=totals[defined] if by_weight else None)


def areas(scores: Floats, positive: Bools, weights: Floats | None = None) -> Floats:  # (settings, rows) -> (settings,)
    """Compute the area for each setting; NaN if all rows or no rows are positive, or if a score is not finite."""
    if not np.isfinite(scores).all():
        return np.full(len(scores), np.nan)
    weights = np.ones(len(positive)) if weights is None else weights
    return np.asarray(ordered_areas(*in_order(scores), positive, weights))


def in_order(scores: Floats) -> tuple[Order, Bools]:  # both (settings, rows)
    """Sort the rows of each setting by score, and mark the last row of each run of equal scores."""
    scores = np.ascontiguousarray(scores)
    order = np.argsort(scores, axis=1).astype(np.int64, copy=False)
    return order, np.asarray(_ends_of_ties(scores, order))


@njit(nogil=True, cache=True)
def _ends_of_ties(scores: Floats, order: Order) -> Bools:
    n_settings, n_rows = order.shape
    last = np.ones(order.shape, dtype=np.bool_)
    for s in range(n_settings):
        for i in range(n_rows - 1):
            last[s, i] = scores[s, order[s, i]] != scores[s, order[s, i + 1]]
    return last


@njit(nogil=True, cache=True)
def ordered_areas(order: Order, last: Bools, positive: Bools, weights: Floats) -> Floats:  # (settings,)
    """Compute the fraction of pairs of a positive and a negative row in the right order; ties count half."""
    n_settings, n_rows = order.shape
    found = np.full(n_settings, np.nan)
    for s in range(n_settings):
        below, pairs, hits = 0.0, 0.0, 0.0
        tied_hits, tied_misses = 0.0, 0.0
        for i in range(n_rows):
            row = order[s, i]
            if positive[row]:
                tied_hits += weights[row]
            else:
                tied_misses += weights[row]
            if last[s, i]:
                pairs += tied_hits * (below + 0.5 * tied_misses)
                below += tied_misses
                hits += tied_hits
                tied_hits, tied_misses = 0.0, 0.0
        if hits > 0 and below > 0:
            found[s] = pairs / (hits * below)
    return found
