"""Scores of quantities: how far a value lies outside of what a model expects, and the intervals that follow from them.

An interval is the set of all values whose score is at most the quantile of the calibration scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from foldwise.arrays import Floats
from foldwise.errors import InputError
from foldwise.folds.protocol import Failure, FoldSession, Need, Params, Rows
from foldwise.folds.splits import Split

NOTABLE_TIES = 0.05  # share of rows
LEAST_SPREAD = 1e-3  # of the mean residual: the logarithm of a residual of 0 is minus infinity

# by class name, as their libraries may be missing: parameters of the quantile loss, and the one that holds the level
QUANTILE_LOSSES: dict[str, tuple[dict[str, Any], str]] = {
    "QuantileRegressor": ({}, "quantile"),
    "GradientBoostingRegressor": ({"loss": "quantile"}, "alpha"),
    "HistGradientBoostingRegressor": ({"loss": "quantile"}, "quantile"),
    "LGBMRegressor": ({"objective": "quantile"}, "alpha"),
    "XGBRegressor": ({"objective": "reg:quantileerror"}, "quantile_alpha"),
}


class IntervalScore(Protocol):
    """What turns predictions into scores of calibration rows, and a quantile of scores into intervals."""

    def scores(self, y: Floats, center: Floats, shape: Floats) -> Floats:  # (rows,)
        """Score values, given the predictions of the model and of the second model."""

    def bounds(self, center: Floats, shape: Floats, quantile: float) -> tuple[Floats, Floats]:
        """Return the least and the largest value whose score is at most the quantile."""


@dataclass(frozen=True)
class AbsoluteScore:
    """|y - prediction|. All intervals have the same width."""

    def scores(self, y: Floats, center: Floats, shape: Floats) -> Floats:
        return np.abs(y - center)

    def bounds(self, center: Floats, shape: Floats, quantile: float) -> tuple[Floats, Floats]:
        return center - quantile, center + quantile


@dataclass(frozen=True)
class NormalizedScore:
    """|y - prediction| / spread, where a second model predicts the logarithm of the spread."""

    lowest: float  # of the logarithms that the second model was trained on: it must not extrapolate
    highest: float

    def spread(self, shape: Floats) -> Floats:
        return np.exp(np.clip(shape[:, 0], self.lowest, self.highest))

    def scores(self, y: Floats, center: Floats, shape: Floats) -> Floats:
        return np.abs(y - center) / self.spread(shape)

    def bounds(self, center: Floats, shape: Floats, quantile: float) -> tuple[Floats, Floats]:
        reach = quantile * self.spread(shape)
        return center - reach, center + reach


@dataclass(frozen=True)
class QuantileScore:
    """max(low - y, y - high), where second models predict the quantiles low and high."""

    def scores(self, y: Floats, center: Floats, shape: Floats) -> Floats:
        return np.maximum(shape[:, 0] - y, y - shape[:, 1])

    def bounds(self, center: Floats, shape: Floats, quantile: float) -> tuple[Floats, Floats]:
        low, high = shape[:, 0] - quantile, shape[:, 1] + quantile
        crossed = low > high
        middle = (low + high) / 2  # no value has such a small score; the middle comes closest
        return np.where(crossed, middle, low), np.where(crossed, middle, high)


def log_spreads(residuals: Floats) -> Floats:
    """Return what the second model of normalized scores learns: logarithms of residuals, none of them infinite."""
    sizes = np.abs(residuals)
    mean = float(sizes.mean())
    return np.log(np.maximum(sizes, LEAST_SPREAD * mean)) if mean > 0 else np.zeros(len(sizes))


def joined_ties(scores: Floats, y: Floats, fitted: Floats) -> Floats:
    """Give rows that the model cannot distinguish one score, the largest of their absolute residuals.

    Models of different folds predict such rows slightly differently. Where they are many, the quantile may fall between
    these predictions, and the intervals would then miss all of them.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Absolute out-of-fold residuals.
    y : array of shape (n_rows,)
        Targets.
    fitted : array of shape (n_rows,)
        Predictions of the same rows by the model of all rows.

    Returns
    -------
    array of shape (n_rows,)
        The scores; the same array unless a group of equal rows is large.
    """
    pairs = np.column_stack([y, fitted])
    _, group, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    large = np.flatnonzero(counts >= max(2, NOTABLE_TIES * len(y)))
    if not large.size:
        return scores
    found = scores.copy()
    for k in large:
        rows = group.reshape(-1) == k
        found[rows] = max(float(scores[rows].max()), float(np.abs(y[rows] - fitted[rows]).max()))
    return found


def quantile_settings(estimator: Any, coverage: float) -> tuple[Any, list[Params]]:
    """Return an estimator with a quantile loss, and its two settings for the ends of intervals.

    Parameters
    ----------
    estimator : estimator
        A regressor with a quantile loss, or a pipeline that ends with one.
    coverage : float
        The share of values between the two quantiles.

    Returns
    -------
    estimator, list of dict
        A clone with the loss, and the settings of the low and of the high quantile.

    Examples
    --------
    >>> from sklearn.linear_model import QuantileRegressor
    >>> quantile_settings(QuantileRegressor(), 0.5)[1]
    [{'quantile': 0.25}, {'quantile': 0.75}]
    """
    prefix, last = "", estimator
    while isinstance(last, Pipeline):
        prefix, last = f"{prefix}{last.steps[-1][0]}__", last.steps[-1][1]
    name = type(last).__name__
    if name not in QUANTILE_LOSSES:
        raise InputError(
            f"conformity='quantile' needs a regressor with a quantile loss, but {name} has none.",
            f"pass one of {', '.join(QUANTILE_LOSSES)} as interval_estimator, or use conformity='normalized'.",
        )
    loss, level = QUANTILE_LOSSES[name]
    chosen = clone(estimator).set_params(**{prefix + key: value for key, value in loss.items()})
    tail = round((1 - coverage) / 2, 15)
    return chosen, [{prefix + level: tail}, {prefix + level: round(1 - tail, 15)}]


def out_of_fold(
    session: FoldSession, settings: Sequence[Params], splits: Sequence[Split], n_rows: int, n_jobs: int | None
) -> Floats:  # (rows, settings)
    """Predict the test rows of all splits with each setting; other rows are NaN."""
    found = np.full((n_rows, len(settings)), np.nan)
    pool = Parallel(n_jobs, prefer="threads" if session.threads else None)
    parts = pool(delayed(split_values)(session, settings, split.train, split.test) for split in splits)
    for split, part in zip(splits, parts, strict=True):
        found[split.test] = part
    return found


def split_values(session: FoldSession, settings: Sequence[Params], train: Rows, test: Rows) -> Floats:
    """Predict the test rows with each setting. Shape (rows, settings)."""
    parts = []
    for block in session.answer(settings, train, test, Need.VALUES):
        if isinstance(block.answer, Failure):
            raise block.answer.error
        if block.answer.values is None:
            raise InputError(
                f"the predictions of {type(session.estimator).__name__} are not one number per row.",
                "use a regressor with a single target.",
            )
        parts.append(block.answer.values)
    return np.concatenate(parts).T
