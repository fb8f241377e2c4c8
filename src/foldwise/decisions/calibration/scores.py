"""Scores of a model about rows: log-probabilities where it has them, else decision values; and what is learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foldwise.decisions.wrapping import log_softmax
from foldwise.errors import InputError
from foldwise.folds.protocol import Answer, Failure, FoldSession, Labels, Need, Params, Rows
from foldwise.folds.rows import take_rows

Floats = NDArray[np.float64]

LEAST = float(np.log(1e-12))  # of a log-probability: a model that is surer is not believed, or its few mistakes decide
WANTED = Need.PROBA | Need.DECISION | Need.MODEL  # a model's own logarithms do not underflow


@dataclass(frozen=True)
class Scores:
    """One finite number a row and class, the more the likelier."""

    values: Floats  # (rows, classes)
    normalised: bool  # whether they are log-probabilities

    @cached_property
    def against_rest(self) -> Floats:  # (rows, classes)
        """Of each class, its log-odds against all others; decision values are such by themselves."""
        values = self.values
        if values.shape[1] == 2:
            return np.column_stack([values[:, 0] - values[:, 1], values[:, 1] - values[:, 0]])
        if not self.normalised:
            return values
        odds = np.empty_like(values)
        for k in range(values.shape[1]):  # log Σ of the others: 1 - p would cancel
            others = np.delete(values, k, axis=1)
            top = others.max(axis=1)
            odds[:, k] = values[:, k] - top - np.log(np.exp(others - top[:, None]).sum(axis=1))
        return odds

    def take(self, rows: Rows) -> Scores:
        return Scores(self.values[rows], self.normalised)


@dataclass(frozen=True)
class Lesson:
    """What a map is learned from: scores of rows by models that have not seen them, and their classes."""

    scores: Scores
    codes: NDArray[np.integer[Any]]
    weights: Floats

    @property
    def n_classes(self) -> int:
        return int(self.scores.values.shape[1])

    def take(self, rows: Rows) -> Lesson:
        return Lesson(self.scores.take(rows), self.codes[rows], self.weights[rows])


class Map(Protocol):
    """From scores to log-probabilities."""

    def log_proba(self, scores: Scores) -> Floats:  # (rows, classes)
        """Normalised logarithms."""


@dataclass(frozen=True)
class Identity:
    """Probabilities as they are; decision values by softmax."""

    def log_proba(self, scores: Scores) -> Floats:
        return log_softmax(scores.values)


def model_scores(model: Any, X: Any) -> Scores:
    """The scores that a fitted model gives to rows, in the order of its classes."""
    for name in ("predict_log_proba", "predict_proba", "decision_function"):
        if hasattr(model, name):
            with np.errstate(divide="ignore"):
                found = np.asarray(getattr(model, name)(X), dtype=np.float64)
                found = np.log(found) if name == "predict_proba" else found
            normalised = name != "decision_function"
            classes = np.arange(len(model.classes_))
            return finite(found if normalised else columns(found, classes, len(classes)), normalised)
    raise lacks_scores(model)


def session_scores(
    session: FoldSession, settings: Sequence[Params], train: Rows, test: Rows, among: NDArray[np.intp]
) -> list[Scores | Failure]:
    """The scores that the models of settings give to test rows, one column for each of the classes `among` all."""
    target = session.target
    assert isinstance(target, Labels)
    present = np.flatnonzero(np.bincount(target.codes[train], minlength=len(target.classes)))
    found: list[Scores | Failure] = []
    with np.errstate(divide="ignore"):
        for block in session.answer(settings, train, test, WANTED):
            for i in range(block.stop - block.start):
                if isinstance(block.answer, Failure):
                    found.append(block.answer)
                    continue
                try:
                    one = block.answer.cut(i, i + 1)
                    found.append(answer_scores(session, one, test, present, among))
                except Exception as error:
                    found.append(Failure(error))
    return found


def answer_scores(
    session: FoldSession, answer: Answer, test: Rows, present: NDArray[np.intp], among: NDArray[np.intp]
) -> Scores:
    """The scores in one setting's answer."""
    if answer.log_proba is not None:
        return finite(answer.log_proba[0][:, among], True)
    assert isinstance(session.target, Labels)
    n_classes = len(session.target.classes)
    model = None if answer.models is None else answer.models[0]
    if model is not None and hasattr(model, "predict_log_proba"):
        logs = np.asarray(model.predict_log_proba(take_rows(session.X, test)), dtype=np.float64)
        return finite(columns(logs, present, n_classes)[:, among], True)
    if answer.proba is not None:
        return finite(np.log(answer.proba[0][:, among].astype(np.float64)), True)
    if answer.decision is not None:
        return finite(columns(answer.decision[0], present, n_classes)[:, among], False)
    raise lacks_scores(session.estimator if model is None else model)


def columns(found: Floats, places: NDArray[np.intp], n_classes: int) -> Floats:  # (rows, classes)
    """Scores of some classes among all, -inf for the others; of two classes a decision value is their difference."""
    if found.ndim == 1:
        found = np.column_stack([-found / 2, found / 2])
    if found.shape[1] != len(places):
        raise InputError(
            f"the model gives {found.shape[1]} decision values for {len(places)} classes.",
            "let it give one a class (decision_function_shape='ovr').",
        )
    wide = np.full((len(found), n_classes), -np.inf)
    wide[:, places] = found
    return wide


def finite(values: Floats, normalised: bool) -> Scores:
    """Scores without infinity: what is impossible gets a score as low as the least of its row, or lower."""
    if np.isnan(values).any() or (values == np.inf).any():
        row = int(np.flatnonzero((np.isnan(values) | (values == np.inf)).any(axis=1))[0])
        raise InputError(f"the model's scores of row {row} are no numbers: {values[row].tolist()}.")
    if normalised:
        return Scores(np.maximum(values, LEAST), True)
    gaps = values == -np.inf
    if gaps.any():
        least = np.where(gaps, np.inf, values).min(axis=1, keepdims=True)
        values = np.where(gaps, np.where(np.isfinite(least), least, 0.0), values)
    return Scores(values, normalised)


def lacks_scores(model: Any) -> InputError:
    return InputError(
        f"calibration needs scores, but {type(model).__name__} has none of predict_log_proba, predict_proba and "
        "decision_function.",
        "use a classifier that has one of them.",
    )
