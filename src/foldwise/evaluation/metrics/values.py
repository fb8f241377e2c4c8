"""Regression metrics: squared, absolute and relative errors, deviances, pinball loss, R²."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.metrics import make_scorer, mean_pinball_loss, median_absolute_error

from foldwise.arrays import Floats
from foldwise.errors import InputError
from foldwise.evaluation.metrics.metric import SMALLEST, Metric, PredictionBatch
from foldwise.folds.protocol import Need

ERROR = (0.0, np.inf)
NEAR_ZERO = 1e-3  # of the median size: relative errors of smaller true values dominate their mean
PINBALL = "pinball_loss"


def squared_errors(batch: PredictionBatch) -> Floats:  # (settings, rows)
    return np.asarray((batch.values - batch.truth) ** 2)


def absolute_errors(batch: PredictionBatch) -> Floats:  # (settings, rows)
    return np.asarray(np.abs(batch.values - batch.truth))


def relative_errors(batch: PredictionBatch) -> Floats:  # (settings, rows)
    """Compute |error| / |true value|, with scikit-learn's smallest divisor."""
    return np.asarray(absolute_errors(batch) / np.maximum(np.abs(batch.truth), np.finfo(np.float64).eps))


def pinball_losses(batch: PredictionBatch, quantile: float) -> Floats:  # (settings, rows)
    error = batch.truth - batch.values
    return np.maximum(quantile * error, (quantile - 1.0) * error)


def poisson_deviances(batch: PredictionBatch) -> Floats:  # (settings, rows)
    """Compute 2·(y·log(y / p) − y + p); infinite for a prediction that cannot be the mean of counts."""
    p = np.where(batch.values > 0, batch.values, 1.0)
    return np.where(batch.values > 0, 2.0 * (xlogy(batch.truth, batch.truth / p) - batch.truth + p), np.inf)


def gamma_deviances(batch: PredictionBatch) -> Floats:  # (settings, rows)
    """Compute 2·(log(p / y) + y / p − 1); infinite for a prediction that is not positive."""
    p = np.where(batch.values > 0, batch.values, 1.0)
    return np.where(batch.values > 0, 2.0 * (np.log(p / batch.truth) + batch.truth / p - 1.0), np.inf)


def median_error(batch: PredictionBatch) -> Floats:  # (settings,)
    if batch.weights is None:
        return np.asarray(np.median(absolute_errors(batch), axis=1))
    return np.array([median_absolute_error(batch.truth, one, sample_weight=batch.weights) for one in batch.values])


def r2_influence(truth: NDArray[Any], predicted: Floats, share: Floats) -> Floats:  # (rows,)
    """Linearize R² as a function of two means: that of squared errors, and that of squared deviations from the mean."""
    squares = (predicted - truth) ** 2
    mean = float(share @ squares)
    around = (truth - share @ truth) ** 2
    variance = max(float(share @ around), SMALLEST)
    return np.asarray(mean / variance**2 * (around - variance) - (squares - mean) / variance)


def r2(batch: PredictionBatch) -> Floats:  # (settings,)
    """Compute R²; if the true values are all equal, it is 1 for exact predictions and 0 otherwise."""
    truth, weights = batch.truth, batch.weights
    left = batch.mean(squared_errors(batch))
    spread = np.average((truth - np.average(truth, weights=weights)) ** 2, weights=weights)
    if spread == 0:
        return np.where(left == 0, 1.0, 0.0)
    return np.where(left == 0, 1.0, 1 - left / spread)


def finite_values(batch: PredictionBatch) -> bool:
    return bool(np.isfinite(batch.values).all())


def several_finite_values(batch: PredictionBatch) -> bool:
    return len(batch.truth) >= 2 and finite_values(batch)


def counted_values(batch: PredictionBatch) -> bool:
    """Whether the Poisson deviance is defined; otherwise scikit-learn's scorer raises its own error."""
    return finite_values(batch) and bool((batch.values > 0).all() and (batch.truth >= 0).all())


def positive_values(batch: PredictionBatch) -> bool:
    """Whether the gamma deviance is defined; otherwise scikit-learn's scorer raises its own error."""
    return finite_values(batch) and bool((batch.values > 0).all() and (batch.truth > 0).all())


