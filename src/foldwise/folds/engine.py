"""The engine: every setting on every split, answered by one session, scored by metrics, audited by a true refit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from foldwise.folds.audit import check_one
from foldwise.folds.groups import group_settings
from foldwise.folds.leave_one_out import LeaveOneOutAnswer, answer_leave_one_out, answers_leave_one_out
from foldwise.folds.progress import Progress
from foldwise.folds.protocol import Answer, Failure, FoldSession, Need, Params
from foldwise.folds.splits import LeaveOneOutSplits, Split

SMALL = 5e-4  # seconds; threads that do less at a time wait for each other more than they work


class BlockMetric(Protocol):
    """A score for each of several settings, from their answers."""

    need: Need

    def __call__(self, session: FoldSession, settings: Sequence[Params], split: Split, answer: Answer) -> Any:
        """The scores, one a setting; numbers, or dicts of numbers from a scorer that gives several."""


class AnswerRecorder(Protocol):
    """What is stored of the answers besides their scores."""

    need: Need

    def record(self, session: FoldSession, split: Split, answer: Answer) -> Any:
        """The part of a block's answer to store."""


@dataclass(frozen=True)
class EvaluationTask:
    """Every one of these settings on every one of these splits."""

    settings: Sequence[Params]
    splits: Sequence[Split]


@dataclass(frozen=True)
class ScoringPlan:
    """What is done with every answer."""

    metrics: dict[str, BlockMetric]
    recorder: AnswerRecorder | None = None
    on_train: bool = False  # whether training rows are scored too, by the same models
    weighted: bool = True  # whether weights given to fit weigh the scored rows

    @cached_property
    def need(self) -> Need:
        """The union of all needs: one pass serves all metrics."""
        need = Need(0) if self.recorder is None else self.recorder.need
        for metric in self.metrics.values():
            need |= metric.need
        return need


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


@dataclass
class SplitResult:
    """What came of some settings on one split."""

    scores: dict[str, NDArray[Any]]  # (settings,)
    train_scores: dict[str, NDArray[Any]]
    seconds: float
    failed: list[tuple[int, Exception]]
    unscored: list[tuple[int, str, Exception]]
    train_unscored: list[tuple[int, str, Exception]]
    kept: list[tuple[int, int, Any]]  # of settings start..stop


@dataclass
class LeaveOneOutResult:
    """What came of some settings on all splits of leave-one-out."""

    scores: dict[str, NDArray[Any]]  # (settings, splits)
    seconds: float
    failed: list[tuple[int, int, Exception]]  # setting, split, error
    unscored: list[tuple[int, int, str, Exception]]
    kept: list[tuple[int, int, Any]]
    fits: int


def evaluate(
    session: FoldSession,
    questions: Sequence[EvaluationTask],
    work: ScoringPlan,
    *,
    n_jobs: int | None = None,
    audit: bool = False,
    progress: Progress | None = None,
) -> list[Outcome]:
    """The outcome of each question; all their pieces of work are done in one go.

    With `audit` one random setting and split of all is checked by a refit, another one each time; it changes nothing.
    """
    known: dict[int, list[Group]] = {}  # searches inside outer folds ask about the same list of settings
    groups = [
        known.get(id(q.settings)) or known.setdefault(id(q.settings), groups_of(session, q.settings)) for q in questions
    ]
    tasks: list[tuple[int, Group, int | None]] = []  # a split, or None for all splits of leave-one-out at once
    for q, question in enumerate(questions):
        together, groups[q] = separate_leave_one_out(session, groups[q], question.splits, work)
        tasks += [(q, group, None) for group in together]
        tasks += [(q, group, number) for group in groups[q] for number in range(len(question.splits))]
    calls = [
        (session, group.settings, questions[q].splits if number is None else questions[q].splits[number], work)
        for q, group, number in tasks
    ]
    done = run_threads(calls, n_jobs) if session.threads else run_joblib(calls, n_jobs)
    outcomes = [OutcomeBuilder(question, work) for question in questions]
    with progress or Progress() as shown:
        models = [len(t[1].settings) * (len(questions[t[0]].splits) if t[2] is None else 1) for t in tasks]
        shown.expect(sum(models))
        for (q, group, number), found, n_models in zip(tasks, done, models, strict=True):
            if number is None:
                outcomes[q].add_leave_one_out(group, found)
            else:
                outcomes[q].add(group, number, found)
            shown.advance(n_models)
    if audit:
        rng = np.random.default_rng()
        question = questions[int(rng.integers(len(questions)))]
        check_one(session, question.settings, question.splits, work.need, rng)
    return [one.outcome() for one in outcomes]


