"""Recorded runs in fake seconds, and kills after so many jobs: nothing is closed or written after them."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from foldwise.app.config import FitConfig
from foldwise.app.recording.record import RunRecord
from foldwise.app.recording.trials import TrialRecord
from foldwise.app.result import Run
from foldwise.app.run import recorded, run_fit
from foldwise.app.search import Search
from foldwise.app.timing import Clock, seconds_of
from tests.app.fakes import FRAME, FakeExecutor, FakeTime, MadeUp, Seconds, searched


class Killed(BaseException):
    """The process is killed here."""


class Killing:
    """Kills the process at the start of a job, counted from 0."""

    kill_at: int | None = None

    def perform(self, job: Any) -> Any:
        if self.kill_at == 0:
            raise Killed
        self.kill_at = None if self.kill_at is None else self.kill_at - 1
        return super().perform(job)  # type: ignore[misc]


class KillingExecutor(Killing, FakeExecutor):
    """Fits models."""


class KillingMadeUp(Killing, MadeUp):
    """Makes predictions up."""


def recorded_search(
    file: Path, strength: dict[str, float | None], kill_at: int | None = None, **options: Any
) -> tuple[Search, Clock]:
    """A search of made-up models that has not begun, recorded in a file."""
    plain, clock = searched(strength, **options)
    executor = KillingMadeUp(clock.now, strength, plain.executor.seconds)
    executor.kill_at = kill_at
    executor.give(plain.setup.worker_data)
    return Search(plain.setup, executor, clock, TrialRecord.open(file, plain.setup, clock, None)), clock


def recorded_fit(
    folder: Path,
    table: Any = FRAME,
    *,
    is_resumed: bool = False,
    kill_at: int | None = None,
    seconds: Seconds = 0.4,
    budget: float | None = 8,
    watch: Any = None,
    force: bool = False,
    **options: Any,
) -> Run | None:
    """`fit` in a run folder and in fake seconds. None if it was killed at the start of a job."""
    time = FakeTime()
    if is_resumed:
        record = RunRecord.resume(folder, table, FitConfig(n_jobs=1, **options), budget)
    else:
        given = {"target": "y", "models": ["naive_bayes", "decision_tree"], "rows": False, **options}
        record = RunRecord.begin(folder, table, FitConfig(budget=budget, n_jobs=1, **given), force=force)
    executor = KillingExecutor(time, seconds)
    executor.kill_at = kill_at
    clock = Clock(seconds_of(record.config.budget), time(), time, time.sleep)
    if kill_at is None:
        with record:
            return recorded(record, executor=executor, clock=clock, watch=watch)
    try:
        run_fit(record.table, record.config, executor=executor, clock=clock, watch=watch, record=record)
    except Killed:
        record.lock.close()  # as the system does
        record.trials = None
        gc.collect()
    return None
