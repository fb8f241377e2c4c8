"""Out-of-fold predictions of any setting: what each row is told by the model that has not seen it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import is_classifier

from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.folds.leave_one_out import answer_leave_one_out, answers_leave_one_out
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Answer, Failure, FoldSession, Labels, Need, Params
from foldwise.folds.rows import count_rows, take_rows
from foldwise.folds.splits import LeaveOneOutSplits, Split, freeze_splits, test_rows

Method = Literal["predict", "predict_proba", "predict_log_proba"]

NEEDS = {
    "predict": Need.LABELS | Need.VALUES,
    "predict_proba": Need.PROBA,
    # a model's own logarithms do not underflow, those of its probabilities do
    "predict_log_proba": Need.PROBA | Need.MODEL,
}


def cross_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    setting: Params | Sequence[Params] | None = None,
    method: Method = "predict",
    groups: Any = None,
    n_jobs: int | None = None,
    **fit_params: Any,
) -> NDArray[Any]:
    """Predict every row by a model that was fitted without it.

    The numbers are those of scikit-learn's `cross_val_predict(estimator.set_params(**setting), X, y, cv=cv)`. With a
    list of settings the first axis is theirs, and what they share is done once. A class that is absent from a training
    fold has probability 0 there.

    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes
    >>> from foldwise.evaluation import cross_predict
    >>> X, y = load_iris(return_X_y=True)
    >>> cross_predict(NaiveBayes(), X, y, setting=[{"var_floor": 1e-9}, {"var_floor": 0.1}]).shape
    (2, 150)
    """
    if method not in NEEDS:
        raise InputError(f"there is no method {method!r}.", f"one of {listing(list(NEEDS))}.")
    one = setting is None or isinstance(setting, Mapping)
    settings: list[Params] = [setting or {}] if one else list(setting)  # type: ignore[list-item, arg-type]
    if not settings:
        raise InputError("the list of settings is empty.", "pass at least one, or None for the estimator as it is.")
    n_rows = count_rows(X)
    session = open_session(estimator, X, y, fit_params)
    splits = freeze_splits(cv, X, y, groups, n_rows=n_rows, classifier=is_classifier(estimator))
    check_partition(splits, n_rows)
    if method != "predict":
        warn_of_absent_classes(session, splits)
    found = predict_all(session, settings, splits, method, n_jobs)
    return np.asarray(found[0] if one else found)


def predict_all(
    session: FoldSession, settings: Sequence[Params], splits: Sequence[Split], method: Method, n_jobs: int | None
) -> NDArray[Any]:  # (settings, rows, …)
    """The predictions of all settings for all rows."""
    if isinstance(splits, LeaveOneOutSplits):
        turning = [answers_leave_one_out(session, setting, splits) for setting in settings]
        if all(turning):
            return predict_turns(session, settings, splits, method)
        if any(turning):  # each its own way
            each = [predict_all(session, [setting], splits, method, n_jobs) for setting in settings]
            return np.concatenate(each)
    calls = ((session, settings, split, method, number) for number, split in enumerate(splits))
    parts = run(calls, session.threads, n_jobs)
    joined = np.concatenate(parts, axis=1)
    found = np.empty_like(joined)
    found[:, test_rows(splits)] = joined
    return found


def predict_turns(
    session: FoldSession, settings: Sequence[Params], splits: LeaveOneOutSplits, method: Method
) -> NDArray[Any]:  # (settings, rows, …)
    """The same for leave-one-out, answered at once."""
    target = session.target
    assert isinstance(target, Labels)
    parts: list[Any] = []
    for told in answer_leave_one_out(session, settings, splits, NEEDS[method]):
        for i, place, failure in told.failed:
            failure.error.add_note(f"raised by setting {dict(settings[i])} on split {place}")
            raise failure.error
        if method == "predict":
            parts.append(target.classes[told.answer.labels])
        elif method == "predict_proba":
            parts.append(told.answer.probabilities())
        else:
            log_proba: Any = told.answer.log_probabilities()
            alone = np.flatnonzero(left_alone(target, splits))
            log_proba[:, alone, target.codes[splits.rows[alone]]] = np.finfo(np.float64).min
            parts.append(log_proba)
    return np.concatenate(parts)


def left_alone(target: Labels, splits: LeaveOneOutSplits) -> NDArray[np.bool_]:  # (splits,)
    """Which splits leave out the only row of a class."""
    return np.asarray(splits.counts(target.codes, len(target.classes))[target.codes[splits.rows]] == 1)


def run(calls: Iterable[tuple[Any, ...]], threads: bool, n_jobs: int | None) -> list[NDArray[Any]]:
    """`predict_split` of each call, on threads where the session's work releases the GIL."""
    if not threads:
        return list(Parallel(n_jobs)(delayed(predict_split)(*call) for call in calls))
    if effective_n_jobs(n_jobs) == 1:
        return [predict_split(*call) for call in calls]
    with ThreadPoolExecutor(effective_n_jobs(n_jobs)) as pool:
        return list(pool.map(lambda call: predict_split(*call), calls))


