"""Scores of a model for some rows, and the data that calibrators are fitted on.

Scores are log-probabilities if a model has them, otherwise decision values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.decisions.wrapper import log_softmax
from foldwise.errors import InputError
from foldwise.folds.protocol import Answer, Failure, FoldSession, Labels, Need, Params, Rows
from foldwise.folds.rows import take_rows

# lower log-probabilities are clipped: otherwise a few errors of an overconfident model would decide
MIN_LOG_PROBA = float(np.log(1e-12))
SCORES_NEEDED = Need.PROBA | Need.DECISION | Need.MODEL  # a model's own log-probabilities do not underflow


@dataclass(frozen=True)
class ClassScores:
    """One finite number per row and class; higher means more probable."""

    values: Floats  # (rows, classes)
    normalized: bool  # whether they are log-probabilities

    @cached_property
    def against_rest(self) -> Floats:  # (rows, classes)
        """Log-odds of each class against all others; decision values are taken as log-odds."""
        values = self.values
        if values.shape[1] == 2:
            return np.column_stack([values[:, 0] - values[:, 1], values[:, 1] - values[:, 0]])
        if not self.normalized:
            return values
        odds = np.empty_like(values)
        for k in range(values.shape[1]):  # log of the sum over the other classes: 1 - p would cancel
            others = np.delete(values, k, axis=1)
            top = others.max(axis=1)
            odds[:, k] = values[:, k] - top - np.log(np.exp(others - top[:, None]).sum(axis=1))
        return odds

    def take(self, rows: Rows) -> ClassScores:
        return ClassScores(self.values[rows], self.normalized)


@dataclass(frozen=True)
class CalibrationData:
    """Out-of-fold scores of rows with their true classes, on which a calibrator is fitted."""

    scores: ClassScores
    codes: NDArray[np.integer[Any]]
    weights: Floats

    @property
    def n_classes(self) -> int:
        return int(self.scores.values.shape[1])

    def take(self, rows: Rows) -> CalibrationData:
        return CalibrationData(self.scores.take(rows), self.codes[rows], self.weights[rows])


class Calibrator(Protocol):
    """A fitted map from scores to log-probabilities."""

    def log_proba(self, scores: ClassScores) -> Floats:  # (rows, classes)
        """Return normalized log-probabilities."""


@dataclass(frozen=True)
class IdentityCalibrator:
    """Leave probabilities as they are; turn decision values into probabilities by softmax."""

    def log_proba(self, scores: ClassScores) -> Floats:
        return log_softmax(scores.values)


def model_scores(model: Any, X: Any) -> ClassScores:
    """Return the scores of a fitted model for some rows, in the order of its classes."""
    for name in ("predict_log_proba", "predict_proba", "decision_function"):
        if hasattr(model, name):
            with np.errstate(divide="ignore"):
                found = np.asarray(getattr(model, name)(X), dtype=np.float64)
                found = np.log(found) if name == "predict_proba" else found
            normalized = name != "decision_function"
            classes = np.arange(len(model.classes_))
            return finite_scores(found if normalized else class_columns(found, classes, len(classes)), normalized)
    raise lacks_scores(model)


def session_scores(
    session: FoldSession, settings: Sequence[Params], train: Rows, test: Rows, among: NDArray[np.intp]
) -> list[ClassScores | Failure]:
    """Return the scores of the test rows for each setting, with one column for each class in `among`."""
    target = session.target
    assert isinstance(target, Labels)
    present = np.flatnonzero(np.bincount(target.codes[train], minlength=len(target.classes)))
    found: list[ClassScores | Failure] = []
    with np.errstate(divide="ignore"):
        for block in session.answer(settings, train, test, SCORES_NEEDED):
            for i in range(block.stop - block.start):
                if isinstance(block.answer, Failure):
                    found.append(block.answer)
                    continue
                try:
                    one = block.answer.cut(i, i + 1)
                    found.append(answer_scores(session, one, test, present, among))
                except Exception as error:  # not hidden: the failure is the answer
                    found.append(Failure(error))
    return found


def answer_scores(
    session: FoldSession, answer: Answer, test: Rows, present: NDArray[np.intp], among: NDArray[np.intp]
) -> ClassScores:
    """Extract the scores from the answer to one setting."""
    if answer.log_proba is not None:
        return finite_scores(answer.log_proba[0][:, among], True)
    assert isinstance(session.target, Labels)
    n_classes = len(session.target.classes)
    model = None if answer.models is None else answer.models[0]
    if model is not None and hasattr(model, "predict_log_proba"):
        logs = np.asarray(model.predict_log_proba(take_rows(session.X, test)), dtype=np.float64)
        return finite_scores(class_columns(logs, present, n_classes)[:, among], True)
    if answer.proba is not None:
        return finite_scores(np.log(answer.proba[0][:, among].astype(np.float64)), True)
    if answer.decision is not None:
        return finite_scores(class_columns(answer.decision[0], present, n_classes)[:, among], False)
    raise lacks_scores(session.estimator if model is None else model)


def class_columns(found: Floats, indices: NDArray[np.intp], n_classes: int) -> Floats:  # (rows, classes)
    """Place the scores of some classes among all classes, with -inf for the others.

    One-dimensional decision values of two classes are the difference of their scores.
    """
    if found.ndim == 1:
        found = np.column_stack([-found / 2, found / 2])
    if found.shape[1] != len(indices):
        raise InputError(
            f"decision_function returns {found.shape[1]} values per row, but there are {len(indices)} classes.",
            "make it return one value per class, for example with decision_function_shape='ovr'.",
        )
    wide = np.full((len(found), n_classes), -np.inf)
    wide[:, indices] = found
    return wide


def finite_scores(values: Floats, normalized: bool) -> ClassScores:
    """Replace infinite scores: an impossible class gets the lowest score of its row, or the lower limit."""
    invalid = (np.isnan(values) | (values == np.inf)).any(axis=1)
    if invalid.any():
        row = int(invalid.argmax())
        raise InputError(f"the model's scores of row {row} are not finite numbers: {values[row].tolist()}.")
    if normalized:
        return ClassScores(np.maximum(values, MIN_LOG_PROBA), True)
    gaps = values == -np.inf
    if gaps.any():
        least = np.where(gaps, np.inf, values).min(axis=1, keepdims=True)
        values = np.where(gaps, np.where(np.isfinite(least), least, 0.0), values)
    return ClassScores(values, normalized)


def lacks_scores(model: Any) -> InputError:
    return InputError(
        f"calibration needs predict_log_proba, predict_proba or decision_function, but {type(model).__name__} has "
        "none of them.",
        "use another classifier.",
    )
