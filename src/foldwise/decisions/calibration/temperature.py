"""Temperature scaling: all scores are multiplied by one number (Guo et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from foldwise.arrays import Floats
from foldwise.decisions.calibration.scores import CalibrationData, ClassScores
from foldwise.decisions.wrapper import log_softmax

BOUND = 10.0  # limit of the logarithm of the inverse temperature, as in scikit-learn


@dataclass(frozen=True)
class Temperature:
    """Softmax of the scores times the inverse temperature."""

    inverse: float

    def log_proba(self, scores: ClassScores) -> Floats:
        return log_softmax(self.inverse * scores.values)


def fit_temperature(data: CalibrationData) -> Temperature:
    """Find the temperature with the lowest log loss, which is convex: where its derivative is 0.

    If the true class has the highest score in every row, the log loss has no minimum, and probabilities would become 0
    or 1. The targets are then smoothed as in Platt's method.
    """
    truth = np.zeros(data.scores.values.shape)
    truth[np.arange(len(truth)), data.codes] = 1.0
    if slope_at(BOUND, data, truth) <= 0:
        counts = np.bincount(data.codes, data.weights, minlength=data.n_classes)[data.codes, None]
        truth = (counts * truth + 1) / (counts + data.n_classes)
    if slope_at(BOUND, data, truth) <= 0:
        return Temperature(float(np.exp(BOUND)))
    if slope_at(-BOUND, data, truth) >= 0:
        return Temperature(float(np.exp(-BOUND)))
    tight = 4 * np.finfo(np.float64).eps
    root = brentq(slope_at, -BOUND, BOUND, args=(data, truth), xtol=1e-15, rtol=tight, maxiter=500)
    return Temperature(float(np.exp(root)))


def slope_at(log_inverse: float, data: CalibrationData, truth: Floats) -> float:
    """Compute the derivative of the log loss with respect to the inverse temperature."""
    values = data.scores.values
    values = values - values[np.arange(len(values)), data.codes][:, None]  # avoids cancellation
    proba = np.exp(log_softmax(np.exp(log_inverse) * values))
    return float(np.vdot(data.weights[:, None] * (proba - truth), values))
