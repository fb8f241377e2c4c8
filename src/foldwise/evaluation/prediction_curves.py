"""`prediction_facts`: what out-of-sample predictions are worth, as plain facts. It computes; the page draws.

Confusion, ROC, precision-recall, calibration, lift and cost, each with weights where rows have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import InputError
from foldwise.evaluation.metrics.ranking import areas

if TYPE_CHECKING:
    from foldwise.evaluation.cost import CostMatrix

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

POINTS = 200  # of a curve
CLASSES_DRAWN = 6
CLASSES_COUNTED = 30  # of a confusion matrix; the rarer ones become one
OTHERS = "(others)"
BINS = 10
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Predictions:
    """Truth and probabilities of the same rows, with their weights."""

    truth: Ints  # (rows,) codes of classes
    proba: Floats  # (rows, classes)
    classes: tuple[Any, ...]
    weights: Floats  # (rows,)

    def of(self, place: int) -> tuple[Floats, Floats]:
        """The probability of a class and whether it came."""
        return self.proba[:, place], (self.truth == place).astype(np.float64)

    def drawn(self, positive: Any) -> list[int]:
        """The classes that get curves: of two the positive one, of many the most frequent."""
        names = [str(name) for name in self.classes]
        if len(names) == 2:
            return [1 if positive is None else names.index(str(positive))]
        rows = np.bincount(self.truth, weights=self.weights, minlength=len(names))
        kept = sorted(np.argsort(-rows, kind="stable")[:CLASSES_DRAWN].tolist())
        return [place for place in kept if rows[place] > 0]


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
    """The facts of predictions that the report shows: its part `predictions`.

    Parameters
    ----------
    truth_codes : the true class of each row as its place in `classes`
    proba : (rows, classes)
    predicted : the action taken for each row, by name; by default of least expected cost, else the most probable class
    positive : of two classes the one that curves are about; the second by default
    weights : one a row
    costs : a `CostMatrix`, or {"actions", "classes", "matrix"}
    folds : the fold of each row; ROC curves are then means of the curves within folds
    """
    given = check(truth_codes, proba, classes, weights, positive)
    matrix = as_costs(costs)
    actions = taken(given, predicted, matrix)
    drawn = given.drawn(positive)
    return {
        "of": "out-of-fold predictions of the whole procedure",
        "n": len(given.truth),
        "confusion": confusion(given, actions, matrix),
        "roc": [named(given, place, roc(*given.of(place), given.weights, folds)) for place in drawn],
        "precision_recall": [named(given, place, precision_recall(*given.of(place), given.weights)) for place in drawn],
        "calibration": [named(given, place, calibration(*given.of(place), given.weights)) for place in drawn],
        "calibration_error": calibration_error(given, drawn),
        "lift": [named(given, place, lift(*given.of(place), given.weights)) for place in drawn],
        "cost": None if matrix is None or len(given.classes) != 2 else cost_curve(given, matrix, drawn[0]),
        "expected_cost": None if matrix is None else mean_costs(given, actions, matrix),
    }


def check(truth_codes: Any, proba: Any, classes: Sequence[Any], weights: Any, positive: Any) -> Predictions:
    """The predictions, refused where their shapes do not belong together."""
    truth, shares, names = np.asarray(truth_codes), np.asarray(proba, dtype=np.float64), tuple(classes)
    if shares.ndim != 2 or shares.shape != (len(truth), len(names)) or not len(truth):
        raise InputError(
            f"{len(truth)} truths of {len(names)} classes need probabilities of shape {(len(truth), len(names))}, "
            f"but theirs is {shares.shape}.",
            "pass a row of probabilities for each truth, and at least one.",
        )
    if truth.dtype.kind not in "iu" or truth.min() < 0 or truth.max() >= len(names):
        raise InputError("a truth must be given as the place of its class.", "pass codes from 0 to the last class.")
    if positive is not None and str(positive) not in [str(name) for name in names]:
        raise InputError(f"the positive class {positive!r} is none of the classes.", f"they are {list(names)}.")
    given = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=np.float64)
    if given.shape != truth.shape or not (given >= 0).all() or not given.any():
        raise InputError("weights must be one number of at least 0 a row, and not all 0.")
    return Predictions(truth.astype(np.intp), shares, names, given)


def as_costs(costs: CostMatrix | Mapping[str, Any] | None) -> CostMatrix | None:
    """Costs in their own shape, from that of facts."""
    if not isinstance(costs, Mapping):
        return costs
    from foldwise.evaluation.cost import CostMatrix

    return CostMatrix(tuple(costs["actions"]), tuple(costs["classes"]), np.asarray(costs["matrix"], dtype=np.float64))


def taken(given: Predictions, predicted: Any, costs: CostMatrix | None) -> list[str]:
    """The name of each row's action."""
    if predicted is not None:
        return [str(action) for action in np.asarray(predicted).tolist()]
    if costs is not None:
        return [str(action) for action in costs.decide(given.proba, given.classes).action.tolist()]
    return likeliest(given)


