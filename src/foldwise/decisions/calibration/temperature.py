"""Temperature scaling: one number by which all scores are multiplied (Guo and others, 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from foldwise.decisions.calibration.scores import CalibrationData, ClassScores, Floats
from foldwise.decisions.wrapper import log_softmax

BOUND = 10.0  # of the logarithm of the inverse temperature, as in scikit-learn


@dataclass(frozen=True)
class Temperature:
    """Softmax of scores times the inverse temperature."""

    inverse: float

    def log_proba(self, scores: ClassScores) -> Floats:
        return log_softmax(self.inverse * scores.values)


def fit_temperature(data: CalibrationData) -> Temperature:
    """The temperature of least log loss: where its slope, which never falls, is 0.

    Where the true class is ahead in every row there is no least loss, and a model without doubt would come out; there
    the targets are smoothed as Platt smooths them, so that n rows without a mistake are no more than that.
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
    """How fast the log loss rises with the inverse temperature."""
    values = data.scores.values
    values = values - values[np.arange(len(values)), data.codes][:, None]  # so that nothing cancels
    proba = np.exp(log_softmax(np.exp(log_inverse) * values))
    return float(np.vdot(data.weights[:, None] * (proba - truth), values))
