"""Log loss and Brier score: mean losses of predicted probabilities."""

from __future__ import annotations

import numpy as np

from foldwise.arrays import Floats
from foldwise.evaluation.metrics.metric import PredictionBatch
from foldwise.folds.protocol import Answer

LEAST_PROBABILITY = float(np.finfo(np.float64).eps)  # log loss clips probabilities here, as in scikit-learn
LEAST_LOG, LARGEST_LOG = float(np.log(LEAST_PROBABILITY)), float(np.log1p(-LEAST_PROBABILITY))
LARGEST_LOG_LOSS = -LEAST_LOG


def log_losses(batch: PredictionBatch) -> Floats:  # (settings, rows)
    """Compute -log p of the true class, with p clipped at the machine epsilon, as in scikit-learn."""
    if len(batch.columns) == 2:  # scikit-learn uses the second column only, and 1 - p for the first
        second = int(batch.columns[1])
        p = batch.probability(second)
        np.subtract(1, p, out=p, where=(batch.truth != second)[None])
    else:
        answer = batch.answer
        source = answer.log_proba if answer.proba is None else answer.proba
        assert source is not None
        p = np.take_along_axis(source, batch.truth[None, :, None], axis=2)[:, :, 0]
        p = np.exp(p) if answer.proba is None else p
    eps = np.finfo(p.dtype).eps
    np.clip(p, eps, 1 - eps, out=p)
    np.log(p, out=p)
    return np.negative(p, out=p)


def log_losses_of_logs(log_proba: Floats) -> Floats:
    """Compute log losses from the log-probabilities of the true classes, with the limits of `log_losses`.

    For models that answer in logarithms, whose probabilities near 0 and 1 would be rounded by `exp` and `1 - p`.
    """
    return np.asarray(-np.clip(log_proba, LEAST_LOG, LARGEST_LOG))


def brier_losses(batch: PredictionBatch) -> Floats:  # (settings, rows)
    """Compute squared errors of probabilities: of one class if there are two, otherwise summed over all classes.

    This is the default scaling of scikit-learn's `brier_score_loss`: at most 1 for two classes, otherwise at most 2.
    """
    if len(batch.columns) == 2:
        second = int(batch.columns[1])
        return np.asarray((batch.probability(second) - (batch.truth == second)) ** 2)
    losses = np.zeros(1)
    for code in batch.columns.tolist():  # column by column, to avoid a copy of the whole array
        losses = losses + (batch.probability(code) - (batch.truth == code)) ** 2
    return losses


def are_probabilities(answer: Answer) -> bool:
    """Whether all values are between 0 and 1, and sum to 1 in each row."""
    if answer.proba is None:
        assert answer.log_proba is not None
        return bool(answer.log_proba.max() <= 0)  # False for NaN too
    p = answer.proba
    if not (p.min() >= 0 and p.max() <= 1):
        return False
    return bool(np.allclose(p.sum(axis=2), 1, rtol=np.sqrt(np.finfo(p.dtype).eps), atol=0))
