"""The engine: one session predicts with every setting on every split, metrics score it, and a refit audits it."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from foldwise.folds.abilities import ExpectsSplits, HasSmallProducts
from foldwise.folds.audit import check_one
from foldwise.folds.groups import group_settings
from foldwise.folds.leave_one_out import answers_leave_one_out
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import FoldSession, Params
from foldwise.folds.scattering import scatter_session
from foldwise.folds.scoring import ScoreTable, ScoringPlan, TaskResult, score_task
from foldwise.folds.splits import LeaveOneOutSplits, Split
from foldwise.folds.stop_traces import without_stop_traces

__all__ = ["EvaluationTask", "Outcome", "ScoringPlan", "evaluate"]

Observer = Callable[[Sequence[int], int | None, TaskResult], None]  # indices of settings, index of the split, scores
LEAST_WAIT = 1e-3  # seconds, for a result of another process
SMALL = 5e-4  # seconds; shorter tasks run faster without threads


@dataclass(frozen=True)
class EvaluationTask:
    """Settings that are all evaluated on all of these splits."""

    settings: Sequence[Params]
    splits: Sequence[Split]


@dataclass(frozen=True)
class Outcome:
    """The scores, times and errors of settings × splits."""

    scores: dict[str, NDArray[Any]]  # by metric: (settings, splits), NaN after an error
    train_scores: dict[str, NDArray[Any]]  # the same on training rows, if requested
    seconds: NDArray[np.float64]  # (settings, splits); the time of a group is divided equally
    failures: tuple[tuple[int, int, Exception], ...]  # errors of fits: setting, split, error
    unscored: tuple[tuple[int, int, str, Exception], ...]  # errors of metrics: setting, split, metric, error
    train_unscored: tuple[tuple[int, int, str, Exception], ...]  # the same for scores on training rows
    fits: int  # groups of settings × splits; leave-one-out in one pass counts as one
    kept: tuple[tuple[list[int], int | None, Any], ...] = ()  # settings, split (None: all), what the recorder kept
    n_settings_done: int | None = None  # settings that were scored before the deadline; None for all
    ran: NDArray[np.bool_] | None = None  # (settings, splits) that were scored; None for all

    def first(self, n: int) -> Outcome:
        """The outcome of the first n settings."""
        return replace(
            self,
            scores={name: values[:n] for name, values in self.scores.items()},
            train_scores={name: values[:n] for name, values in self.train_scores.items()},
            seconds=self.seconds[:n],
            failures=tuple(one for one in self.failures if one[0] < n),
            unscored=tuple(one for one in self.unscored if one[0] < n),
            train_unscored=tuple(one for one in self.train_unscored if one[0] < n),
            kept=tuple(one for one in self.kept if max(one[0]) < n),
            n_settings_done=None,
        )


def evaluate(
    session: FoldSession,
    tasks: Sequence[EvaluationTask],
    plan: ScoringPlan,
    *,
    n_jobs: int | None = None,
    audit: bool = False,
    progress: Progress | None = None,
    deadline: float | None = None,
    observers: Sequence[Observer | None] = (),
) -> list[Outcome]:
    """Score every setting of each task on every split of the task.

    Parameters
    ----------
    session : FoldSession
        The session that predicts; see `open_session`.
    tasks : sequence of EvaluationTask
        Settings and splits. The work of all tasks is distributed together.
    plan : ScoringPlan
        The metrics, and whether training rows are scored too.
    n_jobs : int, optional
        Number of threads or processes; None means 1, or what joblib's context says.
    audit : bool, default=False
        Check one random setting on one random split with a refit. This does not change any result.
    progress : Progress, optional
        Shows how many models are done; by default on a terminal only.
    deadline : float, optional
        Time of `time.monotonic` after which no fit starts. Fits in other processes are then stopped. Of several tasks,
        the first setting of each is scored in any case.
    observers : sequence of callable or None, optional
        One per task, called with each of its results as it arrives: the indices of the settings, the index of the split
        (None for all splits of leave-one-out) and the scores.

    Returns
    -------
    list of Outcome
        One per task.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes
    >>> from foldwise.evaluation.metrics import find_metric
    >>> from foldwise.folds import freeze_splits, open_session
    >>> X, y = load_iris(return_X_y=True)
    >>> task = EvaluationTask([{"var_floor": 1e-9}, {"var_floor": 0.5}], freeze_splits(5, X, y, n_rows=150))
    >>> plan = ScoringPlan({"accuracy": find_metric("accuracy")})
    >>> [outcome] = evaluate(open_session(NaiveBayes(), X, y), [task], plan)
    >>> outcome.scores["accuracy"].shape
    (2, 5)
    """
    jobs = jobs_of(session, tasks, plan)
    first: list[EvaluationJob] = []  # that are done even after the deadline
    if deadline is not None and len(tasks) > 1:
        first, jobs = in_turn(jobs)
    builders = [OutcomeBuilder(task, plan) for task in tasks]
    with progress or Progress() as shown:
        shown.expect(sum(job.n_models for job in [*first, *jobs]))
        beyond = run_jobs(session, first, plan, n_jobs) if first else ()
        for job, result in chain(beyond, run_jobs(session, jobs, plan, n_jobs, deadline)):
            builders[job.task].add(job.group, job.number, result)
            if observers and (observe := observers[job.task]) is not None:
                observe(job.group.indices, job.number, result)
            shown.advance(job.n_models)
    if audit and (deadline is None or time.monotonic() < deadline):
        audit_one(session, tasks, plan)
    return [builder.outcome() for builder in builders]


def jobs_of(session: FoldSession, tasks: Sequence[EvaluationTask], plan: ScoringPlan) -> list[EvaluationJob]:
    """Divide tasks into jobs: settings that share their work, on one split."""
    known: dict[int, list[SettingGroup]] = {}  # searches inside outer folds pass the same list of settings
    jobs: list[EvaluationJob] = []
    expects = session if isinstance(session, ExpectsSplits) else None
    for t, task in enumerate(tasks):
        if expects is not None:
            expects.expect(task.splits)
        groups = known.get(id(task.settings))
        if groups is None:
            indices = group_settings(session, task.settings)
            groups = known[id(task.settings)] = [SettingGroup.of(task.settings, some) for some in indices]
        together, separate = separate_leave_one_out(session, groups, task.splits, plan)
        if isinstance(task.splits, LeaveOneOutSplits):
            jobs += [EvaluationJob(t, group, None, task.splits) for group in together]
        jobs += [EvaluationJob(t, group, n, split) for group in separate for n, split in enumerate(task.splits)]
    return jobs


def in_turn(jobs: Sequence[EvaluationJob]) -> tuple[list[EvaluationJob], list[EvaluationJob]]:
    """Order jobs so that all tasks get equally far until a deadline: the first setting of each task, and the others."""
    known: dict[int, dict[int, int]] = {}  # by task and first setting of a group: how many groups came before
    ranks = []
    for job in jobs:
        groups = known.setdefault(job.task, {})
        ranks.append(groups.setdefault(job.group.indices[0], len(groups)))
    order = sorted(range(len(jobs)), key=ranks.__getitem__)
    n_first = ranks.count(0)
    return [jobs[i] for i in order[:n_first]], [jobs[i] for i in order[n_first:]]


def run_jobs(
    session: FoldSession,
    jobs: Sequence[EvaluationJob],
    plan: ScoringPlan,
    n_jobs: int | None = None,
    deadline: float | None = None,
) -> Iterator[tuple[EvaluationJob, TaskResult]]:
    """Run jobs in order, on threads or joblib's backend; at the deadline, the rest is left out."""
    calls = [(session, job.group.settings, job.split, plan) for job in jobs]
    results = run_threads(calls, n_jobs, deadline) if session.threads else run_joblib(calls, n_jobs, deadline)
    if deadline is not None:
        results = until(deadline, results)
    return zip(jobs, results, strict=deadline is None)


