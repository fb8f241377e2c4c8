"""Isotonic regression of each class's log-odds against the rest (Zadrozny and Elkan 2002), using scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.isotonic import IsotonicRegression

from foldwise.arrays import Floats
from foldwise.decisions.calibration.scores import CalibrationData, ClassScores

STEPS = 2.0**-30  # relative to the largest score: scores that differ only by rounding must share a step


@dataclass(frozen=True)
class Isotonic:
    """One step function per class; for two classes, of the second only. Probabilities may be 0."""

    steps: tuple[Any, ...]
    grid: float

    def log_proba(self, scores: ClassScores) -> Floats:
        odds = on_grid(scores.against_rest, self.grid)
        if odds.shape[1] == 2:
            second = np.clip(self.steps[0].predict(odds[:, 1]), 0.0, 1.0)
            proba = np.column_stack([1 - second, second])
        else:
            proba = np.column_stack([step.predict(x) for step, x in zip(self.steps, odds.T, strict=True)])
            sums = proba.sum(axis=1, keepdims=True)
            uniform = np.full_like(proba, 1 / proba.shape[1])
            proba = np.divide(proba, sums, out=uniform, where=sums > 0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(proba))


def fit_isotonic(data: CalibrationData) -> Isotonic:
    """Fit one step function per class against the rest."""
    odds = data.scores.against_rest
    greatest = float(np.abs(odds).max(initial=0.0))
    grid = STEPS * 2.0 ** np.floor(np.log2(greatest)) if greatest > 0 else STEPS
    steps = tuple(
        IsotonicRegression(out_of_bounds="clip").fit(on_grid(odds[:, k], grid), data.codes == k, data.weights)
        for k in ([1] if odds.shape[1] == 2 else range(odds.shape[1]))
    )
    return Isotonic(steps, grid)


def on_grid(values: Floats, grid: float) -> Floats:
    return np.asarray(np.round(values / grid) * grid)
