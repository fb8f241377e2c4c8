"""What a running search asks of a study, so that only searches with a store load the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from foldwise.folds.engine import Outcome, ScoringPlan
from foldwise.folds.protocol import Params


class StudyProtocol(Protocol):
    """Where a search records its trials, and finds those of earlier runs and other processes."""

    @property
    def seed(self) -> int:
        """The seed of the strategy."""

    def proposed(self, first_trial: int, propose: Callable[[], Sequence[Params]]) -> Sequence[Params]:
        """The stored settings from a trial on; if there are none, those that are proposed now."""

    def evaluate(self, running: Any, work: ScoringPlan, options: dict[str, Any]) -> Outcome:
        """The outcome of the question of a running search, partly from what is stored."""
