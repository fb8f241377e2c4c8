"""Grading (Seewald & Fürnkranz 2001): for each member a grader learns, from the rows, whether it will be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foldwise.bayes import NaiveBayes
from foldwise.ensembles.combiners.votes import vote_shares
from foldwise.ensembles.members import OnlyClass, with_seeds
from foldwise.ensembles.protocol import Combiner, Floats, Learning, Panel, Rule
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

    def learn(self, learning: Learning) -> Rule:
        grader = NaiveBayes() if self.grader is None else self.grader
        if not hasattr(grader, "predict_proba"):
            raise InputError(f"a grader needs probabilities, but {type(grader).__name__} has none.")
        if learning.task.n_classes == 0:
            raise InputError("grading says whether a class is right, not a number.", "take combiner='weighted'.")
        panel = learning.panels.out_of_fold(self.cv)
        right = panel.as_labels() == learning.task.coded
        graders = []
        for mine in right:
            if mine.all() or not mine.any():
                graders.append(OnlyClass(bool(mine[0])))
            else:
                model = with_seeds(grader, learning.seed)
                weights = weight_params(model, learning.task.weights)
                graders.append(model.fit(learning.task.X, mine.astype(np.int64), **weights))
        return Graded(tuple(graders))


@dataclass(frozen=True)
class Graded:
    """Graders, one a member."""

    graders: tuple[Any, ...]

    def __call__(self, panel: Panel, X: Any) -> Floats:
        labels = panel.as_labels()
        rows = np.arange(labels.shape[1])
        shares = np.zeros((labels.shape[1], panel.n_classes))
        for said, grader, weight in zip(labels, self.graders, panel.weights, strict=True):
            sure = confidence(grader, X)
            shares[rows, said] += np.where(sure > 0.5, weight * sure, 0.0)
        none = shares.sum(axis=1) == 0
        shares[none] = vote_shares(panel)[none]
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def confidence(grader: Any, X: Any) -> Floats:
    """How sure a grader is that its member is right."""
    place = np.flatnonzero(np.asarray(grader.classes_) == 1)
    proba = np.asarray(grader.predict_proba(X), dtype=np.float64)
    return np.asarray(proba[:, place[0]]) if place.size else np.zeros(len(proba))
