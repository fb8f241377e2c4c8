"""What a running search asks of a study, so that only searches with a store load the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from foldwise.folds.engine import Outcome, ScoringPlan
from foldwise.folds.protocol import Params


class StudyProtocol(Protocol):
    """Where a search records its trials, and finds those of earlier runs and other processes."""

    @property
    def id(self) -> int:
        """Its number in the store."""

    @property
    def seed(self) -> int:
        """The seed of the strategy."""

    def proposed(self, first_trial: int, propose: Callable[[], Sequence[Params]]) -> Sequence[Params]:
        """The stored settings from a trial on; if there are none, those that are proposed now."""

    def evaluate(self, searches: Sequence[Any], work: ScoringPlan, options: dict[str, Any]) -> list[Outcome]:
        """The outcomes of the questions of searches that share a session, partly from what is stored."""