@dataclass(frozen=True)
class Group:
    """Settings that share one piece of work, and their places among those asked for."""

    settings: tuple[Params, ...]  # no list: a session may know it again
    places: list[int]
    where: slice | list[int]  # the places as an index; a slice is faster

    @classmethod
    def of(cls, settings: Sequence[Params], places: list[int]) -> Group:
        """The settings at these places among all."""
        run = slice(places[0], places[-1] + 1)
        where = run if len(places) == run.stop - run.start else places
        return cls(tuple(settings[i] for i in places), places, where)


def groups_of(session: FoldSession, settings: Sequence[Params]) -> list[Group]:
    """The settings in groups that share one piece of work."""
    return [Group.of(settings, places) for places in group_settings(session, settings)]


def separate_leave_one_out(
    session: FoldSession, groups: list[Group], splits: Sequence[Split], work: ScoringPlan
) -> tuple[list[Group], list[Group]]:
    """Settings whose splits of leave-one-out are answered at once, and those that are asked split by split."""
    if (
        not isinstance(splits, LeaveOneOutSplits) or work.on_train
    ):  # what all models say of all rows is quadratic by itself
        return [], groups
    found: tuple[list[Group], list[Group]] = ([], [])
    for group in groups:
        together = [answers_leave_one_out(session, setting, splits) for setting in group.settings]
        for at_once, part in zip((True, False), found, strict=True):
            inside = [i for i, can in enumerate(together) if can is at_once]
            if len(inside) == len(group.places):
                part.append(group)
            elif inside:
                some = Group.of(group.settings, inside)
                places = [group.places[i] for i in inside]
                part.append(Group(some.settings, places, places))
    return found


class OutcomeBuilder:
    """Gathers the pieces of one question."""

    def __init__(self, question: EvaluationTask, work: ScoringPlan) -> None:
        self._shape = (len(question.settings), len(question.splits))
        self._scores, self._train_scores = (
            {name: np.full(self._shape, np.nan) for name in work.metrics if on} for on in (True, work.on_train)
        )
        self._seconds = np.zeros(self._shape)
        self._failures: list[tuple[int, int, Exception]] = []
        self._unscored: list[tuple[int, int, str, Exception]] = []
        self._train_unscored: list[tuple[int, int, str, Exception]] = []
        self._kept: list[tuple[list[int], int | None, Any]] = []
        self._fits = 0

    def add(self, group: Group, number: int, found: SplitResult) -> None:
        """The answers of a group of settings on one split."""
        self._fits += 1
        self._seconds[group.where, number] = found.seconds / len(group.settings)
        for mine, new in ((self._scores, found.scores), (self._train_scores, found.train_scores)):
            for name, values in new.items():
                if values.dtype == object and mine[name].dtype != object:
                    mine[name] = mine[name].astype(object)
                mine[name][group.where, number] = values
        places = group.places
        self._failures += [(places[i], number, error) for i, error in found.failed]
        self._unscored += [(places[i], number, name, error) for i, name, error in found.unscored]
        self._train_unscored += [(places[i], number, name, error) for i, name, error in found.train_unscored]
        self._kept += [(places[start:stop], number, part) for start, stop, part in found.kept]

    def add_leave_one_out(self, group: Group, found: LeaveOneOutResult) -> None:
        """The answers of a group of settings on all splits of leave-one-out."""
        self._fits += found.fits
        self._seconds[group.where] = found.seconds / (len(group.settings) * self._shape[1])
        for name, values in found.scores.items():
            if values.dtype == object and self._scores[name].dtype != object:
                self._scores[name] = self._scores[name].astype(object)
            self._scores[name][group.where] = values
        places = group.places
        self._failures += [(places[i], number, error) for i, number, error in found.failed]
        self._unscored += [(places[i], number, name, error) for i, number, name, error in found.unscored]
        self._kept += [(places[start:stop], None, part) for start, stop, part in found.kept]

    def outcome(self) -> Outcome:
        failures = tuple(sorted(self._failures, key=lambda f: f[:2]))
        unscored, train_unscored = (
            tuple(sorted(part, key=lambda f: f[:3])) for part in (self._unscored, self._train_unscored)
        )
        return Outcome(
            self._scores,
            self._train_scores,
            self._seconds,
            failures,
            unscored,
            train_unscored,
            self._fits,
            tuple(self._kept),
        )


