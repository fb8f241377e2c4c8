"""The area under the ROC curve: of two classes, and of each class against the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.evaluation.metrics.base import Case, Floats, VectorisedMetric
from foldwise.evaluation.metrics.probabilities import are_probabilities, column, same_classes
from foldwise.evaluation.metrics.scorers import Scores, has_probabilities, lacks
from foldwise.folds.protocol import Answer, Need


class RocAuc(VectorisedMetric):
    """The chance that a row of the second class has a higher decision value, or probability, than one of the first."""

    def __init__(self, name: str = "roc_auc", need: Need = Need.PROBA) -> None:
        super().__init__(name)
        self.need = need

    @classmethod
    def of_estimator(cls, estimator: Any) -> RocAuc:
        """With the need of an estimator: its decision values if it has them, as scikit-learn chooses."""
        need = Need.DECISION if hasattr(estimator, "decision_function") else Need.PROBA
        if any(hasattr(value, "fit") for value in params_of(estimator)):
            need = Need.DECISION | Need.PROBA  # a setting may put another model inside
        return cls("roc_auc", need)

    def check(self, case: Case, answer: Answer) -> None:
        if answer.decision is None and not has_probabilities(answer):
            raise lacks(case.session, self.name, "decision values or probabilities")

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        if not same_classes(case) or case.in_train.sum() != 2:
            return None
        place = int(np.flatnonzero(case.in_train)[1])
        scores = column(answer, place) if answer.decision is None else answer.decision
        return areas(case, scores, place) if scores.ndim == 2 else None


class RocAucOneVsRest(VectorisedMetric):
    """The mean over classes of the area of the class against the rest, plain or by the weight of the classes."""

    need = Need.PROBA

    def check(self, case: Case, answer: Answer) -> None:
        if not has_probabilities(answer):
            raise lacks(case.session, self.name, "probabilities")

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        if not same_classes(case) or not are_probabilities(answer):
            return None
        classes = np.flatnonzero(case.in_train)
        if len(classes) == 2:
            return areas(case, column(answer, int(classes[1])), int(classes[1]))
        found = [areas(case, column(answer, int(place)), int(place)) for place in classes]
        if any(one is None for one in found):
            return None
        totals = np.bincount(case.truth, weights=case.weights, minlength=case.n_classes)[classes]
        by_weight = self.name.endswith("weighted")
        return np.average(np.stack(found, axis=1), axis=1, weights=totals if by_weight else None)  # type: ignore[arg-type]


def params_of(estimator: Any) -> list[Any]:
    """The values of an estimator's parameters, those of its parts included."""
    return list(estimator.get_params(deep=True).values()) if hasattr(estimator, "get_params") else []


def areas(case: Case, scores: Floats, place: int) -> Scores | None:
    """The area of one class against the rest for each setting; None where it is not defined."""
    positive, weights = case.truth == place, case.weights
    if weights is not None:
        kept = weights > 0
        positive, weights, scores = positive[kept], weights[kept], scores[:, kept]
    if positive.all() or not positive.any() or not np.isfinite(scores).all():
        return None
    scores = np.ascontiguousarray(scores)
    order = np.argsort(scores, axis=1)
    weights = np.ones(len(positive)) if weights is None else weights
    return np.asarray(_areas(scores, order, positive, weights))


@njit(nogil=True, cache=True)
def _areas(scores: Floats, order: NDArray[np.intp], positive: NDArray[np.bool_], weights: Floats) -> Floats:
    n_settings, n_rows = scores.shape
    found = np.empty(n_settings)
    for s in range(n_settings):
        below = 0.0  # weight of the rest under the present score
        above = 0.0
        area = 0.0
        i = 0
        while i < n_rows:
            score = scores[s, order[s, i]]
            tied, tied_rest = 0.0, 0.0
            while i < n_rows and scores[s, order[s, i]] == score:
                row = order[s, i]
                if positive[row]:
                    tied += weights[row]
                else:
                    tied_rest += weights[row]
                i += 1
            area += tied * (below + 0.5 * tied_rest)
            below += tied_rest
            above += tied
        found[s] = area / (below * above)
    return found