def audit_one(session: FoldSession, tasks: Sequence[EvaluationTask], plan: ScoringPlan) -> None:
    """Check one random setting on one random split with a refit."""
    rng = np.random.default_rng()
    task = tasks[int(rng.integers(len(tasks)))]
    check_one(session, task.settings, task.splits, plan.need, rng)


@dataclass(frozen=True)
class SettingGroup:
    """Settings that share their work, and their indices among all settings of the task."""

    settings: tuple[Params, ...]  # a tuple, which a session recognizes by its identity
    indices: list[int]
    where: slice | list[int]  # the indices as a slice if they are consecutive: faster

    @classmethod
    def of(cls, settings: Sequence[Params], indices: list[int]) -> SettingGroup:
        """The group of the settings with these indices."""
        run = slice(indices[0], indices[-1] + 1)
        where = run if len(indices) == run.stop - run.start else indices
        return cls(tuple(settings[i] for i in indices), indices, where)


@dataclass(frozen=True)
class EvaluationJob:
    """The part of a task that is done at once: settings that share their work, on one split."""

    task: int  # index of the task
    group: SettingGroup
    number: int | None  # index of the split; None for all splits of leave-one-out in one pass
    split: Split | LeaveOneOutSplits

    @property
    def n_models(self) -> int:
        """The number of models that it scores."""
        return len(self.group.indices) * (len(self.split) if isinstance(self.split, LeaveOneOutSplits) else 1)


