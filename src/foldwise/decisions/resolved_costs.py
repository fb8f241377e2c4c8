"""Costs as a user gives them, resolved for the classes of a model; some of them may depend on the row."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from foldwise.data.schema import listing
from foldwise.errors import FoldwiseWarning, InputError
from foldwise.evaluation.cost import CostMatrix, Decision, check_proba, find, label_array, names_of

Floats = NDArray[np.float64]
Cell = str | Callable[[Any], Any]  # a column of costs by its name, or a function of the rows

TIE = 1e-12  # of the greatest cost: nearer expectations tie, however their probabilities were rounded


@dataclass(frozen=True)
class ResolvedCosts:
    """What each action costs, and which truths are the classes of a model."""

    matrix: CostMatrix  # costs that depend on the row stand there as 0
    varying: tuple[tuple[int, int, Cell], ...]  # action, truth, where the costs of rows come from
    classes: NDArray[Any]
    indices: NDArray[np.intp]  # of the classes among the truths
    actions: NDArray[Any]  # an action that is a class has its label

    def decide(self, proba: Any, X: Any, given: Any = None) -> tuple[NDArray[np.intp], Decision]:
        """The index of the cheapest action of each row, and what it is expected to cost; of equal ones the first."""
        probabilities = np.ascontiguousarray(proba, dtype=np.float64)
        check_proba(probabilities)
        costs = self.table(X, len(probabilities), given)
        expected = np.zeros((len(probabilities), len(self.actions)))
        for k, index in enumerate(self.indices):  # class by class: a matrix product would round ties by its shape
            expected += probabilities[:, k, None] * costs[..., index]
        scale = np.abs(costs).max(axis=(-1, -2), keepdims=True).reshape(-1, 1)
        least = expected.min(axis=1, keepdims=True)
        action = np.asarray((expected <= least + TIE * scale).argmax(axis=1))
        cost = expected[np.arange(len(action)), action]
        expected[np.arange(len(action)), action] = np.inf
        margin = np.maximum(expected.min(axis=1) - cost, 0.0)
        return action, Decision(self.actions[action], cost, margin)

    def realized(self, action: NDArray[np.intp], y: Any, X: Any, given: Any = None) -> Floats:  # (rows,)
        """What actions cost, now that the truth is known."""
        truths = names_of(y)
        if len(truths) != len(action):
            raise InputError(f"there are {len(action)} rows but {len(truths)} labels.", "pass one label per row.")
        truth = self.matrix.truth_indices(truths)
        costs = self.table(X, len(action), given)
        return np.asarray(costs[action, truth] if costs.ndim == 2 else costs[np.arange(len(action)), action, truth])

    def table(self, X: Any, n_rows: int, given: Any = None) -> Floats:  # (actions, truths), or one a row
        """The costs of some rows; `given` are (rows, actions, classes) that replace all of them."""
        if given is not None:
            hint = "pass one entry for each row, action and class, in the order of actions_ and classes_."
            wide = np.zeros((n_rows, len(self.actions), len(self.matrix.truths)))
            wide[:, :, self.indices] = cost_array(
                given, (n_rows, len(self.actions), len(self.classes)), "row_costs", hint
            )
            return wide
        if not self.varying:
            return self.matrix.costs
        costs = np.repeat(self.matrix.costs[None], n_rows, axis=0)
        for a, t, cell in self.varying:
            costs[:, a, t] = read(cell, X, n_rows, f"action {self.matrix.actions[a]!r} under {self.matrix.truths[t]!r}")
        return costs


def resolve_costs(costs: Any, classes: NDArray[Any], warn: bool = True) -> ResolvedCosts:
    """Resolve costs for a model of these classes; None means that every mistake costs 1."""
    matrix, varying = matrix_of(costs, classes)
    labels = names_of(classes)
    indices = matrix.truth_indices(labels)
    unknown = [truth for index, truth in enumerate(matrix.truths) if index not in indices]
    if unknown and warn:
        warnings.warn(
            f"the costs name the truth {listing(unknown)}, which no row had that was learned; it counts as impossible. "
            f"The classes are {listing(labels)}.",
            FoldwiseWarning,
            stacklevel=3,
        )
    known = {find(label, matrix.actions): label for label in labels}
    actions = [known.get(index, name) for index, name in enumerate(matrix.actions)]
    if all(action in labels for action in actions):
        named = classes[[labels.index(action) for action in actions]]  # of the labels' own type
    else:
        named = label_array(actions)
    return ResolvedCosts(matrix, varying, classes, indices, named)


def matrix_of(costs: Any, classes: NDArray[Any]) -> tuple[CostMatrix, tuple[tuple[int, int, Cell], ...]]:
    """A cost matrix from whatever holds one, and what in it depends on the row."""
    if costs is None:
        return CostMatrix.zero_one(names_of(classes)), ()
    if isinstance(costs, CostMatrix):
        return costs, ()
    if isinstance(costs, Mapping):
        return from_cells(costs)
    if nw.dependencies.is_into_dataframe(costs):
        return CostMatrix.from_frame(costs), ()
    try:
        array = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"costs must be a CostMatrix, {{action: {{truth: cost}}}} or an array, got {costs!r}."
        ) from error
    if array.shape != (len(classes), len(classes)):
        raise InputError(
            f"an array of costs has a row and a column for each of the {len(classes)} classes, in their order, but its "
            f"shape is {array.shape}; the classes are {listing(names_of(classes))}.",
            "name actions and truths where they differ: {action: {truth: cost}}.",
        )
    return CostMatrix(tuple(names_of(classes)), tuple(names_of(classes)), array), ()


def from_cells(costs: Mapping[Any, Any]) -> tuple[CostMatrix, tuple[tuple[int, int, Cell], ...]]:
    """A nested mapping whose cells are numbers, names of columns or functions of the rows."""
    if not all(isinstance(row, Mapping) for row in costs.values()):
        return CostMatrix.from_dict(costs), ()  # says what is wrong
    plain = {
        action: {truth: 0.0 if by_row(cell) else cell for truth, cell in row.items()} for action, row in costs.items()
    }
    matrix = CostMatrix.from_dict(plain)
    varying = [
        (a, t, row[truth])
        for a, row in enumerate(costs.values())
        for t, truth in enumerate(matrix.truths)
        if by_row(row[truth])
    ]
    return matrix, tuple(varying)


def by_row(cell: Any) -> bool:
    return isinstance(cell, str) or (callable(cell) and not isinstance(cell, Number))


def read(cell: Cell, X: Any, n_rows: int, what: str) -> Floats:
    """The costs of some rows, from a column or by a function."""
    values = column_of(cell, X, what) if isinstance(cell, str) else cell(X)
    return cost_array(values, (n_rows,), f"the costs of {what}", "give one finite number per row.")


def cost_array(values: Any, shape: tuple[int, ...], what: str, hint: str) -> Floats:
    """Costs of rows as an array of finite numbers."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers; {error}.") from error
    if found.shape != shape:
        raise InputError(f"{what} must have the shape {shape}, but theirs is {found.shape}.", hint)
    for index in np.argwhere(~np.isfinite(found))[:1].tolist():
        raise InputError(f"{what} must be finite, but row {index[0]} contains {found[tuple(index)]}.", hint)
    return found


def column_of(name: str, X: Any, what: str) -> Any:
    if not nw.dependencies.is_into_dataframe(X):
        raise InputError(
            f"the cost of {what} is the column {name!r}, but X has no named columns.",
            "pass a frame, or a function of the rows instead of a name.",
        )
    frame = nw.from_native(X, eager_only=True)
    if name not in frame.columns:
        raise InputError(
            f"the cost of {what} is the column {name!r}, which X does not have.", f"it has {listing(frame.columns)}."
        )
    return frame.get_column(name).to_numpy()
