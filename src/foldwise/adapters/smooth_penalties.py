"""What the smooth losses of penalized models share: reading rows, weights, and the strength of the penalty.

A model has one penalty per column: the strength of the estimator times the factor of the column, which is 1 unless
`foldwise.tuning.PenaltyFactors` comes before the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from foldwise.arrays import Floats
from foldwise.errors import InputError
from foldwise.tuning.smooth_losses import FoldTables


class FactoredLoss(Protocol):
    """A smooth loss whose columns have factors of their penalty."""

    def with_factors(self, values: Mapping[str, float], factors: Floats) -> tuple[float, dict[str, float], Floats]:
        """Compute the loss, its derivatives by log parameters, and those by the logarithms of the factors."""


class PenalizedFold(Protocol):
    """One split of a linear model with an L2 penalty on each column."""

    n_columns: int  # encoders may make other columns in other splits

    def loss_and_gradient(self, penalty: Floats) -> tuple[float, Floats]:
        """Compute the test loss and its derivatives by the logarithms of the penalties (d,)."""


@dataclass(frozen=True)
class LinearLoss:
    """The mean loss over splits of a linear model, as a function of the strength of its penalty."""

    folds: Sequence[PenalizedFold]
    name: str  # of the parameter
    value: float  # if it is not varied
    inverse: bool  # whether a large value means a small penalty

    def loss_and_gradient(self, values: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        loss, slope, _ = self._answer(values, [np.ones(fold.n_columns) for fold in self.folds])
        return loss, {self.name: slope}

    def with_factors(self, values: Mapping[str, float], factors: Floats) -> tuple[float, dict[str, float], Floats]:
        loss, slope, by_factor = self._answer(values, [factors] * len(self.folds))
        return loss, {self.name: slope}, np.mean(by_factor, axis=0)

    def _answer(self, values: Mapping[str, float], factors: Sequence[Floats]) -> tuple[float, float, list[Floats]]:
        value = values.get(self.name, self.value)
        strength = 1 / value if self.inverse else value
        answers = [fold.loss_and_gradient(strength * own) for fold, own in zip(self.folds, factors, strict=True)]
        slope = float(np.mean([gradient.sum() for _, gradient in answers]))
        loss = float(np.mean([loss for loss, _ in answers]))
        return loss, -slope if self.inverse else slope, [gradient for _, gradient in answers]


def dense(X: Any) -> Floats:
    """A table as an array of finite floats."""
    full: Any = X
    cells = np.asarray(full.toarray() if sp.issparse(X) else full, dtype=np.float64)
    if not np.isfinite(cells).all():
        raise InputError(
            "gradient search needs finite numbers, but the table that reaches the model has missing or infinite "
            "values.",
            "put an imputer such as SimpleImputer() before the model, in a Pipeline.",
        )
    return cells


def weights_of(fold: FoldTables, estimator: Any) -> Floats:
    """The weights of the training rows."""
    others = fold.fit_params.keys() - {"sample_weight"}
    if others:
        raise InputError(
            f"gradient search passes only sample_weight to {type(estimator).__name__}, not {min(others)!r}.",
            "leave it out, or use strategy='bayesian' or 'random'.",
        )
    given = fold.fit_params.get("sample_weight")
    n_rows = len(fold.y_train)
    return np.ones(n_rows) if given is None else np.broadcast_to(np.asarray(given, dtype=np.float64), n_rows)
