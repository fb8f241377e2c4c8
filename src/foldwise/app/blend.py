"""The final model of a run, a weighted mean of fitted pipelines: `Blend` for classes, `ValueBlend` for a quantity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from foldwise.arrays import Floats
from foldwise.decisions.calibration.scores import (
    Calibrator,
    ClassScores,
    IdentityCalibrator,
    class_columns,
    finite_scores,
    model_scores,
)
from foldwise.models.linear_sums import LinearSums
from foldwise.models.wide_tables import used_columns


class Blend(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A weighted mean of the probabilities of fitted members.

    Parameters
    ----------
    members : sequence of estimators
        Fitted pipelines, whose classes are the codes 0, 1, ….
    weights : sequence of float
        One weight per member.
    maps : sequence of Calibrator or None
        For members that give decision values: the map to probabilities.
    temper : Calibrator, default=None
        The calibration of the mean.
    prior : sequence of float
        The class frequencies.
    doubt : float, default=0.0
        The share of the class frequencies in each member's probabilities.
    labels : sequence
        The names of the classes, in the order of their codes.
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
        """Do nothing, because the members are fitted already."""
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class, in the order of `classes_`."""
        total = np.zeros(1)
        for model, weight, to in zip(self.members, self.weights, self.maps, strict=True):
            proba = member_proba(model, to, X, len(self.labels))
            total = total + weight * with_doubt(proba, np.asarray(self.prior), self.doubt)
        temper = IdentityCalibrator() if self.temper is None else self.temper
        return np.asarray(np.exp(temper.log_proba(ClassScores(np.log(total), True))))

    def used_columns(self, names: Sequence[str]) -> list[str]:
        """Return the columns of a table that some member looks at."""
        return columns_of_members(self.members, names)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class ValueBlend(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A weighted mean of the values that fitted members predict.

    Parameters
    ----------
    members : sequence of estimators
        Fitted pipelines.
    weights : sequence of float
        One weight per member.
    sums : LinearSums, default=None
        Sums over the training rows, with which linear members learn from further rows.
    """

    sums: LinearSums | None = None  # also of models that were stored without them

    def __init__(
        self, members: Sequence[Any] = (), weights: Sequence[float] = (), sums: LinearSums | None = None
    ) -> None:
        self.members = members
        self.weights = weights
        self.sums = sums

    def __sklearn_is_fitted__(self) -> bool:
        return bool(len(self.members))

    def fit(self, X: Any, y: Any) -> Any:
        """Do nothing, because the members are fitted already."""
        return self

    def predict(self, X: Any) -> Floats:
        """Predict the value of each row."""
        predicted = [np.asarray(model.predict(X), dtype=np.float64) for model in self.members]
        return np.asarray(np.tensordot(np.asarray(self.weights), np.stack(predicted), axes=1))

    def used_columns(self, names: Sequence[str]) -> list[str]:
        """Return the columns of a table that some member looks at."""
        return columns_of_members(self.members, names)


def columns_of_members(members: Sequence[Any], names: Sequence[str]) -> list[str]:
    """The columns of a table that some member looks at."""
    used = {name for member in members for name in used_columns(member, names)}
    return [name for name in names if name in used]


def with_doubt(proba: NDArray[Any], prior: Floats, doubt: float) -> Floats:
    """Mix probabilities with a little of the class frequencies. A row without probabilities gets the frequencies."""
    wide = proba.astype(np.float64)
    total = wide.sum(axis=-1, keepdims=True)
    wide = np.divide(wide, total, out=np.broadcast_to(prior, wide.shape).copy(), where=total > 0)
    return np.asarray((1 - doubt) * wide + doubt * prior)


def member_proba(model: Any, to: Calibrator | None, X: Any, n_classes: int) -> Floats:
    """Predict with one member, one column per class of the run."""
    if to is not None:
        scores = model_scores(model, X)
        if len(model.classes_) < n_classes:  # the model of a fold, whose training rows lack a class
            values = class_columns(scores.values, np.asarray(model.classes_, dtype=np.intp), n_classes)
            scores = finite_scores(values, scores.normalized)
        return np.asarray(np.exp(to.log_proba(scores)))
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    wide = np.zeros((len(found), n_classes))
    wide[:, np.asarray(model.classes_, dtype=np.intp)] = found
    return wide
