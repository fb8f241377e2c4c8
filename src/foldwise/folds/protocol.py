"""The fold session: answers, for one table, what many models of one family would predict out of sample.

A session never calls the engine and never looks at rows outside `train` and `test`. Its law is shipped as
`foldwise.testing.check_foldable`: every answer equals clone → set_params → fit(train) → predict(test).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Params = Mapping[str, Any]
Rows = NDArray[np.intp]


class Need(IntFlag):
    """What is wanted of an answer; several metrics take the union of their needs."""

    LABELS = 1
    PROBA = 2  # normalised log-probabilities: about three times the work of labels
    MODEL = 4  # the fitted model itself, or, from a session that fits none, its probabilities


@dataclass(frozen=True)
class Answer:
    """The predictions of several settings for the test rows.

    `labels` are places in the session's classes, `log_proba` normalised log-probabilities with one column a class;
    a class absent from the training rows has -inf.
    """

    labels: NDArray[np.integer[Any]] | None  # (settings, rows)
    log_proba: NDArray[np.float64] | None = None  # (settings, rows, classes)
    models: tuple[Any, ...] | None = None  # one a setting, where they were fitted anyway


@dataclass(frozen=True)
class Failure:
    """A setting that could not be fitted or could not answer."""

    error: Exception


@dataclass(frozen=True)
class Block:
    """The answer of settings start..stop of those asked for."""

    start: int
    stop: int
    answer: Answer | Failure


class FoldSession(Protocol):
    """One table and one estimator, asked about settings and splits."""

    X: Any
    y: Any
    classes: NDArray[Any]
    codes: NDArray[np.int64]  # the labels of all rows as places in `classes`
    fit_params: dict[str, Any]
    shares: str  # what settings and splits share, in a word; "refit" for nothing

    def lazy(self, params: Params) -> frozenset[str]:
        """The parameters that may vary without a refit, given the others."""

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        """The answers to all settings, in blocks, in order. Repeated rows in `train` mean multiplicity."""

    def model(self, setting: Params, train: Rows) -> Any:
        """A fitted estimator, for those who want one."""