def likeliest(given: Predictions) -> list[str]:
    names = [str(name) for name in given.classes]
    return [names[place] for place in given.proba.argmax(axis=1).tolist()]


def named(given: Predictions, place: int, facts: dict[str, Any]) -> dict[str, Any]:
    return {"class": str(given.classes[place]), **facts}


def confusion(given: Predictions, actions: Sequence[str], costs: CostMatrix | None) -> dict[str, Any]:
    """Rows by truth and by predicted class or action; whole numbers where no row has a weight of its own."""
    classes = [str(name) for name in given.classes]
    columns = list(dict.fromkeys([*classes, *(() if costs is None else map(str, costs.actions)), *actions]))
    if costs is not None:  # a class that is not an action is never predicted
        possible = {*map(str, costs.actions), *actions}
        columns = [name for name in columns if name in possible]
    place = {name: j for j, name in enumerate(columns)}
    counts = np.zeros((len(classes), len(columns)))
    np.add.at(counts, (given.truth, np.array([place[action] for action in actions])), given.weights)
    classes, columns, counts = fewer(classes, columns, counts)
    return {"classes": classes, "predicted": columns, "counts": whole(counts)}


def fewer(classes: list[str], columns: list[str], counts: Floats) -> tuple[list[str], list[str], Floats]:
    """A matrix that can be read: of very many classes the most frequent, the others as one."""
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
    """Weights of rows at or above each distinct score, from the highest score down: of all, and of the class."""

    score: Floats
    all: Floats
    found: Floats

    @classmethod
    def by(cls, score: Floats, came: Floats, weights: Floats) -> Ranking:
        order = np.argsort(-score, kind="stable")
        ranked = score[order]
        last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)  # equal scores are one step
        return cls(ranked[last], np.cumsum(weights[order])[last], np.cumsum((weights * came)[order])[last])


def roc(score: Floats, came: Floats, weights: Floats, folds: Any = None) -> dict[str, Any]:
    """True against false positive rate, and the area below; with folds, the mean of the curves within folds."""
    parts = [np.arange(len(score))] if folds is None else [np.flatnonzero(folds == k) for k in np.unique(folds)]
    curves, found = [], []
    for rows in parts:
        ranking = Ranking.by(score[rows], came[rows], weights[rows])
        wrong = ranking.all - ranking.found
        if ranking.found[-1] > 0 and wrong[-1] > 0:
            curves.append((np.append(0.0, wrong / wrong[-1]), np.append(0.0, ranking.found / ranking.found[-1])))
            found.append(float(areas(score[rows][None], came[rows] > 0, weights[rows])[0]))
    if not curves:
        return {"x": [], "y": [], "area": None}
    if len(curves) == 1:
        x, y = curves[0]
        return {**thinned(x=x, y=y), "area": found[0]}
    x = np.linspace(0.0, 1.0, POINTS)
    y = np.mean([np.interp(x, *curve) for curve in curves], axis=0)
    return {"x": [0.0, *x.tolist()], "y": [0.0, *y.tolist()], "area": float(np.mean(found))}


def precision_recall(score: Floats, came: Floats, weights: Floats) -> dict[str, Any]:
    """Precision (y) against recall (x), and the average precision."""
    ranking = Ranking.by(score, came, weights)
    if ranking.found[-1] == 0:
        return {"x": [], "y": [], "area": None}
    seen = ranking.all > 0
    recall, precision = ranking.found[seen] / ranking.found[-1], ranking.found[seen] / ranking.all[seen]
    area = float(np.sum(np.diff(recall, prepend=0.0) * precision))
    end = int(np.argmax(recall >= 1.0))  # behind full recall precision only falls to the share of the class
    x, y = np.append(0.0, recall[: end + 1]), np.append(precision[0], precision[: end + 1])
    return {**thinned(x=x, y=y), "area": area}


def lift(score: Floats, came: Floats, weights: Floats) -> dict[str, Any]:
    """Of the likeliest share of rows, the share of the class they hold, and how much more that is than by chance."""
    ranking = Ranking.by(score, came, weights)
    if ranking.found[-1] == 0:
        return {"share": [], "captured": [], "lift": []}
    seen = ranking.all > 0
    share, captured = ranking.all[seen] / ranking.all[-1], ranking.found[seen] / ranking.found[-1]
    return thinned(share=share, captured=captured, lift=captured / share)


