"""Diagnosis of an ensemble: the accuracy of members, how they differ, and the error by number of members."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from foldwise.data.target import encode_target
from foldwise.ensembles.blocks import StatelessRule
from foldwise.ensembles.diagnosis_plots import DiagnosisPlots
from foldwise.ensembles.protocol import MemberPredictions
from foldwise.ensembles.regressor_diagnosis import RegressorDiagnosis, diagnose_regressor
from foldwise.errors import InputError
from foldwise.folds.rows import count_rows


@dataclass(frozen=True)
class Diagnosis(DiagnosisPlots):
    """The accuracy and diversity of the members of an ensemble.

    Attributes
    ----------
    members : DataFrame
        Columns: member, weight, accuracy.
    pairs : DataFrame
        One row per pair of members. Columns: first, second, q (Yule's Q), disagreement, kappa, mean_error.
    curve : DataFrame
        The error of the first members. Columns: size, error. One row if the combiner was trained for all members.
    accuracy : float
        The accuracy of the ensemble.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import bagging, diagnose
    >>> X, y = load_iris(return_X_y=True)
    >>> model = bagging(DecisionTreeClassifier(max_depth=1), 5, random_state=0).fit(X[::2], y[::2])
    >>> diagnose(model, X[1::2], y[1::2]).curve.columns
    ['size', 'error']
    """

    members: pl.DataFrame
    pairs: pl.DataFrame
    curve: pl.DataFrame
    accuracy: float

    _likeness = ("kappa", "Cohen's κ of two members")
    _pair_error = ("mean_error", "mean error rate of the two members")
    _error = ("error", "error rate")

    @property
    def _error_of_all(self) -> float:
        return 1 - self.accuracy


def diagnose(ensemble: Any, X: Any, y: Any) -> Diagnosis | RegressorDiagnosis:
    """Diagnose a fitted `Ensemble` or `EnsembleRegressor` on test rows.

    Parameters
    ----------
    ensemble : Ensemble or EnsembleRegressor
        A fitted ensemble.
    X, y : table and target
        Rows that the ensemble was not trained on.

    Returns
    -------
    Diagnosis or RegressorDiagnosis
        The accuracy, or the errors, and the diversity of the members.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import bagging, diagnose
    >>> X, y = load_iris(return_X_y=True)
    >>> model = bagging(DecisionTreeClassifier(max_depth=1), 5, random_state=0).fit(X[::2], y[::2])
    >>> diagnose(model, X[1::2], y[1::2]).pairs.height
    10
    """
    check_is_fitted(ensemble)
    if not hasattr(ensemble, "predict_members"):
        raise InputError(
            f"diagnose needs an ensemble, got {type(ensemble).__name__}.",
            "pass a fitted Ensemble or EnsembleRegressor.",
        )
    if not hasattr(ensemble, "classes_"):
        return diagnose_regressor(ensemble, X, y)
    codes = encode_target(y, count_rows(X), ensemble.classes_, "pass labels that occur in the training rows.").codes
    predictions = ensemble.predict_members(X)
    if predictions.code is not None:
        raise InputError("members with recoded classes cannot be diagnosed, because they do not predict the classes.")
    right = predictions.labels() == codes
    names = [member.spec.name for member in ensemble.fitted_members_.members]
    members = pl.DataFrame({"member": names, "weight": predictions.weights, "accuracy": right.mean(axis=1)})
    accuracy = float(np.mean(ensemble.predict(X) == ensemble.classes_[codes]))
    return Diagnosis(
        members, pairs_of(names, predictions, right), curve_of(ensemble, predictions, codes, accuracy), accuracy
    )


def pairs_of(names: list[str], predictions: MemberPredictions, right: NDArray[np.bool_]) -> pl.DataFrame:
    """Yule's Q and disagreement of being right, and κ of the labels, for each pair of members."""
    labels = predictions.labels()
    rows = [
        (
            names[i],
            names[j],
            yules_q(right[i], right[j]),
            float((right[i] != right[j]).mean()),
            kappa(labels[i], labels[j], predictions.n_classes),
            float(1 - (right[i].mean() + right[j].mean()) / 2),
        )
        for i, j in combinations(range(len(names)), 2)
    ]
    numbers = dict.fromkeys(("q", "disagreement", "kappa", "mean_error"), pl.Float64)
    return pl.DataFrame(rows, schema={"first": pl.String, "second": pl.String, **numbers}, orient="row")


def yules_q(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """(ad - bc) / (ad + bc) with a = both right, d = both wrong, b and c = one right; if 0/0, 1 for equal members."""
    a, d = float((one & other).sum()), float((~one & ~other).sum())
    b, c = float((one & ~other).sum()), float((~one & other).sum())
    total = a * d + b * c
    if total == 0:
        return 1.0 if b + c == 0 else 0.0
    return (a * d - b * c) / total


def kappa(one: NDArray[Any], other: NDArray[Any], n_classes: int) -> float:
    """Cohen's κ: agreement beyond chance; 1 if both always predict the same single class."""
    shares = [np.bincount(labels, minlength=n_classes) / len(labels) for labels in (one, other)]
    chance = float(shares[0] @ shares[1])
    agreed = float((one == other).mean())
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def curve_of(ensemble: Any, predictions: MemberPredictions, codes: NDArray[np.int64], accuracy: float) -> pl.DataFrame:
    """The error of the first 1, 2, … members, if the combiner works for any number of them."""
    rule = ensemble._fitted.rule
    if not isinstance(rule, StatelessRule):
        return pl.DataFrame({"size": [len(predictions.weights)], "error": [1 - accuracy]})
    errors = []
    for n in range(1, len(predictions.weights) + 1):
        first = predictions.take(slice(0, n))
        errors.append(float(np.mean(rule(first, None).argmax(axis=1) != codes)))
    return pl.DataFrame({"size": range(1, len(errors) + 1), "error": errors})
