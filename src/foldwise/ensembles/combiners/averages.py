"""Averages of members' predictions (probabilities or values), and votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldwise.arrays import Floats
from foldwise.data.arguments import above_zero
from foldwise.ensembles.blocks import Combiner
from foldwise.ensembles.protocol import MemberPredictions


@dataclass(repr=False, eq=False)
class Mean(Combiner):
    """Average probabilities or values, weighted by the weights of members (the sum rule).

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.ensembles import Mean, MemberPredictions
    >>> Mean().combine(MemberPredictions(np.array([[[0.2, 0.8]], [[0.6, 0.4]]]), np.ones(2), 2))
    array([[0.4, 0.6]])
    """

    def combine(self, predictions: MemberPredictions) -> Floats:
        return average(predictions.answers, predictions.weights)


@dataclass(repr=False, eq=False)
class LogMean(Combiner):
    """Average log-probabilities and normalize (the product rule).

    Parameters
    ----------
    floor : float, default=1e-12
        Lower bound of the members' probabilities, so that a single member cannot exclude a class.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.ensembles import LogMean, MemberPredictions
    >>> LogMean().combine(MemberPredictions(np.array([[[0.2, 0.8]], [[0.5, 0.5]]]), np.ones(2), 2)).round(3)
    array([[0.333, 0.667]])
    """

    floor: float = 1e-12

    def combine(self, predictions: MemberPredictions) -> Floats:
        above_zero("floor", self.floor)
        return softmax(average(np.log(np.maximum(predictions.answers, self.floor)), predictions.weights))


@dataclass(repr=False, eq=False)
class Median(Combiner):
    """Take the weighted median of values, or the median of the probabilities of each class.

    Among probabilities, weights are ignored, except 0.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.ensembles import Median, MemberPredictions
    >>> Median().combine(MemberPredictions(np.array([[1.0], [2.0], [9.0]]), np.ones(3)))
    array([2.])
    """

    def combine(self, predictions: MemberPredictions) -> Floats:
        answers, weights = predictions.answers, predictions.weights
        if predictions.values is not None:
            return weighted_median(answers[weights > 0], weights[weights > 0])
        middle: Floats = np.median(answers[weights > 0], axis=0)
        empty = middle.sum(axis=1) <= 0  # each class has probability 0 in more than half of the members
        middle[empty] = average(answers[:, empty], weights)
        return np.asarray(middle / middle.sum(axis=1, keepdims=True))


@dataclass(repr=False, eq=False)
class Sum(Combiner):
    """Add values, multiplied by the weights of members, as in boosting by residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.ensembles import MemberPredictions, Sum
    >>> Sum().combine(MemberPredictions(np.array([[1.0], [2.0]]), np.array([1.0, 0.1])))
    array([1.2])
    """

    def combine(self, predictions: MemberPredictions) -> Floats:
        return np.asarray(predictions.weights @ predictions.answers)


@dataclass(repr=False, eq=False)
class Vote(Combiner):
    """Let members vote; probabilities are shares of the votes, and a tie goes to the first class.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.ensembles import MemberPredictions, Vote
    >>> Vote().combine(MemberPredictions(np.array([[0], [1], [1], [1]]), np.ones(4), 2))
    array([[0.25, 0.75]])
    """

    needs: ClassVar[str] = "labels"

    def combine(self, predictions: MemberPredictions) -> Floats:
        return vote_shares(predictions)


def weighted_median(answers: Floats, weights: Floats) -> Floats:  # (rows,)
    """The smallest value with at least half of the weight at or below it; the usual median if weights are equal."""
    if (weights == weights[0]).all():
        return np.asarray(np.median(answers, axis=0))
    order = np.argsort(answers, axis=0, kind="stable")
    below = np.cumsum(weights[order], axis=0)
    middle = (below >= 0.5 * below[-1]).argmax(axis=0)
    rows = np.arange(answers.shape[1])
    return np.asarray(answers[order[middle, rows], rows])


def vote_shares(predictions: MemberPredictions) -> Floats:  # (rows, classes)
    """The share of the votes for each class, weighted by the weights of members."""
    labels = predictions.labels()
    rows = np.arange(labels.shape[1])
    shares = np.zeros((labels.shape[1], predictions.n_classes))
    for weight, label in zip(predictions.weights, labels, strict=True):
        shares[rows, label] += weight
    return np.asarray(shares / predictions.weights.sum())


def average(answers: Floats, weights: Floats) -> Floats:
    """The mean over members; equal weights are not multiplied, which avoids rounding."""
    if (weights == weights[0]).all():
        return np.asarray(answers.mean(axis=0))
    return np.asarray(np.tensordot(weights / weights.sum(), answers, axes=1))


def softmax(scores: Floats) -> Floats:  # (rows, classes)
    """Probabilities in proportion to exp(score)."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
