"""`Metric`: the name, title, sign and range of a score, and how to compute it for many settings at once.

A metric knows nothing of estimators, sessions or scikit-learn's scorers; it reads a `PredictionBatch`. `session.py`
makes batches of the predictions of fold sessions, and a `StoredBatch` holds given predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Bools, Codes, Floats
from foldwise.data.target import Task
from foldwise.folds.protocol import Answer, Need

if TYPE_CHECKING:
    from foldwise.evaluation.row_parts import ScoreParts

SMALLEST = 1e-300  # a divisor that is not 0


class PredictionBatch:
    """Predictions of several settings for the same rows, with the truth and the weights of these rows."""

    answer: Answer  # the predictions; the first axis of its arrays is the setting

    @cached_property
    def truth(self) -> NDArray[Any]:  # (rows,)
        """Codes of the true classes, or true values."""
        raise NotImplementedError

    @cached_property
    def weights(self) -> Floats | None:  # (rows,)
        raise NotImplementedError

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The classes of the whole table, in the order of their codes."""
        raise NotImplementedError

    @cached_property
    def columns(self) -> NDArray[np.intp]:
        """Codes of the classes that the models know, i.e. those of the training rows."""
        return np.arange(self.n_classes)

    @cached_property
    def positive(self) -> int | None:
        """Code of the positive class of two; None if it is not known."""
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
        """Return the probabilities of one class, as a new array in the memory layout of the answer."""
        if self.answer.proba is not None:
            return self.answer.proba[:, :, code].copy(order="K")
        assert self.answer.log_proba is not None
        return np.asarray(np.exp(self.answer.log_proba[:, :, code]))

    def mean(self, values: NDArray[Any]) -> Floats:  # (settings, rows) -> (settings,)
        """Compute the weighted mean over rows."""
        if self.weights is None:
            return np.asarray(values.mean(axis=1))
        return np.asarray((values @ self.weights) / self.weights.sum())

    def present_classes(self) -> NDArray[np.bool_]:  # (classes,)
        """Return which classes occur among the true ones."""
        return np.bincount(self.truth, minlength=self.n_classes) > 0

    def classes_met(self) -> NDArray[np.intp]:
        """Return the codes of the classes that models know or that are true."""
        return np.arange(self.n_classes)

    def warn(self, message: str, category: type[Warning] = UserWarning) -> None:
        """Warn of an ill-defined score, as scikit-learn does; stored predictions are scored without warnings."""


class StoredBatch(PredictionBatch):
    """Given predictions of one or several models; labels default to the most probable class."""

    def __init__(self, truth: NDArray[Any], answer: Answer, n_classes: int, weights: Floats | None = None) -> None:
        self.truth, self.answer, self.weights = truth, answer, weights
        self.classes = np.arange(n_classes)

    @classmethod
    def of_one(cls, truth: NDArray[Any], predicted: NDArray[Any], weights: Floats | None = None) -> StoredBatch:
        """Create a batch of one model from probabilities (rows, classes), or from regression values (rows,)."""
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
OrderScores = Callable[[NDArray[np.int64], Bools, Bools, Floats], Floats]  # order, ends of ties, positive rows, weights
PartsOfScore = Callable[[Codes, Floats, Floats, NDArray[np.intp]], "ScoreParts | None"]  # truth, proba, weights, fold
Influence = Callable[[NDArray[Any], Floats, Floats], Floats]  # truth, predicted, weights that sum to 1


def always(batch: PredictionBatch) -> bool:
    return True


