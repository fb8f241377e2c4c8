"""Averages of members' predictions (distributions over classes, or values), and votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldwise.data.arguments import above_zero
from foldwise.ensembles.protocol import Combiner, Floats, MemberPredictions


@dataclass(repr=False, eq=False)
class Mean(Combiner):
    """The mean of the distributions (or values), by the weights of members: the sum rule."""

    def combine(self, predictions: MemberPredictions) -> Floats:
        return average(predictions.answers, predictions.weights)


@dataclass(repr=False, eq=False)
class LogMean(Combiner):
    """The mean of log-probabilities, normalized: the product rule. No member can rule a class out beyond `floor`."""

    floor: float = 1e-12

    def combine(self, predictions: MemberPredictions) -> Floats:
        above_zero("floor", self.floor)
        return softmax(average(np.log(np.maximum(predictions.answers, self.floor)), predictions.weights))


@dataclass(repr=False, eq=False)
class Median(Combiner):
    """The median over the members with a weight; of distributions class by class, normalized."""

    def combine(self, predictions: MemberPredictions) -> Floats:
        answers, weights = predictions.answers, predictions.weights
        middle: Floats = np.median(answers[weights > 0], axis=0)
        if predictions.values is not None:
            return middle
        empty = middle.sum(axis=1) <= 0  # each class has 0 from more than half of the members
        middle[empty] = average(answers[:, empty], weights)
        return np.asarray(middle / middle.sum(axis=1, keepdims=True))


@dataclass(repr=False, eq=False)
class Sum(Combiner):
    """The weighted sum of values, for boosting by residuals."""

    def combine(self, predictions: MemberPredictions) -> Floats:
        return np.asarray(predictions.weights @ predictions.answers)


@dataclass(repr=False, eq=False)
class Vote(Combiner):
    """The majority of labels; probabilities are shares of the votes. A tie goes to the first class."""

    needs: ClassVar[str] = "labels"

    def combine(self, predictions: MemberPredictions) -> Floats:
        return vote_shares(predictions)


def vote_shares(predictions: MemberPredictions) -> Floats:  # (rows, classes)
    """The share of the members' weight that is for each class."""
    labels = predictions.labels()
    rows = np.arange(labels.shape[1])
    shares = np.zeros((labels.shape[1], predictions.n_classes))
    for weight, label in zip(predictions.weights, labels, strict=True):
        shares[rows, label] += weight
    return np.asarray(shares / predictions.weights.sum())


def average(answers: Floats, weights: Floats) -> Floats:
    """The mean over members; equal weights are not multiplied, so that nothing is rounded."""
    if (weights == weights[0]).all():
        return np.asarray(answers.mean(axis=0))
    return np.asarray(np.tensordot(weights / weights.sum(), answers, axes=1))


def softmax(scores: Floats) -> Floats:  # (rows, classes)
    """Probabilities in proportion to exp(score)."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
