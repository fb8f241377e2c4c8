"""The engine: every setting on every split, answered by one session, scored by metrics, audited by a true refit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from foldwise.folds.audit import check_one
from foldwise.folds.groups import group_settings
from foldwise.folds.leave_one_out import answers_leave_one_out
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import FoldSession, Params
from foldwise.folds.scoring import ScoreTable, ScoringPlan, TaskResult, score_task
from foldwise.folds.splits import LeaveOneOutSplits, Split

__all__ = ["EvaluationTask", "Outcome", "ScoringPlan", "evaluate"]

SMALL = 5e-4  # seconds; threads that do less at a time wait for each other more than they work


@dataclass(frozen=True)
class EvaluationTask:
    """Every one of these settings on every one of these splits."""

    settings: Sequence[Params]
    splits: Sequence[Split]


@dataclass(frozen=True)
class Outcome:
    """What came of settings × splits."""

    scores: dict[str, NDArray[Any]]  # by metric: (settings, splits), NaN where it failed
    train_scores: dict[str, NDArray[Any]]  # the same on training rows, if asked for
    seconds: NDArray[np.float64]  # (settings, splits), a piece of work's time shared equally by its settings
    failures: tuple[tuple[int, int, Exception], ...]  # of fits: setting, split, error
    unscored: tuple[tuple[int, int, str, Exception], ...]  # setting, split, metric, error
    train_unscored: tuple[tuple[int, int, str, Exception], ...]  # the same for scores on training rows
    fits: int  # pieces of work: groups of settings × splits; leave-one-out at once is one
    kept: tuple[tuple[list[int], int | None, Any], ...] = ()  # settings, split (None: all), what was taken of a block


def evaluate(
    session: FoldSession,
    tasks: Sequence[EvaluationTask],
    plan: ScoringPlan,
    *,
    n_jobs: int | None = None,
    audit: bool = False,
    progress: Progress | None = None,
) -> list[Outcome]:
    """The outcome of each task; the work of all tasks is done in one go.

    With `audit` one random setting and split is checked by a refit, another one each time; it changes no result.
    """
    known: dict[int, list[Group]] = {}  # searches inside outer folds ask about the same list of settings
    jobs: list[tuple[int, Group, int | None]] = []  # a split, or None for all splits of leave-one-out at once
    for t, task in enumerate(tasks):
        groups = known.get(id(task.settings))
        if groups is None:
            groups = known[id(task.settings)] = groups_of(session, task.settings)
        together, separate = separate_leave_one_out(session, groups, task.splits, plan)
        jobs += [(t, group, None) for group in together]
        jobs += [(t, group, number) for group in separate for number in range(len(task.splits))]
    calls = [
        (session, group.settings, tasks[t].splits if number is None else tasks[t].splits[number], plan)
        for t, group, number in jobs
    ]
    results = run_threads(calls, n_jobs) if session.threads else run_joblib(calls, n_jobs)
    builders = [OutcomeBuilder(task, plan) for task in tasks]
    with progress or Progress() as shown:
        n_models = [len(group.indices) * (len(tasks[t].splits) if n is None else 1) for t, group, n in jobs]
        shown.expect(sum(n_models))
        for (t, group, number), result, n in zip(jobs, results, n_models, strict=True):
            builders[t].add(group, number, result)
            shown.advance(n)
    if audit:
        rng = np.random.default_rng()
        task = tasks[int(rng.integers(len(tasks)))]
        check_one(session, task.settings, task.splits, plan.need, rng)
    return [builder.outcome() for builder in builders]


@dataclass(frozen=True)
class Group:
    """Settings that share one piece of work, and their indices among those asked for."""

    settings: tuple[Params, ...]  # no list: a session may know it again
    indices: list[int]
    where: slice | list[int]  # the indices as an index; a slice is faster

    @classmethod
    def of(cls, settings: Sequence[Params], indices: list[int]) -> Group:
        """The settings at these indices among all."""
        run = slice(indices[0], indices[-1] + 1)
        where = run if len(indices) == run.stop - run.start else indices
        return cls(tuple(settings[i] for i in indices), indices, where)


def groups_of(session: FoldSession, settings: Sequence[Params]) -> list[Group]:
    """The settings in groups that share one piece of work."""
    return [Group.of(settings, indices) for indices in group_settings(session, settings)]


def separate_leave_one_out(
    session: FoldSession, groups: list[Group], splits: Sequence[Split], work: ScoringPlan
) -> tuple[list[Group], list[Group]]:
    """Settings whose splits of leave-one-out are answered at once, and those that are asked split by split."""
    # what all models predict for all training rows is quadratic by itself
    if not isinstance(splits, LeaveOneOutSplits) or work.on_train:
        return [], groups
    found: tuple[list[Group], list[Group]] = ([], [])
    for group in groups:
        together = [answers_leave_one_out(session, setting, splits) for setting in group.settings]
        for at_once, part in zip((True, False), found, strict=True):
            inside = [i for i, can in enumerate(together) if can is at_once]
            if len(inside) == len(group.indices):
                part.append(group)
            elif inside:
                some = Group.of(group.settings, inside)
                indices = [group.indices[i] for i in inside]
                part.append(Group(some.settings, indices, indices))
    return found


class OutcomeBuilder:
    """Gathers the results of one evaluation task."""

    def __init__(self, task: EvaluationTask, plan: ScoringPlan) -> None:
        shape = len(task.settings), len(task.splits)
        self._test = ScoreTable(list(plan.metrics), *shape)
        self._train = ScoreTable(list(plan.metrics) if plan.on_train else [], *shape)
        self._seconds = np.zeros(shape)
        self._failures: list[tuple[int, int, Exception]] = []
        self._recorded: list[tuple[list[int], int | None, Any]] = []
        self._fits = 0

    def add(self, group: Group, number: int | None, result: TaskResult) -> None:
        """The scores of a group of settings on one split, or on all splits of leave-one-out."""
        indices, first = group.indices, number or 0
        splits = slice(None) if number is None else slice(number, number + 1)
        self._fits += result.fits
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
        return Outcome(*scores, self._seconds, failures, unscored, train_unscored, self._fits, tuple(self._recorded))


def run_threads(calls: Sequence[tuple[Any, ...]], n_jobs: int | None) -> Iterator[Any]:
    """`score_task` of each call on plain threads: sessions release the GIL, and joblib's own start costs more."""
    # joblib looks up the machine's cores anew each time it is asked, which takes longer than a small search
    threads = min(n_jobs if n_jobs is not None and n_jobs > 0 else effective_n_jobs(n_jobs), len(calls))
    if threads <= 1:
        yield from (score_task(*call) for call in calls)
        return
    first, second = (score_task(*call) for call in calls[:2])  # the first also pays for what is prepared once
    yield from (first, second)
    if second.seconds < SMALL:
        yield from (score_task(*call) for call in calls[2:])
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(lambda call: score_task(*call), calls[2:])


def run_joblib(calls: Sequence[tuple[Any, ...]], n_jobs: int | None) -> Iterable[Any]:
    """`score_task` of each call on joblib's backend of the day."""
    if effective_n_jobs(n_jobs) == 1:
        return (score_task(*call) for call in calls)
    try:  # one by one, so that progress can be shown
        pool = Parallel(n_jobs, return_as="generator")
    except ValueError:  # a backend that cannot
        pool = Parallel(n_jobs)
    found: Iterable[Any] = pool(delayed(score_task)(*call) for call in calls)
    return found
