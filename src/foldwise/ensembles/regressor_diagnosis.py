"""Diagnosis of an ensemble of regressors: errors of members, how they differ, and the error by number of members."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from foldwise.arrays import Floats
from foldwise.data.target import number_target
from foldwise.ensembles.blocks import StatelessRule
from foldwise.ensembles.combiners.averages import Sum
from foldwise.ensembles.diagnosis_plots import DiagnosisPlots
from foldwise.ensembles.protocol import MemberPredictions
from foldwise.errors import InputError
from foldwise.folds.rows import count_rows


@dataclass(frozen=True)
class RegressorDiagnosis(DiagnosisPlots):
    """The errors and the diversity of the members of an ensemble of regressors.

    Attributes
    ----------
    members : DataFrame
        Columns: member, weight, rmse (root mean squared error).
    pairs : DataFrame
        One row per pair of members. Columns: first, second, correlation (of their errors), mean_rmse.
    curve : DataFrame
        The error of the first members. Columns: size, rmse. One row if the combiner was trained for all members.
    rmse : float
        The root mean squared error of the ensemble.
    ambiguity : float
        The weighted mean of the squared differences between members and their weighted mean.

    Notes
    -----
    The squared error of a weighted mean is the weighted mean of the squared errors of its members minus the ambiguity
    (Krogh and Vedelsby 1995). So members help most if they are accurate and differ from each other.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from foldwise import EnsembleRegressor, KNNRegressor
    >>> from foldwise.ensembles import diagnose
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = EnsembleRegressor([LinearRegression(), KNNRegressor(9)]).fit(X[::2], y[::2])
    >>> diagnose(model, X[1::2], y[1::2]).pairs.columns
    ['first', 'second', 'correlation', 'mean_rmse']
    """

    members: pl.DataFrame
    pairs: pl.DataFrame
    curve: pl.DataFrame
    rmse: float
    ambiguity: float

    _likeness = ("correlation", "correlation of the errors of two members")
    _pair_error = ("mean_rmse", "mean RMSE of the two")
    _error = ("rmse", "root mean squared error")

    @property
    def _error_of_all(self) -> float:
        return self.rmse


def diagnose_regressor(ensemble: Any, X: Any, y: Any) -> RegressorDiagnosis:
    """Diagnose a fitted `EnsembleRegressor` on test rows.

    Parameters
    ----------
    ensemble : EnsembleRegressor
        A fitted ensemble.
    X, y : table and values
        Rows that the ensemble was not trained on.

    Returns
    -------
    RegressorDiagnosis
        The errors and the diversity of the members.
    """
    truth, rule = number_target(y, count_rows(X)), ensemble._fitted.rule
    if isinstance(rule, StatelessRule) and isinstance(rule.combiner, Sum):
        raise InputError(
            "members that are summed cannot be diagnosed, because each of them predicts only a part of the value.",
            "pass an ensemble whose members predict the value itself, such as bagging.",
        )
    predictions = ensemble.predict_members(X)
    answers, weights = np.asarray(predictions.answers, dtype=np.float64), predictions.weights
    errors = answers - truth
    each = np.sqrt((errors**2).mean(axis=1))
    names = [member.spec.name for member in ensemble.fitted_members_.members]
    rmse = float(np.sqrt(np.mean((ensemble.predict(X) - truth) ** 2)))
    mean = np.average(answers, axis=0, weights=weights)
    ambiguity = float(np.average(((answers - mean) ** 2).mean(axis=1), weights=weights))
    members = pl.DataFrame({"member": names, "weight": weights, "rmse": each})
    return RegressorDiagnosis(
        members, pairs_of_errors(names, errors, each), error_curve(rule, predictions, truth, rmse), rmse, ambiguity
    )


def pairs_of_errors(names: list[str], errors: Floats, each: Floats) -> pl.DataFrame:
    """The correlation of the errors and the mean error of each pair of members; NaN if errors do not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = np.atleast_2d(np.corrcoef(errors))
    rows = [
        (names[i], names[j], float(correlations[i, j]), float((each[i] + each[j]) / 2))
        for i, j in combinations(range(len(names)), 2)
    ]
    numbers = dict.fromkeys(("correlation", "mean_rmse"), pl.Float64)
    return pl.DataFrame(rows, schema={"first": pl.String, "second": pl.String, **numbers}, orient="row")


def error_curve(rule: Any, predictions: MemberPredictions, truth: Floats, rmse: float) -> pl.DataFrame:
    """The error of the first 1, 2, … members, if the combiner works for any number of them."""
    n_members = len(predictions.weights)
    if not isinstance(rule, StatelessRule):
        return pl.DataFrame({"size": [n_members], "rmse": [rmse]})
    combined = [rule(predictions.take(slice(0, n)), None) for n in range(1, n_members + 1)]
    errors = [float(np.sqrt(np.mean((values - truth) ** 2))) for values in combined]
    return pl.DataFrame({"size": range(1, n_members + 1), "rmse": errors})
