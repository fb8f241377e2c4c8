"""Metrics of labels: accuracy, balanced accuracy, precision, recall, F1 and their averages, Matthews' correlation.

All but accuracy read the settings' confusion matrices, which are counted in one pass.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from foldwise.evaluation.metrics.base import Case, Floats, VectorisedMetric
from foldwise.evaluation.metrics.counting import count_pairs, count_right, weigh_pairs
from foldwise.evaluation.metrics.scorers import Scores
from foldwise.folds.protocol import Answer, Labels
from foldwise.folds.splits import LeaveOneOutSplits, Split

SINGLE = (
    "A single label was found in 'y_true' and 'y_pred'. For the confusion matrix to have the correct shape, use the "
    "'labels' parameter to pass all known labels."
)


class Accuracy(VectorisedMetric):
    """The share of right labels."""

    lossless = 1.0

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        labels = self.labels(case, answer)
        if case.weights is None:
            return np.asarray(count_right(labels, case.truth, case.n_classes) / len(case.truth))
        return case.average(labels == case.truth)

    def losses(self, session: Any, split: Split, answer: Answer) -> Floats:  # (settings, rows)
        """1 for a wrong label: the accuracy is 1 minus their mean."""
        case = Case(session, split)
        wrong = np.not_equal(self.labels(case, answer), case.truth, order="C")
        return np.asarray(wrong, dtype=np.float64)

    def of_rows(self, session: Any, splits: LeaveOneOutSplits, answer: Answer) -> Floats | None:  # (settings, rows)
        """The score of every split of leave-one-out; None where scikit-learn shall decide."""
        if not isinstance(session.target, Labels) or answer.labels is None:
            return None
        case = Case(session, Split(splits.rows, splits.rows))
        if case.weights is not None and not (case.weights > 0).all():
            return None  # the mean of a row without weight is not defined
        return np.asarray(answer.labels == case.truth, dtype=np.float64)


class ConfusionMetric(VectorisedMetric):
    """A metric of the confusion matrices of all settings."""

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        labels = self.labels(case, answer)
        rows = count_pairs(labels, case.truth, case.n_classes)
        weighed = None if case.weights is None else weigh_pairs(labels, case.truth, case.n_classes, case.weights)
        return self.of_matrices(case, rows, rows if weighed is None else weighed)

    def of_matrices(self, case: Case, rows: NDArray[np.int64], cells: NDArray[Any]) -> Scores | None:
        """The scores from rows counted and weighed, both (settings, truth, label)."""
        raise NotImplementedError


class BalancedAccuracy(ConfusionMetric):
    """The mean over the classes of the test rows of the share that is found."""

    def of_matrices(self, case: Case, rows: NDArray[np.int64], cells: NDArray[Any]) -> Scores | None:
        warn_of_single_labels(rows)
        right = np.diagonal(cells, axis1=1, axis2=2)
        totals = sums_over_labels(rows, cells)
        counted = totals[0] != 0  # a class of no weight is left out; those of the test rows are the same everywhere
        if (rows.sum(axis=1) > 0)[:, ~case.in_test].any():
            warnings.warn("y_pred contains classes not in y_true", UserWarning, stacklevel=2)
        return np.asarray(np.ascontiguousarray(right[:, counted] / totals[:, counted]).mean(axis=1))


class Matthews(ConfusionMetric):
    """Matthews' correlation of truth and label, for any number of classes."""

    bounds = (-1.0, 1.0)

    def of_matrices(self, case: Case, rows: NDArray[np.int64], cells: NDArray[Any]) -> Scores | None:
        warn_of_single_labels(rows)
        true = cells.sum(axis=2, dtype=np.float64)
        given = cells.sum(axis=1, dtype=np.float64)
        right = np.trace(cells, axis1=1, axis2=2, dtype=np.float64)
        total = given.sum(axis=1)
        together = right * total - (true * given).sum(axis=1)
        spread = (total**2 - (given * given).sum(axis=1)) * (total**2 - (true * true).sum(axis=1))
        defined = spread != 0
        return np.where(defined, together / np.sqrt(np.where(defined, spread, 1.0)), 0.0)


class LabelRates(ConfusionMetric):
    """Precision, recall or F1: of label 1 (`binary`), or over labels (`macro`, `micro`, `weighted`)."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.rate, _, average = name.partition("_")
        self.average = average or "binary"

    def of_matrices(self, case: Case, rows: NDArray[np.int64], cells: NDArray[Any]) -> Scores | None:
        right = np.diagonal(cells, axis1=1, axis2=2)
        given, true = cells.sum(axis=1), cells.sum(axis=2)  # (settings, classes)
        counted = (rows.sum(axis=1) + rows.sum(axis=2)) > 0
        if self.average == "binary":
            classes = case.session.target.classes.tolist()
            if len(classes) != 2 or 1 not in classes or not case.in_train.all():
                return None
            place = slice(classes.index(1), classes.index(1) + 1)
            right, given, true = right[:, place], given[:, place], true[:, place]
            counted = np.ones_like(right, dtype=bool)
        elif self.average == "micro":
            right, given, true = (part.sum(axis=1, keepdims=True) for part in (right, given, true))
            counted = np.ones_like(right, dtype=bool)
        above, below = {"precision": (right, given), "recall": (right, true), "f1": (2 * right, true + given)}[
            self.rate
        ]
        undefined = counted & (below == 0)
        if undefined.any():
            self.warn(counted[undefined.any(axis=1)].sum(axis=1).max() == 1)
        rates = np.where(counted & ~undefined, above / np.where(below == 0, 1, below), 0.0)
        if self.average == "weighted":
            return np.asarray((rates * true).sum(axis=1) / true.sum(axis=1))
        return np.asarray(rates.sum(axis=1) / counted.sum(axis=1))

    def warn(self, alone: bool) -> None:
        """What scikit-learn says of a division by zero."""
        what, missing = {
            "precision": ("Precision", "predicted"),
            "recall": ("Recall", "true"),
            "f1": ("F-score", "true nor predicted"),
        }[self.rate]
        warnings.warn(
            f"{what} is ill-defined and being set to 0.0 {'due to' if alone else 'in labels with'} no {missing} "
            "samples. Use `zero_division` parameter to control this behavior.",
            UndefinedMetricWarning,
            stacklevel=2,
        )


def sums_over_labels(rows: NDArray[np.int64], cells: NDArray[Any]) -> NDArray[Any]:  # (settings, truth)
    """The total of each truth, added as scikit-learn adds: over the labels that occur."""
    if cells.dtype.kind != "f" or cells.shape[1] < 8:
        return np.asarray(cells.sum(axis=2))  # exact, or one after the other: absent labels change nothing
    found = (rows.sum(axis=1) + rows.sum(axis=2)) > 0
    return np.stack([np.ascontiguousarray(one[:, here]).sum(axis=1) for one, here in zip(cells, found, strict=True)])


def warn_of_single_labels(rows: NDArray[np.int64]) -> None:
    """scikit-learn's warning where truth and predictions are all of one class."""
    if (((rows.sum(axis=1) + rows.sum(axis=2)) > 0).sum(axis=1) == 1).any():
        warnings.warn(SINGLE, UserWarning, stacklevel=2)
