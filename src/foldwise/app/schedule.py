"""The schedule of a search: which job comes next, given the results so far and the time left.

It neither fits models nor reads a clock: time comes as seconds since the start of the run. Its state is a plain value
that can be written as JSON. Predictions are stored separately (`predictions`), by batch and split.

Every model starts on the first split, the cheapest first. Batches that do well there continue on the other splits. New
settings are drawn mostly for the best models: the share of time of a model falls with its rank. The first split decides
which settings continue, so it is not used to estimate how good the winners are (see `selection`).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np

from foldwise.app.search_state import JobOutcome, SearchState, SettingBatch, SplitJob, encode
from foldwise.app.timing import (
    CHEAP_SHARE,
    CLIMB_ROOM,
    CLIMB_SHARE,
    EXPLORE_SHARE,
    HURRIED,
    OPENING_SHARE,
    PATIENCE,
    PATIENCE_FIRST,
    PATIENCE_LEAST,
    RESCUE_SECONDS,
)
from foldwise.folds.protocol import Params
from foldwise.tuning.strategies import Random, Strategy

COMPANIONS = 24  # settings that share one piece of work
STAGES = (1.0, 0.5, 0.25, 0.125)  # of a staged model's length, answered by the same fit
MOST_BATCHES = 60  # of a model: more settings find little
AT_ONCE = 3  # models that are looked at before the best of them is finished
KEPT = 4  # settings of a batch whose predictions are kept
REMEMBERED = 60  # batches that may still go on
CLIMBING = 3  # settings of a batch that go on to the next rung together, if they share work
CLIMB_AFTER = 8  # finished models after which the best may learn from more rows
# a batch is far ahead if its loss on the first split is less than that of the best finished one, by at least these
# shares of that loss and of the baseline's: the latter so that noise near a loss of 0 does not count
FAR_AHEAD, FAR_AHEAD_OF_BASELINE = 0.1, 0.05
FEWEST_FOLDS = 3  # that a batch far ahead must be scored on: the first, which selected it, and two that count


@dataclass(frozen=True)
class ModelPlan:
    """What the schedule knows about a model before the search."""

    name: str
    seconds: float  # of a batch on one split and the lowest rung, as the catalogue predicts
    space: Mapping[str, Any] = field(default_factory=dict)  # what is searched
    shared: tuple[str, ...] = ()  # parameters whose other values are answered from the same work
    n_companions: int = COMPANIONS  # settings drawn for that
    stages: str | None = None  # the parameter whose smaller values are part of the same fit
    longest: int = 1  # its value where none is drawn
    compiled: bool = False  # whether its code is compiled on a new machine
    growth: tuple[float, ...] = (1.0,)  # seconds on each rung, as multiples of the lowest
    general: int = 0  # models that are good on most tables have a number above 0, the best the greatest

    def climbing(self, batch: SettingBatch) -> tuple[Params, ...]:
        """The settings of a finished batch that go on to the next rung: the best, and what the same fit answers."""
        if self.stages in self.space:
            return batch.settings
        ranked = sorted(batch.usable, key=batch.mean_score, reverse=True)
        return tuple(batch.settings[i] for i in ranked[: CLIMBING if self.shared else 1])

    def draw(self, number: int, seed: int, strategy: Strategy, *, select: bool = True) -> tuple[Params, ...]:
        """Draw the settings of a batch: first the defaults, then what the search strategy proposes."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode()), number])
        base = dict(strategy.propose(self.space, [], rng)[0]) if number and self.space else {}
        if not select:
            base.pop("select", None)
        shared = {name: self.space[name] for name in self.shared if name in self.space}
        if shared:
            others = Random(self.n_companions).propose(shared, [], rng)
            settings = [base, *({**base, **one} for one in others)]
        elif self.stages in self.space:
            assert self.stages is not None
            longest = int(base.get(self.stages, self.longest))
            steps = sorted({max(1, round(share * longest)) for share in STAGES}, reverse=True)
            settings = [{**base, self.stages: n} for n in steps]
        else:
            settings = [base]
        return tuple(encode(one, self.space) for one in settings)


