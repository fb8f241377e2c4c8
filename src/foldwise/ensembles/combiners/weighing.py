"""Weights learned from how members do on rows they have not seen: all by performance, or the best alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from foldwise.data.arguments import one_of
from foldwise.ensembles.combiners.averages import Mean
from foldwise.ensembles.combiners.votes import Vote
from foldwise.ensembles.judging import judge_of
from foldwise.ensembles.protocol import Combiner, Floats, Learning, Panel, Rule
from foldwise.errors import InputError

LEAST = 1e-12


@dataclass(repr=False, eq=False)
class Weighted(Combiner):
    """A vote (or mean) in which members weigh by their performance, or as given.

    `by` is "accuracy" (the weight is the out-of-fold accuracy), "odds" (log p / (1 - p), never below 0), or one number
    a member. Values of regressors weigh by 1 / mean squared error.
    """

    by: str | Sequence[float] = "accuracy"
    over: str = "vote"
    cv: Any = 5
    learns: ClassVar[bool] = True

    @property
    def needs(self) -> str:  # type: ignore[override]
        return "labels" if self.over == "vote" else "proba"

    def learn(self, learning: Learning) -> Rule:
        one_of("over", self.over, ["vote", "mean"])
        inner: Combiner = Vote() if self.over == "vote" and learning.task.n_classes else Mean()
        return WithWeights(inner, self._weights(learning))

    def _weights(self, learning: Learning) -> Floats:
        if not isinstance(self.by, str):
            return given_weights(self.by, learning)
        one_of("by", self.by, ["accuracy", "odds"])
        panel = learning.panels.out_of_fold(self.cv)
        if panel.values is not None:
            return np.asarray(1.0 / np.maximum(-judge_of("neg_mean_squared_error")(panel, learning.task), LEAST))
        right = judge_of("accuracy")(panel, learning.task)
        if self.by == "odds":
            right = np.maximum(np.log(np.maximum(right, LEAST) / np.maximum(1 - right, LEAST)), 0.0)
        return right if right.sum() > 0 else np.ones(len(right))  # all are wrong everywhere: nobody is better


@dataclass(repr=False, eq=False)
class Best(Combiner):
    """The single member that does best out of fold; of equals the first.

    `metric` is what `judging.judge_of` knows; by default accuracy, of regressors the mean squared error.
    """

    metric: str | Callable[..., float] | None = None
    cv: Any = 5
    needs: ClassVar[str] = "any"
    learns: ClassVar[bool] = True

    def learn(self, learning: Learning) -> Rule:
        panel = learning.panels.out_of_fold(self.cv)
        return Alone(int(np.argmax(judge_of(self.metric, regression=panel.values is not None)(panel, learning.task))))


@dataclass(frozen=True)
class WithWeights:
    """A combination by weights that were learned."""

    inner: Combiner
    weights: Floats

    def __call__(self, panel: Panel, X: Any) -> Floats:
        return self.inner.combine(replace(panel, weights=self.weights))


@dataclass(frozen=True)
class Alone:
    """What one member says."""

    place: int

    def __call__(self, panel: Panel, X: Any) -> Floats:
        one = replace(panel.some([self.place]), weights=np.ones(1))
        return Vote().combine(one) if one.values is None and one.proba is None else Mean().combine(one)


def given_weights(by: Sequence[float], learning: Learning) -> Floats:
    """The user's weights, one a member."""
    weights = np.asarray(by, dtype=np.float64)
    n = None if learning.crew is None else len(learning.crew.members)
    if weights.ndim != 1 or (n is not None and len(weights) != n):
        raise InputError(f"there must be one weight for each of the {n} members, got {len(np.ravel(weights))}.")
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise InputError(f"weights must be finite, at least 0 and not all 0, got {weights.tolist()}.")
    return weights
