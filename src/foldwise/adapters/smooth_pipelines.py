"""The smooth loss of a scikit-learn `Pipeline`: earlier steps are fitted in each split, the last one is differentiated.

If `PenaltyFactors` comes right before a penalized model, the loss is smooth in the factors, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from foldwise.adapters.smooth_penalties import FactoredLoss
from foldwise.errors import InputError
from foldwise.tuning.penalty_factors import PREFIX, PenaltyFactors
from foldwise.tuning.smooth_losses import FoldTables, PrefixedLoss, SmoothLoss, smooth_estimator_of
from foldwise.tuning.smooth_losses import smooth_names as names_of


def smooth_names(estimator: Any) -> frozenset[str]:
    """The smooth parameters of the last step, and the penalty factors before it, with the names of the steps."""
    name, last = estimator.steps[-1]
    found = {f"{name}__{one}" for one in names_of(last)}
    return frozenset(found | {f"{prefix}{group}" for prefix, group in factor_names(estimator)})


def factor_names(estimator: Any) -> list[tuple[str, str]]:
    """The prefix and the group of each penalty factor that the loss is smooth in."""
    if len(estimator.steps) < 2:
        return []
    (name, before), (_, last) = estimator.steps[-2:]
    is_penalized = bool(names_of(last)) and type(last).__module__.startswith("sklearn.")
    if type(before) is not PenaltyFactors or not is_penalized or getattr(last, "kernel", "rbf") != "rbf":
        return []
    return [(f"{name}__{PREFIX}", group) for group in before.groups or {}]


def open_smooth_loss(estimator: Any, folds: Sequence[FoldTables], names: Sequence[str]) -> SmoothLoss:
    """The loss of the last step on the rows that the earlier steps prepare."""
    step, last = estimator.steps[-1]
    known = smooth_estimator_of(type(last))
    assert known is not None, "smooth_names was not asked first"
    prefix = f"{step}__"
    own = [one.removeprefix(prefix) for one in names if one.startswith(prefix)]
    if len(own) == len(names):
        return PrefixedLoss(known.open_loss(last, [prepare(estimator, fold, 1) for fold in folds], own), prefix)
    prepared = [prepare(estimator, fold, 2) for fold in folds]
    factors = [clone(estimator.steps[-2][1]).fit(fold.X_train) for fold in prepared]
    if not all(np.array_equal(one.group_of_, factors[0].group_of_) for one in factors):
        raise InputError(
            "gradient search needs the same groups of columns in each split, but a step before PenaltyFactors "
            "produces different columns in some splits.",
            "declare the categories of encoders, and group columns before they are selected.",
        )
    loss: Any = known.open_loss(last, prepared, own)
    group_of = {f"{start}{group}": k for k, (start, group) in enumerate(factor_names(estimator))}
    return GroupedLoss(loss, prefix, group_of, factors[0].group_of_, factors[0].factor_of_)


@dataclass(frozen=True)
class GroupedLoss:
    """The loss of the last step as a function of its parameters and of the penalty factors of groups."""

    loss: FactoredLoss
    prefix: str
    group_of: Mapping[str, int]  # by the name of the factor in the pipeline
    columns: NDArray[np.int64]  # the group of each column
    fixed: NDArray[np.float64]  # the factors of the columns that are not varied

    def loss_and_gradient(self, values: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        factors = self.fixed.copy()
        for name in values.keys() & self.group_of.keys():
            factors[self.columns == self.group_of[name]] = values[name]
        own = {name.removeprefix(self.prefix): value for name, value in values.items() if name not in self.group_of}
        loss, gradient, by_column = self.loss.with_factors(own, factors)
        by_factor = {name: float(by_column[self.columns == k].sum()) for name, k in self.group_of.items()}
        return loss, {self.prefix + name: value for name, value in gradient.items()} | by_factor


def prepare(estimator: Any, fold: FoldTables, n_left: int) -> FoldTables:
    """Fit all steps but the last `n_left` on the training rows, and transform the rows of a split."""
    last = f"{estimator.steps[-1][0]}__"
    own = {name.removeprefix(last): value for name, value in fold.fit_params.items() if name.startswith(last)}
    earlier = estimator.steps[:-n_left]
    if not earlier:
        return replace(fold, fit_params=own)
    names = tuple(f"{name}__" for name, _ in earlier)
    others = {name: value for name, value in fold.fit_params.items() if name.startswith(names)}
    steps = Pipeline([(name, clone(step)) for name, step in earlier])
    X_train = steps.fit_transform(fold.X_train, fold.y_train, **others)
    return FoldTables(X_train, fold.y_train, steps.transform(fold.X_test), fold.y_test, own)