def predict_split(
    session: FoldSession, settings: Sequence[Params], split: Split, method: Method, number: int
) -> NDArray[Any]:  # (settings, test rows, …)
    """The predictions of all settings for the test rows of one split."""
    parts = []
    need = NEEDS[method] | (Need.MODEL if session.target is None else Need(0))
    for block in session.answer(settings, split.train, split.test, need):
        asked = settings[block.start : block.stop]
        if isinstance(block.answer, Failure):
            block.answer.error.add_note(f"raised by setting {dict(asked[0])} on split {number}")
            raise block.answer.error
        parts.append(predicted(session, asked, split, block.answer, method))
    return np.concatenate(parts)


def predicted(
    session: FoldSession, settings: Sequence[Params], split: Split, answer: Answer, method: Method
) -> NDArray[Any]:
    """What one block of settings says."""
    target = session.target
    if method == "predict":
        if isinstance(target, Labels) and answer.labels is not None:
            return np.asarray(target.classes[answer.labels])
        if answer.values is not None:
            return answer.values
        return by_models(session, settings, split, answer, method)
    if not isinstance(target, Labels):
        return by_models(session, settings, split, answer, method)
    absent = split.trained(target.codes, len(target.classes)) == 0
    if method == "predict_proba":
        proba = answer.probabilities()
        return by_models(session, settings, split, answer, method) if proba is None else np.asarray(proba)
    if answer.log_proba is None:
        lowest = np.full((len(settings), len(split.test), len(target.classes)), np.finfo(np.float64).min)
        lowest[:, :, ~absent] = by_models(session, settings, split, answer, method)
        return lowest
    log_proba = answer.log_proba.copy()
    log_proba[:, :, absent] = np.finfo(np.float64).min  # what scikit-learn fills in
    return log_proba


def by_models(
    session: FoldSession, settings: Sequence[Params], split: Split, answer: Answer, method: Method
) -> NDArray[Any]:
    """The models' own predictions, where the answer does not hold them."""
    models = answer.models or [session.model(setting, split.train) for setting in settings]
    X = take_rows(session.X, split.test)
    for model in models:
        if not hasattr(model, method):
            raise lacks(session, method)
    return np.stack([np.asarray(getattr(model, method)(X)) for model in models])


def lacks(session: FoldSession, method: str) -> InputError:
    return InputError(
        f"{method} was asked for, but {type(session.estimator).__name__} has none.",
        "ask for method='predict', or wrap the model, for example in CalibratedClassifierCV.",
    )


def check_partition(splits: Sequence[Split], n_rows: int) -> None:
    """Refuse splits that test a row never, or twice: which prediction would be its own?"""
    times = np.bincount(test_rows(splits), minlength=n_rows)
    wrong = np.flatnonzero(times != 1)
    if wrong.size:
        row = int(wrong[0])
        how = "never" if times[row] == 0 else f"{times[row]} times"
        raise InputError(
            f"cross_predict only works for partitions: every row must be tested once, but row {row} is tested {how}.",
            "use a splitter such as KFold or StratifiedKFold, without repeats.",
        )


def warn_of_absent_classes(session: FoldSession, splits: Sequence[Split]) -> None:
    """scikit-learn's warning where a training fold lacks a class."""
    if not isinstance(session.target, Labels):
        return
    total = len(session.target.classes)
    numbers = range(len(splits))
    if isinstance(splits, LeaveOneOutSplits):
        numbers = np.flatnonzero(left_alone(session.target, splits))[:1].tolist()
    for number in numbers:
        there = int(np.count_nonzero(splits[number].trained(session.target.codes, total)))
        if there < total:
            warnings.warn(
                f"Number of classes in training fold ({there}, of split {number}) does not match total number of "
                f"classes ({total}): absent ones have probability 0. Results may not be appropriate for your use case. "
                "To fix this, use a cross-validation technique resulting in properly stratified folds",
                RuntimeWarning,
                stacklevel=3,
            )
            return
