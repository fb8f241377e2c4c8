"""What a search has tried so far, as plain values that JSON holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from foldwise.folds.protocol import Params

CHOICE = "choice"


@dataclass(frozen=True)
class SettingBatch:
    """Settings of one model that are evaluated together, because they share work, and their scores by split."""

    number: int  # among the batches of a search
    model: str
    settings: tuple[Params, ...]  # encoded: see `encode`
    opened: float  # seconds since the start of the run
    started_splits: tuple[int, ...] = ()  # splits that were started
    # by split: higher is better, NaN where failed
    scores: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    seconds: Mapping[int, float] = field(default_factory=dict)  # by split
    errors: Mapping[int, str] = field(default_factory=dict)  # by setting
    spent: float = 0.0  # seconds, also of jobs that came to nothing
    stopped: str = ""  # why no further split is started: failed, too slow, not finished, outranked
    why: str = ""  # the same in words
    kept: tuple[int, ...] | None = None  # settings whose predictions are kept; None for all
    rung: int = 0  # how many rows it learns from: an index among the rungs of a run
    climbed_from: int | None = None  # the number of the batch with the same settings on the rung below

    @cached_property
    def first(self) -> float:
        """The best score on the first split, -inf where there is none."""
        known = [score for score in self.scores.get(0, ()) if not math.isnan(score)]
        return max(known, default=-math.inf)

    def complete(self, n_splits: int) -> bool:
        return len(self.scores) == n_splits

    @cached_property
    def usable(self) -> list[int]:
        """The settings that answered every split, as far as their predictions are kept."""
        return [
            i
            for i in (range(len(self.settings)) if self.kept is None else self.kept)
            if i not in self.errors and not any(math.isnan(scores[i]) for scores in self.scores.values())
        ]

    @cached_property
    def best_mean(self) -> float:
        """The best mean score of a usable setting."""
        return max(map(self.mean_score, self.usable), default=-math.inf)

    def mean_score(self, setting: int) -> float:
        """The mean over the splits that were scored."""
        return math.fsum(scores[setting] for scores in self.scores.values()) / len(self.scores)


@dataclass(frozen=True)
class SplitJob:
    """A batch to evaluate on one split, and the seconds after which that is stopped."""

    batch: SettingBatch
    split: int
    limit: float


@dataclass(frozen=True)
class JobOutcome:
    """What came of a job: scores, or a failure, or neither where it was stopped."""

    seconds: float
    scores: tuple[float, ...] | None = None
    errors: Mapping[int, str] = field(default_factory=dict)
    failure: str = ""
    out_of_time: bool = False  # stopped because the search was over


@dataclass(frozen=True)
class SearchState:
    """All that a search knows."""

    seed: int
    n_splits: int
    batches: tuple[SettingBatch, ...] = ()
    uncompiled: tuple[str, ...] = ()  # models whose code was not compiled in time
    fewer_folds: bool = False  # whether the first fold decided that all models are compared on fewer folds

    def of_model(self, model: str) -> list[SettingBatch]:
        return [one for one in self.batches if one.model == model]

    @cached_property
    def finished(self) -> list[SettingBatch]:
        """The batches of which some setting answered every split."""
        return [one for one in self.batches if one.complete(self.n_splits) and one.usable]

    @property
    def leaders(self) -> list[SettingBatch]:
        """The finished batches of the highest scores on the first split."""
        return sorted(self.finished, key=lambda one: -one.first)[:4]

    @property
    def n_settings(self) -> int:
        return sum(len(one.settings) for one in self.batches if one.scores)

    @property
    def n_models(self) -> int:
        """Models that were fitted, or whose predictions came without a fit of their own."""
        return sum(len(one.settings) * len(one.scores) for one in self.batches)

    @property
    def eliminated(self) -> bool:
        """Whether the first split decided anything: some batch was seen on it, and not on all others."""
        return self.fewer_folds or any(0 in one.scores and not one.complete(self.n_splits) for one in self.batches)

    def unfinished_reason(self, model: str) -> tuple[str, str]:
        """The status of a model without a finished batch, and why, in words."""
        batches = self.of_model(model)
        if not batches:
            compiling = "not started, its code was still being compiled (first run only)"
            return "not finished", compiling if model in self.uncompiled else "not started, the budget was used up"
        stopped = [one for one in batches if one.why]
        if len(stopped) == len(batches):
            return stopped[-1].stopped, stopped[-1].why
        return "not finished", "the budget was used up"

    def with_batch(self, batch: SettingBatch) -> SearchState:
        """The state with one batch changed, or added."""
        number = batch.number
        return replace(self, batches=(*self.batches[:number], batch, *self.batches[number + 1 :]))

    def without_pending(self) -> SearchState:
        """The state without jobs that were started and have not ended: they will not."""
        settled = (
            replace(one, started_splits=tuple(k for k in one.started_splits if k in one.scores)) for one in self.batches
        )
        return replace(self, batches=tuple(settled))

    def reopened(self, budget: float) -> SearchState:
        """The state with batches that may go on, now that there is more time.

        A batch that was too slow may go on if one of its folds can take twice as long as it was given before.
        """

        def goes_on(batch: SettingBatch) -> bool:
            lost = batch.spent - math.fsum(batch.seconds.values())
            return batch.stopped == "not finished" or (batch.stopped == "too slow" and 2 * lost < budget)

        batches = (replace(one, stopped="", why="") if goes_on(one) else one for one in self.batches)
        return replace(self, batches=tuple(batches))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; NaN is None."""
        facts = asdict(self)
        for batch in facts["batches"]:
            batch["scores"] = {k: [None if math.isnan(s) else s for s in some] for k, some in batch["scores"].items()}
        return facts

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> SearchState:
        """The state of `to_dict`, also when it went through JSON."""
        return cls(
            **{**facts, "batches": tuple(map(batch_of, facts["batches"])), "uncompiled": tuple(facts["uncompiled"])}
        )


def batch_of(facts: Mapping[str, Any]) -> SettingBatch:
    scores = {int(k): tuple(math.nan if s is None else s for s in some) for k, some in facts["scores"].items()}
    by_number = {name: {int(k): one for k, one in facts[name].items()} for name in ("seconds", "errors")}
    kept = None if facts["kept"] is None else tuple(facts["kept"])
    lists = {"settings": tuple(facts["settings"]), "started_splits": tuple(facts["started_splits"]), "kept": kept}
    return SettingBatch(**{**facts, **lists, **by_number, "scores": scores})


def encode(setting: Params, space: Mapping[str, Any]) -> dict[str, Any]:
    """A setting as JSON holds it: what is neither text nor number becomes its index among the choices of the space."""
    found = {}
    for name, value in setting.items():
        value = value.item() if hasattr(value, "item") else value
        found[name] = value if isinstance(value, str | int | float | None) else {CHOICE: index_of(value, space[name])}
    return found


def decode(setting: Params, space: Mapping[str, Any]) -> dict[str, Any]:
    """The setting that was encoded."""
    return {
        name: space[name][value[CHOICE]] if isinstance(value, Mapping) else value for name, value in setting.items()
    }


def index_of(value: Any, choices: Sequence[Any]) -> int:
    return next(i for i, one in enumerate(choices) if one is value or one == value)
