"""Losses that are smooth functions of hyperparameters: the protocol, and how the loss of an estimator is found.

The implementations live with the estimators and in the adapters. They are found by the exact type, as fold sessions
are: a class defines its own with a method `open_smooth_loss`, and the adapters have those of other libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import Params
from foldwise.folds.rows import count_rows, take_params, take_rows
from foldwise.folds.splits import LeaveOneOutSplits, Split

SHIPPED = "foldwise.adapters.smooth_registry"  # the losses of other libraries' estimators; loaded on first use
LEAVE_ONE_OUT_FOLDS = 10


@dataclass(frozen=True)
class FoldTables:
    """The training and test rows of one split."""

    X_train: Any
    y_train: Any
    X_test: Any
    y_test: Any
    fit_params: dict[str, Any] = field(default_factory=dict)  # for the training rows


class SmoothLoss(Protocol):
    """The mean out-of-fold loss of an estimator as a function of some of its parameters."""

    def loss_and_gradient(self, values: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        """Compute the loss, averaged over splits, and its derivatives with respect to the log parameters."""


LossOpener = Callable[[Any, Sequence[FoldTables], Sequence[str]], SmoothLoss]  # estimator, folds, names of parameters


@dataclass(frozen=True)
class SmoothEstimator:
    """What is known about the estimators of one type."""

    names: Callable[[Any], frozenset[str]]  # the parameters of an estimator that its loss is smooth in
    open_loss: LossOpener


@dataclass(frozen=True)
class SearchData:
    """What a strategy that looks at data gets from a search, before the first proposal."""

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[Split]
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    initial: Sequence[Params] = ()  # settings of the user
    timeout: float | None = None  # seconds of the whole search
    n_jobs: int | None = None

    def folds(self) -> list[FoldTables]:
        """The rows of each split. No other row of the table is visible in them."""
        n_rows = count_rows(self.X)
        return [
            FoldTables(
                take_rows(self.X, split.train),
                labels_of(self.y, split.train),
                take_rows(self.X, split.test),
                labels_of(self.y, split.test),
                take_params(dict(self.fit_params), split.train, n_rows),
            )
            for split in in_few_folds(self.splits)
        ]


@dataclass(frozen=True)
class PrefixedLoss:
    """The loss of a part of an estimator, whose parameters have longer names in the whole."""

    loss: SmoothLoss
    prefix: str

    def loss_and_gradient(self, values: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        own = {name.removeprefix(self.prefix): value for name, value in values.items()}
        loss, gradient = self.loss.loss_and_gradient(own)
        return loss, {self.prefix + name: value for name, value in gradient.items()}


def in_few_folds(splits: Sequence[Split]) -> Sequence[Split]:
    """The splits themselves, or ten folds in place of leave-one-out, which would copy the table for each row."""
    if not isinstance(splits, LeaveOneOutSplits):
        return splits
    rows = splits.rows
    parts = [np.arange(len(rows)) % LEAVE_ONE_OUT_FOLDS == k for k in range(min(LEAVE_ONE_OUT_FOLDS, len(rows)))]
    return [Split(rows[~part], rows[part]) for part in parts]


def labels_of(y: Any, rows: Any) -> Any:
    """The targets of some rows as an array."""
    return np.asarray(take_rows(y, rows))


def codes_among(classes: Any, y: Any) -> NDArray[np.intp]:
    """The index of each label among the classes; -1 if it is not one of them."""
    index = {label: i for i, label in enumerate(np.asarray(classes).tolist())}
    return np.array([index.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.intp)


def smooth_estimator_of(kind: type) -> SmoothEstimator | None:
    """What is known about estimators of exactly this type; None if no parameter of theirs is smooth."""
    own: Any = vars(kind).get("open_smooth_loss")
    if own is not None:
        return SmoothEstimator(kind.smooth_names, own)  # type: ignore[attr-defined]
    found: SmoothEstimator | None = import_module(SHIPPED).smooth_estimator_of(kind)
    return found


def smooth_names(estimator: Any) -> frozenset[str]:
    """The parameters of an estimator, with the values of its others, that its out-of-fold loss is smooth in."""
    known = smooth_estimator_of(type(estimator))
    return frozenset() if known is None else known.names(estimator)


def open_smooth_loss(estimator: Any, folds: Sequence[FoldTables], names: Sequence[str]) -> SmoothLoss:
    """The loss as a function of the parameters with these names, which must be smooth."""
    known = smooth_estimator_of(type(estimator))
    assert known is not None, "smooth_names was not asked first"
    return known.open_loss(estimator, folds, names)


def smooth_catalog() -> str:
    """The estimators and parameters that are known to be smooth, for a message."""
    text: str = import_module(SHIPPED).CATALOG
    return text
