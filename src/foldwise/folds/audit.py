"""The law, checked on one setting and one split: a session's answer equals that of a true refit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import FoldwiseError
from foldwise.folds.protocol import Answer, Failure, FoldSession, Labels, Need, Params, Rows
from foldwise.folds.refit_session import RefitSession
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split
from foldwise.folds.turns import answer_one_turn, takes_turns

TOLERANCE = 1e-10  # of a log-probability, times max(1, |log p|)
MOVES = 10  # or this many times what a refit itself moves when its rows are permuted,
PERMUTED = 8  # so many times
REPEATED = 5  # refits that show whether a model repeats itself


class AuditError(FoldwiseError, AssertionError):
    """A shared answer differed from a true refit."""


def check_one(
    session: FoldSession, settings: Sequence[Params], splits: Sequence[Split], need: Need, rng: np.random.Generator
) -> None:
    """Compare one random setting and split with a true refit; a disagreement raises and names it."""
    shared = [setting for setting in settings if session.lazy(setting)]  # the others were refitted anyway
    if not shared:
        return
    setting = shared[int(rng.integers(len(shared)))]
    number = int(rng.integers(len(splits)))
    split = splits[number]
    ours = None
    if takes_turns(session, setting, splits):
        ours = answer_one_turn(session, setting, splits, number, need)
    problem = disagreement(session, setting, split.train, split.test, need, ours)
    if problem:
        raise AuditError(
            f"the setting {dict(setting)} on split {number} was answered other than by a refit: {problem}.",
            "please report it; audit=False turns this check off.",
        )


def disagreement(
    session: FoldSession,
    setting: Params,
    train: Rows,
    test: Rows,
    need: Need = Need.PROBA,
    ours: Answer | Failure | None = None,
) -> str:
    """How a session's answer differs from a refit beyond the law's tolerance; empty where it does not."""
    need |= Need.LABELS if isinstance(session.target, Labels) else Need.VALUES
    if ours is None:
        ours = next(iter(session.answer([setting], train, test, need))).answer
    refit = RefitSession(session.estimator, session.X, session.y, session.fit_params)
    logarithms = isinstance(ours, Answer) and ours.log_proba is not None

    def by_refit(rows: Rows) -> Answer | Failure:
        try:
            model = refit.model(setting, rows)
        except Exception as error:
            return Failure(error)
        X = take_rows(refit.X, test)
        found = refit.predict(model, X, Need((need | Need.PROBA) & ~Need.MODEL))
        return with_logarithms(found, model, X, session.target) if logarithms and isinstance(found, Answer) else found

    theirs = by_refit(train)
    if isinstance(ours, Answer) and isinstance(theirs, Answer):
        rng = np.random.default_rng(0)

        def moved() -> Iterator[Answer | Failure]:
            if session.order_free:
                for _ in range(PERMUTED):
                    yield by_refit(train[rng.permutation(len(train))])
            else:
                yield theirs

        problem = first_difference(ours, theirs, test, moved)
        if problem and not session.order_free:  # a model that does not repeat itself cannot be imitated
            repeats = [by_refit(train) for _ in range(REPEATED)]
            if any(isinstance(one, Answer) and first_difference(one, theirs, test, None) for one in repeats):
                return ""
        return problem
    if isinstance(ours, Failure) and isinstance(theirs, Failure):
        same = type(ours.error) is type(theirs.error)
        return "" if same else f"it failed with {ours.error!r}, the refit with {theirs.error!r}"
    return f"it gave {ours}, the refit {theirs}" if isinstance(ours, Failure) else f"only the refit failed: {theirs}"


def with_logarithms(answer: Answer, model: Any, X: Any, target: Any) -> Answer:
    """The answer with the model's own log-probabilities, which do not underflow."""
    if not hasattr(model, "predict_log_proba"):
        return answer
    places = np.searchsorted(target.classes, model.classes_)
    assert answer.proba is not None
    log_proba = np.full(answer.proba.shape, -np.inf)
    with np.errstate(divide="ignore"):
        log_proba[:, :, places] = model.predict_log_proba(X)
    return Answer(answer.labels, log_proba, answer.proba, answer.decision)


def first_difference(
    ours: Answer, theirs: Answer, test: Rows, moved: Callable[[], Iterator[Answer | Failure]] | None
) -> str:
    """What differs beyond the tolerance, in words."""
    for what, a, b in (
        ("values", ours.values, theirs.values),
        ("decision values", ours.decision, theirs.decision),
        ("log-probabilities", ours.log_probabilities(), theirs.log_probabilities()),
    ):
        if a is None or b is None:
            continue
        if a.shape != b.shape:
            return f"{what} have shape {a.shape}, those of a refit {b.shape}"
        with np.errstate(invalid="ignore"):
            gap = np.abs(a - b)
        gap[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0  # both -inf, or both nothing
        bound = TOLERANCE * np.maximum(1.0, np.where(np.isfinite(b), np.abs(b), 1.0))
        if not (gap <= bound).all():
            if moved is not None:
                moves = max(movement(theirs, one, what) for one in moved())
                if (gap <= np.maximum(bound, MOVES * moves)).all():
                    continue
            return f"{what} differ by {np.nanmax(gap):.2g}"
    return different_label(ours, theirs, test)


def movement(answer: Answer, permuted: Answer | Failure, what: str) -> float:
    """How far a refit moves when its rows are permuted."""
    if isinstance(permuted, Failure):
        return 0.0
    read: dict[str, Callable[[Answer], Any]] = {
        "values": lambda one: one.values,
        "decision values": lambda one: one.decision,
        "log-probabilities": Answer.log_probabilities,
    }
    a, b = read[what](answer), read[what](permuted)
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - b)
    return float(np.max(np.where(np.isfinite(gap), gap, 0.0), initial=0.0))


def different_label(ours: Answer, theirs: Answer, test: Rows) -> str:
    """The first label that differs although the refit's scores do not tie; empty where there is none."""
    if ours.labels is None or theirs.labels is None:
        return ""
    scores: NDArray[np.float64] | None = theirs.log_probabilities()
    for i in np.flatnonzero(ours.labels[0] != theirs.labels[0]):
        if scores is None:
            return f"the label of test row {int(test[i])} differs"
        row = scores[0, i]
        gap = abs(row[ours.labels[0, i]] - row[theirs.labels[0, i]])
        if not gap <= TOLERANCE * max(1.0, abs(float(row.max()))):
            return f"the label of test row {int(test[i])} differs"
    return ""
