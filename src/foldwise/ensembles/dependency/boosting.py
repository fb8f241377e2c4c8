"""Boosting: each member learns from the mistakes of those before it, by weights (AdaBoost) or by residuals.

AdaBoost with two classes: Freund & Schapire 1996. E is the weight of the rows that a member gets wrong,
α = ½ log((1 - E) / E) its vote, and the weights become w·exp(-α y ŷ), normalized. With more classes: SAMME (Zhu et
al. 2009), α = log((1 - E) / E) + log(K - 1), w·exp(α·[wrong]); for two classes the same ensemble with doubled votes.

Residuals: f = 0, r = y; fit a tree to r; f += λ·tree; r -= λ·tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import above_zero, one_of
from foldwise.ensembles.members import Member, fit_member, takes_weights
from foldwise.ensembles.protocol import Dependency, FittedMembers, Floats, MemberSpec, TrainingData
from foldwise.ensembles.training import MemberTrainer
from foldwise.errors import InputError
from foldwise.folds.protocol import TargetValues


@dataclass(repr=False, eq=False)
class AdaBoost(Dependency):
    """Boosting by weights, or by resampling if a member takes none.

    E = 0: the vote would be infinite, so this member decides alone and training stops. E at least that of guessing (½
    of two classes, 1 - 1/K of K): the member is dropped and training stops; if it is the first, it stays, because
    there is no other. Weights given to members sum to the number of rows (or to the weights given to fit), so that
    they are valid as frequencies.
    """

    by: str = "auto"
    learning_rate: float = 1.0
    combiners: ClassVar[tuple[str, ...] | None] = ("Vote", "Mean")

    def train(self, data: TrainingData, specs: Sequence[MemberSpec], trainer: MemberTrainer) -> FittedMembers:
        one_of("by", self.by, ["auto", "weights", "resampling"])
        rate = above_zero("learning_rate", self.learning_rate)
        if data.n_classes == 0:
            raise InputError("AdaBoost learns classes, not numbers.", "for a regression take dependency='residuals'.")
        w = np.ones(data.n_rows) if data.weights is None else data.weights
        mean_weight = float(w.mean())  # as given
        w = w / w.sum()
        members: list[Member] = []
        votes: list[float] = []
        errors: list[float] = []
        for spec in specs:
            member = self._fit(spec, replace(data, weights=None), w, mean_weight)
            wrong = member.predict(data.X, proba=False) != data.encoded
            error = float(w[wrong].sum())
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
            raise InputError(f"all rows of the member {spec.name!r} have lost their weight.", "use larger samples.")
        if by == "weights":
            return fit_member(spec, data, w * (mean_weight * len(rows) / own.sum()))
        drawn = spec.random_state().choice(len(rows), len(rows), p=own / own.sum())
        weights = None if spec.weights is None else spec.weights[drawn]
        return fit_member(spec.drawn(rows=rows[drawn], weights=weights), data)


def vote_of(error: float, n_classes: int) -> float:
    """α, the weight of a member's vote."""
    odds = float(np.log((1 - error) / error))
    return 0.5 * odds if n_classes <= 2 else odds + float(np.log(n_classes - 1))


def reweight(w: Floats, wrong: NDArray[np.bool_], alpha: float, n_classes: int) -> Floats:
    """The weights of the next round: wrong rows gain by exp(α), and with two classes right ones lose by as much."""
    new = w * np.exp(np.where(wrong, alpha, -alpha if n_classes <= 2 else 0.0))
    return np.asarray(new / new.sum())


@dataclass(repr=False, eq=False)
class Residuals(Dependency):
    """Each member learns the residuals of the sum of those before it. `start` is 0 ("zero") or the mean of y."""

    learning_rate: float = 0.1
    start: str = "zero"
    combiners: ClassVar[tuple[str, ...] | None] = ("Sum",)

    def train(self, data: TrainingData, specs: Sequence[MemberSpec], trainer: MemberTrainer) -> FittedMembers:
        rate = above_zero("learning_rate", self.learning_rate)
        one_of("start", self.start, ["zero", "mean"])
        if not isinstance(data.target, TargetValues):
            raise InputError("residuals are those of numbers.", "for classes take dependency='adaboost'.")
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
