"""The area under the ROC curve: of two classes, and of each class against the rest."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.evaluation.metrics.base import Case, Floats, VectorisedMetric
from foldwise.evaluation.metrics.probabilities import OfProbabilities, are_probabilities, column, same_classes
from foldwise.evaluation.metrics.scorers import Scores, has_probabilities, lacks
from foldwise.folds.protocol import Answer, Need


class RocAuc(VectorisedMetric):
    """The chance that a row of the second class has a higher decision value, or probability, than one of the first."""

    need = Need.DECISION  # or, from a model that has none, probabilities, as scikit-learn chooses

    def left_to_model(self, answer: Answer) -> bool:
        return answer.models is not None and answer.decision is None and not has_probabilities(answer)

    def check(self, case: Case, answer: Answer) -> None:
        if answer.decision is None and not has_probabilities(answer):
            raise lacks(case.session, self.name, "decision values or probabilities")

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        if not same_classes(case) or case.in_train.sum() != 2:
            return None
        place = int(np.flatnonzero(case.in_train)[1])
        scores = column(answer, place) if answer.decision is None else answer.decision
        return areas(case, scores, place) if scores.ndim == 2 else None


class RocAucOneVsRest(OfProbabilities):
    """The mean over classes of the area of the class against the rest, plain or by the weight of the classes."""

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


def areas(case: Case, scores: Floats, place: int) -> Scores | None:
    """The area of one class against the rest for each setting; None where it is not defined."""
    return against_rest(scores, case.truth == place, case.weights)


def against_rest(scores: Floats, positive: NDArray[np.bool_], weights: Floats | None) -> Floats | None:
    """The areas of rows of scores, one a setting, where some rows are positive; None where it is not defined."""
    if weights is not None:
        kept = weights > 0
        positive, weights, scores = positive[kept], weights[kept], scores[:, kept]
    if positive.all() or not positive.any() or not np.isfinite(scores).all():
        return None
    falling = -np.ascontiguousarray(scores)
    weights = np.ones(len(positive)) if weights is None else weights
    return np.asarray(_trapezoids(falling, np.argsort(falling, axis=1), positive, weights))


@njit(nogil=True, cache=True)
def _trapezoids(falling: Floats, order: NDArray[np.intp], positive: NDArray[np.bool_], weights: Floats) -> Floats:
    """The area under the curve, one trapezoid for each distinct score, of every setting."""
    n_settings, n_rows = falling.shape
    found = np.empty(n_settings)
    for s in range(n_settings):
        hits, misses, area = 0.0, 0.0, 0.0
        last_hits, last_misses = 0.0, 0.0
        for i in range(n_rows):
            row = order[s, i]
            if positive[row]:
                hits += weights[row]
            else:
                misses += weights[row]
            if i + 1 < n_rows and falling[s, order[s, i + 1]] == falling[s, row]:
                continue
            area += (misses - last_misses) * (hits + last_hits) / 2.0
            last_hits, last_misses = hits, misses
        found[s] = area / (hits * misses)
    return found
