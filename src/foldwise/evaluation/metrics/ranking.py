"""The area under the ROC curve: of two classes, and of each class against the rest."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.evaluation.metrics.base import Case, Floats, VectorisedMetric
from foldwise.evaluation.metrics.probabilities import OfProbabilities, are_probabilities, column, same_classes
from foldwise.evaluation.metrics.scorers import Scores, has_probabilities, lacks
from foldwise.folds.protocol import Answer, Need
from foldwise.folds.sums.summation import sum_rows


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
    if weights is None:
        return np.asarray(_trapezoids(falling, np.argsort(falling, axis=1), positive, np.ones(len(positive))))
    order = np.argsort(falling, axis=1, kind="stable")  # weights of tied rows are added in their order
    return np.asarray(_trapezoids(falling, order, positive, weights))


@njit(nogil=True, cache=True)
def _trapezoids(falling: Floats, order: NDArray[np.intp], positive: NDArray[np.bool_], weights: Floats) -> Floats:
    """The area as scikit-learn sums it, from corner to corner of the curve: equal areas must tie in its last bit."""
    n_settings, n_rows = falling.shape
    found = np.empty(n_settings)
    wrong, right = np.empty(n_rows + 1), np.empty(n_rows + 1)  # weight of the rest, and of the class, above a threshold
    parts, strands, total = np.empty((n_rows + 1, 1)), np.empty((8, 1)), np.empty(1)
    for s in range(n_settings):
        wrong[0], right[0] = 0.0, 0.0
        n_points = 1
        hits, misses = 0.0, 0.0
        for i in range(n_rows):
            row = order[s, i]
            if positive[row]:
                hits += weights[row]
            else:
                misses += weights[row]
            if i + 1 < n_rows and falling[s, order[s, i + 1]] == falling[s, row]:
                continue
            wrong[n_points], right[n_points] = misses, hits
            n_points += 1
        # a point in line with its neighbours is no corner; the origin, the first threshold and the last stay
        corner = 1
        before_wrong, before_right = wrong[1], right[1]
        for i in range(2, n_points):
            bent = i == n_points - 1
            if not bent:
                bent = wrong[i + 1] - wrong[i] != wrong[i] - before_wrong
                bent = bent or right[i + 1] - right[i] != right[i] - before_right
            before_wrong, before_right = wrong[i], right[i]
            if bent:
                corner += 1
                wrong[corner], right[corner] = wrong[i], right[i]
        for i in range(corner):
            width = wrong[i + 1] / misses - wrong[i] / misses
            parts[i, 0] = width * (right[i + 1] / hits + right[i] / hits) / 2.0
        sum_rows(parts, 0, corner, strands, total)
        found[s] = total[0]
    return found
