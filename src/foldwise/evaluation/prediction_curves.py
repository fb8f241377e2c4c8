"""`prediction_facts`: the numbers behind the report's plots of predictions, which the report then draws.

They are the confusion matrix, the ROC, precision-recall, calibration, lift and cost curves, all with sample weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from foldwise.arrays import Floats, Indices
from foldwise.errors import InputError
from foldwise.evaluation.calibration_bins import binned, equal_widths
from foldwise.evaluation.cost import CostMatrix
from foldwise.evaluation.metrics.ranking import areas
from foldwise.evaluation.shares import wilson_bounds

POINTS = 200  # most points of a curve
CLASSES_DRAWN = 6
CLASSES_COUNTED = 30  # in a confusion matrix; rarer classes are merged
OTHERS = "(others)"
BINS = 10
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Predictions:
    """True classes, probabilities and weights of some rows."""

    truth: Indices  # (rows,) codes of classes
    proba: Floats  # (rows, classes)
    classes: tuple[Any, ...]
    weights: Floats  # (rows,)

    def of(self, code: int) -> tuple[Floats, Floats]:
        """Return the predicted probability of a class, and whether it was observed."""
        return self.proba[:, code], (self.truth == code).astype(np.float64)

    def drawn(self, positive: Any) -> list[int]:
        """Return the classes to draw curves of: the positive one of two, the most frequent of many."""
        names = [str(name) for name in self.classes]
        if len(names) == 2:
            return [1 if positive is None else names.index(str(positive))]
        rows = np.bincount(self.truth, weights=self.weights, minlength=len(names))
        kept = sorted(np.argsort(-rows, kind="stable")[:CLASSES_DRAWN].tolist())
        return [code for code in kept if rows[code] > 0]


def prediction_facts(
    truth_codes: Any,
    proba: Any,
    classes: Sequence[Any],
    predicted: Any = None,
    positive: Any = None,
    weights: Any = None,
    costs: CostMatrix | Mapping[str, Any] | None = None,
    folds: Any = None,
) -> dict[str, Any]:
    """Compute the facts about predictions that the report shows.

    Parameters
    ----------
    truth_codes : array-like of shape (n_rows,)
        The true class of each row, as an index into `classes`.
    proba : array-like of shape (n_rows, n_classes)
        Predicted probabilities.
    classes : sequence
        The classes.
    predicted : array-like of shape (n_rows,), default None
        The chosen action of each row. None means the action with the lowest expected cost, or without costs the most
        probable class.
    positive : label, default None
        The class that curves show if there are two classes; None means the second one.
    weights : array-like of shape (n_rows,), default None
        Weight of each row.
    costs : CostMatrix or mapping, default None
        Costs, or a mapping with "actions", "classes" and "matrix".
    folds : array-like of shape (n_rows,), default None
        The fold of each row. With folds, ROC curves are means of the curves within folds.

    Returns
    -------
    dict
        The facts, as the part `predictions` of a report.
    """
    given = check(truth_codes, proba, classes, weights, positive)
    matrix = as_costs(costs)
    actions = taken(given, predicted, matrix)
    drawn = given.drawn(positive)
    return {
        "of": "out-of-fold predictions of the whole procedure",
        "n": len(given.truth),
        "confusion": confusion(given, actions, matrix),
        "roc": curves(given, drawn, partial(roc, folds=folds)),
        "precision_recall": curves(given, drawn, precision_recall),
        "calibration": curves(given, drawn, calibration),
        "calibration_error": calibration_error(given, drawn),
        "lift": curves(given, drawn, lift),
        "cost": None if matrix is None or len(given.classes) != 2 else cost_curve(given, matrix, drawn[0]),
        "expected_cost": None if matrix is None else mean_costs(given, actions, matrix),
    }


def check(truth_codes: Any, proba: Any, classes: Sequence[Any], weights: Any, positive: Any) -> Predictions:
    """Check that truth, probabilities, classes and weights fit together."""
    truth, shares, names = np.asarray(truth_codes), np.asarray(proba, dtype=np.float64), tuple(classes)
    if shares.ndim != 2 or shares.shape != (len(truth), len(names)) or not len(truth):
        raise InputError(
            f"{len(truth)} rows and {len(names)} classes need probabilities of shape {(len(truth), len(names))}, got "
            f"{shares.shape}.",
            "pass one row of probabilities for each element of truth_codes, and at least one row.",
        )
    if truth.dtype.kind not in "iu" or truth.min() < 0 or truth.max() >= len(names):
        raise InputError(f"truth_codes must be indices of classes, from 0 to {len(names) - 1}.")
    if positive is not None and str(positive) not in [str(name) for name in names]:
        raise InputError(f"positive must be one of the classes, got {positive!r}.", f"choose among {list(names)}.")
    given = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=np.float64)
    if given.shape != truth.shape or not (given >= 0).all() or not given.any():
        raise InputError("weights must have one number of at least 0 per row, and must not all be 0.")
    return Predictions(truth.astype(np.intp), shares, names, given)


def as_costs(costs: CostMatrix | Mapping[str, Any] | None) -> CostMatrix | None:
    """Convert costs from their form in facts to a `CostMatrix`."""
    if not isinstance(costs, Mapping):
        return costs
    return CostMatrix(tuple(costs["actions"]), tuple(costs["classes"]), np.asarray(costs["matrix"], dtype=np.float64))


def taken(given: Predictions, predicted: Any, costs: CostMatrix | None) -> list[str]:
    """Return the name of each row's action."""
    if predicted is not None:
        return [str(action) for action in np.asarray(predicted).tolist()]
    if costs is not None:
        return [str(action) for action in costs.decide(given.proba, given.classes).action.tolist()]
    return most_probable(given)


