"""Metrics for searches: all settings of a block at once, with the sign of scikit-learn's scorers.

In unusual cases (a class missing from some rows, weights that sum to 0, numbers that are not probabilities),
scikit-learn's own scorer is called for each setting, so that its errors, warnings and NaN are the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer

from foldwise.arrays import Floats
from foldwise.evaluation.metrics.metric import SMALLEST, Metric, PredictionBatch
from foldwise.evaluation.metrics.probabilities import are_probabilities
from foldwise.evaluation.metrics.scorers import ScorerMetric, has_probabilities, lacks, test_weights
from foldwise.folds.protocol import Answer, Labels, Need, Params, TargetValues
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import LeaveOneOutSplits, Split

NEEDED = {
    Need.LABELS: "predicted labels",
    Need.PROBA: "probabilities",
    Need.DECISION: "decision values or probabilities",
    Need.VALUES: "predicted values",
}


class SessionBatch(PredictionBatch):
    """The predictions of a session for the test rows of one split."""

    def __init__(self, session: Any, split: Split, answer: Answer) -> None:
        self.session, self.split, self.answer = session, split, answer

    @cached_property
    def truth(self) -> NDArray[Any]:
        target = self.session.target
        return np.asarray((target.codes if isinstance(target, Labels) else target.numbers)[self.split.test])

    @cached_property
    def weights(self) -> Floats | None:
        return test_weights(self.session, self.split)

    @cached_property
    def classes(self) -> NDArray[Any]:
        return np.asarray(self.session.target.classes)

    @cached_property
    def in_train(self) -> NDArray[np.bool_]:  # (classes,)
        return self.split.trained(self.session.target.codes, self.n_classes) > 0

    @cached_property
    def columns(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.in_train)

    @cached_property
    def positive(self) -> int | None:
        """The code of label 1, the positive class of scikit-learn's scorers; None if it is missing."""
        classes = self.classes.tolist()
        return classes.index(1) if 1 in classes else None

    def classes_met(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.in_train | self.present_classes())

    def warn(self, message: str, category: type[Warning] = UserWarning) -> None:
        warnings.warn(message, category, stacklevel=3)

    def weights_are_sound(self) -> bool:
        """Whether the weights can be averaged with: all finite, none negative, some positive."""
        w = self.weights
        return w is None or bool(w.min() >= 0 and np.isfinite(w.sum()) and w.sum() > 0)


class WholeTableBatch(SessionBatch):
    """A batch that knows all classes of the table, so that losses of different splits are comparable."""

    @cached_property
    def columns(self) -> NDArray[np.intp]:
        return np.arange(self.n_classes)


