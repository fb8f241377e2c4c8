"""Dirichlet calibration (Kull et al. 2019): a linear map of log-probabilities, then softmax.

For two classes it is beta calibration. Off-diagonal weights and intercepts are penalized (ODIR). Scores are first
multiplied by the inverse temperature, so that the penalty means the same for overconfident models. The diagonal is
pulled toward 1, because perfectly separated classes would otherwise make it grow without limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldwise.arrays import Floats
from foldwise.decisions.calibration.newton import LocalExpansion, minimize
from foldwise.decisions.calibration.scores import CalibrationData, ClassScores
from foldwise.decisions.calibration.temperature import fit_temperature
from foldwise.decisions.wrapper import log_softmax
from foldwise.errors import InputError

PENALTIES = (1.0, 0.03, 0.001)  # tried in this order
MOST_CLASSES = 40  # the Hessian has K²(K+1)² entries


@dataclass(frozen=True)
class Dirichlet:
    """Softmax of weights times scores plus intercepts."""

    weights: Floats  # (classes, classes)
    intercepts: Floats  # (classes,)
    penalty: float

    def log_proba(self, scores: ClassScores) -> Floats:
        return log_softmax(scores.values @ self.weights.T + self.intercepts)


def fit_dirichlet(data: CalibrationData, penalty: float) -> Dirichlet:
    """Minimize mean log loss + penalty · (mean squares of off-diagonal weights, intercepts, diagonal weights - 1)."""
    k = data.n_classes
    if k > MOST_CLASSES:
        raise InputError(
            f"method='dirichlet' supports at most {MOST_CLASSES} classes, but there are {k}.",
            "use method='temperature'.",
        )
    inverse = fit_temperature(data).inverse
    design = np.column_stack([inverse * data.scores.values, np.ones(len(data.codes))])  # (rows, K + 1)
    share = data.weights / data.weights.sum()
    truth = np.zeros((len(data.codes), k))
    truth[np.arange(len(truth)), data.codes] = 1.0
    held = np.full((k, k + 1), penalty / (k * (k - 1)))
    held[:, k] = penalty / k
    np.fill_diagonal(held, penalty / k)
    ridge, start = held.ravel(), np.eye(k, k + 1).ravel()

    def local(flat: Floats) -> LocalExpansion:
        logs = log_softmax(design @ flat.reshape(k, k + 1).T)
        proba = np.exp(logs)
        loss = -float(share @ (truth * logs).sum(axis=1)) + float(ridge @ (flat - start) ** 2)
        gradient = ((share[:, None] * (proba - truth)).T @ design).ravel() + 2 * ridge * (flat - start)
        hessian = np.empty((k, k + 1, k, k + 1))
        for a in range(k):
            for b in range(a, k):
                curve = share * (proba[:, a] * (float(a == b) - proba[:, b]))
                hessian[a, :, b] = hessian[b, :, a] = (design.T * curve) @ design
        whole = hessian.reshape(k * (k + 1), k * (k + 1))
        whole[np.diag_indices_from(whole)] += 2 * ridge
        return loss, gradient, whole

    found = minimize(local, start).reshape(k, k + 1)
    return Dirichlet(inverse * found[:, :k], found[:, k], penalty)
