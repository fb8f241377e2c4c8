"""The smooth loss of a scikit-learn `Pipeline`: earlier steps are fitted in each split, the last one is differentiated.

`PenaltyFactors` before the last step is differentiated, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from foldwise.tuning.smooth_losses import FoldTables, SmoothLoss, smooth_estimator_of
from foldwise.tuning.smooth_losses import smooth_names as names_of


def smooth_names(estimator: Any) -> frozenset[str]:
    """The smooth parameters of the last step, with its name before theirs."""
    name, last = estimator.steps[-1]
    return frozenset(f"{name}__{one}" for one in names_of(last))


def open_smooth_loss(estimator: Any, folds: Sequence[FoldTables], names: Sequence[str]) -> StepLoss:
    """The loss of the last step on the rows that the earlier steps prepare."""
    name, last = estimator.steps[-1]
    known = smooth_estimator_of(type(last))
    assert known is not None, "smooth_names was not asked first"
    prepared = [prepare(estimator, fold) for fold in folds]
    prefix = f"{name}__"
    return StepLoss(known.open_loss(last, prepared, [one.removeprefix(prefix) for one in names]), prefix)


@dataclass(frozen=True)
class StepLoss:
    """The loss of a step, whose parameters have longer names in the pipeline."""

    loss: SmoothLoss
    prefix: str

    def loss_and_gradient(self, values: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        own = {name.removeprefix(self.prefix): value for name, value in values.items()}
        loss, gradient = self.loss.loss_and_gradient(own)
        return loss, {self.prefix + name: value for name, value in gradient.items()}


def prepare(estimator: Any, fold: FoldTables) -> FoldTables:
    """Fit the earlier steps on the training rows, and transform the rows of a split."""
    last = f"{estimator.steps[-1][0]}__"
    own = {name.removeprefix(last): value for name, value in fold.fit_params.items() if name.startswith(last)}
    if len(estimator.steps) == 1:
        return replace(fold, fit_params=own)
    earlier = {name: value for name, value in fold.fit_params.items() if not name.startswith(last)}
    steps = Pipeline([(name, clone(step)) for name, step in estimator.steps[:-1]])
    X_train = steps.fit_transform(fold.X_train, fold.y_train, **earlier)
    return FoldTables(X_train, fold.y_train, steps.transform(fold.X_test), fold.y_test, own)
