"""Combiners that use the out-of-fold scores of members: as weights, or to select the best one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foldwise.arrays import Floats
from foldwise.data.arguments import one_of
from foldwise.ensembles.blocks import Combiner, CombinerData, CombinerRule
from foldwise.ensembles.combiners.averages import Mean, Vote
from foldwise.ensembles.protocol import MemberPredictions, TrainingData
from foldwise.errors import InputError
from foldwise.evaluation.metrics import class_metric, find_metric
from foldwise.evaluation.metrics.metric import StoredBatch
from foldwise.folds.protocol import Answer, Labels, Need
from foldwise.folds.tolerance import first_best, tie_unit

LEAST = 1e-12


@dataclass(repr=False, eq=False)
class Weighted(Combiner):
    """Weight the votes, or the mean, of members by their out-of-fold accuracy or by given weights.

    Parameters
    ----------
    by : {"accuracy", "odds"} or sequence of float, default="accuracy"
        The weight is the out-of-fold accuracy p, or log(p / (1 - p)) but at least 0, or one given number per member.
        Regressors are weighted by 1 / mean squared error.
    over : {"vote", "mean"}, default="vote"
        Whether labels or probabilities of classifiers are combined.
    cv : int, splitter or iterable, default=5
        The splits of the out-of-fold predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from foldwise.ensembles import Ensemble, Weighted
    >>> X, y = load_iris(return_X_y=True)
    >>> Ensemble([GaussianNB(), KNeighborsClassifier()], combiner=Weighted([1, 2])).fit(X, y).predict(X[:2])
    array([0, 0])
    """

    by: str | Sequence[float] = "accuracy"
    over: str = "vote"
    cv: Any = 5
    learns: ClassVar[bool] = True

    @property
    def needs(self) -> str:  # type: ignore[override]
        return "labels" if self.over == "vote" else "proba"

    def learn(self, info: CombinerData) -> CombinerRule:
        one_of("over", self.over, ["vote", "mean"])
        inner: Combiner = Vote() if self.over == "vote" and info.data.n_classes else Mean()
        return WeightedRule(inner, self._weights(info))

    def _weights(self, info: CombinerData) -> Floats:
        if not isinstance(self.by, str):
            return given_weights(self.by, info)
        one_of("by", self.by, ["accuracy", "odds"])
        predictions = info.out_of_fold(self.cv)
        if predictions.values is not None:
            return np.asarray(1.0 / np.maximum(-score_members("mean_squared_error", predictions, info.data), LEAST))
        accuracy = score_members("accuracy", predictions, info.data)
        if self.by == "odds":
            accuracy = np.maximum(np.log(np.maximum(accuracy, LEAST) / np.maximum(1 - accuracy, LEAST)), 0.0)
        return accuracy if accuracy.sum() > 0 else np.ones(len(accuracy))  # all members are always wrong


@dataclass(repr=False, eq=False)
class Best(Combiner):
    """Use only the member with the best out-of-fold score; a tie goes to the first one.

    Parameters
    ----------
    metric : str or callable, optional
        The name of a metric, such as "log_loss", or a function of the target and the predictions (labels,
        probabilities or values), greater is better. By default accuracy, or mean squared error for regression.
    cv : int, splitter or iterable, default=5
        The splits of the out-of-fold predictions.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from foldwise.ensembles import Best, Ensemble
    >>> model = Ensemble([GaussianNB(), KNeighborsClassifier()], combiner=Best("log_loss"))
    """

    metric: str | Callable[..., float] | None = None
    cv: Any = 5
    needs: ClassVar[str] = "any"
    learns: ClassVar[bool] = True

    def learn(self, info: CombinerData) -> CombinerRule:
        scores = score_members(self.metric, info.out_of_fold(self.cv), info.data)
        return SingleMemberRule(int(first_best(scores, tie_unit(info.data.target))))


def score_members(
    metric: str | Callable[..., float] | None, predictions: MemberPredictions, data: TrainingData
) -> Floats:  # (members,)
    """The score of each member, with sample weights; higher is better."""
    if metric is None:
        metric = "accuracy" if data.n_classes else "mean_squared_error"
    if callable(metric):
        return np.array([float(metric(data.y, one)) for one in predictions.answers])
    if isinstance(data.target, Labels):
        chosen = class_metric(metric, data.target.classes)
        if chosen.need != Need.LABELS and predictions.proba is None:
            raise InputError(f"metric={metric!r} needs members with predict_proba.", "use metric='accuracy'.")
        answer = Answer(labels=predictions.labels(), proba=predictions.proba)
    else:
        chosen, answer = find_metric(metric), Answer(values=predictions.values)
        if chosen.need != Need.VALUES:
            raise InputError(f"metric={metric!r} needs classes, but y is numeric.", "use metric='mean_squared_error'.")
    scores = chosen.of_batch(StoredBatch(data.encoded, answer, data.n_classes, data.weights))
    return scores if chosen.greater_is_better else -scores


@dataclass(frozen=True)
class WeightedRule:
    """A vote or mean with learned weights."""

    inner: Combiner
    weights: Floats

    def __call__(self, predictions: MemberPredictions, X: Any) -> Floats:
        return self.inner.combine(predictions.take(slice(None), self.weights))


@dataclass(frozen=True)
class SingleMemberRule:
    """The predictions of one member."""

    member: int

    def __call__(self, predictions: MemberPredictions, X: Any) -> Floats:
        one = predictions.take([self.member], np.ones(1))
        return Mean().combine(one) if one.values is not None or one.proba is not None else Vote().combine(one)


def given_weights(by: Sequence[float], info: CombinerData) -> Floats:
    """The weights passed as `by`, checked."""
    weights = np.asarray(by, dtype=np.float64)
    n = None if info.fitted is None else len(info.fitted.members)
    if weights.ndim != 1 or (n is not None and len(weights) != n):
        raise InputError(f"there must be one weight for each of the {n} members, got {len(np.ravel(weights))}.")
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise InputError(f"weights must be finite, at least 0 and not all 0, got {weights.tolist()}.")
    return weights
