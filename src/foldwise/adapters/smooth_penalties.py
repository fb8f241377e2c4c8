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
from numpy.typing import NDArray

from foldwise.errors import InputError
from foldwise.tuning.smooth_losses import FoldTables

Floats = NDArray[np.float64]


class FactoredLoss(Protocol):
    """A smooth loss whose columns have factors of their penalty."""

    n_columns: int

    def with_factors(self, values: Mapping[str, float], factors: Floats) -> tuple[float, dict[str, float], Floats]:
        """Compute the loss, its derivatives by log parameters, and those by the logarithms of the factors."""


class PenalizedFold(Protocol):
    """One split of a linear model with an L2 penalty on each column."""

    def loss_and_gradient(self, penalty: Floats) -> tuple[float, Floats]:
        """Compute the test loss and its derivatives by the logarithms of the penalties (d,)."""


@dataclass(frozen=True)
class LinearLoss:
    """The mean loss over splits of a linear model, as a function of the strength of its penalty."""

    folds: Sequence[PenalizedFold]
    n_columns: int
    name: str  # of the parameter
    value: float  # if it is not varied
    inverse: bool  # whether a large value means a small penalty

    def loss_and_gradient(self, values: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        loss, gradient, _ = self.with_factors(values, np.ones(self.n_columns))
        return loss, gradient

    def with_factors(self, values: Mapping[str, float], factors: Floats) -> tuple[float, dict[str, float], Floats]:
        value = values.get(self.name, self.value)
        penalty = (1 / value if self.inverse else value) * factors
        answers = [fold.loss_and_gradient(penalty) for fold in self.folds]
        by_factor = np.mean([gradient for _, gradient in answers], axis=0)
        total = float(by_factor.sum())
        loss = float(np.mean([loss for loss, _ in answers]))
        return loss, {self.name: -total if self.inverse else total}, by_factor


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
            f"gradient search passes only sample_weight to {type(estimator).__name__}, got {min(others)!r}, too.",
            "leave it out, or use strategy='bayesian' or 'random'.",
        )
    given = fold.fit_params.get("sample_weight")
    n_rows = len(fold.y_train)
    return np.ones(n_rows) if given is None else np.broadcast_to(np.asarray(given, dtype=np.float64), n_rows)