def most_probable(given: Predictions) -> list[str]:
    names = [str(name) for name in given.classes]
    return [names[code] for code in given.proba.argmax(axis=1).tolist()]


def curves(given: Predictions, drawn: Sequence[int], curve: Callable[..., dict[str, Any]]) -> list[dict[str, Any]]:
    """Compute a curve for each of some classes."""
    return [{"class": str(given.classes[code]), **curve(*given.of(code), given.weights)} for code in drawn]


def confusion(given: Predictions, actions: Sequence[str], costs: CostMatrix | None) -> dict[str, Any]:
    """Count rows by true class and by predicted class or action; integers unless rows are weighted."""
    classes = [str(name) for name in given.classes]
    columns = list(dict.fromkeys([*classes, *(() if costs is None else map(str, costs.actions)), *actions]))
    if costs is not None:  # a class that is not an action is never predicted
        possible = {*map(str, costs.actions), *actions}
        columns = [name for name in columns if name in possible]
    index = {name: j for j, name in enumerate(columns)}
    counts = np.zeros((len(classes), len(columns)))
    np.add.at(counts, (given.truth, np.array([index[action] for action in actions])), given.weights)
    classes, columns, counts = fewer(classes, columns, counts)
    rates = class_rates(classes, columns, counts) if set(classes) & set(columns) else []  # actions need not be classes
    return {"classes": classes, "predicted": columns, "counts": whole(counts), "rates": rates}


def class_rates(classes: Sequence[str], predicted: Sequence[str], counts: Floats) -> list[dict[str, Any]]:
    """Compute recall, precision and the rows of each class; None where a rate is not defined."""
    found = []
    for name, row in zip(classes, counts, strict=True):
        column = counts[:, predicted.index(name)] if name in predicted else np.zeros(len(counts))
        hits, n_true, n_predicted = (float(n) for n in (column[classes.index(name)], row.sum(), column.sum()))
        recall, precision = (hits / n if n else None for n in (n_true, n_predicted))
        found.append({"class": name, "recall": recall, "precision": precision, "rows": n_true})
    return found


