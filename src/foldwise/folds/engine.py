"""The engine: every setting on every split, answered by one session, scored by metrics, audited by a true refit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from foldwise.folds.audit import check_one
from foldwise.folds.groups import group_settings
from foldwise.folds.protocol import Answer, Failure, FoldSession, Need, Params
from foldwise.folds.splits import Split


class Metric(Protocol):
    """A score for each of several settings, from their answers."""

    need: Need

    def __call__(self, session: FoldSession, settings: Sequence[Params], split: Split, answer: Answer) -> Any:
        """The scores, one a setting."""


@dataclass(frozen=True)
class Outcome:
    """What came of settings × splits."""

    scores: dict[str, NDArray[np.float64]]  # by metric: (settings, splits), NaN where it failed
    seconds: NDArray[np.float64]  # (settings, splits), a block's time shared equally by its settings
    failures: tuple[tuple[int, int, Exception], ...]  # of fits: setting, split, error
    unscored: tuple[tuple[int, int, str, Exception], ...]  # setting, split, metric, error
    fits: int  # pieces of work: groups of settings × splits


def evaluate(
    session: FoldSession,
    settings: Sequence[Params],
    splits: Sequence[Split],
    metrics: dict[str, Metric],
    *,
    n_jobs: int | None = None,
    audit: int | None = None,
) -> Outcome:
    """Score every setting on every split. `audit` is a seed: one setting and split are then checked by a refit."""
    need = Need(0)
    for metric in metrics.values():
        need |= metric.need
    shape = (len(settings), len(splits))
    scores = {name: np.full(shape, np.nan) for name in metrics}
    seconds = np.zeros(shape)
    failures: list[tuple[int, int, Exception]] = []
    unscored: list[tuple[int, int, str, Exception]] = []
    groups = group_settings(session, settings)
    tasks = [(group, number) for group in groups for number in range(len(splits))]
    calls = [(session, [settings[i] for i in group], splits[number], metrics, need) for group, number in tasks]
    done = run_threads(calls, n_jobs) if session.threads else Parallel(n_jobs)(delayed(one_split)(*c) for c in calls)
    for (group, number), (found, spent, failed, wrong) in zip(tasks, done, strict=True):
        seconds[group, number] = spent / len(group)
        for name, values in found.items():
            scores[name][group, number] = values
        failures += [(group[i], number, error) for i, error in failed]
        unscored += [(group[i], number, name, error) for i, name, error in wrong]
    if audit is not None and session.shares != "refit" and settings:
        check_one(session, settings, splits, need, np.random.default_rng(audit))
    return Outcome(
        scores,
        seconds,
        tuple(sorted(failures, key=lambda f: f[:2])),
        tuple(sorted(unscored, key=lambda f: f[:3])),
        len(tasks),
    )


def run_threads(calls: Sequence[tuple[Any, ...]], n_jobs: int | None) -> list[Any]:
    """`one_split` of each call on plain threads: sessions release the GIL, and joblib's own start costs more."""
    threads = min(effective_n_jobs(n_jobs), len(calls))
    if threads <= 1:
        return [one_split(*call) for call in calls]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda call: one_split(*call), calls))


def one_split(
    session: FoldSession, settings: Sequence[Params], split: Split, metrics: dict[str, Metric], need: Need
) -> tuple[dict[str, NDArray[np.float64]], float, list[tuple[int, Exception]], list[tuple[int, str, Exception]]]:
    """The scores of settings on one split, the time it took, the fits and the scores that failed."""
    start = time.perf_counter()
    scores = {name: np.full(len(settings), np.nan) for name in metrics}
    failed: list[tuple[int, Exception]] = []
    unscored: list[tuple[int, str, Exception]] = []
    for block in session.answer(settings, split.train, split.test, need):
        rows = slice(block.start, block.stop)
        if isinstance(block.answer, Failure):
            failed += [(i, block.answer.error) for i in range(block.start, block.stop)]
            continue
        for name, metric in metrics.items():
            try:
                scores[name][rows] = metric(session, settings[rows], split, block.answer)
            except Exception as error:
                unscored += [(i, name, error) for i in range(block.start, block.stop)]
    return scores, time.perf_counter() - start, failed, unscored