@dataclass(frozen=True)
class Metric:
    """A metric: one definition, sign and title for `fit`, `compare`, searches, curves and reports.

    Parameters
    ----------
    name : str
        The name by which users choose it.
    title : str
        The title in tables and reports.
    greater_is_better : bool
        False for errors, losses and costs.
    bounds : tuple of float
        The lowest and highest possible score.
    need : Need
        The predictions it needs: labels, probabilities, decision values or regression values.
    scorer : str or scorer, default ""
        Name of scikit-learn's scorer, for which higher is always better, or the scorer itself.
    row_scores : callable, default None
        For a mean over rows, or the root of one, the contribution of each row, of shape (settings, rows).
    scores : callable, default None
        The score of each setting, if it is not the mean of `row_scores` or can be computed faster; NaN if undefined.
    ranks : bool, default False
        Whether it compares rows with each other, so that rows of different models must not be mixed.
    two_classes : bool, default False
        Whether it needs a positive class of two.
    single_rows : bool, default False
        Whether it is defined on a single row, as needed for leave-one-out.
    plain : callable, default always True
        Whether a batch from a session is an ordinary case; otherwise scikit-learn's scorer is called.
    root : bool, default False
        Whether the score is the square root of the mean of `row_scores`.
    target_check : callable, default None
        A function of the true values that raises if the metric is not defined for them, and returns warnings.
    order_scores : callable, default None
        For two classes, if the score depends on the order of rows alone: the score of each setting, from rows sorted by
        the probability of the second class. A bootstrap then sorts them once.
    row_parts : callable, default None
        For a proportion, or a mean of proportions: what each row adds to its error, as `ScoreParts`.
    influence : callable, default None
        For another score without `row_scores`: how far each row moves it, for its standard error.
    squared : bool, default False
        Whether it ranks models as the mean squared error does, which is then enough to choose by.
    """

    name: str
    title: str
    greater_is_better: bool
    bounds: tuple[float, float]
    need: Need
    scorer: Any = ""
    row_scores: BatchScores | None = None
    scores: BatchScores | None = None
    ranks: bool = False
    two_classes: bool = False
    single_rows: bool = False
    plain: Callable[[Any], bool] = always
    root: bool = False
    target_check: Callable[[NDArray[Any]], list[str]] | None = None
    order_scores: OrderScores | None = None
    row_parts: PartsOfScore | None = None
    influence: Influence | None = None
    squared: bool = False

    @property
    def task(self) -> Task:
        """Whether it scores predictions of classes ("classification") or of a quantity ("regression")."""
        return "regression" if self.need == Need.VALUES else "classification"

    def check_target(self, truth: NDArray[Any]) -> list[str]:
        """Check whether the metric suits some true values.

        Parameters
        ----------
        truth : ndarray of shape (n_rows,)
            Codes of classes, or true values. An error is raised if the metric is not defined for them.

        Returns
        -------
        list of str
            Warnings, one sentence each; empty if there are none.
        """
        return [] if self.target_check is None else self.target_check(truth)

    def of_batch(self, batch: PredictionBatch) -> Floats:  # (settings,)
        """Compute the score of each setting of a batch.

        Parameters
        ----------
        batch : PredictionBatch
            The predictions.

        Returns
        -------
        ndarray of shape (n_settings,)
            The scores.
        """
        if self.scores is not None:
            return self.scores(batch)
        assert self.row_scores is not None
        mean = batch.mean(self.row_scores(batch))
        return np.sqrt(mean) if self.root else mean

    def __call__(self, truth: NDArray[Any], predicted: NDArray[Any], weights: Floats | None = None) -> float:
        """Score given predictions; NaN if the score is not defined.

        Parameters
        ----------
        truth : ndarray of shape (n_rows,)
            Codes of classes, or true values.
        predicted : ndarray of shape (n_rows, n_classes) or (n_rows,)
            Probabilities, or regression values.
        weights : ndarray of shape (n_rows,), default None
            Weight of each row.

        Returns
        -------
        float
            The score.
        """
        return float(self.of_batch(StoredBatch.of_one(truth, predicted, weights))[0])

    @property
    def averages_rows(self) -> bool:
        """Whether the score is a mean over rows."""
        return self.row_scores is not None and not self.root

    def by_row(self, truth: NDArray[Any], predicted: NDArray[Any]) -> Floats:  # (rows,)
        """Return the contribution of each row to the mean.

        Parameters
        ----------
        truth : ndarray of shape (n_rows,)
            Codes of classes, or true values.
        predicted : ndarray of shape (n_rows, n_classes) or (n_rows,)
            Probabilities, or regression values.

        Returns
        -------
        ndarray of shape (n_rows,)
            The contributions.
        """
        assert self.row_scores is not None
        return np.asarray(self.row_scores(StoredBatch.of_one(truth, predicted))[0])

    def signed(self, score: float) -> float:
        """Return the score with the sign that makes higher better.

        Parameters
        ----------
        score : float
            The score.

        Returns
        -------
        float
            The signed score.
        """
        return score if self.greater_is_better else -score
