"""`Blend`: the final model of a run. A weighted mean of fitted pipelines, through a temperature, with some doubt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from foldwise.decisions.calibration.scores import Calibrator, ClassScores, IdentityCalibrator, model_scores

Floats = NDArray[np.float64]


class Blend(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Members that are fitted already, each with a weight; those of decision values with a map to probabilities.

    Members know classes as codes 0, 1, …; `classes_` are their names. `doubt` is how much of the shares of classes is
    mixed into each member's probabilities.
    """

    def __init__(
        self,
        members: Sequence[Any] = (),
        weights: Sequence[float] = (),
        maps: Sequence[Calibrator | None] = (),
        temper: Calibrator | None = None,
        prior: Sequence[float] = (),
        doubt: float = 0.0,
        labels: Sequence[Any] = (),
    ) -> None:
        self.members = members
        self.weights = weights
        self.maps = maps
        self.temper = temper
        self.prior = prior
        self.doubt = doubt
        self.labels = labels

    @property
    def classes_(self) -> NDArray[Any]:
        return np.asarray(self.labels)

    def __sklearn_is_fitted__(self) -> bool:
        return bool(len(self.members))

    def fit(self, X: Any, y: Any) -> Any:
        """Nothing: a blend is made of members that are fitted."""
        return self

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities, in the order of `classes_`."""
        total = np.zeros(1)
        for model, weight, to in zip(self.members, self.weights, self.maps, strict=True):
            proba = member_proba(model, to, X, len(self.labels))
            total = total + weight * with_doubt(proba, np.asarray(self.prior), self.doubt)
        temper = IdentityCalibrator() if self.temper is None else self.temper
        return np.asarray(np.exp(temper.log_proba(ClassScores(np.log(total), True))))

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def with_doubt(proba: NDArray[Any], prior: Floats, doubt: float) -> Floats:
    """Probabilities mixed with a little of the shares of classes; where a model gives none, these alone."""
    wide = proba.astype(np.float64)
    total = wide.sum(axis=-1, keepdims=True)
    wide = np.divide(wide, total, out=np.broadcast_to(prior, wide.shape).copy(), where=total > 0)
    return np.asarray((1 - doubt) * wide + doubt * prior)


def member_proba(model: Any, to: Calibrator | None, X: Any, n_classes: int) -> Floats:
    """What a member says, one column for each class of the run."""
    if to is not None:
        return np.asarray(np.exp(to.log_proba(model_scores(model, X))))
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    wide = np.zeros((len(found), n_classes))
    wide[:, np.asarray(model.classes_, dtype=np.intp)] = found
    return wide
