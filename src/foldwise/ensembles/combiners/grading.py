"""Grading: for each member, a second classifier predicts whether the member is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foldwise.arrays import Floats
from foldwise.bayes import NaiveBayes
from foldwise.ensembles.blocks import Combiner, CombinerData, CombinerRule
from foldwise.ensembles.combiners.averages import vote_shares
from foldwise.ensembles.members import SingleClassModel, with_seeds
from foldwise.ensembles.protocol import MemberPredictions
from foldwise.errors import InputError
from foldwise.folds.weights import weight_params


@dataclass(repr=False, eq=False)
class Grading(Combiner):
    """Combine the votes of members that are predicted to be right, weighted by the probability that they are.

    For each member, a grader is trained on out-of-fold predictions of the member. If no member is predicted to be
    right, all members vote.

    Parameters
    ----------
    grader : classifier, optional
        A classifier with `predict_proba`; by default `NaiveBayes()`.
    cv : int, splitter or iterable, default=10
        The splits of the out-of-fold predictions.

    References
    ----------
    A. Seewald and J. Fürnkranz (2001). An evaluation of grading classifiers. IDA.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import Ensemble, Grading
    >>> model = Ensemble([GaussianNB(), DecisionTreeClassifier()], combiner=Grading(cv=5))
    """

    grader: Any = None
    cv: Any = 10
    needs: ClassVar[str] = "labels"
    learns: ClassVar[bool] = True
    exact: ClassVar[bool] = False

    def learn(self, info: CombinerData) -> CombinerRule:
        grader = NaiveBayes() if self.grader is None else self.grader
        if not hasattr(grader, "predict_proba"):
            raise InputError(
                f"grader must have predict_proba, but {type(grader).__name__} does not.", "pass grader=NaiveBayes()."
            )
        if info.data.n_classes == 0:
            raise InputError("Grading needs a classification target.", "use combiner='weighted' for regression.")
        predictions = info.out_of_fold(self.cv)
        right = predictions.labels() == info.data.encoded
        graders = []
        for mine in right:
            if mine.all() or not mine.any():
                graders.append(SingleClassModel(bool(mine[0])))
            else:
                model = with_seeds(grader, info.seed)
                weights = weight_params(model, info.data.weights)
                graders.append(model.fit(info.data.X, mine.astype(np.int64), **weights))
        return GradingRule(tuple(graders))


@dataclass(frozen=True)
class GradingRule:
    """One grader per member."""

    graders: tuple[Any, ...]

    def __call__(self, predictions: MemberPredictions, X: Any) -> Floats:
        labels = predictions.labels()
        rows = np.arange(labels.shape[1])
        shares = np.zeros((labels.shape[1], predictions.n_classes))
        for label, grader, weight in zip(labels, self.graders, predictions.weights, strict=True):
            confident = confidence(grader, X)
            shares[rows, label] += np.where(confident > 0.5, weight * confident, 0.0)
        none = shares.sum(axis=1) == 0
        shares[none] = vote_shares(predictions)[none]
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def confidence(grader: Any, X: Any) -> Floats:
    """The probability, according to a grader, that its member is right."""
    column = np.flatnonzero(np.asarray(grader.classes_) == 1)
    proba = np.asarray(grader.predict_proba(X), dtype=np.float64)
    return np.asarray(proba[:, column[0]]) if column.size else np.zeros(len(proba))
