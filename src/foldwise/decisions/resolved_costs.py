"""Costs as users pass them, matched with the classes of a model; some may depend on the row."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.schema import listing
from foldwise.errors import FoldwiseWarning, InputError
from foldwise.evaluation.cost import CostMatrix
from foldwise.evaluation.decision import Decision, check_proba
from foldwise.evaluation.label_names import find, label_array, names_of

CostCell = str | Callable[[Any], Any]  # the name of a column of costs, or a function of the rows

TIE = 1e-12  # relative to the largest cost: smaller differences are rounding errors of probabilities


@dataclass(frozen=True)
class ResolvedCosts:
    """The cost of each action, and the index of each class of the model among the true classes of the matrix."""

    matrix: CostMatrix  # with 0 for costs that depend on the row
    varying: tuple[tuple[int, int, CostCell], ...]  # action, true class, source of the costs
    classes: NDArray[Any]
    indices: NDArray[np.intp]  # of the classes among the true classes of the matrix
    actions: NDArray[Any]  # an action that is a class has the label of the class

    def decide(self, proba: Any, X: Any, given: Any = None) -> tuple[NDArray[np.intp], Decision]:
        """Return the index of the cheapest action of each row, the first of equal ones, and the decision."""
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
        """Return the cost of each action, given the true classes."""
        truths = names_of(y)
        if len(truths) != len(action):
            raise InputError(f"X has {len(action)} rows but y has {len(truths)} labels.", "pass one label per row.")
        truth = self.matrix.truth_indices(truths)
        costs = self.table(X, len(action), given)
        return np.asarray(costs[action, truth] if costs.ndim == 2 else costs[np.arange(len(action)), action, truth])

    def table(self, X: Any, n_rows: int, given: Any = None) -> Floats:  # (actions, truths), or with rows first
        """Return the costs of some rows; `given` are costs (rows, actions, classes) that replace all others."""
        if given is not None:
            hint = "pass one cost per row, action and class, in the order of actions_ and classes_."
            wide = np.zeros((n_rows, len(self.actions), len(self.matrix.truths)))
            wide[:, :, self.indices] = cost_array(
                given, (n_rows, len(self.actions), len(self.classes)), "row_costs", hint
            )
            return wide
        if not self.varying:
            return self.matrix.costs
        costs = np.repeat(self.matrix.costs[None], n_rows, axis=0)
        for a, t, cell in self.varying:
            what = f"action {self.matrix.actions[a]!r} for the true class {self.matrix.truths[t]!r}"
            costs[:, a, t] = read(cell, X, n_rows, what)
        return costs


def resolve_costs(costs: Any, classes: NDArray[Any], warn: bool = True) -> ResolvedCosts:
    """Match costs with the classes of a model; None means that every error costs 1."""
    matrix, varying = matrix_of(costs, classes)
    labels = names_of(classes)
    indices = matrix.truth_indices(labels)
    unknown = [truth for index, truth in enumerate(matrix.truths) if index not in indices]
    if unknown and warn:
        warnings.warn(
            f"costs contain the true class {listing(unknown)}, which is missing from the training data. Its "
            f"probability is taken as 0. The classes are {listing(labels)}.",
            FoldwiseWarning,
            stacklevel=3,
        )
    known = {find(label, matrix.actions): label for label in labels}
    actions = [known.get(index, name) for index, name in enumerate(matrix.actions)]
    if all(action in labels for action in actions):
        named = classes[[labels.index(action) for action in actions]]  # keeps the type of the labels
    else:
        named = label_array(actions)
    return ResolvedCosts(matrix, varying, classes, indices, named)


def matrix_of(costs: Any, classes: NDArray[Any]) -> tuple[CostMatrix, tuple[tuple[int, int, CostCell], ...]]:
    """Convert costs to a matrix and a list of those that depend on the row."""
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
            f"costs must be a CostMatrix, a mapping, a frame or an array, got {costs!r}.",
            f"pass CostMatrix.from_csv({costs!r})." if isinstance(costs, str) else "pass {action: {true class: cost}}.",
        ) from error
    if array.shape != (len(classes), len(classes)):
        raise InputError(
            f"an array of costs must have one row and one column per class, but its shape is {array.shape} and there "
            f"are {len(classes)} classes: {listing(names_of(classes))}.",
            "if actions differ from classes, pass {action: {true class: cost}}.",
        )
    return CostMatrix(tuple(names_of(classes)), tuple(names_of(classes)), array), ()


def from_cells(costs: Mapping[Any, Any]) -> tuple[CostMatrix, tuple[tuple[int, int, CostCell], ...]]:
    """Read a nested mapping whose cells are numbers, column names or functions of the rows."""
    if not all(isinstance(row, Mapping) for row in costs.values()):
        return CostMatrix.from_dict(costs), ()  # raises the error
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


def read(cell: CostCell, X: Any, n_rows: int, what: str) -> Floats:
    """Read the costs of some rows from a column or compute them by a function."""
    values = column_of(cell, X, what) if isinstance(cell, str) else cell(X)
    return cost_array(values, (n_rows,), f"the costs of {what}", "give one finite number per row.")


def cost_array(values: Any, shape: tuple[int, ...], what: str, hint: str) -> Floats:
    """Convert costs of rows to an array of finite numbers."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers: {error}.") from error
    if found.shape != shape:
        raise InputError(f"{what} must have the shape {shape}, got {found.shape}.", hint)
    for index in np.argwhere(~np.isfinite(found))[:1].tolist():
        raise InputError(f"{what} must be finite, but row {index[0]} contains {found[tuple(index)]}.", hint)
    return found


def column_of(name: str, X: Any, what: str) -> Any:
    if not nw.dependencies.is_into_dataframe(X):
        raise InputError(
            f"the cost of {what} is column {name!r}, but X has no column names.",
            "pass X as a frame, or replace the column name with a function of X.",
        )
    frame = nw.from_native(X, eager_only=True)
    if name not in frame.columns:
        raise InputError(
            f"the cost of {what} is column {name!r}, which X does not have.",
            f"choose among {listing(frame.columns)}.",
        )
    return frame.get_column(name).to_numpy()
