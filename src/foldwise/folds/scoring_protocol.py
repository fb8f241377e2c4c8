"""Protocols of metrics, of recorders of answers and of searches, as the engine and the estimates use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import Answer, FoldSession, Need, Params, Rows
from foldwise.folds.splits import LeaveOneOutSplits, Split


class BlockMetric(Protocol):
    """A metric that scores several settings from their answers."""

    need: Need

    def __call__(self, session: FoldSession, settings: Sequence[Params], split: Split, answer: Answer) -> Any:
        """The scores, one per setting: numbers, or dicts of numbers from a scorer with several scores."""


@runtime_checkable
class LeaveOneOutMetric(Protocol):
    """A metric that scores all splits of leave-one-out together."""

    def of_rows(
        self, session: Any, splits: LeaveOneOutSplits, answer: Answer
    ) -> NDArray[np.float64] | None:  # (settings, rows)
        """The score of every split, which has one test row; None if each split must be scored by itself."""


class AnswerRecorder(Protocol):
    """Stores parts of the answers besides their scores."""

    need: Need

    def record(self, session: FoldSession, split: Split, answer: Answer) -> Any:
        """The part of a block's answer to store."""


class SearchPlan(Protocol):
    """A search without its table."""

    metrics: Mapping[str, BlockMetric]

    @property
    def chooser(self) -> str:
        """The name of the metric that chooses the best setting."""

    def start_on(self, session: FoldSession, rows: Rows, groups: Any = None) -> Any:
        """Start the search that `fit` on these rows alone would run, on a session of the whole table."""

    def evaluate(self, searches: Sequence[Any], **options: Any) -> list[Any]:
        """Evaluate the questions of searches that were started on one session."""

    def close(self) -> None:
        """Close what the searches have opened."""


@runtime_checkable
class PlannedSearch(Protocol):
    """A search that nested cross-validation can run on a session of the whole table."""

    def plan(self) -> SearchPlan:
        """The search without its table."""


def runs_on_session(search: Any) -> TypeGuard[PlannedSearch]:
    """Whether a search can run on a session of the whole table."""
    return isinstance(search, PlannedSearch)
