"""`cross_predict`: out-of-fold predictions, each by a model that was not trained on the row."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import is_classifier

from foldwise.data.arguments import one_of
from foldwise.errors import InputError, MissingMethodError
from foldwise.evaluation.routing import check_fit_params
from foldwise.folds.leave_one_out import answer_leave_one_out, answers_leave_one_out
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Answer, Failure, FoldSession, Labels, Need, Params
from foldwise.folds.rows import count_rows, take_rows
from foldwise.folds.splits import LeaveOneOutSplits, Split, freeze_splits, test_rows

Method = Literal["predict", "predict_proba", "predict_log_proba", "decision_function"]

NEEDS = {
    "predict": Need.LABELS | Need.VALUES,
    "predict_proba": Need.PROBA,
    # a model's own log-probabilities do not underflow, unlike logarithms of its probabilities
    "predict_log_proba": Need.PROBA | Need.MODEL,
    "decision_function": Need.DECISION | Need.MODEL,
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
    """Predict each row with a model that was fitted without it.

    The predictions are those of scikit-learn's `cross_val_predict(estimator.set_params(**setting), X, y, cv=cv)`.

    Parameters
    ----------
    estimator : estimator
        The model.
    X : array-like or frame of shape (n_rows, n_columns)
        The table.
    y : array-like of shape (n_rows,), default None
        The target.
    cv : int, splitter or iterable, default 5
        Splits that test each row exactly once.
    setting : dict or sequence of dict, default None
        Parameters to set. With a sequence of settings, work they share is done once. None leaves the estimator as it
        is.
    method : {"predict", "predict_proba", "predict_log_proba"}, default "predict"
        The kind of prediction. A class that is missing from the training rows of a split has probability 0 there.
    groups : array-like of shape (n_rows,), default None
        Groups for splitters that use them.
    n_jobs : int or None, default None
        Number of parallel jobs.
    **fit_params : dict
        Passed to `fit`, such as `sample_weight`.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_classes)
        The predictions; with a sequence of settings, the first axis is the setting.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes
    >>> from foldwise.evaluation import cross_predict
    >>> X, y = load_iris(return_X_y=True)
    >>> cross_predict(NaiveBayes(), X, y, setting=[{"var_floor": 1e-9}, {"var_floor": 0.1}]).shape
    (2, 150)
    """
    one_of("method", method, ("predict", "predict_proba", "predict_log_proba"))
    one = setting is None or isinstance(setting, Mapping)
    settings: list[Params] = [setting or {}] if one else list(setting)  # type: ignore[list-item, arg-type]
    if not settings:
        raise InputError("setting is an empty list.", "pass at least one setting, or None for the estimator as it is.")
    n_rows = count_rows(X)
    check_fit_params("cross_predict", estimator, fit_params)
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
    """Predict all rows with all settings."""
    if isinstance(splits, LeaveOneOutSplits):
        turning = [answers_leave_one_out(session, setting, splits) for setting in settings]
        shared = method in ("predict", "predict_proba", "predict_log_proba")
        if all(turning) and shared and (method == "predict" or isinstance(session.target, Labels)):
            return predict_turns(session, settings, splits, method)
        if any(turning) and not all(turning):
            each = [predict_all(session, [setting], splits, method, n_jobs) for setting in settings]
            return np.concatenate(each)
    pool = Parallel(n_jobs, prefer="threads" if session.threads else None)
    parts = pool(delayed(predict_split)(session, settings, split, method, k) for k, split in enumerate(splits))
    joined = np.concatenate(parts, axis=1)
    found = np.empty_like(joined)
    found[:, test_rows(splits)] = joined
    return found


def predict_turns(
    session: FoldSession, settings: Sequence[Params], splits: LeaveOneOutSplits, method: Method
) -> NDArray[Any]:  # (settings, rows, …)
    """Predict all rows by leave-one-out at once."""
    target = session.target
    parts: list[Any] = []
    for block in answer_leave_one_out(session, settings, splits, NEEDS[method]):
        for i, number, failure in block.failed:
            failure.error.add_note(f"raised by setting {dict(settings[i])} on split {number}")
            raise failure.error
        if method == "predict" and not isinstance(target, Labels):
            parts.append(block.answer.values)
            continue
        assert isinstance(target, Labels)
        if method == "predict":
            parts.append(target.classes[block.answer.labels])
        elif method == "predict_proba":
            parts.append(block.answer.probabilities())
        else:
            log_proba: Any = block.answer.log_probabilities()
            alone = np.flatnonzero(left_alone(target, splits))
            log_proba[:, alone, target.codes[splits.rows[alone]]] = np.finfo(np.float64).min
            parts.append(log_proba)
    return np.concatenate(parts)


def left_alone(target: Labels, splits: LeaveOneOutSplits) -> NDArray[np.bool_]:  # (splits,)
    """Return which splits leave out the only row of a class."""
    return np.asarray(splits.counts(target.codes, len(target.classes))[target.codes[splits.rows]] == 1)


def predict_split(
    session: FoldSession, settings: Sequence[Params], split: Split, method: Method, number: int
) -> NDArray[Any]:  # (settings, test rows, …)
    """Predict the test rows of one split with all settings."""
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
    """Extract the predictions of a block of settings from its answer."""
    target = session.target
    if method == "decision_function":
        decision = answer.decision
        return by_models(session, settings, split, answer, method) if decision is None else np.asarray(decision)
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
    log_proba[:, :, absent] = np.finfo(np.float64).min  # as in scikit-learn
    return log_proba


def by_models(
    session: FoldSession, settings: Sequence[Params], split: Split, answer: Answer, method: Method
) -> NDArray[Any]:
    """Call the models themselves, if the answer does not contain the predictions."""
    models = answer.models or [session.model(setting, split.train) for setting in settings]
    X = take_rows(session.X, split.test)
    for model in models:
        if not hasattr(model, method):
            raise MissingMethodError(
                f"method={method!r} cannot be used, because {type(session.estimator).__name__} has no such method.",
                "pass method='predict', or wrap a classifier in Calibrated.",
            )
    return np.stack([np.asarray(getattr(model, method)(X)) for model in models])


def check_partition(splits: Sequence[Split], n_rows: int) -> None:
    """Raise an error unless each row is tested exactly once."""
    times = np.bincount(test_rows(splits), minlength=n_rows)
    wrong = np.flatnonzero(times != 1)
    if wrong.size:
        row = int(wrong[0])
        how = "never tested" if times[row] == 0 else f"tested {times[row]} times"
        raise InputError(
            f"cv must be a partition that tests each row exactly once, but row {row} is {how}.",
            "use a splitter such as KFold or StratifiedKFold, without repeats.",
        )


def warn_of_absent_classes(session: FoldSession, splits: Sequence[Split]) -> None:
    """Warn as scikit-learn does if a class is missing from the training rows of a split."""
    found = absent_classes(session, splits)
    if found is not None:
        number, there, total = found
        warnings.warn(
            f"Number of classes in training fold ({there} in split {number}) does not match total number of "
            f"classes ({total}). Missing classes get probability 0. To fix this, use a cross-validation technique "
            "resulting in properly stratified folds",
            RuntimeWarning,
            stacklevel=3,
        )


def absent_classes(session: FoldSession, splits: Sequence[Split]) -> tuple[int, int, int] | None:
    """Return the first split whose training rows lack a class, how many classes they have, and how many there are."""
    if not isinstance(session.target, Labels):
        return None
    total = len(session.target.classes)
    numbers = range(len(splits))
    if isinstance(splits, LeaveOneOutSplits):
        numbers = np.flatnonzero(left_alone(session.target, splits))[:1].tolist()
    for number in numbers:
        there = int(np.count_nonzero(splits[number].trained(session.target.codes, total)))
        if there < total:
            return number, there, total
    return None
