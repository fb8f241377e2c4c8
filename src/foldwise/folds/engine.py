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

from foldwise.errors import FoldwiseError
from foldwise.folds.protocol import Answer, Failure, FoldSession, Need, Params, Rows
from foldwise.folds.refit import RefitSession
from foldwise.folds.splits import Split

TIE = 1e-10  # two classes whose log-probabilities differ by less may change places


class AuditError(FoldwiseError, AssertionError):
    """A shared answer differed from a true refit."""


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
    unscored: tuple[tuple[int, int, str, Exception], ...] = ()  # setting, split, metric, error


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
    shared = session.shares != "refit"
    tasks = [
        (chunk, number)
        for chunk in ([range(shape[0])] if shared else [range(i, i + 1) for i in range(shape[0])])
        for number in range(shape[1])
    ]
    calls = [(session, [settings[i] for i in chunk], splits[number], metrics, need) for chunk, number in tasks]
    done = run_threads(calls, n_jobs) if shared else Parallel(n_jobs)(delayed(one_split)(*call) for call in calls)
    for (chunk, number), (found, spent, failed, wrong) in zip(tasks, done, strict=True):
        rows = slice(chunk.start, chunk.stop)
        seconds[rows, number] = spent / max(1, len(chunk))
        for name, values in found.items():
            scores[name][rows, number] = values
        failures += [(chunk.start + i, number, error) for i, error in failed]
        unscored += [(chunk.start + i, number, name, error) for i, name, error in wrong]
    if audit is not None and shared and settings:
        check_one(session, settings, splits, need, np.random.default_rng(audit))
    return Outcome(
        scores, seconds, tuple(sorted(failures, key=lambda f: f[:2])), tuple(sorted(unscored, key=lambda f: f[:3]))
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


def check_one(
    session: FoldSession, settings: Sequence[Params], splits: Sequence[Split], need: Need, rng: np.random.Generator
) -> None:
    """Compare one random setting and split with a true refit; a disagreement raises and names it."""
    setting = settings[int(rng.integers(len(settings)))]
    number = int(rng.integers(len(splits)))
    problem = disagreement(session, setting, splits[number].train, splits[number].test, need)
    if problem:
        raise AuditError(
            f"the setting {dict(setting)} on split {number} was answered other than by a refit: {problem}.",
            "please report it; audit=False turns this check off.",
        )


def disagreement(session: Any, setting: Params, train: Rows, test: Rows, need: Need = Need.PROBA) -> str:
    """How a session's answer differs from a refit beyond the law's tolerance; empty where it does not."""
    refit = RefitSession(session.estimator, session.X, session.y, session.fit_params)
    ours = next(iter(session.answer([setting], train, test, need | Need.LABELS))).answer
    theirs = next(iter(refit.answer([setting], train, test, Need.LABELS | Need.PROBA))).answer
    if isinstance(ours, Failure) or isinstance(theirs, Failure):
        if isinstance(ours, Failure) and isinstance(theirs, Failure):
            same = type(ours.error) is type(theirs.error)
            return "" if same else f"it failed with {ours.error!r}, the refit with {theirs.error!r}"
        failed = "it failed" if isinstance(ours, Failure) else "the refit failed"
        return f"{failed} alone"
    truth = theirs.log_proba
    assert truth is not None
    assert ours.labels is not None
    assert theirs.labels is not None
    if ours.log_proba is not None:
        with np.errstate(invalid="ignore"):
            gap = np.abs(ours.log_proba - truth)
        gap[ours.log_proba == truth] = 0.0  # both -inf
        bound = 1e-10 * np.maximum(1.0, np.where(np.isfinite(truth), np.abs(truth), 1.0))
        if not (gap <= bound).all():
            return f"log-probabilities differ by {np.nanmax(gap):.2g}"
    differ = np.flatnonzero(ours.labels[0] != theirs.labels[0])
    for i in differ:
        row = truth[0, i]
        if abs(row[ours.labels[0, i]] - row[theirs.labels[0, i]]) > TIE * max(1.0, abs(float(row.max()))):
            return f"the label of test row {int(test[i])} differs"
    return ""