def only_known(metric: str, truth: NDArray[Any], *, zero: bool) -> list[str]:
    """Raise if a deviance is not defined for some true values."""
    bad = truth < 0 if zero else truth <= 0
    if bad.any():
        least = "at least 0" if zero else "above 0"
        raise InputError(
            f"the metric {metric!r} needs true values {least}, but the target contains {truth[bad][0]:g}.",
            "use 'root_mean_squared_error' or 'mean_absolute_error'.",
        )
    return []


def near_zero(truth: NDArray[Any]) -> list[str]:
    """Warn of true values so close to 0 that their relative errors dominate the mean."""
    size = np.abs(truth)
    n_close = int((size <= NEAR_ZERO * np.median(size)).sum()) if size.size else 0
    if not n_close:
        return []
    return [
        f"{n_close:,} of {len(truth):,} true values are 0 or close to 0. Their percentage errors are huge and dominate "
        "the mean absolute percentage error. 'mean_absolute_error' does not have this problem."
    ]


def pinball_metric(quantile: float) -> Metric:
    """Create the pinball loss of a quantile, which is lowest for predictions of that quantile.

    Parameters
    ----------
    quantile : float
        The quantile, between 0 and 1. At 0.5 the loss is half the mean absolute error.

    Returns
    -------
    Metric
        The metric, called "pinball_loss_0.9" for the quantile 0.9.

    Examples
    --------
    >>> pinball_metric(0.9)(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    0.5
    """
    if not 0 < quantile < 1:
        raise InputError(f"the quantile of a pinball loss must be between 0 and 1, got {quantile:g}.", "use 0.9.")
    return Metric(
        *(f"{PINBALL}_{quantile:g}", f"pinball loss of the {quantile:g} quantile", False, ERROR, Need.VALUES),
        make_scorer(mean_pinball_loss, greater_is_better=False, alpha=quantile),
        row_scores=partial(pinball_losses, quantile=quantile),
        plain=finite_values,
    )


VALUE_METRICS: tuple[Metric, ...] = (
    Metric(
        *("root_mean_squared_error", "root mean squared error", False, ERROR, Need.VALUES),
        "neg_root_mean_squared_error",
        row_scores=squared_errors,
        root=True,
        plain=finite_values,
        squared=True,
    ),
    Metric(
        *("mean_squared_error", "mean squared error", False, ERROR, Need.VALUES, "neg_mean_squared_error"),
        row_scores=squared_errors,
        single_rows=True,
        plain=finite_values,
        squared=True,
    ),
    Metric(
        *("mean_absolute_error", "mean absolute error", False, ERROR, Need.VALUES, "neg_mean_absolute_error"),
        row_scores=absolute_errors,
        single_rows=True,
        plain=finite_values,
    ),
    Metric(
        *("median_absolute_error", "median absolute error", False, ERROR, Need.VALUES, "neg_median_absolute_error"),
        scores=median_error,
        plain=finite_values,
    ),
    Metric(
        *("r2", "R²", True, (-np.inf, 1.0), Need.VALUES, "r2"),
        scores=r2,
        plain=several_finite_values,
        influence=r2_influence,
        squared=True,
    ),
    Metric(
        *("mean_poisson_deviance", "mean Poisson deviance", False, ERROR, Need.VALUES, "neg_mean_poisson_deviance"),
        row_scores=poisson_deviances,
        plain=counted_values,
        target_check=partial(only_known, "mean_poisson_deviance", zero=True),
    ),
    Metric(
        *("mean_gamma_deviance", "mean gamma deviance", False, ERROR, Need.VALUES, "neg_mean_gamma_deviance"),
        row_scores=gamma_deviances,
        plain=positive_values,
        target_check=partial(only_known, "mean_gamma_deviance", zero=False),
    ),
    Metric(
        *("mean_absolute_percentage_error", "mean absolute percentage error", False, ERROR, Need.VALUES),
        "neg_mean_absolute_percentage_error",
        row_scores=relative_errors,
        plain=finite_values,
        target_check=near_zero,
    ),
)
