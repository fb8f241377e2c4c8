"""The audit: on one setting and one split, a session's answer must equal that of a refit within the tolerance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import FoldwiseError
from foldwise.folds.abilities import HasRefitType, equal_settings
from foldwise.folds.leave_one_out import answer_one_left_out, answers_leave_one_out
from foldwise.folds.model_session import ModelSession, RefitSession
from foldwise.folds.protocol import Answer, Failure, FoldSession, Labels, Need, Params, Rows, TargetValues
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split
from foldwise.folds.tolerance import gaps, tolerance

PERMUTED = 8  # refits on permuted rows, which show how far rounding alone moves the refit
REPEATED = 5  # refits that show whether a fit is repeatable

READ: dict[str, Callable[[Answer], NDArray[np.float64] | None]] = {
    "values": lambda answer: answer.values,
    "decision values": lambda answer: answer.decision,
    "log-probabilities": Answer.log_probabilities,
}


class AuditError(FoldwiseError, AssertionError):
    """The answer of a session differs from that of a refit."""


def check_one(
    session: FoldSession, settings: Sequence[Params], splits: Sequence[Split], need: Need, rng: np.random.Generator
) -> None:
    """Compare one random setting and split with a refit; raise an AuditError if they differ."""
    shared = [setting for setting in settings if session.lazy(setting)]  # the others are refitted anyway
    if not shared:
        return
    setting = shared[int(rng.integers(len(shared)))]
    number = int(rng.integers(len(splits)))
    split = splits[number]
    ours = None
    if answers_leave_one_out(session, setting, splits):
        ours = answer_one_left_out(session, setting, splits, number, need)
    problem = disagreement(session, setting, split.train, split.test, need, ours)
    if problem:
        raise AuditError(
            f"the predictions of setting {dict(setting)} on split {number} differ from those of a refit: {problem}.",
            "please report this as a bug; audit=False turns the check off.",
        )


def disagreement(
    session: FoldSession,
    setting: Params,
    train: Rows,
    test: Rows,
    need: Need = Need.PROBA,
    ours: Answer | Failure | None = None,
) -> str:
    """How a session's answer differs from that of a refit; empty if it agrees within the tolerance."""
    need |= Need.LABELS if isinstance(session.target, Labels) else Need.VALUES
    if ours is None:
        ours = next(iter(session.answer([setting], train, test, need))).answer
    kind: type[ModelSession] = session.refit_type if isinstance(session, HasRefitType) else RefitSession
    refit = kind(session.estimator, session.X, session.y, session.fit_params)
    logarithms = isinstance(ours, Answer) and ours.log_proba is not None

    def by_refit(rows: Rows, given: Params = setting) -> Answer | Failure:
        try:
            model = refit.model(given, rows)
        except Exception as error:  # the error of the refit is what the session is compared with
            return Failure(error)
        X = take_rows(refit.table_of(setting), test)
        found = refit.predict(model, X, Need((need | Need.PROBA | Need.DECISION) & ~Need.MODEL))
        return with_logarithms(found, model, X, session.target) if logarithms and isinstance(found, Answer) else found

    theirs = by_refit(train)
    if isinstance(ours, Answer) and isinstance(theirs, Answer):
        scale = spread_of(session.target, train)

        @cache
        def permuted() -> list[Answer | Failure]:
            rng = np.random.default_rng(0)
            n_refits = PERMUTED if session.order_free else 0
            moved = [by_refit(train[rng.permutation(len(train))]) for _ in range(n_refits)]
            return [*moved, *(by_refit(train, other) for other in equal_settings(session, setting))]

        problem = first_difference(ours, theirs, test, scale, lambda what: largest_gap(theirs, permuted(), what))
        if problem and not session.order_free:  # a fit that is not repeatable cannot be compared
            repeats = [by_refit(train) for _ in range(REPEATED)]
            if any(isinstance(one, Answer) and first_difference(one, theirs, test, scale) for one in repeats):
                return ""
        return problem
    if isinstance(ours, Failure) and isinstance(theirs, Failure):
        same = type(ours.error) is type(theirs.error)
        return "" if same else f"the session failed with {ours.error!r}, the refit with {theirs.error!r}"
    if isinstance(ours, Failure):
        return f"the session failed with {ours.error!r}, but the refit did not fail"
    return f"the refit failed with {getattr(theirs, 'error', None)!r}, but the session did not fail"


def with_logarithms(answer: Answer, model: Any, X: Any, target: Any) -> Answer:
    """The answer with the model's own log-probabilities: logarithms of probabilities may underflow."""
    if not hasattr(model, "predict_log_proba"):
        return answer
    indices = np.searchsorted(target.classes, model.classes_)
    assert answer.proba is not None
    log_proba = np.full(answer.proba.shape, -np.inf)
    with np.errstate(divide="ignore"):
        log_proba[:, :, indices] = model.predict_log_proba(X)
    return Answer(answer.labels, log_proba, answer.proba, answer.decision)


def spread_of(target: Any, train: Rows) -> float:
    """The standard deviation of the training targets of a regression; 1 for classes."""
    return float(np.std(target.numbers[train])) if isinstance(target, TargetValues) else 1.0


def largest_gap(answer: Answer, others: Sequence[Answer | Failure], what: str) -> float:
    """The largest finite difference between the values, decision values or log-probabilities of answers."""
    largest = 0.0
    for other in others:
        a, b = READ[what](answer), READ[what](other) if isinstance(other, Answer) else None
        if a is not None and b is not None:
            gap = gaps(a, b)
            largest = max(largest, float(np.max(gap, where=np.isfinite(gap), initial=0.0)))
    return largest


def first_difference(
    ours: Answer, theirs: Answer, test: Rows, scale: float, moves: Callable[[str], float] = lambda what: 0.0
) -> str:
    """A description of what differs beyond the tolerance; `scale` is the standard deviation of the training targets."""
    for what, read in READ.items():
        a, b = read(ours), read(theirs)
        if a is None or b is None:
            continue
        if a.shape != b.shape:
            return f"the {what} have shape {a.shape}, those of the refit {b.shape}"
        gap, least = gaps(a, b), scale if what == "values" else 1.0
        if not (gap <= tolerance(b, least)).all() and not (gap <= tolerance(b, least, moves(what))).all():
            return f"the {what} differ by {np.nanmax(gap):.2g}"
    return different_label(ours, theirs, test, moves)


def different_label(ours: Answer, theirs: Answer, test: Rows, moves: Callable[[str], float]) -> str:
    """The first label that differs although the refit's scores do not tie; empty if there is none."""
    if ours.labels is None or theirs.labels is None:
        return ""
    scores, what = theirs.log_probabilities(), "log-probabilities"
    if scores is None and theirs.decision is not None:
        scores, what = theirs.decision, "decision values"
    for i in np.flatnonzero(ours.labels[0] != theirs.labels[0]):
        row = np.zeros(0) if scores is None else np.atleast_1d(scores[0, i])
        if what == "decision values":  # their columns may be fewer than the classes: compare the two highest
            gap = abs(float(row[0])) if row.size == 1 else float(np.ptp(np.sort(row)[-2:]))
        else:
            gap = np.inf if scores is None else abs(row[ours.labels[0, i]] - row[theirs.labels[0, i]])
        highest = float(np.max(row, initial=-np.inf))
        if not gap <= tolerance(highest) and not gap <= tolerance(highest, moved=moves(what)):
            return f"the label of test row {int(test[i])} differs"
    return ""
