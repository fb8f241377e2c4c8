"""`Decision`: the action with the lowest expected cost for each row, chosen by probabilities and costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.errors import InputError

SUM_TOLERANCE = 1e-5  # float32 probabilities sum to 1 within this only
NEGATIVE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Decision:
    """The action chosen for each row, with its expected cost.

    Attributes
    ----------
    action : ndarray of shape (n_rows,)
        The chosen actions.
    cost : ndarray of shape (n_rows,)
        Their expected costs.
    margin : ndarray of shape (n_rows,)
        How much more the second-best action would cost; infinite if there is only one action.

    Examples
    --------
    >>> from foldwise.evaluation import CostMatrix
    >>> decision = CostMatrix.zero_one(["spam", "ham"]).decide([[0.9, 0.1]])
    >>> decision.action.tolist(), decision.cost.round(2).tolist()
    (['spam'], [0.1])
    """

    action: NDArray[Any]
    cost: Floats
    margin: Floats

    def __len__(self) -> int:
        return len(self.action)


def check_proba(proba: Floats) -> None:
    """Raise an error for rows that are not probabilities."""
    if not proba.size:
        return
    if not proba.min() >= -NEGATIVE_TOLERANCE:
        row, column = np.argwhere(~(proba >= -NEGATIVE_TOLERANCE))[0].tolist()
        raise InputError(
            f"probabilities must be at least 0, but row {row} contains {proba[row, column]}.",
            "pass the output of predict_proba, not decision values or log-probabilities.",
        )
    sums = proba.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= SUM_TOLERANCE))
    if wrong.size:
        raise InputError(
            f"probabilities must sum to 1 in each row, but row {int(wrong[0])} sums to {sums[wrong[0]]:.6g}.",
            "pass the output of predict_proba, with one column per class.",
        )


def choose(proba: Floats, costs: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return the cheapest action of each row as an index, its expected cost, and the margin to the next action."""
    action = np.empty(len(proba), dtype=np.intp)
    cost, margin = np.empty(len(proba)), np.empty(len(proba))
    _choose(proba, costs, action, cost, margin)
    return action, cost, margin


@njit(nogil=True, cache=True)
def _choose(proba: Floats, costs: Floats, action: NDArray[np.intp], cost: Floats, margin: Floats) -> None:
    for i in range(proba.shape[0]):
        best, next_best, chosen = np.inf, np.inf, 0
        for a in range(costs.shape[0]):
            total = 0.0
            for k in range(proba.shape[1]):
                total += proba[i, k] * costs[a, k]
            if total < best:
                best, next_best, chosen = total, best, a
            elif total < next_best:
                next_best = total
        action[i], cost[i], margin[i] = chosen, best, next_best - best
