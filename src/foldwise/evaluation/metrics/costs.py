"""The cost of decisions as a metric: what the actions of a `CostMatrix` cost on the test rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.evaluation.cost import CostMatrix, check_proba, choose
from foldwise.evaluation.metrics.base import Case, Floats, VectorisedMetric
from foldwise.evaluation.metrics.scorers import ScorerMetric, Scores, has_probabilities, lacks
from foldwise.folds.protocol import Answer, Need
from foldwise.folds.splits import Split


class CostMetric(VectorisedMetric):
    """Minus the mean realised cost: the action is chosen by expected cost, and paid for by the truth.

    The same number as `matrix.scorer()` gives in scikit-learn's searches.
    """

    need = Need.PROBA
    bounds = (-np.inf, np.inf)  # a cost below 0 is a gain

    def __init__(self, matrix: CostMatrix) -> None:
        self.name, self.matrix = "the cost of decisions", matrix
        self.by_scorer = ScorerMetric(matrix.scorer())

    def check(self, case: Case, answer: Answer) -> None:
        if not has_probabilities(answer):
            raise lacks(case.session, self.name, "probabilities")

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        return -case.average(self.row_losses(case, answer))

    def losses(self, session: Any, split: Split, answer: Answer) -> Floats:  # (settings, rows)
        """What each row's action cost; the score is minus their mean."""
        case = Case(session, split)
        self.check(case, answer)
        return self.row_losses(case, answer)

    def row_losses(self, case: Case, answer: Answer) -> Floats:
        proba = answer.probabilities()
        assert proba is not None
        met = np.flatnonzero(case.in_train | case.in_test)  # a class of neither need not have a cost
        costs = self.matrix.costs_of(case.session.target.classes[met])
        proba = np.ascontiguousarray(proba[:, :, met].reshape(-1, len(met)), dtype=np.float64)
        check_proba(proba)
        action = choose(proba, costs)[0].reshape(answer_shape(answer))
        return np.asarray(costs[action, np.searchsorted(met, case.truth)])


def answer_shape(answer: Answer) -> tuple[int, int]:
    """Settings and rows."""
    source = answer.log_proba if answer.proba is None else answer.proba
    assert source is not None
    return source.shape[0], source.shape[1]


def cost_metric(matrix: CostMatrix) -> CostMetric:
    """The metric of a cost matrix."""
    return CostMetric(matrix)
