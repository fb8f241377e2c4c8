"""Scores of settings on splits, computed by metrics from the answers of a session, and the errors of metrics."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.leave_one_out import LeaveOneOutAnswer, answer_leave_one_out
from foldwise.folds.protocol import Answer, Failure, FoldSession, Need, Params
from foldwise.folds.scoring_protocol import AnswerRecorder, BlockMetric, LeaveOneOutMetric
from foldwise.folds.splits import LeaveOneOutSplits, Split


@dataclass(frozen=True)
class ScoringPlan:
    """How answers are scored."""

    metrics: Mapping[str, BlockMetric]
    recorder: AnswerRecorder | None = None
    on_train: bool = False  # whether the models are scored on their training rows too
    weighted: bool = True  # whether the weights passed to fit also weight the scores

    @cached_property
    def need(self) -> Need:
        """What all metrics together need: one pass serves them all."""
        need = Need(0) if self.recorder is None else self.recorder.need
        for metric in self.metrics.values():
            need |= metric.need
        return need


class ScoreTable:
    """Scores of each metric, (settings, splits) with NaN for missing ones, and the errors of metrics."""

    def __init__(self, metrics: Sequence[str], n_settings: int, n_splits: int) -> None:
        self.scores: dict[str, NDArray[Any]] = {name: np.full((n_settings, n_splits), np.nan) for name in metrics}
        self.unscored: list[tuple[int, int, str, Exception]] = []  # setting, split, metric, error

    def put(self, name: str, rows: Any, columns: Any, values: NDArray[Any]) -> None:
        """Write the scores of some settings and splits; a scorer may return dicts instead of numbers."""
        if values.dtype == object and self.scores[name].dtype != object:
            self.scores[name] = self.scores[name].astype(object)
        self.scores[name][rows, columns] = values


@dataclass
class TaskResult:
    """The scores of some settings on one split, or on all splits of leave-one-out."""

    test: ScoreTable
    train: ScoreTable
    seconds: float = 0.0
    fits: int = 1
    failed: list[tuple[int, int, Exception]] = field(default_factory=list)  # setting, split, error
    recorded: list[tuple[int, int, Any]] = field(default_factory=list)  # start, stop, what was recorded


def score_task(
    session: FoldSession, settings: Sequence[Params], split: Split | LeaveOneOutSplits, plan: ScoringPlan
) -> TaskResult:
    """Score settings on one split, or on all splits of leave-one-out, and measure the time."""
    start = time.perf_counter()
    n_splits = len(split) if isinstance(split, LeaveOneOutSplits) else 1
    names = list(plan.metrics)
    result = TaskResult(
        ScoreTable(names, len(settings), n_splits), ScoreTable(names if plan.on_train else [], len(settings), n_splits)
    )
    if isinstance(split, LeaveOneOutSplits):
        score_leave_one_out(session, settings, split, plan, result)
    else:
        score_split(session, settings, split, plan, result)
    result.seconds = time.perf_counter() - start
    return result


def score_split(
    session: FoldSession, settings: Sequence[Params], split: Split, plan: ScoringPlan, result: TaskResult
) -> None:
    n_test = len(split.test)
    rows = np.concatenate([split.test, split.train]) if plan.on_train else split.test
    seen = session if plan.weighted else UnweightedSession(session)
    for block in session.answer(settings, split.train, rows, plan.need):
        indices = range(block.start, block.stop)
        if isinstance(block.answer, Failure):
            error = block.answer.error
            if block.answer.fitted:
                errors = [(i, 0, name, error) for i in indices for name in plan.metrics]
                result.test.unscored += errors
                result.train.unscored += errors
            else:
                result.failed += [(i, 0, error) for i in indices]
            continue
        answer = block.answer.of_rows(0, n_test) if plan.on_train else block.answer
        for name, metric in plan.metrics.items():
            score_block(result.test, name, metric, MetricInput(seen, settings, split), indices, answer)
            if plan.on_train:
                trained = MetricInput(seen, settings, Split(split.train, split.train))
                on_train = block.answer.of_rows(n_test, len(rows))
                score_block(result.train, name, metric, trained, indices, on_train)
        if plan.recorder is not None:
            result.recorded.append((block.start, block.stop, plan.recorder.record(session, split, answer)))


def score_leave_one_out(
    session: FoldSession, settings: Sequence[Params], splits: LeaveOneOutSplits, plan: ScoringPlan, result: TaskResult
) -> None:
    """Score all splits of leave-one-out in one pass over the rows."""
    seen = session if plan.weighted else UnweightedSession(session)
    for block in answer_leave_one_out(session, settings, splits, plan.need):
        result.fits += block.n_refits
        result.failed += [(i, k, failure.error) for i, k, failure in block.failed]
        failed = block.failures(len(splits))
        if failed.all():
            continue
        for name, metric in plan.metrics.items():
            score_left_out_rows(result.test, name, metric, MetricInput(seen, settings, splits), block, failed)
        if plan.recorder is not None:
            part = plan.recorder.record(session, Split(splits.rows, splits.rows), block.answer)
            for name, values in part.items():
                values[failed] = -1 if name == "labels" else np.nan
            result.recorded.append((block.start, block.stop, part))


@dataclass(frozen=True)
class MetricInput:
    """What a metric reads besides the answer."""

    session: Any
    settings: Sequence[Params]
    split: Any  # a split, or all splits of leave-one-out


class UnweightedSession:
    """A session without sample weights, for metrics that must not be weighted."""

    def __init__(self, session: FoldSession) -> None:
        self._session = session
        self.fit_params = {name: value for name, value in session.fit_params.items() if name != "sample_weight"}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def score_left_out_rows(
    table: ScoreTable,
    name: str,
    metric: BlockMetric,
    given: MetricInput,
    block: LeaveOneOutAnswer,
    failed: NDArray[np.bool_],
) -> None:
    """Score a block on every split of leave-one-out; a metric that is a mean over rows scores all of them together."""
    if isinstance(metric, LeaveOneOutMetric):
        values = metric.of_rows(given.session, given.split, block.answer)
        if values is not None:
            values[failed] = np.nan
            table.put(name, slice(block.start, block.stop), slice(None), values)
            return
    for k, split in enumerate(given.split):
        answer = block.answer.of_rows(k, k + 1)
        runs = [range(block.start, block.stop)]
        if failed[:, k].any():
            runs = [range(i, i + 1) for i in (block.start + np.flatnonzero(~failed[:, k])).tolist()]
        for run in runs:
            part = answer.cut(run.start - block.start, run.stop - block.start)
            score_block(table, name, metric, MetricInput(given.session, given.settings, split), run, part, k)


def score_block(
    table: ScoreTable, name: str, metric: BlockMetric, given: MetricInput, indices: range, answer: Answer, k: int = 0
) -> None:
    """Score a block on split k; if the metric raises, score each setting by itself."""
    try:
        settings = given.settings[indices.start : indices.stop]
        values = np.asarray(metric(given.session, settings, given.split, answer))
    except Exception as error:  # reported for the setting, like error_score of scikit-learn
        if len(indices) == 1:
            table.unscored.append((indices.start, k, name, error))
            return
        for at, i in enumerate(indices):
            score_block(table, name, metric, given, range(i, i + 1), answer.cut(at, at + 1), k)
        return
    table.put(name, slice(indices.start, indices.stop), k, values)