@dataclass(frozen=True)
class Schedule:
    """Decides what to do next. All that changes during a search is in the `SearchState`."""

    models: Mapping[str, ModelPlan]
    n_workers: int
    strategy: Strategy = field(default_factory=lambda: Random(1))
    perfect: float = 0.0  # the score of a perfect model; losses are measured from it
    baseline: float = 0.0  # the score of the class frequencies on the first split

    def next_job(self, state: SearchState, now: float, end: float, compiling: Collection[str] = ()) -> SplitJob | None:
        """Choose the job to start now, or None if no job fits into the time left.

        Parameters
        ----------
        state : SearchState
            The results so far.
        now : float
            Seconds since the start of the run.
        end : float
            When the search must end, in seconds since the start of the run.
        compiling : collection of str
            Models that wait because their code is still being compiled.
        """
        look = StateView(self, state)
        left = end - now
        if left <= 0:
            return None
        opening = [name for name in look.unopened if name not in compiling]
        room = max(1.0, OPENING_SHARE * left) * self.n_workers
        affordable = [name for name in opening if look.seconds[name] * state.n_splits < room]
        hurried = end < HURRIED

        def job(batch: SettingBatch, split: int) -> SplitJob:
            return SplitJob(batch, split, look.patience(batch, left))

        def first(model: str) -> SplitJob:
            return job(self.open(state, model, now, compiling), 0)

        if hurried:
            batch = look.general_unfinished(left)
            if batch is not None:  # all workers finish it before anything else is tried
                return job(batch, look.next_split(batch))
            general = look.general_to_open(affordable)
            if general is not None:
                return first(general)
        climbing = look.climbing
        if climbing is not None:
            return job(climbing, look.next_split(climbing))
        if look.n_finished >= CLIMB_AFTER or now > CLIMB_SHARE * end:
            climber = look.climber(left)
            if climber is not None:
                return job(self.climb(state, climber, now), 0)
        if look.n_opened >= (1 if hurried else AT_ONCE):
            best = look.ranked[0] if look.ranked else None
            if best is not None and len(best.started_splits) < state.n_splits and look.rest(best) < 0.5 * left:
                return job(best, look.next_split(best))  # so that a stop at any moment leaves a finished result
        ahead = look.far_ahead
        if ahead is not None and look.can_be_scored(ahead, left):
            quick = [name for name in affordable if look.seconds[name] * state.n_splits < CHEAP_SHARE * left]
            if quick:
                return first(quick[0])
            batch = look.cheap(left) or ahead
            return job(batch, look.next_split(batch))
        if affordable and (look.n_opened < AT_ONCE or state.finished or look.finishing):
            return first(affordable[0])
        promoted = look.promoted(left)
        if promoted is not None:
            return job(promoted, look.next_split(promoted))
        if affordable:
            return first(affordable[0])
        climber = look.climber(left)
        if climber is not None:
            return job(self.climb(state, climber, now), 0)
        explored = look.explored(left) if state.finished or look.finishing else None
        if explored is not None:
            return first(explored)
        later = [name for name in opening if look.seconds[name] < OPENING_SHARE * left]
        return first(later[0]) if later else None

    def rescue_job(self, state: SearchState, now: float) -> SplitJob | None:
        """After a search without a finished batch, choose the next job of the cheapest one, however slow."""
        if state.finished:
            return None
        look = StateView(self, state)
        able = [one for one in state.batches if one.stopped != "failed"]
        begun = [one for one in able if one.scores and not one.stopped] or able
        batch = min(begun, key=lambda one: look.seconds[one.model], default=None)
        if batch is None and look.unopened:
            batch = self.open(state, look.unopened[0], now, ())
        if batch is None:
            return None
        split = next(k for k in range(state.n_splits) if k not in batch.scores)
        return SplitJob(replace(batch, stopped="", why=""), split, RESCUE_SECONDS)

    def open(self, state: SearchState, model: str, now: float, compiling: Collection[str]) -> SettingBatch:
        """Open a new batch of a model. Its settings depend on the seed, the model and the number of earlier batches."""
        number = len(state.of_model(model))
        select = "naive_bayes" not in compiling  # which selects columns
        settings = self.models[model].draw(number, state.seed, self.strategy, select=select)
        return SettingBatch(len(state.batches), model, settings, now)

    def climb(self, state: SearchState, batch: SettingBatch, now: float) -> SettingBatch:
        """Open a batch with the best settings of another one, on the next rung."""
        settings = self.models[batch.model].climbing(batch)
        number = len(state.batches)
        return SettingBatch(number, batch.model, settings, now, rung=batch.rung + 1, climbed_from=batch.number)

    def start(self, state: SearchState, job: SplitJob) -> SearchState:
        """Return the state after a job was started."""
        batch = replace(job.batch, started_splits=(*(k for k in job.batch.started_splits if k != job.split), job.split))
        return state.with_batch(batch)

    def record(self, state: SearchState, job: SplitJob, outcome: JobOutcome) -> SearchState:
        """Return the state after a job has ended."""
        batch = state.batches[job.batch.number]
        batch = replace(batch, spent=batch.spent + outcome.seconds)
        if outcome.scores is not None:
            batch = replace(
                batch,
                scores={**batch.scores, job.split: outcome.scores},
                seconds={**batch.seconds, job.split: outcome.seconds},
                errors={**batch.errors, **outcome.errors},
            )
            if batch.complete(state.n_splits):
                batch = replace(batch, kept=settings_to_keep(batch))
            if all(map(math.isnan, outcome.scores)):
                why = next(iter(batch.errors.values()), "the metric is undefined")
                batch = replace(batch, stopped="failed", why=why)
        elif outcome.failure:
            batch = replace(batch, stopped="failed", why=outcome.failure)
        elif outcome.out_of_time:
            batch = replace(batch, stopped="not finished", why="the budget was used up")
        else:
            batch = replace(batch, stopped="too slow", why=f"one fold took more than {outcome.seconds:.0f} s")
        return without_outranked(state.with_batch(batch))


