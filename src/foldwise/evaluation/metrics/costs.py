"""The mean cost of decisions as a metric, by a `CostMatrix`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.evaluation.cost import CostMatrix
from foldwise.evaluation.decision import check_proba, choose
from foldwise.evaluation.metrics.metric import Metric, PredictionBatch
from foldwise.evaluation.metrics.session import SessionMetric
from foldwise.folds.protocol import Need


def cost_metric(matrix: CostMatrix, classes: NDArray[Any] | None = None) -> Metric:
    """Create the metric "mean cost of the actions with the lowest expected cost".

    Parameters
    ----------
    matrix : CostMatrix
        The costs.
    classes : ndarray, default None
        The classes in the order of their codes; None means those of each batch.

    Returns
    -------
    Metric
        The metric.
    """

    def row_costs(batch: PredictionBatch) -> Floats:  # (settings, rows)
        met = batch.classes_met()  # a class that is neither predicted nor true needs no cost
        labels = batch.classes if classes is None else classes
        table = matrix.costs_of(labels[met])
        flat = probabilities_of(batch, met)
        action = choose(flat, table)[0].reshape(-1, len(batch.truth))
        return np.asarray(table[action, np.searchsorted(met, batch.truth)])

    bounds = (-np.inf, np.inf)  # a cost below 0 is a gain
    if classes is not None:
        table = matrix.costs_of(classes)
        bounds = (float(table.min()), float(table.max()))
    return Metric("cost", "mean cost", False, bounds, Need.PROBA, row_scores=row_costs, plain=check_batch)


def probabilities_of(batch: PredictionBatch, met: NDArray[np.intp]) -> Floats:  # (settings × rows, classes)
    proba = batch.answer.probabilities()
    assert proba is not None
    return np.ascontiguousarray(proba[:, :, met].reshape(-1, len(met)), dtype=np.float64)


def check_batch(batch: PredictionBatch) -> bool:
    """Raise an error for numbers that are not probabilities."""
    check_proba(probabilities_of(batch, batch.classes_met()))
    return True


class CostMetric(SessionMetric):
    """Minus the mean cost, as `matrix.scorer()` computes it in scikit-learn's searches."""

    def __init__(self, matrix: CostMatrix) -> None:
        super().__init__(cost_metric(matrix), matrix.scorer())
        self.matrix = matrix
