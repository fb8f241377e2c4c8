"""The schedule of a search: which job comes next, given the results so far and the time left.

It neither fits models nor reads a clock: time comes as seconds since the start of the run. Its state is a plain value
that can be written as JSON. Predictions are stored separately (`predictions`), by batch and split.

Every model starts on the first split, the cheapest first. Batches that do well there continue on the other splits. New
settings are drawn mostly for the best models: the share of time of a model falls with its rank (`schedule_rules`). The
first split decides which settings continue, so it is not used to estimate how good the winners are (`selection`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from foldwise.app.model_plan import ModelPlan
from foldwise.app.schedule_rules import RULES, ScheduleMoment
from foldwise.app.search_state import JobOutcome, SearchState, SettingBatch, SplitJob
from foldwise.app.state_view import REMEMBERED, StateView, ranking
from foldwise.app.timing import RESCUE_SECONDS
from foldwise.tuning.strategies.protocol import Strategy
from foldwise.tuning.strategies.random import Random

KEPT = 4  # settings of a batch whose predictions are kept


@dataclass(frozen=True)
class Schedule:
    """Decides what to do next. All that changes during a search is in the `SearchState`."""

    models: Mapping[str, ModelPlan]
    n_workers: int
    strategy: Strategy = field(default_factory=Random)
    perfect: float = 0.0  # the score of a perfect model; losses are measured from it
    baseline: float = 0.0  # the score of the class frequencies on the first split
    delay: float = 0.0  # seconds by which the search begins later than usual, so that it has less time

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
        look = ScheduleMoment(self, state, now, end, compiling)
        if look.left <= 0:
            return None
        batch = next((found for rule in RULES if (found := rule(look)) is not None), None)
        return None if batch is None else SplitJob(batch, look.next_split(batch), look.patience(batch))

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
        """Open a new batch of a model. Its settings depend on the seed, the model and its earlier batches."""
        select = "naive_bayes" not in compiling  # which selects columns
        settings = self.models[model].draw(state.of_model(model), state.seed, self.strategy, select=select)
        return SettingBatch(len(state.batches), model, settings, now)

    def lengthen(self, state: SearchState, batch: SettingBatch, factor: int, now: float) -> SettingBatch | None:
        """Open a batch with more stages of the best setting of another one, if that may help and was not tried."""
        settings = self.models[batch.model].longer(batch, factor)
        if not settings or any(settings[-1] in one.settings for one in state.of_model(batch.model)):
            return None
        return SettingBatch(len(state.batches), batch.model, settings, now)

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
            batch = replace(batch, stopped="too slow", why=f"one fold took more than {outcome.seconds:.2g} s")
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