class SessionMetric:
    """A metric that agrees with a scikit-learn scorer, computed for all settings of a block at once."""

    def __init__(self, metric: Metric, scorer: Any = None) -> None:
        self.metric, self.need = metric, metric.need
        self.name = metric.scorer if metric.scorer and isinstance(metric.scorer, str) else metric.name
        self.by_scorer = ScorerMetric(get_scorer(metric.scorer) if scorer is None else scorer)
        low, high = metric.bounds
        self.bounds = metric.bounds if metric.greater_is_better else (-high, -low)
        self.has_losses, self.root = metric.row_scores is not None, metric.root
        self.lossless = high if metric.greater_is_better else 0.0  # the score is this minus the mean loss

    def __repr__(self) -> str:
        return f"the metric {self.name!r}"

    @property
    def kind(self) -> type:
        """The type of the target."""
        return TargetValues if self.need == Need.VALUES else Labels

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> Floats:
        batch = SessionBatch(session, split, answer)
        usable = isinstance(session.target, self.kind) and self._is_answered(session, answer)
        if usable and batch.weights_are_sound() and self.metric.plain(batch):
            scores = self.metric.of_batch(batch)
            if not np.isnan(scores).any():
                return scores if self.metric.greater_is_better else -scores
        return self.by_scorer(session, settings, split, answer)

    def _is_answered(self, session: Any, answer: Answer) -> bool:
        """Whether the answer has the predictions needed; False if the scorer can call the model instead."""
        if self.need == Need.LABELS:
            held = answer.labels is not None
        elif self.need == Need.VALUES:
            held = answer.values is not None
        else:
            held = has_probabilities(answer) or (self.need == Need.DECISION and answer.decision is not None)
        if not held and answer.models is None:
            raise lacks(session, self.name, NEEDED[self.need])
        return held

    def losses(self, session: Any, split: Split, answer: Answer) -> Floats:  # (settings, rows)
        """Return the loss of each row; `score_of` turns their mean into the score."""
        assert self.metric.row_scores is not None
        if not self._is_answered(session, answer):
            raise lacks(session, self.name, NEEDED[self.need])
        rows = self.metric.row_scores(WholeTableBatch(session, split, answer))
        return self.lossless - rows if self.metric.greater_is_better else rows

    def score_of(self, mean: Any) -> Any:
        """Return the score of a mean loss: `lossless` minus it, or minus its root."""
        # a difference of sums may be -1e-17
        return -np.sqrt(np.maximum(mean, 0.0)) if self.metric.root else self.lossless - mean

    def slope(self, mean: float) -> float:
        """Return how much the score falls per unit of a mean loss, for errors of small changes."""
        return 0.5 / max(float(np.sqrt(max(mean, 0.0))), SMALLEST) if self.metric.root else 1.0

    def of_rows(self, session: Any, splits: LeaveOneOutSplits, answer: Answer) -> Floats | None:  # (settings, rows)
        """Return the score of every split of leave-one-out; None if scikit-learn's scorer is needed."""
        held = answer.values if self.need == Need.VALUES else answer.labels
        if not self.metric.single_rows or not isinstance(session.target, self.kind) or held is None:
            return None
        batch = SessionBatch(session, Split(splits.rows, splits.rows), answer)
        if batch.weights is not None and not (batch.weights > 0).all():
            return None  # the mean of a row without weight is not defined
        if self.need == Need.VALUES and not self.metric.plain(batch):
            return None
        assert self.metric.row_scores is not None
        scores = self.metric.row_scores(batch)
        return scores if self.metric.greater_is_better else -scores


def same_classes(batch: SessionBatch) -> bool:
    """Whether training and test rows have the same two or more classes; if not, scikit-learn has special rules."""
    return bool((batch.in_train == batch.present_classes()).all() and len(batch.columns) >= 2)


def same_two_classes(batch: SessionBatch) -> bool:
    decision = batch.answer.decision
    return same_classes(batch) and len(batch.columns) == 2 and (decision is None or decision.ndim == 2)


def proper_probabilities(batch: SessionBatch) -> bool:
    return same_classes(batch) and are_probabilities(batch.answer)


def all_classes_weigh(batch: SessionBatch) -> bool:
    """Whether all classes have a positive total weight, and the predictions are probabilities."""
    totals = np.bincount(batch.truth, batch.weights, minlength=batch.n_classes)
    return bool((totals[batch.columns] > 0).all()) and proper_probabilities(batch)


def has_numeric_labels(batch: SessionBatch) -> bool:
    """Whether scikit-learn knows the positive class: for two classes, labels must not be strings."""
    if len(batch.columns) == 2:
        y = batch.session.y
        kind = getattr(getattr(y, "dtype", None), "kind", None)
        if not isinstance(kind, str):
            kind = np.asarray(take_rows(y, batch.split.test)).dtype.kind
        if kind in "OUST" or batch.session.target.classes.dtype.kind in "OUST":
            return False
    return proper_probabilities(batch)


def trained_on_both(batch: SessionBatch) -> bool:
    return batch.n_classes == 2 and bool(batch.in_train.all())


def knows_positive_class(batch: SessionBatch) -> bool:
    return batch.positive is not None and trained_on_both(batch)
