"""Averages of what members say: of distributions over classes, or of values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldwise.data.arguments import above_zero
from foldwise.ensembles.protocol import Combiner, Floats, Panel


@dataclass(repr=False, eq=False)
class Mean(Combiner):
    """The mean of the distributions (or values), by the weights of members: the sum rule."""

    def combine(self, panel: Panel) -> Floats:
        return average(answers_of(panel), panel.weights)


@dataclass(repr=False, eq=False)
class LogMean(Combiner):
    """The mean of log-probabilities, made to sum to 1: the product rule. Nobody can rule a class out beyond `floor`."""

    floor: float = 1e-12

    def combine(self, panel: Panel) -> Floats:
        above_zero("floor", self.floor)
        logs = average(np.log(np.maximum(distributions(panel), self.floor)), panel.weights)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@dataclass(repr=False, eq=False)
class Median(Combiner):
    """The median of what members with a weight say; of distributions class by class, made to sum to 1."""

    def combine(self, panel: Panel) -> Floats:
        middle: Floats = np.median(answers_of(panel)[panel.weights > 0], axis=0)
        if panel.values is not None:
            return middle
        total = middle.sum(axis=1, keepdims=True)
        empty = total[:, 0] <= 0  # each class has 0 from more than half of the members
        if empty.any():
            middle[empty] = average(distributions(panel)[:, empty], panel.weights)
            total = middle.sum(axis=1, keepdims=True)
        return np.asarray(middle / total)


@dataclass(repr=False, eq=False)
class Sum(Combiner):
    """The weighted sum of values: what boosting by residuals adds up."""

    def combine(self, panel: Panel) -> Floats:
        assert panel.values is not None
        return np.asarray(panel.weights @ panel.values)


def average(answers: Floats, weights: Floats) -> Floats:
    """The mean over members; alike weights are not multiplied, so that nothing is rounded."""
    if (weights == weights[0]).all():
        return np.asarray(answers.mean(axis=0))
    return np.asarray(np.tensordot(weights / weights.sum(), answers, axes=1))


def answers_of(panel: Panel) -> Floats:
    return panel.values if panel.values is not None else distributions(panel)


def distributions(panel: Panel) -> Floats:
    assert panel.proba is not None
    return panel.proba