def settings_to_keep(batch: SettingBatch, n_kept: int = KEPT) -> tuple[int, ...]:
    """Choose the settings whose predictions are kept: the best few on all splits, and without each split.

    The best few settings of a model without a split are also the best few of their batches, so nothing is lost.
    """
    scores = np.array([batch.scores[k] for k in sorted(batch.scores)])  # (splits, settings)
    means = [scores.mean(axis=0), *(np.delete(scores, k, axis=0).mean(axis=0) for k in range(len(scores)))]
    means += [scores[:k].mean(axis=0) for k in range(1, len(scores))]  # with a time column: of the earlier splits
    best = {i for one in means for i in np.argsort(-np.nan_to_num(one, nan=-np.inf))[:n_kept].tolist()}
    return tuple(sorted(best))


def without_outranked(state: SearchState) -> SearchState:
    """Stop batches that were evaluated on the first split only and are outranked by too many others."""
    ranked = ranking(state)
    for batch in ranked[REMEMBERED:]:
        if batch.started_splits == (0,):
            state = state.with_batch(replace(batch, stopped="outranked"))
    return state


def far_ahead(state: SearchState, perfect: float, baseline: float) -> SettingBatch | None:
    """The unfinished batch that is far better on the first split than every finished one, if there is one."""
    finished = max((one.first for one in state.finished), default=-math.inf)
    unfinished = [one for one in state.batches if not one.complete(state.n_splits) and one.stopped != "failed"]
    best = max(unfinished, key=lambda one: one.first, default=None)
    if best is None or not all(map(math.isfinite, (finished, best.first, perfect))):  # without bounds there is no scale
        return None
    least = max(FAR_AHEAD * (perfect - finished), FAR_AHEAD_OF_BASELINE * (perfect - baseline))
    return best if best.first - finished >= least > 0 else None


