"""`CostMatrix`: the cost of each action for each true class, and the action with the lowest expected cost.

Both axes are labeled, so a matrix is never applied transposed. Actions need not be classes: "abstain" or "call the
customer" is one more row. Gains are negative costs.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.cells import read_only
from foldwise.data.notes import counted
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.evaluation.decision import Decision, check_proba, choose
from foldwise.evaluation.label_names import check_names, find, indices_of, label_array, names_of, plain
from foldwise.evaluation.tables import TextTable, unmixed


@dataclass(frozen=True, eq=False)
class CostMatrix:
    """Costs of actions by true class.

    Parameters
    ----------
    actions : tuple
        The actions, one per row of `costs`.
    truths : tuple
        The true classes, one per column of `costs`.
    costs : array-like of shape (n_actions, n_truths)
        Finite numbers; negative costs are gains.

    Notes
    -----
    As `scoring` of a search, a cost matrix is the metric "minus the mean cost on the test rows". The action of each row
    is chosen by its *expected* cost under the model's probabilities, and scored by its *realized* cost for the true
    class. The expected cost alone would reward overconfident models.

    Examples
    --------
    >>> from foldwise.evaluation import CostMatrix
    >>> costs = CostMatrix.from_dict({"keep": {"spam": 10, "ham": 0}, "delete": {"spam": 0, "ham": 100}})
    >>> decision = costs.decide([[0.6, 0.4]], classes=["spam", "ham"])
    >>> decision.action.tolist(), decision.cost.tolist(), decision.margin.tolist()
    (['keep'], [6.0], [34.0])
    """

    actions: tuple[Any, ...]
    truths: tuple[Any, ...]
    costs: Floats  # read-only

    def __post_init__(self) -> None:
        for axis, what in (("actions", "action"), ("truths", "true class")):
            names = tuple(plain(name) for name in getattr(self, axis))
            check_names(names, what)
            object.__setattr__(self, axis, names)
        try:
            costs = np.array(self.costs, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"costs must be numbers: {error}.", "use one finite number per cell.") from error
        if costs.shape != (len(self.actions), len(self.truths)):
            raise InputError(
                f"{len(self.actions)} actions and {len(self.truths)} true classes need costs of shape "
                f"{(len(self.actions), len(self.truths))}, got {costs.shape}."
            )
        for a, t in np.argwhere(~np.isfinite(costs)).tolist():
            raise InputError(
                f"costs must be finite, but the cost of action {self.actions[a]!r} for the true class "
                f"{self.truths[t]!r} is {costs[a, t]}.",
                "use a very large cost for an action that must never be chosen.",
            )
        object.__setattr__(self, "costs", read_only(costs))

    @classmethod
    def from_dict(cls, costs: Mapping[Any, Mapping[Any, float]]) -> CostMatrix:
        """Create a matrix from a nested mapping.

        Parameters
        ----------
        costs : mapping
            `{action: {true class: cost}}`. Every action needs a cost for every true class.

        Returns
        -------
        CostMatrix
            The matrix.
        """
        if not isinstance(costs, Mapping) or not all(isinstance(row, Mapping) for row in costs.values()):
            raise InputError(f"costs must be a mapping {{action: {{true class: cost}}}}, got {costs!r}.")
        truths = list(dict.fromkeys(truth for row in costs.values() for truth in row))
        for action, row in costs.items():
            missing = [truth for truth in truths if truth not in row]
            if missing:
                noun = "class" if len(missing) == 1 else "classes"
                raise InputError(
                    f"action {action!r} has no cost for the true {noun} {listing(missing)}.",
                    "give every action a cost for every true class, 0 if it costs nothing.",
                )
        cells: Any = [[row[truth] for truth in truths] for row in costs.values()]
        return cls(tuple(costs), tuple(truths), cells)

    @classmethod
    def from_frame(cls, frame: Any) -> CostMatrix:
        """Create a matrix from a frame with one row per action and one column per true class.

        Parameters
        ----------
        frame : DataFrame
            A frame of any library that narwhals supports. The actions are the index of a pandas frame that has a named
            index, otherwise the first column.

        Returns
        -------
        CostMatrix
            The matrix.
        """
        data = nw.from_native(frame, eager_only=True)
        index = nw.maybe_get_index(data)
        names = list(data.columns)
        counted = index is not None and type(index).__name__ == "RangeIndex"
        if index is None or (counted and names != list(index)):  # columns 0, 1, … beside rows 0, 1, … are classes
            if not names:
                raise InputError(
                    "the frame of costs has no columns.", "put the actions in the first column, then the costs."
                )
            actions, names = data.get_column(names[0]).to_list(), names[1:]
        else:
            actions = list(index)
        cells: Any = list(zip(*(data.get_column(name).to_list() for name in names), strict=True))
        return cls(tuple(actions), tuple(names), cells)

    @classmethod
    def from_csv(cls, path: str | Path) -> CostMatrix:
        """Read a matrix from a CSV file.

        Parameters
        ----------
        path : str or Path
            The first column names the actions. Each further column contains the costs for one true class, which its
            header names. Labels are read as text.

        Returns
        -------
        CostMatrix
            The matrix.
        """
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if any(cell.strip() for cell in line)]
        if len(lines) < 2:
            raise InputError(
                f"{path} contains no costs.", "write the true classes in the header and one action per row."
            )
        truths = [cell.strip() for cell in lines[0][1:]]
        for line in lines[1:]:
            if len(line) != len(lines[0]):
                raise InputError(
                    f"{path}: action {line[0].strip()!r} has {counted(len(line) - 1, 'cost')} for "
                    f"{len(truths)} true class{'es' * (len(truths) != 1)}.",
                    "write one cost per true class, 0 if it costs nothing.",
                )
            for truth, cell in zip(truths, line[1:], strict=True):
                if not is_number(cell):
                    raise InputError(
                        f"{path}: the cost of action {line[0].strip()!r} for the true class {truth!r} is {cell!r}.",
                        "write a number. The first column names the actions, the others contain the costs.",
                    )
        cells: Any = [[float(cell) for cell in line[1:]] for line in lines[1:]]
        return cls(tuple(line[0].strip() for line in lines[1:]), tuple(truths), cells)

    @classmethod
    def zero_one(cls, classes: Iterable[Any]) -> CostMatrix:
        """Create a matrix in which every error costs 1, so that decisions are the most probable class.

        Parameters
        ----------
        classes : iterable
            The classes, which are also the actions.

        Returns
        -------
        CostMatrix
            The matrix.
        """
        names = tuple(classes)
        return cls(names, names, 1.0 - np.eye(len(names)))

    def to_frame(self) -> Any:
        """Return the costs as a polars frame.

        Returns
        -------
        polars.DataFrame
            A column `action`, then one column of costs per true class.
        """
        import polars as pl

        columns = {str(truth): self.costs[:, j] for j, truth in enumerate(self.truths)}
        return pl.DataFrame({"action": unmixed(self.actions), **columns})

    def expected(self, proba: Any, classes: Sequence[Any] | None = None) -> Floats:  # (rows, actions)
        """Compute the expected cost of each action for each row.

        Parameters
        ----------
        proba : array-like or frame of shape (n_rows, n_classes)
            Predicted probabilities.
        classes : sequence, default None
            The class of each column of `proba`, such as an estimator's `classes_`; None means `truths`.

        Returns
        -------
        ndarray of shape (n_rows, n_actions)
            The expected costs.
        """
        checked, costs = self._read(proba, classes)
        expected = np.zeros((len(checked), len(costs)))
        for k in range(costs.shape[1]):  # class by class: a matrix product would round ties by its shape
            expected += checked[:, k, None] * costs[:, k]
        return expected

    def decide(self, proba: Any, classes: Sequence[Any] | None = None) -> Decision:
        """Choose the action with the lowest expected cost for each row; if several are equal, the first of them.

        Parameters
        ----------
        proba : array-like or frame of shape (n_rows, n_classes)
            Predicted probabilities.
        classes : sequence, default None
            The class of each column of `proba`, such as an estimator's `classes_`; None means `truths`. An action that
            is one of the classes is returned as that class, so "1" read from a file becomes the label 1.

        Returns
        -------
        Decision
            The actions and their expected costs.
        """
        checked, costs = self._read(proba, classes)
        action, cost, margin = choose(checked, costs)
        names = self.actions
        if classes is not None:
            labels = {find(label, self.actions): label for label in names_of(classes)}
            names = tuple(labels.get(index, name) for index, name in enumerate(self.actions))
        return Decision(label_array(names)[action], cost, margin)

    def realized(self, action: Any, truth: Any) -> Floats:  # (rows,)
        """Look up the cost of each action, given the true classes.

        Parameters
        ----------
        action : array-like of shape (n_rows,)
            The chosen actions.
        truth : array-like of shape (n_rows,)
            The true classes.

        Returns
        -------
        ndarray of shape (n_rows,)
            The costs.
        """
        rows = indices_of(names_of(action), self.actions, "action")
        columns = indices_of(names_of(truth), self.truths, "true class")
        if len(rows) != len(columns):
            raise InputError(
                f"there are {len(rows)} actions but {len(columns)} true classes.", "pass one of each per row."
            )
        return np.asarray(self.costs[rows, columns])

    def scorer(self) -> CostScorer:
        """Return a scorer for scikit-learn's own searches.

        Returns
        -------
        callable
            A scorer that returns minus the mean realized cost.
        """
        return CostScorer(self)

    def costs_of(self, classes: Any) -> Floats:  # (actions, classes)
        """Return the costs with one column for each of the given classes.

        Parameters
        ----------
        classes : array-like
            Classes, all of which must be in `truths`.

        Returns
        -------
        ndarray of shape (n_actions, n_classes)
            The costs.
        """
        return np.ascontiguousarray(self.costs[:, self.truth_indices(classes)])

    def truth_indices(self, labels: Any) -> NDArray[np.intp]:
        """Return the index of each label in `truths`.

        Parameters
        ----------
        labels : array-like
            Labels, all of which must be in `truths`.

        Returns
        -------
        ndarray of int
            The indices.
        """
        return indices_of(names_of(labels), self.truths, "class")

    def _read(self, proba: Any, classes: Sequence[Any] | None) -> tuple[Floats, Floats]:
        """Check probabilities, and order the costs by their columns. A frame's columns name its classes."""
        if nw.dependencies.is_into_dataframe(proba):
            names = [str(name) for name in nw.from_native(proba, eager_only=True).columns]
            if classes is None and all(find(name, self.truths) is not None for name in names):
                classes = names
            elif classes is None or names != [str(name) for name in names_of(classes)]:
                raise InputError(
                    f"the columns of proba must be the classes in their order, got {listing(names)}.",
                    "rename the columns to the true classes of the matrix, or pass an array and its classes.",
                )
        try:
            checked = np.ascontiguousarray(proba, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"probabilities must be numbers: {error}.") from error
        costs = self.costs if classes is None else self.costs_of(classes)
        if checked.ndim != 2 or checked.shape[1] != costs.shape[1]:
            raise InputError(
                f"proba must have the shape (n_rows, {costs.shape[1]}), one column per class, got {np.shape(proba)}.",
                "pass the output of predict_proba, and the estimator's classes_ as classes.",
            )
        check_proba(checked)
        return checked, costs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CostMatrix):
            return NotImplemented
        same = self.actions == other.actions and self.truths == other.truths
        return same and bool(np.array_equal(self.costs, other.costs))

    def __hash__(self) -> int:
        return hash((self.actions, self.truths, self.costs.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return CostMatrix, (self.actions, self.truths, self.costs)  # a copy is checked, and read-only, again

    def _shown(self) -> TextTable:
        cells = ([f"{cost:g}" for cost in row] for row in self.costs.tolist())
        rows = [[str(action), *row] for action, row in zip(self.actions, cells, strict=True)]
        return TextTable(["action \\ truth", *map(str, self.truths)], rows)

    def __str__(self) -> str:
        return str(self._shown())

    def _repr_html_(self) -> str:
        return self._shown().html("Costs by action and true class")


@dataclass(frozen=True)
class CostScorer:
    """A scikit-learn scorer: minus the mean realized cost of the decisions on some rows."""

    matrix: CostMatrix

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        if not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"scoring by cost needs probabilities, but {type(estimator).__name__} has no predict_proba.",
                "wrap the model in Calibrated.",
            )
        proba = np.ascontiguousarray(estimator.predict_proba(X), dtype=np.float64)
        check_proba(proba)
        action = choose(proba, self.matrix.costs_of(estimator.classes_))[0]
        return float(-np.average(self.matrix.costs[action, self.matrix.truth_indices(y)], weights=sample_weight))

    def _accept_sample_weight(self) -> bool:
        return True  # scikit-learn's search with several metrics calls this


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
