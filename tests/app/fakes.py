"""Runs in this process with a fake clock: every job takes as many seconds as a test says, and none of them pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foldwise.app.config import FitConfig
from foldwise.app.progress import RunProgress
from foldwise.app.result import Run
from foldwise.app.run import run_fit
from foldwise.app.timing import Clock, seconds_of
from foldwise.app.workers.executors import InProcessExecutor


class FakeTime:
    """A time that passes only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class FakeExecutor(InProcessExecutor):
    """Does jobs in this process, in fake seconds."""

    def __init__(self, time: FakeTime, seconds: float | Callable[[Any], float] = 0.2) -> None:
        super().__init__(time)
        self.time, self.seconds = time, seconds

    def perform(self, job: Any) -> Any:
        value = super().perform(job)
        self.time.sleep(self.seconds(job) if callable(self.seconds) else self.seconds)
        return value


def fake_fit(
    table: Any,
    *,
    seconds: float | Callable[[Any], float] = 0.2,
    executor: Callable[[FakeTime], InProcessExecutor] | None = None,
    watch: Callable[[RunProgress], None] | None = None,
    **options: Any,
) -> Run:
    """`foldwise.fit` in fake seconds; without worked examples, which take real ones, unless `rows` is True."""
    time = FakeTime()
    config = FitConfig(**{"budget": 8, "n_jobs": 1, "rows": False, **options})
    made = FakeExecutor(time, seconds) if executor is None else executor(time)
    clock = Clock(seconds_of(config.budget), time(), time, time.sleep)
    return run_fit(table, config, executor=made, clock=clock, watch=watch)