def fewer(classes: list[str], columns: list[str], counts: Floats) -> tuple[list[str], list[str], Floats]:
    """Keep the matrix readable: merge all but the most frequent classes."""
    if len(classes) <= CLASSES_COUNTED:
        return classes, columns, counts
    kept = sorted(np.argsort(-counts.sum(axis=1), kind="stable")[:CLASSES_COUNTED].tolist())
    names = {classes[i] for i in kept} | (set(columns) - set(classes))
    beside = [j for j, name in enumerate(columns) if name in names]
    rows = np.vstack([counts[kept], np.delete(counts, kept, axis=0).sum(axis=0)])
    cells = np.column_stack([rows[:, beside], np.delete(rows, beside, axis=1).sum(axis=1)])
    return [*(classes[i] for i in kept), OTHERS], [*(columns[j] for j in beside), OTHERS], cells


def whole(counts: Floats) -> list[list[float]]:
    is_whole = bool((counts == np.floor(counts)).all())
    cells: list[list[float]] = counts.astype(np.int64).tolist() if is_whole else counts.round(6).tolist()
    return cells


@dataclass(frozen=True)
class Ranking:
    """Cumulative weights of all rows and of rows of the class, at each distinct score from the highest down."""

    score: Floats
    all: Floats
    found: Floats

    @classmethod
    def by(cls, score: Floats, observed: Floats, weights: Floats) -> Ranking:
        order = np.argsort(-score, kind="stable")
        ranked = score[order]
        last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)  # equal scores are one step
        return cls(ranked[last], np.cumsum(weights[order])[last], np.cumsum((weights * observed)[order])[last])


def roc(score: Floats, observed: Floats, weights: Floats, folds: Any = None) -> dict[str, Any]:
    """Compute the ROC curve and the area under it; with folds, the mean of the curves within folds."""
    parts = [np.arange(len(score))] if folds is None else [np.flatnonzero(folds == k) for k in np.unique(folds)]
    per_fold, found = [], []
    for rows in parts:
        ranking = Ranking.by(score[rows], observed[rows], weights[rows])
        wrong = ranking.all - ranking.found
        if ranking.found[-1] > 0 and wrong[-1] > 0:
            per_fold.append((np.append(0.0, wrong / wrong[-1]), np.append(0.0, ranking.found / ranking.found[-1])))
            found.append(float(areas(score[rows][None], observed[rows] > 0, weights[rows])[0]))
    if not per_fold:
        return {"x": [], "y": [], "area": None}
    if len(per_fold) == 1:
        x, y = per_fold[0]
        return {**thinned(x=x, y=y), "area": found[0]}
    x = np.linspace(0.0, 1.0, POINTS)
    y = np.mean([np.interp(x, *curve) for curve in per_fold], axis=0)
    return {"x": [0.0, *x.tolist()], "y": [0.0, *y.tolist()], "area": float(np.mean(found))}


def precision_recall(score: Floats, observed: Floats, weights: Floats) -> dict[str, Any]:
    """Compute precision (y) against recall (x), and the average precision."""
    ranking = Ranking.by(score, observed, weights)
    if ranking.found[-1] == 0:
        return {"x": [], "y": [], "area": None}
    seen = ranking.all > 0
    recall, precision = ranking.found[seen] / ranking.found[-1], ranking.found[seen] / ranking.all[seen]
    area = float(np.sum(np.diff(recall, prepend=0.0) * precision))
    end = int(np.argmax(recall >= 1.0))  # at full recall, precision only falls to the frequency of the class
    x, y = np.append(0.0, recall[: end + 1]), np.append(precision[0], precision[: end + 1])
    return {**thinned(x=x, y=y), "area": area}


def lift(score: Floats, observed: Floats, weights: Floats) -> dict[str, Any]:
    """Compute, for each fraction of the rows with the highest scores, the fraction of the class in it and the lift."""
    ranking = Ranking.by(score, observed, weights)
    if ranking.found[-1] == 0:
        return {"share": [], "captured": [], "lift": []}
    seen = ranking.all > 0
    share, captured = ranking.all[seen] / ranking.all[-1], ranking.found[seen] / ranking.found[-1]
    return thinned(share=share, captured=captured, lift=captured / share)


