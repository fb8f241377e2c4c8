"""Scores of stored probabilities: by row where they average over rows, else of a set of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from foldwise.errors import InputError
from foldwise.evaluation.cost import CostMatrix, choose
from foldwise.evaluation.metrics.ranking import against_rest

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
LEAST = 1e-15


@dataclass(frozen=True)
class Measure:
    """One score: its names, which way is better, its range, and how it is computed from classes and probabilities."""

    name: str
    title: str
    greater: bool
    bounds: tuple[float, float]
    rows: Callable[[Codes, Floats], Floats] | None = None  # what each row adds to the mean
    whole: Callable[[Codes, Floats, Floats | None], float] | None = None
    ranks: bool = False  # whether it compares the probabilities of different rows

    def __call__(self, codes: Codes, proba: Floats, weights: Floats | None = None) -> float:
        """The score of some rows; NaN where it is not defined."""
        if self.rows is not None:
            return float(np.average(self.rows(codes, proba), weights=weights))
        assert self.whole is not None
        try:
            return self.whole(codes, proba, weights)
        except ValueError:
            return float("nan")

    def better(self, score: float) -> float:
        """The score turned so that more is better."""
        return score if self.greater else -score


def log_losses(codes: Codes, proba: Floats) -> Floats:
    return np.asarray(-np.log(np.maximum(proba[np.arange(len(codes)), codes], LEAST)))


def brier_losses(codes: Codes, proba: Floats) -> Floats:
    truth = np.eye(proba.shape[1])[codes]
    return np.asarray(((proba - truth) ** 2).sum(axis=1))


def hits(codes: Codes, proba: Floats) -> Floats:
    return np.asarray((proba.argmax(axis=1) == codes).astype(np.float64))


def area(codes: Codes, proba: Floats, weights: Floats | None) -> float:
    """Under the ROC curve; of several classes the mean of each against the rest, those that are there."""
    places = range(1, 2) if proba.shape[1] == 2 else range(proba.shape[1])
    found = [against_rest(np.ascontiguousarray(proba[:, k])[None], codes == k, weights) for k in places]
    return float(np.mean([one[0] for one in found if one is not None] or [np.nan]))


def balanced(codes: Codes, proba: Floats, weights: Floats | None) -> float:
    with np.errstate(all="ignore"):
        said = proba.argmax(axis=1)
        present = np.unique(codes)
        share = [
            np.average(said[codes == k] == k, weights=None if weights is None else weights[codes == k]) for k in present
        ]
        return float(np.mean(share))


def f1(codes: Codes, proba: Floats, weights: Floats | None) -> float:
    return float(f1_score(codes, proba.argmax(axis=1), average="macro", sample_weight=weights, zero_division=0.0))


MEASURES = {
    one.name: one
    for one in (
        Measure("log_loss", "log loss", False, (0.0, np.inf), rows=log_losses),
        Measure("brier", "Brier score", False, (0.0, 2.0), rows=brier_losses),
        Measure("accuracy", "accuracy", True, (0.0, 1.0), rows=hits),
        Measure("balanced_accuracy", "balanced accuracy", True, (0.0, 1.0), whole=balanced),
        Measure("roc_auc", "area under the ROC curve", True, (0.0, 1.0), whole=area, ranks=True),
        Measure("f1", "F1, mean over classes", True, (0.0, 1.0), whole=f1),
    )
}
SHOWN = ("log_loss", "accuracy", "balanced_accuracy", "roc_auc")


def cost_measure(costs: CostMatrix, classes: NDArray[Any]) -> Measure:
    """The mean cost of deciding by least expected cost, once the truth is known."""
    table = costs.costs_of(classes)

    def rows(codes: Codes, proba: Floats) -> Floats:
        action, _, _ = choose(np.ascontiguousarray(proba, dtype=np.float64), table)
        return np.asarray(table[action, codes])

    return Measure("cost", "mean cost", False, (float(table.min()), float(table.max())), rows=rows)


def measure_of(name: str | None, costs: CostMatrix | None, classes: NDArray[Any]) -> Measure:
    """The measure that chooses: cost where costs are given, else log loss, unless one is named."""
    if name in (None, "auto"):
        name = "log_loss" if costs is None else "cost"
    if name == "cost":
        if costs is None:
            raise InputError("the metric 'cost' needs costs.", "give a cost matrix.")
        return cost_measure(costs, classes)
    known = {**MEASURES, "auc": MEASURES["roc_auc"], "neg_log_loss": MEASURES["log_loss"]}
    if name not in known:
        raise InputError(f"there is no metric {name!r}.", f"one of {', '.join([*MEASURES, 'cost'])}.")
    return known[name]
