"""Metrics of regressions: squared, root squared and absolute error, R²."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.evaluation.metrics.base import Case, Floats, ValueMetric
from foldwise.evaluation.metrics.scorers import Scores
from foldwise.folds.protocol import Answer
from foldwise.folds.splits import Split


class NegMeanError(ValueMetric):
    """Minus the mean of a loss of the residuals."""

    bounds = (-np.inf, 0.0)

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        values = self.values(case, answer)
        return -case.average(self.row_losses(values - case.truth)) if np.isfinite(values).all() else None

    def losses(self, session: Any, split: Split, answer: Answer) -> Floats:  # (settings, rows)
        """The loss of each row; the score is minus their mean."""
        case = Case(session, split)
        return self.row_losses(self.values(case, answer) - case.truth)

    def row_losses(self, residuals: Floats) -> Floats:
        raise NotImplementedError


class NegSquaredError(NegMeanError):
    """Minus the mean squared error."""

    def row_losses(self, residuals: Floats) -> Floats:
        return residuals**2


class NegAbsoluteError(NegMeanError):
    """Minus the mean absolute error."""

    def row_losses(self, residuals: Floats) -> Floats:
        return np.abs(residuals)


class NegRootSquaredError(ValueMetric):
    """Minus the root of the mean squared error."""

    bounds = (-np.inf, 0.0)

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        values = self.values(case, answer)
        return -np.sqrt(case.average((values - case.truth) ** 2)) if np.isfinite(values).all() else None


class R2(ValueMetric):
    """The share of the test rows' variance that is explained; 0 where there is none, 1 where all is met."""

    bounds = (-np.inf, 1.0)

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        values, truth, w = self.values(case, answer), case.truth, case.weights
        if len(truth) < 2 or not np.isfinite(values).all():
            return None
        weights = 1.0 if w is None else w
        left = np.ascontiguousarray(weights * (truth - values) ** 2).sum(axis=1)
        spread = (weights * (truth - np.average(truth, weights=w)) ** 2).sum()
        if spread == 0:
            return np.where(left == 0, 1.0, 0.0)
        return np.where(left == 0, 1.0, 1 - left / spread)