def thinned(**curves: Floats) -> dict[str, list[float]]:
    """At most so many points of a curve, evenly spread along its length, with both its ends."""
    first, second = list(curves.values())[:2]
    kept = np.arange(len(first))
    if len(first) > POINTS:
        length = np.cumsum(np.abs(np.diff(first, prepend=first[0])) + np.abs(np.diff(second, prepend=second[0])))
        kept = np.unique(np.searchsorted(length, np.linspace(0.0, length[-1], POINTS - 1)).clip(max=len(first) - 1))
        kept = np.union1d(kept, [0, len(first) - 1])[-POINTS:]
    return {name: values[kept].round(6).tolist() for name, values in curves.items()}


def calibration(score: Floats, came: Floats, weights: Floats) -> dict[str, Any]:
    """Predicted and observed shares in bins of equally many rows, with Wilson's interval."""
    edges = np.unique(np.quantile(score, np.linspace(0.0, 1.0, BINS + 1)))
    places = np.searchsorted(edges[1:-1], score)
    weight, rows = np.bincount(places, weights), np.bincount(places)
    full = weight > 0
    predicted = np.bincount(places, weights * score)[full] / weight[full]
    observed = np.bincount(places, weights * came)[full] / weight[full]
    squares = np.bincount(places, weights**2)[full]
    low, high = wilson(observed, weight[full] ** 2 / squares)  # as many rows as the weights are worth
    facts = {"predicted": predicted, "observed": observed, "low": low, "high": high}
    return {**{name: values.round(6).tolist() for name, values in facts.items()}, "counts": rows[full].tolist()}


def wilson(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Where the true share lies in 95 % of cases."""
    middle = (share + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * np.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2))
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)


def calibration_error(given: Predictions, drawn: Sequence[int]) -> float:
    """The expected calibration error in bins of equal width: of two classes of the one, of more of the likeliest."""
    if len(given.classes) == 2:
        score, came = given.of(drawn[0])
    else:
        score, came = given.proba.max(axis=1), (given.proba.argmax(axis=1) == given.truth).astype(np.float64)
    places = np.searchsorted(np.linspace(0.0, 1.0, BINS + 1)[1:-1], score)
    gaps = np.bincount(places, given.weights * (score - came))
    return float(np.abs(gaps).sum() / given.weights.sum())


def cost_curve(given: Predictions, costs: CostMatrix, positive: int) -> dict[str, Any] | None:
    """The mean cost of acting from each threshold on; None where it is not between two actions."""
    table = costs.costs_of(given.classes)  # (actions, classes)
    negative = 1 - positive
    above, below = int(table[:, positive].argmin()), int(table[:, negative].argmin())
    if len(table) != 2 or above == below:
        return None
    score, came = given.of(positive)
    ranking = Ranking.by(score, came, given.weights)
    total, total_found = ranking.all[-1], ranking.found[-1]
    acted, found = np.append(0.0, ranking.all), np.append(0.0, ranking.found)
    paid = (
        found * table[above, positive]
        + (acted - found) * table[above, negative]
        + (total_found - found) * table[below, positive]
        + (total - total_found - (acted - found)) * table[below, negative]
    ) / total
    # the cost is a step function: acting from a threshold on takes all rows whose score is at least that
    at = np.linspace(0.0, 1.0, POINTS)
    steps = np.searchsorted(-ranking.score, -at, side="right")
    too_much, too_little = (
        table[above, negative] - table[below, negative],
        table[below, positive] - table[above, positive],
    )
    chosen = float(too_much / (too_much + too_little))
    return {"threshold": at.round(6).tolist(), "cost": paid[steps].round(9).tolist(), "chosen": chosen}


def mean_costs(given: Predictions, actions: Sequence[str], costs: CostMatrix) -> dict[str, Any]:
    """What rows cost on average: by the predicted action, by the likeliest class, by the best action for all."""
    truth = [given.classes[code] for code in given.truth.tolist()]
    share = given.weights / given.weights.sum()
    known = {str(action): action for action in costs.actions}

    def mean(names: Sequence[str]) -> float | None:
        if not all(name in known for name in set(names)):
            return None
        return float(share @ costs.realized([known[name] for name in names], truth))

    prior = np.bincount(given.truth, share, minlength=len(given.classes))
    constant = float((costs.costs_of(given.classes) @ prior).min())
    return {"chosen": mean(actions), "most_probable": mean(likeliest(given)), "best_constant": constant}
