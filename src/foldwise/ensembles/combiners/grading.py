"""Grading (Seewald & Fürnkranz 2001): for each member a grader learns, from the rows, whether it will be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foldwise.bayes import NaiveBayes
from foldwise.ensembles.combiners.averages import vote_shares
from foldwise.ensembles.members import SingleClassModel, with_seeds
from foldwise.ensembles.protocol import Combiner, CombinerData, CombinerRule, Floats, MemberPredictions
from foldwise.errors import InputError
from foldwise.folds.weights import weight_params


@dataclass(repr=False, eq=False)
class Grading(Combiner):
    """Members that are graded "right" vote with the grade's confidence; where none is, all vote alike.

    `grader` is a classifier with probabilities, by default `NaiveBayes`; grades are learned from out-of-fold answers.
    """

    grader: Any = None
    cv: Any = 10
    needs: ClassVar[str] = "labels"
    learns: ClassVar[bool] = True
    exact: ClassVar[bool] = False

    def learn(self, info: CombinerData) -> CombinerRule:
        grader = NaiveBayes() if self.grader is None else self.grader
        if not hasattr(grader, "predict_proba"):
            raise InputError(f"a grader needs probabilities, but {type(grader).__name__} has none.")
        if info.data.n_classes == 0:
            raise InputError("grading says whether a class is right, not a number.", "take combiner='weighted'.")
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
    """How confident a grader is that its member is right."""
    column = np.flatnonzero(np.asarray(grader.classes_) == 1)
    proba = np.asarray(grader.predict_proba(X), dtype=np.float64)
    return np.asarray(proba[:, column[0]]) if column.size else np.zeros(len(proba))
