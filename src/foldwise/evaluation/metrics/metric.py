"""`Metric`: the name, title, sign and range of a score, and how it is computed for many settings at once.

A metric knows nothing of estimators, sessions or scikit-learn's scorers: it reads a `PredictionBatch`. `session.py`
makes batches of what fold sessions answer; a `StoredBatch` holds predictions at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import Answer, Need

Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]


class PredictionBatch:
    """Predictions of several settings for the same rows, with the truth and the weights of these rows."""

    answer: Answer  # what was predicted; the first axis of its arrays is the setting

    @cached_property
    def truth(self) -> NDArray[Any]:  # (rows,)
        """The codes of the true classes, or numbers."""
        raise NotImplementedError

    @cached_property
    def weights(self) -> Floats | None:  # (rows,)
        raise NotImplementedError

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The labels of the classes of the whole table, in the order of their codes."""
        raise NotImplementedError

    @cached_property
    def columns(self) -> NDArray[np.intp]:
        """The codes of the classes that the models know: those of the training rows."""
        return np.arange(self.n_classes)

    @cached_property
    def positive(self) -> int | None:
        """The code of the positive class of two; None where it is not known."""
        return 1

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def labels(self) -> Codes:  # (settings, rows)
        assert self.answer.labels is not None
        return self.answer.labels

    @property
    def values(self) -> Floats:  # (settings, rows)
        assert self.answer.values is not None
        return self.answer.values

    def probability(self, code: int) -> Floats:  # (settings, rows)
        """The probabilities of one class, as a new array in the layout of the answer."""
        if self.answer.proba is not None:
            return self.answer.proba[:, :, code].copy(order="K")
        assert self.answer.log_proba is not None
        return np.asarray(np.exp(self.answer.log_proba[:, :, code]))

    def mean(self, values: NDArray[Any]) -> Floats:  # (settings, rows) -> (settings,)
        """The mean over rows by their weights."""
        if self.weights is None:
            return np.asarray(values.mean(axis=1))
        return np.asarray((values @ self.weights) / self.weights.sum())

    def present_classes(self) -> NDArray[np.bool_]:  # (classes,)
        """Which classes are among the true ones."""
        return np.bincount(self.truth, minlength=self.n_classes) > 0

    def classes_met(self) -> NDArray[np.intp]:
        """The codes of the classes that are predicted or true."""
        return np.arange(self.n_classes)

    def warn(self, message: str, category: type[Warning] = UserWarning) -> None:
        """Say what scikit-learn says of a score that is not well defined; stored predictions are scored silently."""


class StoredBatch(PredictionBatch):
    """Predictions at hand, of one or several models; labels are by default the likeliest ones."""

    def __init__(self, truth: NDArray[Any], answer: Answer, n_classes: int, weights: Floats | None = None) -> None:
        self.truth, self.answer, self.weights = truth, answer, weights
        self.classes = np.arange(n_classes)

    @classmethod
    def of_one(cls, truth: NDArray[Any], predicted: NDArray[Any], weights: Floats | None = None) -> StoredBatch:
        """Of one model: probabilities (rows, classes) of classes, values (rows,) of quantities."""
        if predicted.ndim == 1:
            return cls(truth, Answer(values=predicted[None]), 0, weights)
        return cls(truth, Answer(proba=predicted[None]), predicted.shape[1], weights)

    @cached_property
    def labels(self) -> Codes:
        if self.answer.labels is not None:
            return self.answer.labels
        assert self.answer.proba is not None
        return np.asarray(self.answer.proba.argmax(axis=2))


BatchScores = Callable[[PredictionBatch], Floats]


def always(batch: PredictionBatch) -> bool:
    return True


@dataclass(frozen=True)
class Metric:
    """A score: one definition, sign and title for `fit`, `compare`, searches, curves and reports.

    Parameters
    ----------
    name : by which users choose it
    title : how tables and reports show it
    greater_is_better : False for errors, losses and costs
    bounds : the lowest and the highest score there can be
    need : what it is computed from: labels, probabilities, decision values or regression values
    scorer : the name of scikit-learn's scorer, whose sign is always greater-is-better
    row_scores : of a metric that is a mean over rows, what each row adds: (settings, rows)
    scores : the score of each setting, where it is not the mean of `row_scores` or is computed faster; NaN where it is
        not defined
    ranks : whether it compares rows with each other, so that rows of different models must not be mixed
    two_classes : whether it is about the positive class of two
    single_rows : whether it is defined on a single row, as leave-one-out scores rows
    plain : whether a batch from a session is an ordinary case; in others scikit-learn's scorer decides
    """

    name: str
    title: str
    greater_is_better: bool
    bounds: tuple[float, float]
    need: Need
    scorer: str = ""
    row_scores: BatchScores | None = None
    scores: BatchScores | None = None
    ranks: bool = False
    two_classes: bool = False
    single_rows: bool = False
    plain: Callable[[Any], bool] = always

    def of_batch(self, batch: PredictionBatch) -> Floats:  # (settings,)
        """The score of each setting of a batch."""
        if self.scores is not None:
            return self.scores(batch)
        assert self.row_scores is not None
        return batch.mean(self.row_scores(batch))

    def __call__(self, truth: NDArray[Any], predicted: NDArray[Any], weights: Floats | None = None) -> float:
        """The score of stored predictions; NaN where it is not defined.

        Parameters
        ----------
        truth : codes of classes, or numbers
        predicted : probabilities (rows, classes), or values (rows,)
        weights : one per row
        """
        return float(self.of_batch(StoredBatch.of_one(truth, predicted, weights))[0])

    @property
    def averages_rows(self) -> bool:
        """Whether the score is a mean over rows."""
        return self.row_scores is not None

    def by_row(self, truth: NDArray[Any], predicted: NDArray[Any]) -> Floats:  # (rows,)
        """What each row adds to the mean."""
        assert self.row_scores is not None
        return np.asarray(self.row_scores(StoredBatch.of_one(truth, predicted))[0])

    def signed(self, score: float) -> float:
        """The score with the sign that makes greater better."""
        return score if self.greater_is_better else -score
