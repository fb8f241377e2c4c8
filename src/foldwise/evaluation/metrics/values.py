"""Regression metrics: squared and absolute errors, R²."""

from __future__ import annotations

import numpy as np

from foldwise.evaluation.metrics.metric import Floats, PredictionBatch


def squared_errors(batch: PredictionBatch) -> Floats:  # (settings, rows)
    return np.asarray((batch.values - batch.truth) ** 2)


def absolute_errors(batch: PredictionBatch) -> Floats:  # (settings, rows)
    return np.asarray(np.abs(batch.values - batch.truth))


def root_mean_squared_error(batch: PredictionBatch) -> Floats:  # (settings,)
    return np.sqrt(batch.mean(squared_errors(batch)))


def r2(batch: PredictionBatch) -> Floats:  # (settings,)
    """Compute R²; if the true values are all equal, it is 1 for exact predictions and 0 otherwise."""
    truth, weights = batch.truth, batch.weights
    left = batch.mean(squared_errors(batch))
    spread = np.average((truth - np.average(truth, weights=weights)) ** 2, weights=weights)
    if spread == 0:
        return np.where(left == 0, 1.0, 0.0)
    return np.where(left == 0, 1.0, 1 - left / spread)


def finite_values(batch: PredictionBatch) -> bool:
    return bool(np.isfinite(batch.values).all())


def several_finite_values(batch: PredictionBatch) -> bool:
    return len(batch.truth) >= 2 and finite_values(batch)
