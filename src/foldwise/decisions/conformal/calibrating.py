"""Fit a model and compute its calibration scores, on rows that it did not learn from.

Predictions of calibration rows come from the fold session of the model, so a foldable model is not refitted for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold

from foldwise.arrays import Floats
from foldwise.decisions.conformal.class_scores import class_scores
from foldwise.decisions.conformal.interval_scores import (
    AbsoluteScore,
    IntervalScore,
    NormalizedScore,
    QuantileScore,
    joined_ties,
    log_spreads,
    out_of_fold,
    quantile_settings,
)
from foldwise.decisions.conformal.kept_models import KeptModels, keep_models, own_predictions
from foldwise.errors import InputError
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Failure, FoldSession, Labels, Need, Rows
from foldwise.folds.rows import take_params, take_rows
from foldwise.folds.splits import Split, test_rows
from foldwise.folds.weights import weight_params

INNER_FOLDS = 5  # inside the training rows of a split, for the residuals that the second model learns


@dataclass(frozen=True)
class CalibrationPlan:
    """What is fitted and how it is scored: parameters of `Conformal`, checked."""

    estimator: Any
    method: str
    coverage: float
    conformity: str
    interval_estimator: Any
    random_state: int
    n_jobs: int | None


@dataclass(frozen=True)
class CalibrationScores:
    """A fitted model with the scores of calibration rows."""

    model: Any
    scores: Floats  # (calibration rows,)
    codes: NDArray[np.intp] | None = None  # the class of each calibration row
    conformity: IntervalScore | None = None
    interval_models: list[Any] = field(default_factory=list)
    kept: KeptModels | None = None
    fold: Rows | None = None  # of each calibration row


@dataclass(frozen=True)
class TrainingTable:
    """All rows, with weights, and which of them the final models are trained on."""

    X: Any
    y: Any
    weights: Floats | None
    rows: Rows | None  # None for all

    def session(self, estimator: Any, y: Any = None) -> FoldSession:
        """Open a session of an estimator on all rows, perhaps with another target."""
        y = self.y if y is None else y
        return open_session(clone(estimator), self.X, y, weight_params(estimator, self.weights))

    def fit(self, estimator: Any, y: Any = None) -> Any:
        """Fit a clone of an estimator on the training rows, perhaps with another target."""
        y = self.y if y is None else y
        params = weight_params(estimator, self.weights)
        if self.rows is None:
            return clone(estimator).fit(self.X, y, **params)
        params = take_params(params, self.rows, len(y))
        return clone(estimator).fit(take_rows(self.X, self.rows), y[self.rows], **params)


def table_of(plan: CalibrationPlan, X: Any, y: Any, weights: Floats | None, splits: Sequence[Split]) -> TrainingTable:
    """Return the table with its training rows: all of them, or those of the only split."""
    return TrainingTable(X, y, weights, splits[0].train if plan.method == "split" and splits else None)


def calibration_rows(plan: CalibrationPlan, splits: Sequence[Split]) -> Rows:
    """Return the calibration rows, in the order in which they draw random numbers."""
    if not splits:
        return np.empty(0, dtype=np.intp)
    return splits[0].test if plan.method == "split" else np.sort(test_rows(splits))


def class_calibration(
    plan: CalibrationPlan, X: Any, y: NDArray[Any], weights: Floats | None, splits: Sequence[Split]
) -> CalibrationScores:
    """Fit a classifier and score the true classes of calibration rows."""
    table = table_of(plan, X, y, weights, splits)
    model = table.fit(plan.estimator)
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"sets of classes need predict_proba, but {type(plan.estimator).__name__} does not have it.",
            "wrap the classifier in Calibrated first.",
        )
    rows = calibration_rows(plan, splits)
    if not rows.size:
        return CalibrationScores(model, np.empty(0), np.empty(0, dtype=np.intp))
    session = table.session(plan.estimator)
    target = session.target
    if not isinstance(target, Labels):
        raise InputError("sets of classes need a single column of classes as y.", "pass y with one label per row.")
    proba = np.zeros((len(y), len(target.classes)))
    pool = Parallel(plan.n_jobs, prefer="threads" if session.threads else None)
    parts = pool(delayed(split_probabilities)(session, split) for split in splits)
    for split, part in zip(splits, parts, strict=True):
        proba[split.test] = part
    scores = class_scores(plan.conformity, proba[rows], plan.random_state)
    codes = target.codes[rows]
    own = scores[np.arange(len(rows)), codes]
    known = np.isin(target.classes, model.classes_)
    own[~known[codes]] = np.inf  # the model does not know the class, so no set contains it
    indices = np.cumsum(known) - 1
    return CalibrationScores(model, own, np.where(known[codes], indices[codes], -1).astype(np.intp))


def split_probabilities(session: FoldSession, split: Split) -> Floats:  # (test rows, classes)
    """Return the probabilities of the test rows of one split."""
    [block] = session.answer([{}], split.train, split.test, Need.PROBA)
    if isinstance(block.answer, Failure):
        raise block.answer.error
    found = block.answer.probabilities()
    if found is None:
        assert block.answer.models is not None
        found = block.answer.models[0].predict_proba(take_rows(session.X, split.test))[None]  # raises again
    return np.asarray(found[0], dtype=np.float64)


def value_calibration(
    plan: CalibrationPlan, X: Any, y: Floats, weights: Floats | None, splits: Sequence[Split]
) -> CalibrationScores:
    """Fit a regressor, perhaps with second models, and score the values of calibration rows."""
    table = table_of(plan, X, y, weights, splits)
    model, session = table.fit(plan.estimator), table.session(plan.estimator)
    if plan.method in ("cv+", "jackknife+"):
        fold = np.empty(len(y), dtype=np.intp)
        for k, split in enumerate(splits):
            fold[split.test] = k
        kept = keep_models(session, model, splits, fold)
        residuals = np.abs(y - own_predictions(kept, session, splits, fold))
        return CalibrationScores(model, residuals, kept=kept, fold=fold)
    rows = calibration_rows(plan, splits)
    conformity, shape, models = interval_shape(plan, table, session, splits)
    center = out_of_fold(session, [{}], splits, len(y), plan.n_jobs)
    scores = conformity.scores(y[rows], center[rows, 0], shape[rows])
    if plan.method == "cross" and plan.conformity == "absolute":
        scores = joined_ties(scores, y[rows], np.asarray(model.predict(take_rows(X, rows)), dtype=np.float64))
    return CalibrationScores(model, scores, conformity=conformity, interval_models=models)


def interval_shape(
    plan: CalibrationPlan, table: TrainingTable, session: FoldSession, splits: Sequence[Split]
) -> tuple[IntervalScore, Floats, list[Any]]:
    """Return the kind of score, what second models predict for calibration rows, and the fitted second models."""
    n_rows = len(table.y)
    second = plan.estimator if plan.interval_estimator is None else plan.interval_estimator
    if plan.conformity == "quantile":
        chosen, settings = quantile_settings(second, plan.coverage)
        shape = out_of_fold(table.session(chosen), settings, splits, n_rows, plan.n_jobs)
        return QuantileScore(), shape, [table.fit(clone(chosen).set_params(**setting)) for setting in settings]
    if plan.conformity == "normalized":
        spreads, trained = np.zeros(n_rows), slice(None) if table.rows is None else table.rows
        # residuals of training rows, out of fold as well: residuals of rows that were learned are too small
        inner = splits if table.rows is None else inner_splits(table.rows)
        center = out_of_fold(session, [{}], inner, n_rows, plan.n_jobs)[:, 0]
        spreads[trained] = log_spreads((table.y - center)[trained])
        shape = out_of_fold(table.session(second, spreads), [{}], splits, n_rows, plan.n_jobs)
        limits = (float(spreads[trained].min()), float(spreads[trained].max()))
        return NormalizedScore(*limits), shape, [table.fit(second, spreads)]
    return AbsoluteScore(), np.empty((n_rows, 0)), []


def inner_splits(rows: Rows) -> list[Split]:
    """Return folds of some rows."""
    if len(rows) < 2:
        raise InputError(
            f"conformity='normalized' needs at least two training rows (n_samples), got {len(rows)}.", "pass more rows."
        )
    folds = KFold(min(INNER_FOLDS, len(rows)), shuffle=True, random_state=0)
    return [Split(rows[train], rows[test]) for train, test in folds.split(rows)]
