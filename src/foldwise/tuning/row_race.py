"""Successive halving over rows: settings are scored with few training rows, the better half again with twice as many.

Test rows are the same in all rounds, so that the scores of a round differ by the settings alone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.engine import EvaluationTask, Outcome
from foldwise.folds.protocol import FoldSession, Labels, Params, Rows
from foldwise.folds.splits import Split

LEAST_ROWS = 40  # training rows of the first round
PER_CLASS = 5  # training rows of the first round for each class, on average


def better_half(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which settings go on: the better half by mean score, rounded up; failed ones count as the worst.

    >>> better_half(np.array([[0.5], [0.9], [np.nan]])).tolist()
    [True, True, False]
    """
    means = np.nan_to_num(scores.mean(axis=1), nan=-np.inf)
    kept = np.zeros(len(scores), dtype=bool)
    kept[np.argsort(-means, kind="stable")[: -(-len(scores) // 2)]] = True
    return kept


def row_shares(n_settings: int, n_train: int, least: int) -> list[float]:
    """The share of the training rows in each round; the last round has all of them.

    The number of rounds is that which halves the settings to one, unless the first round would have too few rows.

    >>> row_shares(9, 1000, 40)
    [0.125, 0.25, 0.5, 1.0]
    >>> row_shares(9, 100, 40)
    [0.5, 1.0]
    """
    required = 1 + math.floor(math.log2(n_settings))
    possible = 1 + math.floor(math.log2(max(1.0, n_train / least)))
    return [2.0**-k for k in reversed(range(min(required, possible)))]


class Race(ABC):
    """A batch of settings that are scored stage by stage, until all stages are done or no setting is left."""

    def __init__(self, settings: Sequence[Params], splits: Sequence[Split]) -> None:
        self.settings, self.splits = list(settings), splits
        self.alive = np.ones(len(self.settings), dtype=bool)
        self.outcome: Outcome | None = None
        self.stage = 0  # the number of the next question
        self.models_before = 0  # of earlier stages, whose scores were replaced by those of later ones

    @property
    @abstractmethod
    def n_stages(self) -> int:
        """The most questions that the race may take."""

    @abstractmethod
    def next_splits(self) -> Sequence[Split]:
        """The splits of the next question."""

    @property
    def question(self) -> EvaluationTask | None:
        """The settings still in the race on the splits of the next stage, or None when the race is over."""
        if self.stage == self.n_stages or not self.alive.any():
            return None
        settings = [one for one, alive in zip(self.settings, self.alive, strict=True) if alive]
        return EvaluationTask(settings, self.next_splits())


class RowRace(Race):
    """A batch of settings that are scored on growing training sets, until one of them has all rows.

    Settings that were dropped keep the scores of their last round. `shares` says which part of the training rows each
    score comes from.
    """

    first_split = 0  # of every question

    def __init__(self, settings: Sequence[Params], splits: Sequence[Split], session: FoldSession, seed: int) -> None:
        super().__init__(settings, splits)
        self.seed = seed
        self.codes = session.target.codes if isinstance(session.target, Labels) else None
        n_classes = len(session.target.classes) if isinstance(session.target, Labels) else 0
        least = max(LEAST_ROWS, PER_CLASS * n_classes)
        self.rounds = row_shares(len(self.settings), min(len(one.train) for one in splits), least)
        self.shares = np.full(len(self.settings), self.rounds[0])

    @property
    def n_stages(self) -> int:
        return len(self.rounds)

    def next_splits(self) -> Sequence[Split]:
        """The splits with a part of their training rows; a larger part contains all rows of a smaller one."""
        share = self.rounds[self.stage]
        if share == 1:
            return self.splits
        found = []
        for number, split in enumerate(self.splits):
            order = mixed_order(split.train, self.codes, np.random.default_rng([self.seed, number]))
            found.append(Split(np.sort(order[: math.ceil(share * len(order))]), split.test))
        return found

    def tell(self, outcome: Outcome, chooser: str) -> None:
        """Record the scores of a round, and drop the worse half of the settings."""
        here = np.flatnonzero(self.alive)
        scores = outcome.scores[chooser] if chooser in outcome.scores else next(iter(outcome.scores.values()))
        self.shares[here] = self.rounds[self.stage]
        if self.outcome is None:
            self.outcome = outcome
        else:
            self.models_before += len(here) * len(self.splits)
            self.outcome = self._replaced(self.outcome, outcome, here)
        self.stage += 1
        if self.stage < len(self.rounds):
            self.alive[here[~better_half(scores)]] = False

    def _replaced(self, known: Outcome, new: Outcome, here: NDArray[np.intp]) -> Outcome:
        """What is known, with the scores of a later round in place of earlier ones of the same settings."""

        def later(old: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
            found = {name: values.copy() for name, values in old.items()}
            for name, values in more.items():
                found[name][here] = values
            return found

        def errors(old: tuple[Any, ...], more: tuple[Any, ...]) -> tuple[Any, ...]:
            kept = tuple(one for one in old if one[0] not in here)
            return kept + tuple((int(here[one[0]]), *one[1:]) for one in more)

        seconds = known.seconds.copy()
        seconds[here] += new.seconds
        return replace(
            known,
            scores=later(known.scores, new.scores),
            train_scores=later(known.train_scores, new.train_scores),
            seconds=seconds,
            failures=errors(known.failures, new.failures),
            unscored=errors(known.unscored, new.unscored),
            train_unscored=errors(known.train_unscored, new.train_unscored),
            fits=known.fits + new.fits,
        )

    def result(self) -> Outcome:
        """All scores, those of dropped settings from fewer rows."""
        assert self.outcome is not None
        return replace(self.outcome, ran=np.ones(self.outcome.seconds.shape, dtype=bool))


def mixed_order(train: Rows, codes: NDArray[np.int64] | None, rng: np.random.Generator) -> Rows:
    """Training rows in a random order in which all classes, if there are any, are spread evenly from the start."""
    order = rng.permutation(train)
    if codes is None:
        return order
    by_class = np.argsort(codes[order], kind="stable")
    counts = np.bincount(codes[order])
    ranks = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)  # within each class
    relative_rank = np.empty(len(order))
    relative_rank[by_class] = ranks / np.repeat(counts, counts)
    return np.asarray(order[np.argsort(relative_rank, kind="stable")])
