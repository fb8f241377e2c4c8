"""Metrics of probabilities: log loss and Brier score, with scikit-learn's clipping and its view of two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.evaluation.metrics.base import Case, Floats, VectorisedMetric
from foldwise.evaluation.metrics.scorers import Scores, has_probabilities, lacks
from foldwise.folds.protocol import Answer, Need
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split


class OfProbabilities(VectorisedMetric):
    """A metric that needs probabilities."""

    need = Need.PROBA

    def left_to_model(self, answer: Answer) -> bool:
        return answer.models is not None and not has_probabilities(answer)

    def check(self, case: Case, answer: Answer) -> None:
        if not has_probabilities(answer):
            raise lacks(case.session, self.name, "probabilities")


class ProbabilityMetric(OfProbabilities):
    """Minus the mean of a loss of the probabilities."""

    bounds = (-np.inf, 0.0)

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        if not same_classes(case) or not are_probabilities(answer):
            return None
        return -case.average(self.row_losses(case, answer, np.flatnonzero(case.in_train)))

    def losses(self, session: Any, split: Split, answer: Answer) -> Floats:  # (settings, rows)
        """The loss of each row; the score is minus their mean."""
        case = Case(session, split)
        self.check(case, answer)
        return self.row_losses(case, answer, np.arange(case.n_classes))

    def row_losses(self, case: Case, answer: Answer, classes: NDArray[np.intp]) -> Floats:
        """The losses where these classes have columns, and the others none."""
        raise NotImplementedError


class NegLogLoss(ProbabilityMetric):
    """Minus the mean of -log p of the true class, p cut at eps."""

    def row_losses(self, case: Case, answer: Answer, classes: NDArray[np.intp]) -> Floats:
        if len(classes) == 2:  # scikit-learn reads the second column only, and 1 - p for the first
            p = column(answer, int(classes[1]))
            np.subtract(1, p, out=p, where=(case.truth != classes[1])[None])
        else:
            source = answer.log_proba if answer.proba is None else answer.proba
            assert source is not None
            p = np.take_along_axis(source, case.truth[None, :, None], axis=2)[:, :, 0]
            p = np.exp(p) if answer.proba is None else p
        eps = np.finfo(p.dtype).eps
        np.clip(p, eps, 1 - eps, out=p)
        np.log(p, out=p)
        return np.negative(p, out=p)


class NegBrierScore(ProbabilityMetric):
    """Minus the mean of the squared distance between probabilities and truth, halved for two classes."""

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        if case.in_train.sum() == 2 and has_text_labels(case):
            return None  # scikit-learn refuses to guess which label is the positive one
        return super().scores(case, answer)

    def row_losses(self, case: Case, answer: Answer, classes: NDArray[np.intp]) -> Floats:
        if len(classes) == 2:
            p, true = column(answer, int(classes[1])), case.truth == classes[1]
            return np.asarray(((~true - (1 - p)) ** 2 + (true - p) ** 2) * 0.5)
        losses = 0.0
        for place in classes:  # column by column: no copy of the whole answer
            losses = losses + (column(answer, int(place)) - (case.truth == place)) ** 2
        return np.asarray(losses)


def column(answer: Answer, place: int) -> Floats:  # (settings, rows)
    """The probabilities of one class, as an array of their own in the layout of the answer."""
    if answer.proba is not None:
        return answer.proba[:, :, place].copy(order="K")
    assert answer.log_proba is not None
    return np.asarray(np.exp(answer.log_proba[:, :, place]))


def same_classes(case: Case) -> bool:
    """Whether training and test rows hold the same two or more classes; else scikit-learn has its own mind."""
    return bool((case.in_train == case.in_test).all() and case.in_train.sum() >= 2)


def are_probabilities(answer: Answer) -> bool:
    """Whether all are within 0 and 1, and sum to 1 where nobody has normalised them."""
    if answer.proba is None:
        assert answer.log_proba is not None
        return bool(answer.log_proba.max() <= 0)  # False for NaN too
    p = answer.proba
    if not (p.min() >= 0 and p.max() <= 1):
        return False
    return bool(np.allclose(p.sum(axis=2), 1, rtol=np.sqrt(np.finfo(p.dtype).eps), atol=0))


def has_text_labels(case: Case) -> bool:
    """Whether the labels came as text or as objects."""
    kind = getattr(getattr(case.session.y, "dtype", None), "kind", None)
    if not isinstance(kind, str):
        kind = np.asarray(take_rows(case.session.y, case.split.test)).dtype.kind
    return kind in "OUST" or case.session.target.classes.dtype.kind in "OUST"
