"""What an ensemble is made of, in numbers and pictures: how good members are, how they differ, how many it takes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from foldwise.data.target import encode_target
from foldwise.ensembles.protocol import MemberPredictions, StatelessRule
from foldwise.errors import InputError, PlotError
from foldwise.folds.rows import count_rows

HOW = "pip install 'foldwise[plots]', or read the frames members, pairs and curve."


@dataclass(frozen=True)
class Diagnosis:
    """Members, pairs of them, and the error of the first so many."""

    members: pl.DataFrame  # member, weight, accuracy
    pairs: pl.DataFrame  # first, second, q, disagreement, kappa, mean_error
    curve: pl.DataFrame  # size, error; one row where the combiner was learned for all members
    accuracy: float  # of the ensemble

    def plot(self) -> Any:
        """Two pictures: each pair by its κ and its mean error, and the error against the size."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise PlotError("the pictures are drawn by matplotlib, which is not installed.", HOW) from error
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
        left.scatter(self.pairs["kappa"].to_numpy(), self.pairs["mean_error"].to_numpy(), s=12)
        left.set(xlabel="κ of a pair (less is more diverse)", ylabel="mean error of the pair", title="diversity")
        right.plot(self.curve["size"].to_numpy(), self.curve["error"].to_numpy(), marker=".")
        right.axhline(1 - self.accuracy, linewidth=1, linestyle="--")
        right.set(xlabel="members", ylabel="error", title="size against error")
        figure.tight_layout()
        return figure


def diagnose(ensemble: Any, X: Any, y: Any) -> Diagnosis:
    """The diagnosis of a fitted `Ensemble` on rows, which should not be those it was trained on.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import bagging, diagnose
    >>> X, y = load_iris(return_X_y=True)
    >>> model = bagging(DecisionTreeClassifier(max_depth=1), 5, random_state=0).fit(X[::2], y[::2])
    >>> diagnose(model, X[1::2], y[1::2]).pairs.height
    10
    """
    check_is_fitted(ensemble)
    if not hasattr(ensemble, "classes_"):
        raise InputError("the diagnosis is one of classifiers.", "pass a fitted Ensemble.")
    codes = encode_target(y, count_rows(X), ensemble.classes_, "pass labels that the ensemble knows.").codes
    predictions = ensemble.predict_members(X)
    if predictions.code is not None:
        raise InputError("members of a recoded target have no accuracy among the classes.")
    right = predictions.labels() == codes
    names = [member.spec.name for member in ensemble.fitted_members_.members]
    members = pl.DataFrame({"member": names, "weight": predictions.weights, "accuracy": right.mean(axis=1)})
    accuracy = float(np.mean(ensemble.predict(X) == ensemble.classes_[codes]))
    return Diagnosis(
        members, pairs_of(names, predictions, right), curve_of(ensemble, predictions, codes, accuracy), accuracy
    )


def pairs_of(names: list[str], predictions: MemberPredictions, right: NDArray[np.bool_]) -> pl.DataFrame:
    """Yule's Q and the disagreement of who is right, κ of the labels, for each two members."""
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
    """(ad - bc) / (ad + bc) of both right a, both wrong d, one right b, c; 1 where that is 0/0: they never differ."""
    a, d = float((one & other).sum()), float((~one & ~other).sum())
    b, c = float((one & ~other).sum()), float((~one & other).sum())
    total = a * d + b * c
    if total == 0:
        return 1.0 if b + c == 0 else 0.0
    return (a * d - b * c) / total


def kappa(one: NDArray[Any], other: NDArray[Any], n_classes: int) -> float:
    """Agreement beyond chance (Cohen's κ); 1 where both always say one and the same class."""
    shares = [np.bincount(labels, minlength=n_classes) / len(labels) for labels in (one, other)]
    chance = float(shares[0] @ shares[1])
    agreed = float((one == other).mean())
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def curve_of(ensemble: Any, predictions: MemberPredictions, codes: NDArray[np.int64], accuracy: float) -> pl.DataFrame:
    """The error of the first 1, 2, … members, where the combiner works for any number of them."""
    rule = ensemble._fitted.rule
    if not isinstance(rule, StatelessRule):
        return pl.DataFrame({"size": [len(predictions.weights)], "error": [1 - accuracy]})
    errors = []
    for n in range(1, len(predictions.weights) + 1):
        first = predictions.take(slice(0, n))
        errors.append(float(np.mean(rule(first, None).argmax(axis=1) != codes)))
    return pl.DataFrame({"size": range(1, len(errors) + 1), "error": errors})
