"""Platt scaling: a sigmoid of each class's log-odds against the rest, fitted to smoothed targets (Platt 1999)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from foldwise.arrays import Floats
from foldwise.decisions.calibration.newton import LocalExpansion, minimize
from foldwise.decisions.calibration.scores import CalibrationData, ClassScores
from foldwise.decisions.wrapper import log_softmax


@dataclass(frozen=True)
class Sigmoid:
    """Slope and intercept of each class; for two classes, of the second only."""

    slopes: Floats
    intercepts: Floats

    def log_proba(self, scores: ClassScores) -> Floats:
        odds = scores.against_rest
        if odds.shape[1] == 2:
            z = self.slopes[0] * odds[:, 1] + self.intercepts[0]
            return np.column_stack([log_expit(-z), log_expit(z)])
        return log_softmax(np.asarray(log_expit(self.slopes * odds + self.intercepts)))


def fit_sigmoid(data: CalibrationData) -> Sigmoid:
    """Fit one sigmoid per class against the rest."""
    odds = data.scores.against_rest
    found = [
        platt(odds[:, k], data.codes == k, data.weights) for k in ([1] if odds.shape[1] == 2 else range(odds.shape[1]))
    ]
    return Sigmoid(np.array([a for a, _ in found]), np.array([b for _, b in found]))


def platt(x: Floats, is_class: np.ndarray, weights: Floats) -> tuple[float, float]:
    """Find the slope and intercept with the lowest cross-entropy to the smoothed targets."""
    ours, others = float(weights[is_class].sum()), float(weights[~is_class].sum())
    targets = np.where(is_class, (ours + 1) / (ours + 2), 1 / (others + 2))
    total = weights.sum()
    center = float(weights @ x / total)
    spread = float(np.sqrt(weights @ (x - center) ** 2 / total)) or 1.0
    design = np.column_stack([(x - center) / spread, np.ones(len(x))])

    def local(parameters: Floats) -> LocalExpansion:
        z = design @ parameters
        p = expit(z)
        loss = -float(weights @ (targets * log_expit(z) + (1 - targets) * log_expit(-z)))
        return loss, design.T @ (weights * (p - targets)), (design.T * (weights * p * (1 - p))) @ design

    slope, intercept = minimize(local, np.array([0.0, np.log((ours + 1) / (others + 1))])).tolist()
    return slope / spread, intercept - slope * center / spread
