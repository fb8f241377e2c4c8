"""The search of a run: starts the jobs of the schedule and stores their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from foldwise.app.fewer_folds import finish_leader_on_fewer_folds
from foldwise.app.predictions import FoldPredictions
from foldwise.app.schedule import Schedule
from foldwise.app.schedule_rules import FEWEST_FOLDS
from foldwise.app.search_state import JobOutcome, SearchState, SplitJob
from foldwise.app.setup import RunSetup
from foldwise.app.state_view import far_ahead
from foldwise.app.timing import TICK, USUAL_START, Clock
from foldwise.app.workers.executors import Executor, JobResult
from foldwise.app.workers.jobs import JobFailure, SplitPredictions
from foldwise.errors import InputError

if TYPE_CHECKING:
    from foldwise.app.recording.trials import TrialRecord


class Search:
    """A search under way. With a record, it continues where the record ends, and all that it does is recorded."""

    def __init__(self, setup: RunSetup, executor: Executor, clock: Clock, record: TrialRecord | None = None) -> None:
        self.setup, self.executor, self.clock, self.record = setup, executor, clock, record
        perfect, baseline = setup.scale
        delay = max(0.0, clock.elapsed - USUAL_START)
        self.schedule = Schedule(setup.plans, executor.idle, perfect=perfect, baseline=baseline, delay=delay)
        self.predictions = FoldPredictions(setup.task, setup.splits, setup.metric, setup.decision_models)
        self.state = SearchState(setup.config.seed, len(setup.splits))
        if record is not None:
            self.state = record.begin(self.predictions).reopened(clock.budget)
        self.interrupted = False

    @property
    def compiling(self) -> list[str]:
        """Models that wait until their code is compiled."""
        opened = {one.model for one in self.state.batches}
        return [name for name in self.setup.plans if name not in opened and not self.executor.compiled(name)]

    @property
    def end(self) -> float:
        """When the search must end, in seconds from the start, so that what follows fits into the budget."""
        setup = self.setup
        best = sorted(self.state.finished, key=lambda one: -one.best_mean)[:4]
        ahead = far_ahead(self.state, *setup.scale)
        if ahead is not None and (not ahead.stopped or len(ahead.scores) >= FEWEST_FOLDS):
            best = [ahead, *best[:3]]
        refits = [setup.refit_seconds(one) for one in best]
        end = setup.time.latest - setup.time.reserve(refits, setup.large_files(self.state.leaders))
        if ahead is None or ahead.stopped or len(ahead.scores) >= FEWEST_FOLDS:
            return end
        # its folds are not stopped for the sake of other members and importances: the run would lose its best model
        return max(end, setup.time.last_moment(refits[0], setup.large_files([ahead])))

    def run(self, tell: Callable[[], None]) -> None:
        """Run jobs until none is left or the time is over; an interrupt ends it earlier.

        Where nothing is finished then, one batch is finished, however long it takes: a usable result goes before time.
        """
        try:
            while self.step():
                tell()
        except KeyboardInterrupt:
            self.interrupted = True
        self.executor.stop()
        if self.record is not None:
            self.record.stop()
        self.state = replace(self.state.without_pending(), uncompiled=tuple(self.compiling))
        if not self.state.finished:
            self.rescue()
        setup, state = finish_leader_on_fewer_folds(self.setup, self.state, self.clock.elapsed)
        if state is not self.state:
            self.setup, self.state = setup, state
            self.predictions.keep_splits(state.n_splits)
            self.predictions.forget(state)

    def step(self) -> bool:
        """Start what can be started, and take in what has ended; False where the search is over."""
        end, compiling = self.end, self.compiling
        if self.clock.elapsed >= end:
            return False
        while self.executor.idle:
            job = self.schedule.next_job(self.state, self.clock.elapsed, end, compiling)
            if job is None:
                break
            self.start(job)
        if not self.executor.running:
            if not compiling:
                return False
            self.clock.sleep(TICK)
        for done in self.executor.collect(min(TICK, max(0.0, end - self.clock.elapsed))):
            self.take(done, end)
        return True

    def start(self, job: SplitJob) -> None:
        if self.record is not None and job.batch.number == len(self.state.batches):  # seconds since the first session
            job = replace(job, batch=replace(job.batch, opened=self.record.session.before + job.batch.opened))
        self.state = self.schedule.start(self.state, job)
        if self.record is not None:
            self.record.start(self.state, job)
        work = self.setup.predict_job(job.batch, range(len(job.batch.settings)), job.split)
        self.executor.start(job, work, job.limit)

    def take(self, done: JobResult, end: float) -> None:
        """Store what came of a job."""
        job = done.key
        assert isinstance(job, SplitJob)
        value, seconds = done.value, done.seconds
        if isinstance(value, SplitPredictions):
            self.predictions.add(job.batch.number, job.split, value.values)
            outcome = JobOutcome(seconds, self.predictions.scores(job.batch, job.split), dict(value.errors))
        elif isinstance(value, JobFailure):
            outcome = JobOutcome(seconds, failure=value.error)
        else:
            outcome = JobOutcome(seconds, out_of_time=self.clock.elapsed >= end)
        before = self.state
        self.state = self.schedule.record(before, job, outcome)
        self.predictions.forget(self.state)
        if self.record is not None:
            self.record.end(before, self.state, job, outcome, self.predictions)

    def rescue(self) -> None:
        """Finish one batch, the cheapest that can be."""
        while (job := self.schedule.rescue_job(self.state, self.clock.elapsed)) is not None:
            self.start(job)
            while self.executor.running:
                for done in self.executor.collect(TICK):
                    stopped = done.value is None
                    self.take(replace(done, value=JobFailure("it took too long")) if stopped else done, np.inf)
        if not self.state.finished:
            reasons = [(spec.title, self.state.unfinished_reason(name)[1]) for name, spec in self.setup.specs.items()]
            words = "; ".join(f"{title}: {why}" for title, why in reasons)
            raise InputError(
                f"no model could be fitted to this table. {words}", "increase budget=, or check the columns."
            )
