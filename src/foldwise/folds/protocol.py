"""The fold session: answers, for one table, what many models of one family would predict out of sample.

A session never calls the engine and never looks at rows outside `train` and `test`. Its law is shipped as
`foldwise.testing.check_foldable`: every answer equals clone → set_params → fit(train) → predict(test).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntFlag
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Params = Mapping[str, Any]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Labels:
    """The target of a classification: all labels as places in the sorted classes."""

    classes: NDArray[Any]
    codes: NDArray[np.int64]

    @cached_property
    def short(self) -> NDArray[np.signedinteger[Any]]:
        """The codes in as few bytes as hold them: splitters sort them, which numpy does faster so."""
        return self.codes.astype(np.min_scalar_type(-len(self.classes)))


@dataclass(frozen=True)
class TargetValues:
    """The target of a regression."""

    numbers: NDArray[np.float64]


class Need(IntFlag):
    """What is wanted of an answer; several metrics take the union of their needs."""

    LABELS = 1
    PROBA = 2  # probabilities or their logarithms: about three times the work of labels
    MODEL = 4  # the fitted model itself, or, from a session that fits none, its probabilities
    DECISION = 8  # raw decision values, or probabilities from a model that has none
    VALUES = 16  # what a regressor predicts

    def has(self, other: Need) -> bool:
        """Whether both share something; `&` of flags takes ten times as long."""
        return self._value_ & other._value_ != 0


# of a session that fits no models
NAMES = Need.LABELS | Need.MODEL
SHARES = Need.PROBA | Need.MODEL


@dataclass(frozen=True)
class Answer:
    """The predictions of several settings for the test rows, as far as they were asked for and the model has them.

    `labels` are places in the session's classes; probabilities have one column a class, and a class absent from the
    training rows has 0. They come as logarithms or as they are, whichever the model computes first: a logarithm and
    back may break or make a tie.
    """

    labels: NDArray[np.integer[Any]] | None = None  # (settings, rows)
    log_proba: NDArray[np.float64] | None = None  # (settings, rows, classes)
    proba: NDArray[np.float64] | None = None  # (settings, rows, classes)
    decision: NDArray[np.float64] | None = None  # (settings, rows) or (settings, rows, columns), the model's own
    values: NDArray[np.float64] | None = None  # (settings, rows)
    models: tuple[Any, ...] | None = None  # one a setting, where they were fitted anyway

    def probabilities(self) -> NDArray[np.float64] | None:  # (settings, rows, classes)
        return np.exp(self.log_proba) if self.proba is None and self.log_proba is not None else self.proba

    def log_probabilities(self) -> NDArray[np.float64] | None:  # (settings, rows, classes)
        if self.log_proba is None and self.proba is not None:
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(self.proba))
        return self.log_proba

    def among(self, places: NDArray[np.integer[Any]], n_classes: int) -> Answer:
        """The same answer among more classes: class i is at `places[i]`, and the others are impossible."""
        if len(places) == n_classes:
            return self
        labels = None if self.labels is None else places.astype(self.labels.dtype)[self.labels]
        wide: dict[str, Any] = {}
        for name, absent in (("log_proba", -np.inf), ("proba", 0.0)):
            scores = getattr(self, name)
            if scores is not None:
                wide[name] = np.full((*scores.shape[:2], n_classes), absent)
                wide[name][:, :, places] = scores
        return replace(self, labels=labels, **wide)

    def of_rows(self, start: int, stop: int) -> Answer:
        """The answer about rows start..stop of these."""
        names = ("labels", "log_proba", "proba", "decision", "values")
        parts = {name: getattr(self, name) for name in names}
        return replace(self, **{name: part[:, start:stop] for name, part in parts.items() if part is not None})

    def cut(self, start: int, stop: int) -> Answer:
        """The answer to settings start..stop of these."""
        parts = (self.labels, self.log_proba, self.proba, self.decision, self.values, self.models)
        return Answer(*(None if part is None else part[start:stop] for part in parts))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Failure:
    """A setting that could not be fitted, or that was fitted and could not answer."""

    error: Exception
    fitted: bool = False


@dataclass(frozen=True)
class Block:
    """The answer of settings start..stop of those asked for."""

    start: int
    stop: int
    answer: Answer | Failure


class FoldSession(Protocol):
    """One table and one estimator, asked about settings and splits."""

    estimator: Any
    X: Any
    y: Any
    fit_params: dict[str, Any]
    target: Labels | TargetValues | None  # y as metrics want it; None for a target of another kind, or none
    shares: str  # what settings and splits share, in a word; "refit" for nothing
    threads: bool  # whether the work releases the GIL, so that plain threads over splits are enough

    @property
    def order_free(self) -> bool:
        """Whether models do not depend on the order of rows, except for rounding."""

    def lazy(self, params: Params) -> frozenset[str]:
        """The parameters that may vary without a refit, given the others."""

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        """The answers to all settings, in blocks, in order. Repeated rows in `train` mean multiplicity."""

    def model(self, setting: Params, train: Rows) -> Any:
        """A fitted estimator, for those who want one."""


@dataclass(frozen=True)
class LeaveOneOutBlock:
    """What settings start..stop of those asked for say of rows that are left out in turn.

    Line i of the answer is about the i-th row asked for, by the model of all the others. The places in `rest` are left
    to `answer`, split by split, and hold nothing of use. A failure is that of every one of the splits.
    """

    start: int
    stop: int
    answer: Answer | Failure
    rest: NDArray[np.intp]


@runtime_checkable
class LeaveOneOutSession(Protocol):
    """A session that also answers all splits of leave-one-out at once, in time linear in the rows."""

    def answers_leave_one_out(self, setting: Params) -> bool:
        """Whether `answer_leave_one_out` may be asked about a setting."""

    def answer_leave_one_out(
        self, settings: Sequence[Params], rows: Rows, places: Rows, need: Need
    ) -> Iterator[LeaveOneOutBlock]:
        """The answers, in order, where each of `rows[places]` is tested by the model of all other `rows`."""


Opener = Callable[[Any, Any, Any, dict[str, Any]], FoldSession | None]
"""Takes an estimator, X, y and fit parameters; None declines, and the estimator is refitted."""


@runtime_checkable
class HasSubsets(Protocol):
    """What a session may offer besides: to score subsets of columns cheaper than by fits on them (`open_subsets`)."""

    def subsets(self) -> FoldSession | None:
        """A session whose settings are `{"columns": places}`, answered as by a fit on these columns alone.

        Columns that the estimator's own parameters name are those of the whole table. None declines.
        """
