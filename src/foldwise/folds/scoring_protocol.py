"""What the engine and the estimates expect of metrics, of recorders of answers and of searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import Answer, FoldSession, Need, Params, Rows
from foldwise.folds.splits import LeaveOneOutSplits, Split


class BlockMetric(Protocol):
    """A score for each of several settings, from their answers."""

    need: Need

    def __call__(self, session: FoldSession, settings: Sequence[Params], split: Split, answer: Answer) -> Any:
        """The scores, one per setting; numbers, or dicts of numbers from a scorer that gives several."""


@runtime_checkable
class LeaveOneOutMetric(Protocol):
    """A metric that scores all splits of leave-one-out at once."""

    def of_rows(
        self, session: Any, splits: LeaveOneOutSplits, answer: Answer
    ) -> NDArray[np.float64] | None:  # (settings, rows)
        """The score of every split, which has one test row; None where each split must be scored by itself."""


class AnswerRecorder(Protocol):
    """What is stored of the answers besides their scores."""

    need: Need

    def record(self, session: FoldSession, split: Split, answer: Answer) -> Any:
        """The part of a block's answer to store."""


class SearchPlan(Protocol):
    """How a search goes, without the table it goes over."""

    metrics: Mapping[str, BlockMetric]

    @property
    def chooser(self) -> str:
        """The name of the metric that chooses the best setting."""

    def start_on(self, session: FoldSession, rows: Rows, groups: Any = None) -> Any:
        """The search that `fit` on these rows alone would make, on a session of the whole table."""


@runtime_checkable
class PlannedSearch(Protocol):
    """A search that can be made on the session of another one, as nested cross-validation does."""

    def plan(self) -> SearchPlan:
        """How the search goes."""