def thinned(**curves: Floats) -> dict[str, list[float]]:
    """Reduce a curve to `POINTS` points, evenly spread along its length, including both ends."""
    first, second = list(curves.values())[:2]
    kept = np.arange(len(first))
    if len(first) > POINTS:
        length = np.cumsum(np.abs(np.diff(first, prepend=first[0])) + np.abs(np.diff(second, prepend=second[0])))
        kept = np.unique(np.searchsorted(length, np.linspace(0.0, length[-1], POINTS - 1)).clip(max=len(first) - 1))
        kept = np.union1d(kept, [0, len(first) - 1])[-POINTS:]
    return {name: values[kept].round(6).tolist() for name, values in curves.items()}


def calibration(score: Floats, observed: Floats, weights: Floats) -> dict[str, Any]:
    """Compute predicted probability and observed frequency in bins of equally many rows, with Wilson intervals."""
    bins = binned(score, observed, np.unique(np.quantile(score, equal_widths(BINS))), weights)
    low, high = wilson_bounds(bins.observed, bins.weights**2 / bins.squares, Z95)  # the effective number of rows
    facts = {"predicted": bins.predicted, "observed": bins.observed, "low": low, "high": high}
    return {**{name: values.round(6).tolist() for name, values in facts.items()}, "counts": bins.rows.tolist()}


def calibration_error(given: Predictions, drawn: Sequence[int]) -> float:
    """Compute the expected calibration error of the positive class of two, or of the most probable of many."""
    if len(given.classes) == 2:
        score, observed = given.of(drawn[0])
    else:
        score, observed = given.proba.max(axis=1), (given.proba.argmax(axis=1) == given.truth).astype(np.float64)
    return binned(score, observed, equal_widths(BINS), given.weights).error


def cost_curve(given: Predictions, costs: CostMatrix, positive: int) -> dict[str, Any] | None:
    """Compute the mean cost for each threshold between two actions; None if the costs have no such threshold."""
    table = costs.costs_of(given.classes)  # (actions, classes)
    negative = 1 - positive
    above, below = int(table[:, positive].argmin()), int(table[:, negative].argmin())
    if len(table) != 2 or above == below:
        return None
    ranking = Ranking.by(*given.of(positive), given.weights)
    total, total_found = ranking.all[-1], ranking.found[-1]
    acted, found = np.append(0.0, ranking.all), np.append(0.0, ranking.found)
    paid = (
        found * table[above, positive]
        + (acted - found) * table[above, negative]
        + (total_found - found) * table[below, positive]
        + (total - total_found - (acted - found)) * table[below, negative]
    ) / total
    # the cost is a step function: rows with a score of at least the threshold get the first action
    at = np.linspace(0.0, 1.0, POINTS)
    steps = np.searchsorted(-ranking.score, -at, side="right")
    false_alarm = table[above, negative] - table[below, negative]
    miss = table[below, positive] - table[above, positive]
    chosen = float(false_alarm / (false_alarm + miss))
    return {"threshold": at.round(6).tolist(), "cost": paid[steps].round(9).tolist(), "chosen": chosen}


def mean_costs(given: Predictions, actions: Sequence[str], costs: CostMatrix) -> dict[str, Any]:
    """Compute mean costs of the predicted actions, of the most probable class, and of the best single action."""
    truth = [given.classes[code] for code in given.truth.tolist()]
    share = given.weights / given.weights.sum()
    known = {str(action): action for action in costs.actions}

    def mean(names: Sequence[str]) -> float | None:
        if not all(name in known for name in set(names)):
            return None
        return float(share @ costs.realized([known[name] for name in names], truth))

    prior = np.bincount(given.truth, share, minlength=len(given.classes))
    constant = float((costs.costs_of(given.classes) @ prior).min())
    return {"chosen": mean(actions), "most_probable": mean(most_probable(given)), "best_constant": constant}
