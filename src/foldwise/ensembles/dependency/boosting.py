"""Boosting: each member corrects the errors of the members before it, by weights (AdaBoost) or by residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.arguments import above_zero, one_of
from foldwise.ensembles.blocks import Dependency
from foldwise.ensembles.members import Member, fit_member, takes_weights
from foldwise.ensembles.protocol import FittedMembers, MemberSpec, TrainingData
from foldwise.ensembles.training import MemberTrainer
from foldwise.errors import InputError
from foldwise.folds.protocol import TargetValues


@dataclass(repr=False, eq=False)
class AdaBoost(Dependency):
    """Boost members by weights: rows that a member predicts badly get a larger weight for the next one.

    Parameters
    ----------
    by : {"auto", "weights", "resampling"}, default="auto"
        Whether members are trained with sample weights or on rows drawn with these probabilities. "auto" resamples if
        the member's `fit` does not accept weights.
    learning_rate : float, default=1.0
        Factor of the votes α.

    Notes
    -----
    E is the weight of the rows that a member predicts wrongly. With two classes, its vote is α = ½ log((1 - E) / E),
    and the weights become w·exp(-α y ŷ), normalized. With K classes (SAMME), α = log((1 - E) / E) + log(K - 1), and
    the weights become w·exp(α·[wrong]), normalized.

    For a quantity (AdaBoost.R2), a row is wrong by its absolute error, divided by the largest one. E is the weighted
    mean of that, α = log((1 - E) / E), and the weights become w·exp(α·error), normalized. Predictions are combined by
    their weighted median.

    If E = 0, this member alone is kept. If E is not better than guessing (1 - 1/K, or ½ for a quantity), the member is
    dropped unless it is the first. Training stops in both cases. The weights passed to members have the same sum as
    those passed to `fit`.

    References
    ----------
    Y. Freund and R. Schapire (1996). Experiments with a new boosting algorithm. ICML.
    J. Zhu, H. Zou, S. Rosset and T. Hastie (2009). Multi-class AdaBoost. Statistics and Its Interface 2.
    H. Drucker (1997). Improving regressors using boosting techniques. ICML.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import AdaBoost, Ensemble
    >>> stump = DecisionTreeClassifier(max_depth=1)
    >>> model = Ensemble(stump, dependency=AdaBoost(learning_rate=0.5), size=50, combiner="vote")
    """

    by: str = "auto"
    learning_rate: float = 1.0
    combiners: ClassVar[tuple[str, ...] | None] = ("Vote", "Mean", "Median")

    def train(self, data: TrainingData, specs: Sequence[MemberSpec], trainer: MemberTrainer) -> FittedMembers:
        one_of("by", self.by, ["auto", "weights", "resampling"])
        rate = above_zero("learning_rate", self.learning_rate)
        w = np.ones(data.n_rows) if data.weights is None else data.weights
        mean_weight = float(w.mean())  # of the weights passed to fit
        w = w / w.sum()
        members: list[Member] = []
        votes: list[float] = []
        errors: list[float] = []
        for spec in specs:
            member = self._fit(spec, replace(data, weights=None), w, mean_weight)
            wrong = wrongness(member.predict(data.X, proba=False), data, w)
            error = float(w @ wrong)
            errors.append(error)
            if error <= 0:
                return FittedMembers((member,), np.ones(1), {"errors": errors, "votes": [*votes, np.inf]})
            if error >= 1 - 1 / max(data.n_classes, 2):
                if not members:
                    members, votes = [member], [1.0]
                break
            alpha = rate * vote_of(error, data.n_classes)
            members.append(member)
            votes.append(alpha)
            w = reweight(w, wrong, alpha, data.n_classes)
            trainer.monitor.add([member], [alpha])
            if trainer.monitor.should_stop:
                break
        n = trainer.monitor.best_size(len(members))
        return FittedMembers(tuple(members[:n]), np.array(votes[:n]), {"errors": errors, "votes": votes[:n]})

    def _fit(self, spec: MemberSpec, data: TrainingData, w: Floats, mean_weight: float) -> Member:
        rows = spec.row_indices(data)
        own = w[rows]
        by = self.by
        if by == "auto":
            by = "weights" if takes_weights(spec.estimator) else "resampling"
        if own.sum() <= 0:
            raise InputError(f"all training rows of the member {spec.name!r} have weight 0.", "use larger samples.")
        if by == "weights":
            return fit_member(spec, data, w * (mean_weight * len(rows) / own.sum()))
        drawn = spec.random_state().choice(len(rows), len(rows), p=own / own.sum())
        weights = None if spec.weights is None else spec.weights[drawn]
        return fit_member(spec.drawn(rows=rows[drawn], weights=weights), data)


def wrongness(predicted: NDArray[Any], data: TrainingData, w: Floats) -> Floats:  # (rows,)
    """1 for a wrong class and 0 for the right one; for a quantity, the error as a share of the largest one."""
    if data.n_classes:
        return np.asarray(predicted != data.encoded, dtype=np.float64)
    errors = np.where(w > 0, np.abs(predicted - data.encoded), 0.0)
    return np.asarray(errors / (errors.max() or 1.0))


def vote_of(error: float, n_classes: int) -> float:
    """α, the weight of a member's vote."""
    odds = float(np.log((1 - error) / error))
    if n_classes == 0:
        return odds
    return 0.5 * odds if n_classes <= 2 else odds + float(np.log(n_classes - 1))


