"""Greedy forward selection of members from their stored predictions.

The predictions are arrays of shape (members, rows, classes) or (members, rows), so that any models can be selected.
Log loss, Brier score, accuracy and squared error are those of the registry, written again here: each round scores one
more member added to a running sum, and a `Metric` would average and check all of the predictions again for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.arguments import whole_at_least
from foldwise.data.target import check_weights
from foldwise.errors import InputError
from foldwise.evaluation.metrics import find_metric, is_metric
from foldwise.evaluation.metrics.metric import StoredBatch
from foldwise.evaluation.metrics.probabilities import LEAST_PROBABILITY
from foldwise.folds.protocol import Answer, TargetValues
from foldwise.folds.tolerance import first_best, ranks, tie_unit

ROUNDS, START, SMALL = 25, 3, 1000
CLASS_METRICS = ("accuracy", "neg_log_loss", "neg_brier_score")

Gains = Callable[[Floats, int], Floats]  # from the sum of n members to the score of the mean after adding each member


@dataclass(frozen=True)
class GreedyResult:
    """The result of greedy selection.

    Attributes
    ----------
    weights : array of shape (members,)
        The weights of members, with a sum of 1; 0 for members that are not selected.
    order : array of int
        The members in the order in which they were added.
    scores : array
        The score of the average after each addition.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.ensembles import select_greedily
    >>> good, bad = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.1, 0.9], [0.9, 0.1]])
    >>> select_greedily([bad, good], [0, 1], start=1, rounds=0).order
    array([1])
    """

    weights: Floats
    order: NDArray[np.intp]
    scores: Floats


def select_greedily(
    predictions: Any,
    y: Any,
    *,
    metric: str | Callable[[Any, Any], float] | None = None,
    rounds: int | None = None,
    start: int = START,
    shrinkage: float | None = None,
    sample_weight: Any = None,
    replacement: bool = True,
) -> GreedyResult:
    """Select and weight members by greedy forward selection on their out-of-fold predictions.

    The selection starts with the average of the best members. Each round adds the member, possibly again, that improves
    the score of the average most. The members up to the best score are kept.

    Parameters
    ----------
    predictions : array of shape (members, rows, classes) or (members, rows)
        Probabilities, or values of regressors.
    y : array of shape (rows,)
        Class indices, or values.
    metric : str or callable, optional
        "neg_log_loss" (the default), "accuracy" or "neg_brier_score" for probabilities; for values
        "neg_mean_squared_error" (the default) or any other metric of values, such as "mean_absolute_error". Or a
        function of (y, average), greater is better.
    rounds : int, optional
        How many members are added after the first ones; by default min(25, max(5, rows / 20)).
    start : int, default=3
        With how many of the best members the selection starts.
    shrinkage : float, optional
        How far weights are shrunk toward equal ones; by default (1 - rows / 1000) / 2, but at least 0.
    sample_weight : array, optional
        One weight per row.
    replacement : bool, default=True
        Whether a member can be added several times.

    Returns
    -------
    GreedyResult
        The weights, the order of additions, and their scores.

    References
    ----------
    R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes (2004). Ensemble selection from libraries of models. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.ensembles import select_greedily
    >>> good, bad = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.1, 0.9], [0.9, 0.1]])
    >>> select_greedily([bad, good], [0, 1], start=1, shrinkage=0.0).weights
    array([0., 1.])
    """
    stored = np.ascontiguousarray(predictions, dtype=np.float64)
    truth = np.asarray(y)
    check_stored(stored, truth)
    n_members, n_rows = stored.shape[:2]
    weights = check_weights(sample_weight, n_rows)
    row = np.full(n_rows, 1.0 / n_rows) if weights is None else weights / weights.sum()
    gains = gains_of(metric, stored, truth, row)
    turns = min(ROUNDS, max(5, n_rows // 20)) if rounds is None else whole_at_least("rounds", rounds, 0)
    first = min(whole_at_least("start", start, 1), n_members)
    unit = tie_unit(TargetValues(truth)) if stored.ndim == 2 else 1.0
    order, scores = add_members(stored, gains, first, turns if replacement else n_members - first, replacement, unit)
    best = int(first_best(scores, unit))
    chosen = np.bincount(order[: max(best + 1, 1)], minlength=n_members) / (best + 1)
    if shrinkage is None:
        shrinkage = max(0.0, 1 - n_rows / SMALL) / 2 if replacement else 0.0
    if not 0 <= shrinkage <= 1:
        raise InputError(f"shrinkage must be between 0 and 1, got {shrinkage!r}.", "pass 0 for no shrinkage.")
    return GreedyResult((1 - shrinkage) * chosen + shrinkage / n_members, order, scores)


def add_members(
    stored: Floats, gains: Gains, first: int, turns: int, replacement: bool, unit: float
) -> tuple[NDArray[np.intp], Floats]:
    """The members in the order of their addition, with the score of the average after each."""
    alone = gains(np.zeros(stored.shape[1:]), 0)
    ranked = np.argsort(ranks(alone, unit), kind="stable")
    order: list[int] = []
    scores: list[float] = []
    total = np.zeros(stored.shape[1:])
    for turn in range(first + turns):
        if turn < first:
            chosen = int(ranked[turn])
            score = float(alone[chosen]) if turn == 0 else float(gains(total, turn)[chosen])
        else:
            reached = gains(total, turn)
            if not replacement:
                reached[order] = -np.inf
            chosen = int(first_best(reached, unit))
            score = float(reached[chosen])
        total += stored[chosen]
        order.append(chosen)
        scores.append(score)
    return np.array(order, dtype=np.intp), np.array(scores)


def gains_of(metric: Any, stored: Floats, truth: NDArray[Any], row: Floats) -> Gains:
    """The function that scores the average after adding each member."""
    values = stored.ndim == 2
    if metric is None:
        metric = "neg_mean_squared_error" if values else "neg_log_loss"
    if callable(metric):
        chosen = metric
        return lambda total, n: np.array([float(chosen(truth, (total + one) / (n + 1))) for one in stored])
    if values:
        return value_gains(metric, stored, truth.astype(np.float64), row)
    if metric not in CLASS_METRICS:
        raise InputError(
            f"metric={metric!r} is not supported for probabilities.", f"use {', '.join(CLASS_METRICS)}, or a function."
        )
    codes = truth.astype(np.int64)
    if metric == "neg_log_loss":
        return log_loss_gains(stored, codes, row)
    if metric == "neg_brier_score":
        halved = 0.5 if stored.shape[2] == 2 else 1.0  # with two classes, the Brier score counts one of them
        return squared_error_gains(stored, np.eye(stored.shape[2])[codes], halved * row)
    return lambda total, n: np.asarray(accuracy_gains(stored, total, codes, row))


def value_gains(metric: str, stored: Floats, truth: Floats, row: Floats) -> Gains:
    """The score of the mean of values after adding each member."""
    if not is_metric(metric) or find_metric(metric).task != "regression":
        raise InputError(
            f"metric={metric!r} is not supported for values.", "use neg_mean_squared_error, or a function."
        )
    chosen = find_metric(metric)
    if chosen.name in ("mean_squared_error", "root_mean_squared_error"):  # a root does not change the order
        return squared_error_gains(stored, truth, row)

    def gains(total: Floats, n: int) -> Floats:
        scores = chosen.of_batch(StoredBatch(truth, Answer(values=(stored + total) / (n + 1)), 0, row))
        return scores if chosen.greater_is_better else -scores

    return gains


def log_loss_gains(stored: Floats, codes: NDArray[np.int64], row: Floats) -> Gains:
    """The mean log-probability of the true class after adding each member."""
    rows = np.arange(len(codes))
    true = np.ascontiguousarray(stored[:, rows, codes])
    buffer = np.empty_like(true)

    def gains(total: Floats, n: int) -> Floats:
        np.add(true, total[rows, codes], out=buffer)
        np.maximum(np.divide(buffer, n + 1, out=buffer), LEAST_PROBABILITY, out=buffer)
        return np.asarray(np.log(buffer, out=buffer) @ row)

    return gains


def squared_error_gains(stored: Floats, truth: Floats, row: Floats) -> Gains:
    """Minus the mean squared error after adding each member; for probabilities, minus the Brier score.

    With residuals r of the sum and e of a member, Σ w (r + e)² = Σ w r² + 2 Σ w r e + Σ w e², where the last term is
    the same in every round.
    """
    residuals = (stored - truth).reshape(len(stored), -1)
    weights = np.repeat(row, truth.size // len(row))
    squares = residuals**2 @ weights

    def gains(total: Floats, n: int) -> Floats:
        rest = (total - n * truth).ravel()
        return np.asarray(-(weights @ rest**2 + 2 * (residuals @ (weights * rest)) + squares) / (n + 1) ** 2)

    return gains


def check_stored(stored: Floats, truth: NDArray[Any]) -> None:
    if stored.ndim not in (2, 3) or stored.shape[0] == 0:
        raise InputError(
            f"predictions must have shape (members, rows, classes) or (members, rows), got {stored.shape}.",
            "pass the predictions of at least one member.",
        )
    if truth.shape != stored.shape[1:2]:
        raise InputError(f"y must have shape ({stored.shape[1]},) like the rows of predictions, got {truth.shape}.")
    if not np.isfinite(stored).all():
        raise InputError("predictions must be finite.", "leave out members that failed.")
    if stored.ndim == 3 and (truth.dtype.kind not in "iu" or truth.min() < 0 or truth.max() >= stored.shape[2]):
        raise InputError(f"y must contain class indices from 0 to {stored.shape[2] - 1}.")


@njit(nogil=True, cache=True)
def accuracy_gains(stored, total, codes, row):  # type: ignore[no-untyped-def]
    """The accuracy after adding each member; a tie goes to the first class."""
    members, rows, classes = stored.shape
    found = np.zeros(members)
    for m in range(members):
        for i in range(rows):
            best, index = -np.inf, 0
            for c in range(classes):
                value = total[i, c] + stored[m, i, c]
                if value > best:
                    best, index = value, c
            if index == codes[i]:
                found[m] += row[i]
    return found
