"""Runs in this process with a fake clock: every job takes as many seconds as a test says, and none of them pass.

`fake_fit` and `fake_runs` fit models; `searched` and `made_up_result` make predictions up instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from foldwise.app.config import FitConfig
from foldwise.app.final_model import fit_members, select_members
from foldwise.app.progress import RunProgress
from foldwise.app.result import FitResult, Run
from foldwise.app.run import run_fit
from foldwise.app.search import Search
from foldwise.app.setup import RunSetup
from foldwise.app.task import make_task
from foldwise.app.timing import Clock, seconds_of
from foldwise.app.workers.executors import InProcessExecutor
from foldwise.app.workers.jobs import FitAllRows, FitSplit, JobFailure, PredictSplit, SplitPredictions
from foldwise.evaluation.metrics import class_metric

Seconds = float | Callable[[Any], float]  # of a job


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

    def __init__(self, time: FakeTime, seconds: Seconds = 0.2) -> None:
        super().__init__(time)
        self.time, self.seconds = time, seconds

    def perform(self, job: Any) -> Any:
        value = super().perform(job)
        self.time.sleep(self.seconds(job) if callable(self.seconds) else self.seconds)
        return value


def fake_fit(
    table: Any,
    *,
    seconds: Seconds = 0.4,
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


@contextmanager
def fake_runs(seconds: Seconds = 0.1) -> Iterator[None]:
    """Meanwhile `foldwise.fit` and `foldwise fit` run in this process and in fake seconds."""

    def in_fake_seconds(table: Any, config: FitConfig, **given: Any) -> Run:
        time = FakeTime()
        clock = Clock(seconds_of(config.budget), time(), time, time.sleep)
        return run_fit(table, config, **given | {"executor": FakeExecutor(time, seconds), "clock": clock})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("foldwise.app.run.run_fit", in_fake_seconds)
        patch.setattr("foldwise.app.cli.fit.open_executor", lambda _: FakeExecutor(FakeTime()))
        yield


N = 120
LABELS = np.arange(N) % 2
FRAME = pl.DataFrame({"x": np.random.default_rng(0).normal(size=N), "y": np.array(["no", "yes"])[LABELS]})


class MadeUp(FakeExecutor):
    """Predicts the labels, as well as a model's strength says; a strength of None fails. Slow jobs are stopped."""

    def __init__(self, time: FakeTime, strength: dict[str, float | None], seconds: Seconds = 0.2) -> None:
        super().__init__(time, seconds)
        self.strength, self.done = strength, []

    def start(self, key: Any, job: Any, limit: float) -> None:
        super().start(key, job, limit)
        self.limit = limit

    def perform(self, job: Any) -> Any:
        seconds = self.seconds(job) if callable(self.seconds) else self.seconds
        self.time.sleep(min(seconds, self.limit))
        if seconds > self.limit:
            return None
        self.done.append(job)
        if isinstance(job, FitAllRows | FitSplit):
            return f"fitted {job.model}"
        if not isinstance(job, PredictSplit):
            return {"x": [0.1, 0.2]}
        strength = self.strength[job.model]
        if strength is None:
            return JobFailure("ValueError: it cannot")
        test = self._data.splits[job.split].test
        odds = strength * (2 * LABELS[test] - 1) + np.random.default_rng([job.split, len(job.model)]).normal(
            size=len(test)
        )
        p = 1 / (1 + np.exp(-odds))
        values = np.repeat(np.stack([1 - p, p], axis=1)[None], len(job.settings), axis=0).astype(np.float32)
        return SplitPredictions(values, ())


def searched(
    strength: dict[str, float | None],
    budget: float = 20.0,
    seconds: Seconds = 0.2,
    loading: float = 0.0,
    **options: Any,
) -> tuple[Search, Clock]:
    """A search that has not begun, of models as good as their strengths say; so many seconds have passed before it."""
    time = FakeTime()
    config = FitConfig(target="y", budget=budget, models=list(strength), n_jobs=1, **options)
    task = make_task(FRAME, "y")
    setup = RunSetup.make(config, task, class_metric(None, task.classes), 1)
    executor = MadeUp(time, strength, seconds)
    executor.give(setup.worker_data)
    clock = Clock(budget, time() - loading, time, time.sleep)
    return Search(setup, executor, clock), clock


STRENGTH = {"decision_tree": 0.5, "logistic_regression": 2.0, "naive_bayes": 1.0}


def made_up_result(strength: dict[str, float | None], **options: Any) -> FitResult:
    """The result of a run whose predictions are made up; its members are no models."""
    search, clock = searched(strength, **options)
    search.run(lambda: None)
    given = (search.setup, search.state, search.predictions)
    selection = select_members(*given, clock)
    final = fit_members(*given, selection, search.executor, clock, lambda: None)
    return FitResult(*given, replace(final, bayes=None), False, "foldwise fit", "foldwise.fit()")