def run_threads(calls: Sequence[tuple[Any, ...]], n_jobs: int | None) -> Iterator[Any]:
    """`run_task` of each call on plain threads: sessions release the GIL, and joblib's own start costs more."""
    # joblib looks up the machine's cores anew each time it is asked, which takes longer than a small search
    threads = min(n_jobs if n_jobs is not None and n_jobs > 0 else effective_n_jobs(n_jobs), len(calls))
    if threads <= 1:
        yield from (run_task(*call) for call in calls)
        return
    first, second = (run_task(*call) for call in calls[:2])  # the first also pays for what is prepared once
    yield from (first, second)
    if second.seconds < SMALL:
        yield from (run_task(*call) for call in calls[2:])
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(lambda call: run_task(*call), calls[2:])


def run_joblib(calls: Sequence[tuple[Any, ...]], n_jobs: int | None) -> Iterable[Any]:
    """`run_task` of each call on joblib's backend of the day."""
    if effective_n_jobs(n_jobs) == 1:
        return (run_task(*call) for call in calls)
    try:  # one by one, so that progress can be shown
        pool = Parallel(n_jobs, return_as="generator")
    except ValueError:  # a backend that cannot
        pool = Parallel(n_jobs)
    found: Iterable[Any] = pool(delayed(run_task)(*call) for call in calls)
    return found


def run_task(
    session: FoldSession, settings: Sequence[Params], split: Split | LeaveOneOutSplits, work: ScoringPlan
) -> SplitResult | LeaveOneOutResult:
    """The scores of settings on one split, or on all splits of leave-one-out."""
    if isinstance(split, LeaveOneOutSplits):
        return score_leave_one_out(session, settings, split, work)
    return score_split(session, settings, split, work)


def score_split(session: FoldSession, settings: Sequence[Params], split: Split, work: ScoringPlan) -> SplitResult:
    """The scores of settings on one split, the time it took, the fits and the scores that failed."""
    start = time.perf_counter()
    blank = {name: np.full(len(settings), np.nan) for name in work.metrics}
    train_scores = {name: values.copy() for name, values in blank.items()} if work.on_train else {}
    found = SplitResult(blank, train_scores, 0.0, [], [], [], [])
    n_test = len(split.test)
    rows = np.concatenate([split.test, split.train]) if work.on_train else split.test
    scored: Any = session if work.weighted else Unweighted(session)
    for block in session.answer(settings, split.train, rows, work.need):
        places = range(block.start, block.stop)
        if isinstance(block.answer, Failure):
            if block.answer.fitted:
                lost = [(i, name, block.answer.error) for i in places for name in work.metrics]
                found.unscored += lost
                found.train_unscored += lost
            else:
                found.failed += [(i, block.answer.error) for i in places]
            continue
        answer = block.answer.of_rows(0, n_test) if work.on_train else block.answer
        for name, metric in work.metrics.items():
            score_block(found.scores, found, name, metric, MetricInput(scored, settings, split), places, answer)
            if work.on_train:
                here = MetricInput(scored, settings, Split(split.train, split.train))
                trained = block.answer.of_rows(n_test, len(rows))
                score_block(found.train_scores, found, name, metric, here, places, trained)
        if work.recorder is not None:
            found.kept.append((block.start, block.stop, work.recorder.record(session, split, answer)))
    found.seconds = time.perf_counter() - start
    return found