def separate_leave_one_out(
    session: FoldSession, groups: list[SettingGroup], splits: Sequence[Split], work: ScoringPlan
) -> tuple[list[SettingGroup], list[SettingGroup]]:
    """Settings that are answered by leave-one-out in one pass, and settings that are answered split by split."""
    # predictions of all models for all training rows take quadratic time anyway
    if not isinstance(splits, LeaveOneOutSplits) or work.on_train:
        return [], groups
    found: tuple[list[SettingGroup], list[SettingGroup]] = ([], [])
    for group in groups:
        together = [answers_leave_one_out(session, setting, splits) for setting in group.settings]
        for one_pass, part in zip((True, False), found, strict=True):
            inside = [i for i, can in enumerate(together) if can is one_pass]
            if len(inside) == len(group.indices):
                part.append(group)
            elif inside:
                some = SettingGroup.of(group.settings, inside)
                indices = [group.indices[i] for i in inside]
                part.append(SettingGroup(some.settings, indices, indices))
    return found


class OutcomeBuilder:
    """Collects the results of one evaluation task."""

    def __init__(self, task: EvaluationTask, plan: ScoringPlan) -> None:
        shape = len(task.settings), len(task.splits)
        self._test = ScoreTable(list(plan.metrics), *shape)
        self._train = ScoreTable(list(plan.metrics) if plan.on_train else [], *shape)
        self._seconds = np.zeros(shape)
        self._failures: list[tuple[int, int, Exception]] = []
        self._recorded: list[tuple[list[int], int | None, Any]] = []
        self._fits = 0
        self._done = np.zeros(shape, dtype=bool)

    def add(self, group: SettingGroup, number: int | None, result: TaskResult) -> None:
        """Add the scores of a group of settings on one split, or on all splits of leave-one-out."""
        indices, first = group.indices, number or 0
        splits = slice(None) if number is None else slice(number, number + 1)
        self._fits += result.fits
        self._done[group.where, splits] = True
        n_models = len(indices) * (self._seconds.shape[1] if number is None else 1)
        self._seconds[group.where, splits] = result.seconds / n_models
        for mine, new in ((self._test, result.test), (self._train, result.train)):
            for name, values in new.scores.items():
                mine.put(name, group.where, splits, values)
            mine.unscored += [(indices[i], first + k, name, error) for i, k, name, error in new.unscored]
        self._failures += [(indices[i], first + k, error) for i, k, error in result.failed]
        self._recorded += [(indices[start:stop], number, part) for start, stop, part in result.recorded]

    def outcome(self) -> Outcome:
        failures = tuple(sorted(self._failures, key=lambda f: f[:2]))
        unscored, train_unscored = (
            tuple(sorted(table.unscored, key=lambda f: f[:3])) for table in (self._test, self._train)
        )
        scores = self._test.scores, self._train.scores
        done = self._done.all(axis=1)
        n_done = None if done.all() else int(np.argmin(done))
        kept = tuple(self._recorded)
        return Outcome(*scores, self._seconds, failures, unscored, train_unscored, self._fits, kept, n_done)


