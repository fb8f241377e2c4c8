"""Facts about predictions of a quantity: predicted against observed values, and where the errors are.

A residual is the observed value minus the predicted one: positive where the prediction is too low.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.arrays import Floats

POINTS = 400  # drawn; more would hide each other
PREDICTION_BINS = 10
SIZE_BINS = 5
COLUMN_BINS = 6
LEVELS = 6  # of a category that are described one by one
COLUMNS = 200  # that are looked at
LEAST_ROWS = 5  # of a bin, to say something about its mean
SHOWN_ROWS = 10  # with the largest errors
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MISSING, OTHERS = "missing", "other values"


def residual_facts(
    truth: Floats,
    predicted: Floats,
    columns: pl.DataFrame,
    weights: Floats | None = None,
    rows: NDArray[np.intp] | None = None,
) -> dict[str, Any]:
    """Describe predictions of a quantity.

    Parameters
    ----------
    truth : ndarray of shape (n_rows,)
        Observed values.
    predicted : ndarray of shape (n_rows,)
        Predicted values.
    columns : polars.DataFrame
        The columns of the same rows.
    weights : ndarray of shape (n_rows,), default=None
        Weights of rows.
    rows : ndarray of shape (n_rows,), default=None
        The index of each row in the table. None means that no single row may be shown.

    Returns
    -------
    dict
        Plain values: "points" (a sample of rows), "quantiles" of the residuals, "by_prediction", "by_size" of the
        observed value, "by_column" and "largest" errors.

    Examples
    --------
    >>> truth, predicted = np.arange(20.0), np.arange(20.0) + 1
    >>> facts = residual_facts(truth, predicted, pl.DataFrame({"a": truth}))
    >>> facts["by_size"][0]["bias"], facts["by_size"][0]["mean_absolute_error"]
    (-1.0, 1.0)
    """
    share = np.ones(len(truth)) if weights is None else weights
    residuals = truth - predicted
    bins = quantile_bins(predicted, PREDICTION_BINS)
    quantiles = np.quantile(residuals, QUANTILES).tolist()
    facts: dict[str, Any] = {
        "n": len(truth),
        "quantiles": dict(zip(map(str, QUANTILES), quantiles, strict=True)),
        "by_prediction": [
            {"predicted": float(np.average(predicted[some], weights=share[some])), **bin_facts(residuals, share, some)}
            for some in bins
        ],
        "by_size": [
            {"low": float(truth[some].min()), "high": float(truth[some].max()), **bin_facts(residuals, share, some)}
            for some in quantile_bins(truth, SIZE_BINS)
        ],
        "by_column": by_column(columns, residuals, share),
    }
    if rows is not None:
        worst = np.argsort(-np.abs(residuals), kind="stable")[:SHOWN_ROWS]
        some = np.random.default_rng(0).permutation(len(truth))[:POINTS]
        facts["points"] = {"observed": truth[some].tolist(), "predicted": predicted[some].tolist()}
        facts["largest"] = [
            {"row": int(rows[i]), "observed": float(truth[i]), "predicted": float(predicted[i])} for i in worst
        ]
    return facts


def quantile_bins(values: Floats, n_bins: int) -> list[NDArray[np.intp]]:
    """Cut rows into bins of about the same size by their value. Equal values are in the same bin."""
    cuts = np.unique(np.quantile(values, np.linspace(0, 1, n_bins + 1)[1:-1]))
    codes = np.searchsorted(cuts, values, side="right")
    return [np.flatnonzero(codes == k) for k in np.unique(codes)]


def bin_facts(residuals: Floats, weights: Floats, some: NDArray[np.intp]) -> dict[str, Any]:
    """Describe the residuals of some rows: their mean with its standard error, and the typical size of errors."""
    here, share = residuals[some], weights[some] / weights[some].sum()
    bias = float(share @ here)
    error = float(np.sqrt((share**2 * (here - bias) ** 2).sum())) if len(some) > 1 else None
    size, square = float(share @ np.abs(here)), float(share @ here**2)
    return {
        "n": len(some),
        "bias": bias,
        "error": error,
        "mean_absolute_error": size,
        "root_mean_squared_error": float(np.sqrt(square)),
    }


def by_column(columns: pl.DataFrame, residuals: Floats, weights: Floats) -> list[dict[str, Any]]:
    """Describe the residuals by the values of each column, the columns with the clearest pattern first.

    The strength of a pattern is the share of the variance of residuals that the bins of the column explain, less what
    bins of random rows would explain.
    """
    found = []
    total = float(np.average((residuals - np.average(residuals, weights=weights)) ** 2, weights=weights))
    for column in columns.get_columns()[:COLUMNS]:
        ordered = column.dtype.is_numeric() or column.dtype.is_temporal()
        bins = number_bins(column) if ordered else level_bins(column)
        bins = {name: some for name, some in bins.items() if len(some) >= LEAST_ROWS}
        if len(bins) < 2:
            continue
        facts = [{"value": name, **bin_facts(residuals, weights, some)} for name, some in bins.items()]
        if column.dtype.is_numeric():
            for one, some in zip(facts, bins.values(), strict=True):
                one["at"] = None if one["value"] == MISSING else column.gather(some).cast(pl.Float64).mean()
        n_rows = sum(one["n"] for one in facts)
        mean = sum(one["n"] * one["bias"] for one in facts) / n_rows
        between = sum(one["n"] * (one["bias"] - mean) ** 2 for one in facts) / n_rows
        explained = between / total if total > 0 else 0.0
        strength = max(0.0, explained - (len(facts) - 1) / n_rows)
        found.append({"column": column.name, "bins": facts, "strength": strength})
    return sorted(found, key=lambda one: -one["strength"])


def number_bins(column: pl.Series) -> dict[str, NDArray[np.intp]]:
    """Bins of a number or a date by its quantiles, named by their range."""
    values = column.to_physical().cast(pl.Float64).to_numpy()
    known = np.flatnonzero(np.isfinite(values))
    bins: dict[str, NDArray[np.intp]] = {}
    if len(known):
        for some in quantile_bins(values[known], COLUMN_BINS):
            rows = known[some]
            low, high = column[int(rows[values[rows].argmin()])], column[int(rows[values[rows].argmax()])]
            bins[value_text(low) if low == high else f"{value_text(low)} to {value_text(high)}"] = rows
    gaps = np.flatnonzero(~np.isfinite(values))
    return {**bins, MISSING: gaps} if len(gaps) else bins


def value_text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)


def level_bins(column: pl.Series) -> dict[str, NDArray[np.intp]]:
    """The most frequent values of a category, and all others together."""
    text = column.cast(pl.String)
    counts = text.drop_nulls().value_counts(sort=True)
    names = counts[column.name][:LEVELS].to_list()
    values = np.array([MISSING if one is None else one for one in text.to_list()], dtype=object)
    gaps = text.is_null().to_numpy()
    bins = {name: np.flatnonzero((values == name) & ~gaps) for name in names}
    rest = np.flatnonzero(~np.isin(values, names) & ~gaps)
    bins |= {OTHERS: rest} if len(rest) else {}
    return {**bins, MISSING: np.flatnonzero(gaps)} if gaps.any() else bins