def score_leave_one_out(
    session: FoldSession, settings: Sequence[Params], splits: LeaveOneOutSplits, work: ScoringPlan
) -> LeaveOneOutResult:
    """The scores of settings on every split of leave-one-out, from one pass over the rows."""
    start = time.perf_counter()
    scores: dict[str, NDArray[Any]] = {name: np.full((len(settings), len(splits)), np.nan) for name in work.metrics}
    found = LeaveOneOutResult(scores, 0.0, [], [], [], 1)
    scored: Any = session if work.weighted else Unweighted(session)
    for block in answer_leave_one_out(session, settings, splits, work.need):
        found.fits += block.singly
        found.failed += [(i, k, failure.error) for i, k, failure in block.failed]
        lost = block.lost(len(splits))
        if lost.all():
            continue
        for name, metric in work.metrics.items():
            score_left_out_rows(found, name, metric, MetricInput(scored, settings, splits), block, lost)
        if work.recorder is not None:
            part = work.recorder.record(session, Split(splits.rows, splits.rows), block.answer)
            for name, values in part.items():
                values[lost] = -1 if name == "labels" else np.nan
            found.kept.append((block.start, block.stop, part))
    found.seconds = time.perf_counter() - start
    return found


def score_left_out_rows(
    found: LeaveOneOutResult,
    name: str,
    metric: BlockMetric,
    asked: MetricInput,
    block: LeaveOneOutAnswer,
    lost: NDArray[np.bool_],
) -> None:
    """The scores of a block on every split; a metric that is a mean over rows scores all rows at once."""
    of_rows = getattr(metric, "of_rows", None)
    values = None if of_rows is None else of_rows(asked.session, asked.split, block.answer)
    if values is not None:
        values[lost] = np.nan
        found.scores[name][block.start : block.stop] = values
        return
    for k, split in enumerate(asked.split):
        answer = block.answer.of_rows(k, k + 1)
        here = MetricInput(asked.session, asked.settings[block.start : block.stop], split)
        runs = [range(block.stop - block.start)]
        if lost[:, k].any():
            runs = [range(i, i + 1) for i in np.flatnonzero(~lost[:, k]).tolist()]
        one = SplitResult({name: np.full(block.stop - block.start, np.nan)}, {}, 0.0, [], [], [], [])
        for run in runs:
            score_block(one.scores, one, name, metric, here, run, answer.cut(run.start, run.stop))
        found.unscored += [(block.start + i, k, name, error) for i, _, error in one.unscored]
        if one.scores[name].dtype == object and found.scores[name].dtype != object:
            found.scores[name] = found.scores[name].astype(object)
        found.scores[name][block.start : block.stop, k] = one.scores[name]


@dataclass(frozen=True)
class MetricInput:
    """What a metric is asked about."""

    session: Any
    settings: Sequence[Params]
    split: Any  # a split, or all splits of leave-one-out


class Unweighted:
    """A session as metrics see it when the weights given to fit shall not weigh the rows they score."""

    def __init__(self, session: FoldSession) -> None:
        self._session = session
        self.fit_params = {name: value for name, value in session.fit_params.items() if name != "sample_weight"}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def score_block(
    scores: dict[str, NDArray[Any]],
    found: SplitResult,
    name: str,
    metric: BlockMetric,
    asked: MetricInput,
    places: range,
    answer: Answer,
) -> None:
    """The scores of a block; where its metric raises, each setting is scored by itself, so that the others are kept."""
    settings = asked.settings[places.start : places.stop]
    try:
        values = np.asarray(metric(asked.session, settings, asked.split, answer))
    except Exception as error:
        if len(places) == 1:
            (found.unscored if scores is found.scores else found.train_unscored).append((places.start, name, error))
            return
        for k, i in enumerate(places):
            score_block(scores, found, name, metric, asked, range(i, i + 1), answer.cut(k, k + 1))
        return
    if values.dtype == object and scores[name].dtype != object:
        scores[name] = scores[name].astype(object)
    scores[name][places.start : places.stop] = values