def run_threads(calls: Sequence[tuple[Any, ...]], n_jobs: int | None, deadline: float | None = None) -> Iterator[Any]:
    """Run `score_task` on plain threads: sessions release the GIL, and joblib takes longer to start."""
    # joblib looks up the number of cores on each call, which takes longer than a small search
    threads = min(n_jobs if n_jobs is not None and n_jobs > 0 else effective_n_jobs(n_jobs), len(calls))
    session = calls[0][0] if calls else None
    with one_blas_thread() if isinstance(session, HasSmallProducts) and session.small_products else nullcontext():
        if threads <= 1:
            yield from (score_task(*call) for call in calls)
            return
        first, second = (score_task(*call) for call in calls[:2])  # the first call also does what is prepared once
        yield from (first, second)
        if second.seconds < SMALL:
            yield from (score_task(*call) for call in calls[2:])
            return

        def in_time(call: tuple[Any, ...]) -> TaskResult | None:
            return None if deadline is not None and time.monotonic() > deadline else score_task(*call)

        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(in_time, calls[2:])


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread: the products are too small to divide, and several run at once."""
    limited: AbstractContextManager[Any] = blas_libraries().limit(limits=1, user_api="blas")
    return limited


@cache
def blas_libraries() -> ThreadpoolController:
    """The loaded libraries with threads of their own, found once: it takes longer than a small search."""
    return ThreadpoolController()


def until(deadline: float, results: Iterable[Any]) -> Iterator[Any]:
    """The results until the deadline. A result that is asked for later is not computed."""
    waiting = iter(results)
    while time.monotonic() < deadline:
        try:
            result = next(waiting, None)
        except multiprocessing.TimeoutError:  # of joblib, which has stopped its processes
            return
        if result is None:  # the last one, or one that a thread did not start
            return
        yield result
    if hasattr(waiting, "close"):
        waiting.close()


def run_joblib(calls: Sequence[tuple[Any, ...]], n_jobs: int | None, deadline: float | None = None) -> Iterable[Any]:
    """Run `score_task` on joblib's current backend."""
    if effective_n_jobs(n_jobs) == 1 or not calls:
        return (score_task(*call) for call in calls)
    scatter_session(calls[0][0])
    try:  # results one by one, so that progress can be shown
        pool = Parallel(n_jobs, return_as="generator")
    except ValueError:  # a backend without generators
        pool, deadline = Parallel(n_jobs), None
    tasks = [delayed(score_task)(*call) for call in calls]
    found: Iterable[Any] = pool(tasks) if deadline is None else before(deadline, pool, tasks)
    return found


def before(deadline: float, pool: Parallel, tasks: Sequence[Any]) -> Iterator[Any]:
    """The results of a pool, which is stopped at the deadline: joblib's own timeout begins again with each result.

    If all results came in time, the pool is not stopped, because new processes would import the libraries again.
    """
    finished, results = False, pool(tasks)
    try:
        for n_left in reversed(range(len(tasks))):
            pool.timeout = max(LEAST_WAIT, deadline - time.monotonic())
            with without_stop_traces():
                result = next(results)
                if not n_left:
                    finished = next(results, None) is None  # joblib stops a pool whose end was not reached
            yield result
    finally:
        with without_stop_traces(stops=not finished):
            results.close()