def ranking(state: SearchState) -> list[SettingBatch]:
    """Rank the batches that may continue by their score on the first split."""
    return sorted((one for one in state.batches if 0 in one.scores and not one.stopped), key=lambda one: -one.first)


class StateView:
    """Values derived from a state, each computed once."""

    def __init__(self, schedule: Schedule, state: SearchState) -> None:
        self.models, self.state, self.n_splits = schedule.models, state, state.n_splits
        self.n_workers, self.scale = schedule.n_workers, (schedule.perfect, schedule.baseline)

    @cached_property
    def batches(self) -> dict[str, list[SettingBatch]]:
        found: dict[str, list[SettingBatch]] = {name: [] for name in self.models}
        for one in self.state.batches:
            found[one.model].append(one)
        return found

    def measured(self, model: str, rung: int = 0) -> list[float]:
        """The seconds that jobs of a model took on a rung."""
        return [s for one in self.batches[model] if one.rung == rung for s in one.seconds.values()]

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Expected seconds of a batch on one split of the lowest rung: as measured, or predicted for this machine."""
        measured = {name: self.measured(name) for name in self.models}
        plans = self.models.items()
        ratios = [min(measured[n]) / plan.seconds for n, plan in plans if measured[n] and not plan.shared]
        speed = min(3.0, max(0.3, median(ratios or [1.0])))
        return {n: median(measured[n][-8:]) if measured[n] else plan.seconds * speed for n, plan in plans}

    def cost(self, model: str, rung: int) -> float:
        """Expected seconds of a batch on one split of a rung: as measured there or on the highest rung below."""
        for known in range(rung, 0, -1):
            measured = self.measured(model, known)
            if measured:
                growth = self.models[model].growth
                return median(measured[-8:]) * growth[rung] / growth[known]
        return self.seconds[model] * self.models[model].growth[rung]

    @cached_property
    def ranked(self) -> list[SettingBatch]:
        return ranking(self.state)

    @property
    def unopened(self) -> list[str]:
        """Models that had no batch yet, the cheapest first."""
        return sorted((name for name, some in self.batches.items() if not some), key=self.seconds.__getitem__)

    @property
    def n_opened(self) -> int:
        return sum(map(bool, self.batches.values()))

    def general_to_open(self, affordable: Collection[str]) -> str | None:
        """The generally good model that a short run tries next: first the cheapest, then the best."""
        opened = [name for name, some in self.batches.items() if some and self.models[name].general]
        left = [name for name in affordable if self.models[name].general]
        if not left or len(opened) > 1:
            return None
        return (
            max(left, key=lambda name: self.models[name].general) if opened else min(left, key=self.seconds.__getitem__)
        )

    def general_unfinished(self, left: float) -> SettingBatch | None:
        """The first batch of a generally good model, if it has splits to go and there is time for them."""
        for name, some in self.batches.items():
            if some and self.models[name].general:
                begun = not some[0].stopped and len(some[0].started_splits) < self.n_splits
                if begun and self.rest(some[0]) < left:
                    return some[0]
        return None

    @property
    def finishing(self) -> bool:
        """Whether some batch is on its way through all splits."""
        return any(len(one.started_splits) > 1 and not one.stopped for one in self.state.batches)

    def patience(self, batch: SettingBatch, left: float) -> float:
        """Seconds after which a job of a batch is stopped."""
        measured = self.measured(batch.model)
        if self.models[batch.model].compiled and len(measured) < 2:
            return left  # some kernels are compiled only now
        expected = self.cost(batch.model, batch.rung)
        return min(left, max(PATIENCE_LEAST, PATIENCE * expected if measured else PATIENCE_FIRST * left))

    @cached_property
    def n_finished(self) -> int:
        """How many models have a finished batch."""
        return len({one.model for one in self.state.finished})

    @property
    def climbing(self) -> SettingBatch | None:
        """A batch on a higher rung that has splits to go."""
        open_ones = (one for one in self.state.batches if one.rung and not one.stopped)
        return next((one for one in open_ones if len(one.started_splits) < self.n_splits), None)

    def climber(self, left: float) -> SettingBatch | None:
        """The best finished batch that can go on to the next rung in the time left."""
        climbed = {one.climbed_from for one in self.state.batches}
        for batch in sorted(self.state.finished, key=lambda one: -one.best_mean):
            if batch.rung + 1 < len(self.models[batch.model].growth) and batch.number not in climbed:
                cost = self.cost(batch.model, batch.rung + 1)
                if cost * self.rounds(self.n_splits) < CLIMB_ROOM * left:
                    return batch
        return None

    @property
    def far_ahead(self) -> SettingBatch | None:
        """A batch that is worth being scored on fewer splits than the others, if there is no time for all."""
        found = far_ahead(self.state, *self.scale)
        return None if found is None or found.stopped or len(found.started_splits) == self.n_splits else found

    def can_be_scored(self, batch: SettingBatch, left: float) -> bool:
        """Whether there is time for all splits of a batch, or at least for the fewest that are useful."""
        cost, n_started = self.cost(batch.model, batch.rung), len(batch.started_splits)
        rounds = [self.rounds(n - n_started) for n in (self.n_splits, FEWEST_FOLDS)]
        return rounds[0] * cost < left or 0 < rounds[1] * cost < left

    def next_split(self, batch: SettingBatch) -> int:
        return next(k for k in range(self.n_splits) if k not in batch.started_splits)

    def rest(self, batch: SettingBatch) -> float:
        """Expected seconds for the splits that a batch has not been evaluated on, if all workers share them."""
        return self.cost(batch.model, batch.rung) * self.rounds(self.n_splits - len(batch.started_splits))

    def rounds(self, n_jobs: int) -> int:
        """How many jobs one worker does, if all share them."""
        return -(-max(0, n_jobs) // self.n_workers)

    def cheap(self, left: float) -> SettingBatch | None:
        """Choose a batch that takes little of the time left, so that simple models are on the leaderboard."""
        ranked = self.ranked[:REMEMBERED]
        best_of = {max(some, key=lambda one: one.first).number for some in self.batches.values() if some}
        started = {one.model for one in ranked if len(one.started_splits) > 1}
        new = [one for one in ranked if one.number in best_of and one.model not in started] if started else []
        begun = [one for one in ranked if 1 < len(one.started_splits) < self.n_splits]
        for some in (new, begun):
            cheap = [one for one in some if self.rest(one) < CHEAP_SHARE * left]
            if cheap:
                return min(cheap, key=self.rest)
        return None

    def promoted(self, left: float) -> SettingBatch | None:
        """Choose a batch that continues on its next split."""
        cheap = self.cheap(left)
        if cheap is not None:
            return cheap
        ranked = self.ranked[:REMEMBERED]
        begun = [one for one in ranked if 1 < len(one.started_splits) < self.n_splits]
        begun.sort(key=lambda one: self.rest(one) > left)  # what cannot be finished comes last
        width = max(AT_ONCE, -(-len(ranked) // 3))
        promising = [one for one in ranked[:width] if len(one.started_splits) == 1 and self.rest(one) < 1.5 * left]
        if not begun and not promising and not self.n_finished:  # something must be finished
            return min((one for one in ranked if len(one.started_splits) == 1), key=self.rest, default=None)
        return next(iter([*begun, *promising]), None)

    def explored(self, left: float) -> str | None:
        """Choose the model to draw new settings for: the one with the least time for its rank."""
        tried = [m for m in dict.fromkeys(one.model for one in self.ranked) if self.models[m].space]
        spent = {m: sum(one.spent for one in self.batches[m]) * (1 + rank) ** 1.5 for rank, m in enumerate(tried)}
        for model in sorted(tried, key=spent.__getitem__):
            if len(self.batches[model]) < MOST_BATCHES and self.seconds[model] < EXPLORE_SHARE * left:
                return model
        return None
