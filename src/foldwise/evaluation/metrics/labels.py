"""Metrics of predicted labels: accuracy, balanced accuracy, precision, recall, F1, Matthews correlation.

All but accuracy use the confusion matrices of the settings, which are counted in one pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from foldwise.arrays import Floats
from foldwise.evaluation.metrics.counting import count_pairs, count_right, weigh_pairs
from foldwise.evaluation.metrics.metric import PredictionBatch

SINGLE = (
    "A single label was found in 'y_true' and 'y_pred'. For the confusion matrix to have the correct shape, use the "
    "'labels' parameter to pass all known labels."
)


def hits(batch: PredictionBatch) -> Floats:  # (settings, rows)
    """Return 1 for a correct label, 0 for a wrong one."""
    return np.asarray(np.equal(batch.labels, batch.truth, order="C"), dtype=np.float64)


def accuracy(batch: PredictionBatch) -> Floats:  # (settings,)
    """Compute the fraction of correct labels."""
    if batch.weights is None:
        return np.asarray(count_right(batch.labels, batch.truth, batch.n_classes) / len(batch.truth))
    return batch.mean(batch.labels == batch.truth)


def matrices(batch: PredictionBatch) -> tuple[NDArray[np.int64], NDArray[Any]]:  # both (settings, truth, label)
    """Compute the confusion matrices of all settings, as counts and as sums of weights."""
    rows = count_pairs(batch.labels, batch.truth, batch.n_classes)
    if batch.weights is None:
        return rows, rows
    return rows, weigh_pairs(batch.labels, batch.truth, batch.n_classes, batch.weights)


def balanced_accuracy(batch: PredictionBatch) -> Floats:  # (settings,)
    """Compute the mean recall over the true classes."""
    rows, cells = matrices(batch)
    warn_of_single_labels(batch, rows)
    totals = cells.sum(axis=2)
    counted = totals[0] != 0  # classes without weight are left out; they are the same for all settings
    if (rows.sum(axis=1) > 0)[:, ~batch.present_classes()].any():
        batch.warn("y_pred contains classes not in y_true")
    right = np.diagonal(cells, axis1=1, axis2=2)
    return np.asarray((right[:, counted] / totals[:, counted]).mean(axis=1))


def matthews_correlation(batch: PredictionBatch) -> Floats:  # (settings,)
    """Compute the Matthews correlation coefficient, for any number of classes."""
    rows, cells = matrices(batch)
    warn_of_single_labels(batch, rows)
    true = cells.sum(axis=2, dtype=np.float64)
    given = cells.sum(axis=1, dtype=np.float64)
    right = np.trace(cells, axis1=1, axis2=2, dtype=np.float64)
    total = given.sum(axis=1)
    together = right * total - (true * given).sum(axis=1)
    spread = (total**2 - (given * given).sum(axis=1)) * (total**2 - (true * true).sum(axis=1))
    defined = spread != 0
    return np.where(defined, together / np.sqrt(np.where(defined, spread, 1.0)), 0.0)


def label_rate(batch: PredictionBatch, rate: str, average: str, positive: int | None = None) -> Floats:  # (settings,)
    """Compute precision, recall or F1 of the positive class ("binary"), or averaged ("macro", "micro", "weighted")."""
    rows, cells = matrices(batch)
    right = np.diagonal(cells, axis1=1, axis2=2)
    given, true = cells.sum(axis=1), cells.sum(axis=2)  # (settings, classes)
    counted = (rows.sum(axis=1) + rows.sum(axis=2)) > 0
    if average == "binary":
        code = batch.positive if positive is None else positive
        assert code is not None
        only = slice(code, code + 1)
        right, given, true = right[:, only], given[:, only], true[:, only]
        counted = np.ones_like(right, dtype=bool)
    elif average == "micro":
        right, given, true = (part.sum(axis=1, keepdims=True) for part in (right, given, true))
        counted = np.ones_like(right, dtype=bool)
    above, below = {"precision": (right, given), "recall": (right, true), "f1": (2 * right, true + given)}[rate]
    undefined = counted & (below == 0)
    if undefined.any():
        warn_of_no_samples(batch, rate, alone=counted[undefined.any(axis=1)].sum(axis=1).max() == 1)
    rates = np.where(counted & ~undefined, above / np.where(below == 0, 1, below), 0.0)
    if average == "weighted":
        return np.asarray((rates * true).sum(axis=1) / true.sum(axis=1))
    return np.asarray(rates.sum(axis=1) / counted.sum(axis=1))


def warn_of_no_samples(batch: PredictionBatch, rate: str, alone: bool) -> None:
    """Warn of a division by zero, as scikit-learn does."""
    what, missing = {
        "precision": ("Precision", "predicted"),
        "recall": ("Recall", "true"),
        "f1": ("F-score", "true nor predicted"),
    }[rate]
    batch.warn(
        f"{what} is ill-defined and being set to 0.0 {'due to' if alone else 'in labels with'} no {missing} "
        "samples. Use `zero_division` parameter to control this behavior.",
        UndefinedMetricWarning,
    )


def warn_of_single_labels(batch: PredictionBatch, rows: NDArray[np.int64]) -> None:
    """Warn if all true and predicted labels are of one class, as scikit-learn does."""
    if (((rows.sum(axis=1) + rows.sum(axis=2)) > 0).sum(axis=1) == 1).any():
        batch.warn(SINGLE)
