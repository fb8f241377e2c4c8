"""The rules of the schedule, in order: the first that finds a batch decides what is done next.

A rule returns a batch that continues on its next split, or a new batch, or None if it has nothing to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from foldwise.app.search_state import SearchState, SettingBatch
from foldwise.app.state_view import REMEMBERED, StateView, far_ahead
from foldwise.app.timing import (
    CHEAP_SHARE,
    CLIMB_ROOM,
    CLIMB_SHARE,
    EXPLORE_SHARE,
    FINISH_SHARE,
    HURRIED,
    LENGTHEN_SHARE,
    OPENING_LEAST,
    OPENING_SHARE,
    PATIENCE,
    PATIENCE_FIRST,
    PATIENCE_LEAST,
    PATIENCE_UNKNOWN,
    PROMISING_SHARE,
    RANK_POWER,
    VARIANT_SHARE,
)

if TYPE_CHECKING:
    from foldwise.app.schedule import Schedule

MOST_BATCHES = 60  # of a model: more settings find little
AT_ONCE = 3  # models that are looked at before the best of them is finished
CLIMB_AFTER = 8  # finished models after which the best may learn from more rows
FEWEST_FOLDS = 3  # that a batch far ahead must be scored on: the first, which selected it, and two that count
KINDS = ("boosting", "linear", "forest")  # of generally good models, in the order in which a short run tries them
NEARLY = 0.8  # of the best model's gain over the baseline, with which a forest gets more trees


class ScheduleMoment(StateView):
    """The state of a search, and the time that is left."""

    def __init__(
        self, schedule: Schedule, state: SearchState, now: float, end: float, compiling: Collection[str]
    ) -> None:
        super().__init__(schedule, state)
        self.now, self.end, self.left, self.compiling = now, end, end - now, compiling

    def open(self, model: str) -> SettingBatch:
        """A new batch of a model."""
        return self.schedule.open(self.state, model, self.now, self.compiling)

    def climb(self, batch: SettingBatch) -> SettingBatch:
        """A new batch with the best settings of a finished one, on the next rung."""
        return self.schedule.climb(self.state, batch, self.now)

    @property
    def hurried(self) -> bool:
        """Whether the search is so short that generally good models come first."""
        return self.end - self.schedule.delay < HURRIED

    @cached_property
    def openable(self) -> list[str]:
        """Models without a batch, the cheapest first."""
        return [name for name in self.unopened if name not in self.compiling]

    @cached_property
    def affordable(self) -> list[str]:
        """Models without a batch that need only a part of the time left for all splits."""
        room = max(OPENING_LEAST, OPENING_SHARE * self.left) * self.n_workers
        return [name for name in self.openable if self.seconds[name] * self.n_splits < room]

    def patience(self, batch: SettingBatch) -> float:
        """Seconds after which a job of a batch is stopped."""
        measured = self.measured(batch.model)
        if self.models[batch.model].compiled and len(measured) < 2:
            return self.left  # some kernels are compiled only now
        if not measured:
            return min(PATIENCE_UNKNOWN * self.left, max(PATIENCE_LEAST, PATIENCE_FIRST * self.left))
        return min(self.left, max(PATIENCE_LEAST, PATIENCE * self.cost(batch.model, batch.rung)))

    @cached_property
    def best_of_models(self) -> set[int]:
        """The number of the best batch of each model."""
        return {max(some, key=lambda one: one.first).number for some in self.batches.values() if some}

    @cached_property
    def continuing(self) -> list[SettingBatch]:
        """Batches on their way through the splits, the best first."""
        return [one for one in self.ranked[:REMEMBERED] if 1 < len(one.started_splits) < self.n_splits]

    @cached_property
    def cheap(self) -> SettingBatch | None:
        """A batch that takes little of the time left, so that simple models are on the leaderboard."""
        ranked = self.ranked[:REMEMBERED]
        started = {one.model for one in ranked if len(one.started_splits) > 1}
        new = [one for one in ranked if one.number in self.best_of_models and one.model not in started]
        for some in (new if started or self.hurried else [], self.continuing):
            cheap = [one for one in some if self.rest(one) < CHEAP_SHARE * self.left]
            if cheap:
                return min(cheap, key=self.rest)
        return None

    def can_be_scored(self, batch: SettingBatch) -> bool:
        """Whether there is time for all splits of a batch, or at least for the fewest that are useful."""
        cost, n_started = self.cost(batch.model, batch.rung), len(batch.started_splits)
        rounds = [self.rounds(n - n_started) for n in (self.n_splits, FEWEST_FOLDS)]
        return rounds[0] * cost < self.left or 0 < rounds[1] * cost < self.left


def finish_generally_good(look: ScheduleMoment) -> SettingBatch | None:
    """In a short run, all workers finish a generally good model before anything else is tried."""
    for name, some in look.batches.items() if look.hurried else ():
        if some and look.models[name].general and look.unfinished(some[0]):
            room = look.left if len(some[0].started_splits) > 1 else OPENING_SHARE * look.left
            if look.rest(some[0]) < room:
                return some[0]
    return None


def try_generally_good(look: ScheduleMoment) -> SettingBatch | None:
    """In a short run, try the cheapest generally good model of each kind."""
    tried = {look.models[name].general for name, some in look.batches.items() if some}
    for kind in KINDS if look.hurried else ():
        found = [name for name in look.affordable if look.models[name].general == kind]
        if found and kind not in tried:
            return look.open(found[0])
    return None


def try_variant_of_best(look: ScheduleMoment) -> SettingBatch | None:
    """In a short run, the best model gets its next variant, such as larger trees, before other models are tried."""
    if not look.hurried or not look.state.finished:
        return None
    best = max(look.state.finished, key=lambda one: one.best_mean)
    number = len(look.batches[best.model])
    if best.rung or number >= len(look.models[best.model].first):
        return None
    if look.cost(best.model, 0) * look.rounds(look.n_splits) > VARIANT_SHARE * look.left:
        return None
    return look.open(best.model)


def lengthen_best(look: ScheduleMoment) -> SettingBatch | None:
    """The best model gets as many more stages (trees) as there is time for, and so does a forest nearly as good as it.

    A boosted model is lengthened only if its longest stage did best.
    """
    if not look.state.finished:
        return None
    best = max(look.state.finished, key=lambda one: one.best_mean)
    forests = [one for one in look.state.finished if look.models[one.model].general == "forest"]
    near = [one for one in forests if nearly_as_good(look, one, best)]
    for batch in [best, *sorted(near, key=lambda one: -one.best_mean)[:1]]:
        if batch.rung or len(look.batches[batch.model]) >= MOST_BATCHES:
            continue
        for factor in (4, 2):
            if factor * look.cost(batch.model, 0) * look.rounds(look.n_splits) < LENGTHEN_SHARE * look.left:
                longer = look.schedule.lengthen(look.state, batch, factor, look.now)
                if longer is not None:
                    return longer
                break
    return None


def nearly_as_good(look: ScheduleMoment, batch: SettingBatch, best: SettingBatch) -> bool:
    """Whether a batch gains nearly as much over the baseline as the best one, so that a blend may use both."""
    gain = best.best_mean - look.schedule.baseline
    return math.isfinite(gain) and batch.best_mean - look.schedule.baseline >= NEARLY * gain > 0


def finish_climbing(look: ScheduleMoment) -> SettingBatch | None:
    """A batch on a higher rung is finished before others."""
    return next((one for one in look.state.batches if one.rung and look.unfinished(one)), None)


def climb_in_time(look: ScheduleMoment) -> SettingBatch | None:
    """Once enough models are finished, or much of the time is over, the best learn from more rows.

    What costs little still comes before it.
    """
    due = look.n_finished >= CLIMB_AFTER or look.now > CLIMB_SHARE * look.end
    climbed = climb_best(look) if due else None
    return None if climbed is None else look.cheap or climbed


def finish_best(look: ScheduleMoment) -> SettingBatch | None:
    """After a few models the best is finished, so that a stop at any moment leaves a result."""
    if look.n_opened < (1 if look.hurried else AT_ONCE) or not look.ranked:
        return None
    best = look.ranked[0]
    return best if look.unfinished(best) and look.rest(best) < FINISH_SHARE * look.left else None


def score_far_ahead(look: ScheduleMoment) -> SettingBatch | None:
    """A batch far ahead is scored, if need be on fewer splits; what costs little still comes before it."""
    ahead = far_ahead(look.state, look.schedule.perfect, look.schedule.baseline)
    if ahead is None or not look.unfinished(ahead) or not look.can_be_scored(ahead):
        return None
    quick = [name for name in look.affordable if look.seconds[name] * look.n_splits < CHEAP_SHARE * look.left]
    return look.open(quick[0]) if quick else look.cheap or ahead


def finish_cheap(look: ScheduleMoment) -> SettingBatch | None:
    """In a short run, what costs little is finished before another model may take more time than expected."""
    return look.cheap if look.hurried else None


def try_next_model(look: ScheduleMoment) -> SettingBatch | None:
    """The cheapest model that has not been tried, once something is being finished."""
    early = look.n_opened < AT_ONCE
    return try_any_model(look) if early or look.state.finished or look.finishing else None


def continue_promising(look: ScheduleMoment) -> SettingBatch | None:
    """What costs little, then what has begun, then the best on the first split."""
    if look.cheap is not None:
        return look.cheap
    begun = sorted(look.continuing, key=lambda one: look.rest(one) > look.left)  # what cannot be finished comes last
    ranked = look.ranked[:REMEMBERED]
    width = max(AT_ONCE, -(-len(ranked) // 3))
    waiting = [one for one in ranked[:width] if len(one.started_splits) == 1]
    promising = [one for one in waiting if look.rest(one) < PROMISING_SHARE * look.left]
    if not begun and not promising and not look.n_finished:  # something must be finished
        return min((one for one in ranked if len(one.started_splits) == 1), key=look.rest, default=None)
    return next(iter([*begun, *promising]), None)


def try_any_model(look: ScheduleMoment) -> SettingBatch | None:
    """The cheapest model that has not been tried."""
    return look.open(look.affordable[0]) if look.affordable else None


def climb_best(look: ScheduleMoment) -> SettingBatch | None:
    """The best finished batch that can go on to the next rung in the time left."""
    climbed = {one.climbed_from for one in look.state.batches}
    for batch in sorted(look.state.finished, key=lambda one: -one.best_mean):
        if batch.rung + 1 < len(look.models[batch.model].growth) and batch.number not in climbed:
            cost = look.cost(batch.model, batch.rung + 1)
            if cost * look.rounds(look.n_splits) < CLIMB_ROOM * look.left:
                return look.climb(batch)
    return None


def draw_new_settings(look: ScheduleMoment) -> SettingBatch | None:
    """New settings for the model that has had the least time for its rank."""
    if not (look.state.finished or look.finishing):
        return None
    tried = [m for m in dict.fromkeys(one.model for one in look.ranked) if look.models[m].space]
    spent = {m: sum(one.spent for one in look.batches[m]) * (1 + rank) ** RANK_POWER for rank, m in enumerate(tried)}
    for model in sorted(tried, key=spent.__getitem__):
        if len(look.batches[model]) < MOST_BATCHES and look.seconds[model] < EXPLORE_SHARE * look.left:
            return look.open(model)
    return None


def try_slow_model(look: ScheduleMoment) -> SettingBatch | None:
    """A model for which there may be no time on all splits, because nothing else is left to do."""
    slow = [name for name in look.openable if look.seconds[name] < OPENING_SHARE * look.left]
    return look.open(slow[0]) if slow else None


RULES: Sequence[Callable[[ScheduleMoment], SettingBatch | None]] = (
    finish_generally_good,
    try_variant_of_best,
    try_generally_good,
    finish_climbing,
    lengthen_best,
    climb_in_time,
    finish_best,
    score_far_ahead,
    finish_cheap,
    try_next_model,
    continue_promising,
    try_any_model,
    climb_best,
    draw_new_settings,
    try_slow_model,
)
