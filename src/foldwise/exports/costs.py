"""Decisions by cost: the action with the lowest expected cost for each row, as Python decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from foldwise.decisions.resolved_costs import TIE
from foldwise.evaluation.cost import CostMatrix


@dataclass(frozen=True)
class CostDecision:
    """The costs (actions, classes) of a model, in the order of its classes."""

    actions: Sequence[Any]
    costs: NDArray[np.float64]

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None, classes: Any) -> Self | None:
        """Read the costs that are stored with a model."""
        if stored is None or not len(classes):
            return None
        matrix = CostMatrix(tuple(stored["actions"]), tuple(stored["classes"]), np.asarray(stored["matrix"]))
        return cls(matrix.actions, matrix.costs_of(np.asarray(classes).tolist()))

    def by_action(self, proba: NDArray[np.float64]) -> NDArray[np.float64]:  # (rows, actions)
        """Return the expected cost of each action."""
        costs = np.zeros((len(proba), len(self.actions)))
        for k in range(proba.shape[1]):  # class by class, as decisions are made
            costs += proba[:, k, None] * self.costs[:, k]
        return costs

    def expected(self, proba: NDArray[np.float64]) -> list[list[Any]]:
        """Decide in Python."""
        costs = self.by_action(proba)
        limit = costs.min(axis=1, keepdims=True) + TIE * np.abs(self.costs).max()
        chosen = (costs <= limit).argmax(axis=1)
        names = list(self.actions)
        return [[names[i] for i in chosen.tolist()], costs[np.arange(len(chosen)), chosen].tolist()]