def reweight(w: Floats, wrong: Floats, alpha: float, n_classes: int) -> Floats:
    """The weights of the next round, normalized: times exp(α) for wrong rows, and exp(-α) for others of two classes."""
    new = w * np.exp(alpha * (2 * wrong - 1 if 1 <= n_classes <= 2 else wrong))
    return np.asarray(new / new.sum())


@dataclass(repr=False, eq=False)
class Residuals(Dependency):
    """Boost regressors by residuals: each member is fitted to the residuals of the members before it.

    Parameters
    ----------
    learning_rate : float, default=0.1
        Factor λ of each member's predictions.
    start : {"zero", "mean"}, default="zero"
        Whether the first residuals are y, or y minus its mean.

    Notes
    -----
    The prediction is f = start + λ·Σ members, and each member is fitted to y - f.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from foldwise.ensembles import EnsembleRegressor, Residuals
    >>> tree = DecisionTreeRegressor(max_depth=2)
    >>> model = EnsembleRegressor(tree, dependency=Residuals(start="mean"), size=100, combiner="sum")
    """

    learning_rate: float = 0.1
    start: str = "zero"
    combiners: ClassVar[tuple[str, ...] | None] = ("Sum",)

    def train(self, data: TrainingData, specs: Sequence[MemberSpec], trainer: MemberTrainer) -> FittedMembers:
        rate = above_zero("learning_rate", self.learning_rate)
        one_of("start", self.start, ["zero", "mean"])
        if not isinstance(data.target, TargetValues):
            raise InputError("Residuals needs a numeric target.", "use dependency='adaboost' for classes.")
        residuals = data.target.numbers
        members: list[Member] = []
        weights: list[float] = []
        if self.start == "mean":
            first = ConstantModel(float(np.average(residuals, weights=data.weights)))
            members, weights = [Member(MemberSpec("mean", first), first, None, 0)], [1.0]
            residuals = residuals - first.value
            trainer.monitor.add(members, weights)
        for spec in specs:
            member = fit_member(spec, replace(data, target=TargetValues(residuals)))
            residuals = residuals - rate * member.predict(data.X, proba=False)
            members.append(member)
            weights.append(rate)
            trainer.monitor.add([member], [rate])
            if trainer.monitor.should_stop:
                break
        n = trainer.monitor.best_size(len(members))
        return FittedMembers(tuple(members[:n]), np.array(weights[:n]))


class ConstantModel:
    """A regressor that predicts one number."""

    def __init__(self, value: float) -> None:
        self.value = value

    def predict(self, X: Any) -> NDArray[np.float64]:
        return np.full(X.shape[0], self.value)
