"""What each action costs under each truth, and the action of least expected cost.

Named axes: a matrix knows its actions and truths by label, so it is never applied the wrong way round. Actions need
not be classes: "abstain" or "call the customer" is one more row. Gains are negative costs.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.data.cells import read_only
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.evaluation.tables import cut, panels

Floats = NDArray[np.float64]

SUM_TOLERANCE = 1e-5  # of probabilities: those of float32 models sum to 1 no better
NEGATIVE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Decision:
    """The action taken for each row, what it is expected to cost, and how much dearer the next best action would be."""

    action: NDArray[Any]  # (rows,) labels
    cost: Floats  # (rows,)
    margin: Floats  # (rows,), inf where there is one action only

    def __len__(self) -> int:
        return len(self.action)


@dataclass(frozen=True, eq=False)
class CostMatrix:
    """Costs by action and truth.

    >>> from foldwise.evaluation import CostMatrix
    >>> costs = CostMatrix.from_dict({"keep": {"spam": 10, "ham": 0}, "delete": {"spam": 0, "ham": 100}})
    >>> decision = costs.decide([[0.6, 0.4]], classes=["spam", "ham"])
    >>> decision.action.tolist(), decision.cost.tolist(), decision.margin.tolist()
    (['keep'], [6.0], [34.0])

    As `scoring` of a search it is a metric: minus the mean *realized* cost on the test rows. Each row's action is
    chosen by *expected* cost, from the model's probabilities, and paid for by the row's truth. The expected cost itself
    would reward a model for being sure of itself; the realized cost cannot be talked down.
    """

    actions: tuple[Any, ...]
    truths: tuple[Any, ...]
    costs: Floats  # (actions, truths), read-only

    def __post_init__(self) -> None:
        for axis in ("actions", "truths"):
            names = tuple(plain(name) for name in getattr(self, axis))
            check_names(names, axis[:-1])
            object.__setattr__(self, axis, names)
        try:
            costs = np.array(self.costs, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"costs must be numbers; {error}.", "write one finite number a cell.") from error
        if costs.shape != (len(self.actions), len(self.truths)):
            raise InputError(
                f"{len(self.actions)} actions and {len(self.truths)} truths need costs of shape "
                f"{(len(self.actions), len(self.truths))}, but theirs is {costs.shape}."
            )
        for a, t in np.argwhere(~np.isfinite(costs)).tolist():
            raise InputError(
                f"the cost of action {self.actions[a]!r} under truth {self.truths[t]!r} is {costs[a, t]}.",
                "a cost is a finite number; write a very large one for what must not happen.",
            )
        object.__setattr__(self, "costs", read_only(costs))

    @classmethod
    def from_dict(cls, costs: Mapping[Any, Mapping[Any, float]]) -> CostMatrix:
        """From {action: {truth: cost}}; every action needs a cost for every truth."""
        if not isinstance(costs, Mapping) or not all(isinstance(row, Mapping) for row in costs.values()):
            raise InputError(f"costs must come as {{action: {{truth: cost}}}}, got {costs!r}.", "name both axes.")
        truths = list(dict.fromkeys(truth for row in costs.values() for truth in row))
        for action, row in costs.items():
            missing = [truth for truth in truths if truth not in row]
            if missing:
                raise InputError(
                    f"action {action!r} has no cost for the truth {listing(missing)}.",
                    "give every action a cost for every truth, 0 where it costs nothing.",
                )
        return cls(tuple(costs), tuple(truths), table([[row[truth] for truth in truths] for row in costs.values()]))

    @classmethod
    def from_frame(cls, frame: Any) -> CostMatrix:
        """From a frame of any library: one row an action, one column a truth.

        The actions are the index of a pandas frame that has one of its own, else the first column.
        """
        data = nw.from_native(frame, eager_only=True)
        index = nw.maybe_get_index(data)
        names = list(data.columns)
        counted = index is not None and type(index).__name__ == "RangeIndex"
        if index is None or (counted and names != list(index)):  # columns 0, 1, … beside rows 0, 1, … are classes
            if not names:
                raise InputError("the frame of costs has no columns.", "name the actions in the first column.")
            actions, names = data.get_column(names[0]).to_list(), names[1:]
        else:
            actions = list(index)
        columns = [data.get_column(name).to_list() for name in names]
        return cls(tuple(actions), tuple(names), table([list(row) for row in zip(*columns, strict=True)], len(names)))

    @classmethod
    def from_csv(cls, path: str | Path) -> CostMatrix:
        """From a file: truths in the first line, then an action and its costs a line. All names are text."""
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if any(cell.strip() for cell in line)]
        if len(lines) < 2:
            raise InputError(f"{path} holds no costs.", "write the truths in the first line and an action a line.")
        truths = [cell.strip() for cell in lines[0][1:]]
        for line in lines[1:]:
            if len(line) != len(lines[0]):
                raise InputError(
                    f"{path}: action {line[0].strip()!r} has {len(line) - 1} costs for {len(truths)} truths.",
                    "write one cost for every truth, 0 where it costs nothing.",
                )
            for truth, cell in zip(truths, line[1:], strict=True):
                if not is_number(cell):
                    raise InputError(
                        f"{path}: the cost of action {line[0].strip()!r} under truth {truth!r} is {cell!r}.",
                        "write a number.",
                    )
        actions = [line[0].strip() for line in lines[1:]]
        return cls(tuple(actions), tuple(truths), table([[float(cell) for cell in line[1:]] for line in lines[1:]]))

    @classmethod
    def zero_one(cls, classes: Iterable[Any]) -> CostMatrix:
        """Every mistake costs 1: the decision is the most probable class."""
        names = tuple(classes)
        return cls(names, names, 1.0 - np.eye(len(names)))

    def to_frame(self) -> Any:
        """A polars frame: the actions, then a column of costs for each truth."""
        import polars as pl

        columns: dict[str, Any] = {"action": list(self.actions)}
        for place, truth in enumerate(self.truths):
            columns[str(truth)] = self.costs[:, place]
        return pl.DataFrame({**columns, "action": pl.Series(unmixed(columns["action"]))})

    def expected(self, proba: Any, classes: Sequence[Any] | None = None) -> Floats:  # (rows, actions)
        """What each action is expected to cost for each row of probabilities."""
        checked, costs = self._read(proba, classes)
        return np.asarray(_expected(checked, costs))

    def decide(self, proba: Any, classes: Sequence[Any] | None = None) -> Decision:
        """The action of least expected cost for each row; of equal ones the first of the matrix.

        `classes` names the columns of `proba` (an estimator's `classes_`); without it they are the matrix's truths. An
        action that is one of the classes is given as that class: "1" read from a file becomes the label 1.
        """
        checked, costs = self._read(proba, classes)
        action, cost, margin = choose(checked, costs)
        names = self.actions
        if classes is not None:
            labels = {name: label for label in names_of(classes) for name in [find(label, self.actions)]}
            names = tuple(labels.get(place, name) for place, name in enumerate(self.actions))
        return Decision(label_array(names)[action], cost, margin)

    def realized(self, action: Any, truth: Any) -> Floats:  # (rows,)
        """What actions cost, now that the truth is known."""
        rows = self._places(names_of(action), self.actions, "action")
        columns = self._places(names_of(truth), self.truths, "truth")
        if len(rows) != len(columns):
            raise InputError(f"{len(rows)} actions came with {len(columns)} truths.", "pass one of each a row.")
        return np.asarray(self.costs[rows, columns])

    def scorer(self) -> CostScorer:
        """A scorer for scikit-learn's own searches: minus the mean realized cost."""
        return CostScorer(self)

    def costs_of(self, classes: Any) -> Floats:  # (actions, classes)
        """The costs with one column for each of these classes."""
        return np.ascontiguousarray(self.costs[:, self.truth_indices(classes)])

    def truth_indices(self, labels: Any) -> NDArray[np.intp]:
        """The indices of labels among the truths of the matrix, which must know them all."""
        return self._places(names_of(labels), self.truths, "class")

    def _places(self, names: Sequence[Any], known: tuple[Any, ...], what: str) -> NDArray[np.intp]:
        """Where names stand on an axis: by value, else by their text."""
        found: dict[Any, int | None] = {name: find(name, known) for name in dict.fromkeys(names)}
        lost = [name for name, place in found.items() if place is None]
        if lost:
            raise InputError(
                f"the {what} {listing(lost)} has no cost; the matrix knows {listing(list(known))}.",
                "add it to the cost matrix, or check how it is written.",
            )
        return np.array([found[name] for name in names], dtype=np.intp)

    def _read(self, proba: Any, classes: Sequence[Any] | None) -> tuple[Floats, Floats]:
        """Checked probabilities, and the costs in the order of their columns. A frame's columns name its classes."""
        if nw.dependencies.is_into_dataframe(proba):
            names = [str(name) for name in nw.from_native(proba, eager_only=True).columns]
            if classes is None and all(find(name, self.truths) is not None for name in names):
                classes = names
            elif classes is None or names != [str(name) for name in names_of(classes)]:
                raise InputError(
                    f"the columns {listing(names)} of the probabilities are not the classes, in their order.",
                    "name the columns as the truths of the matrix, or pass an array and its classes.",
                )
        try:
            checked = np.ascontiguousarray(proba, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"probabilities must be numbers; {error}.") from error
        costs = self.costs if classes is None else self.costs_of(classes)
        if checked.ndim != 2 or checked.shape[1] != costs.shape[1]:
            whose = "the truths of the matrix" if classes is None else "the classes"
            raise InputError(
                f"probabilities must have one row a case and one column for each of {whose} ({costs.shape[1]}), "
                f"but their shape is {np.shape(proba)}.",
                "pass what predict_proba gives, and the estimator's classes_ as classes.",
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

    def __str__(self) -> str:
        cells = [[f"{cost:g}" for cost in row] for row in self.costs.tolist()]
        return panels("action \\ truth", [cut(str(a)) for a in self.actions], [cut(str(t)) for t in self.truths], cells)


@dataclass(frozen=True)
class CostScorer:
    """A scorer of scikit-learn's shape: minus the mean realized cost of the decisions on some rows."""

    matrix: CostMatrix

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        if not hasattr(estimator, "predict_proba"):
            raise InputError(
                f"the cost of decisions needs probabilities, but {type(estimator).__name__} has no predict_proba.",
                "wrap the model, for example in CalibratedClassifierCV.",
            )
        classes, truths = names_of(estimator.classes_), names_of(y)
        proba = np.ascontiguousarray(estimator.predict_proba(X), dtype=np.float64)
        check_proba(proba)
        action = choose(proba, self.matrix.costs_of(classes))[0]
        places = self.matrix._places(truths, self.matrix.truths, "class")
        return float(-np.average(self.matrix.costs[action, places], weights=sample_weight))

    def _accept_sample_weight(self) -> bool:
        return True  # so scikit-learn's search with several metrics asks of its scorers


def check_proba(proba: Floats) -> None:
    """Refuse rows that are no probabilities."""
    if not proba.size:
        return
    if not proba.min() >= -NEGATIVE_TOLERANCE:
        row, place = np.argwhere(~(proba >= -NEGATIVE_TOLERANCE))[0].tolist()
        raise InputError(
            f"a probability is at least 0, but row {row} holds {proba[row, place]}.",
            "pass predict_proba, not decision values or logarithms.",
        )
    sums = proba.sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= SUM_TOLERANCE))
    if wrong.size:
        raise InputError(
            f"the probabilities of row {int(wrong[0])} sum to {sums[wrong[0]]:.6g}, not to 1.",
            "pass predict_proba with a column for every class, one row a case.",
        )


def choose(proba: Floats, costs: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
    """The place of the cheapest action for each row, its expected cost, and the distance to the next best."""
    action = np.empty(len(proba), dtype=np.intp)
    cost, margin = np.empty(len(proba)), np.empty(len(proba))
    _choose(proba, costs, action, cost, margin)
    return action, cost, margin


@njit(nogil=True, cache=True)
def _expected(proba: Floats, costs: Floats) -> Floats:
    n_rows, n_classes = proba.shape
    found = np.empty((n_rows, costs.shape[0]))
    for i in range(n_rows):
        for a in range(costs.shape[0]):
            total = 0.0  # class by class: a matrix product would round ties by its shape
            for k in range(n_classes):
                total += proba[i, k] * costs[a, k]
            found[i, a] = total
    return found


@njit(nogil=True, cache=True)
def _choose(proba: Floats, costs: Floats, action: NDArray[np.intp], cost: Floats, margin: Floats) -> None:
    for i in range(proba.shape[0]):
        best, next_best, place = np.inf, np.inf, 0
        for a in range(costs.shape[0]):
            total = 0.0
            for k in range(proba.shape[1]):
                total += proba[i, k] * costs[a, k]
            if total < best:
                best, next_best, place = total, best, a
            elif total < next_best:
                next_best = total
        action[i], cost[i], margin[i] = place, best, next_best - best


def check_names(names: tuple[Any, ...], what: str) -> None:
    """Refuse an empty axis, a name that stands twice, and one that is missing."""
    if not names:
        raise InputError(f"a cost matrix needs at least one {what}.", "pass {action: {truth: cost}}.")
    if any(name is None or name != name for name in names):
        raise InputError(f"a {what} of the cost matrix has no name.", "name every row and column.")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise InputError(f"the {what} {listing(twice)} stands twice in the cost matrix.", "name each once.")


def find(name: Any, known: Sequence[Any]) -> int | None:
    """The place of a name: by value, else by its text, in which 1.0 is 1."""
    for texts in (False, True):
        for place, one in enumerate(known):
            if text(one) == text(name) if texts else one == name:
                return place
    return None


def text(name: Any) -> str:
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def plain(name: Any) -> Any:
    """A label as Python's own type."""
    return name.item() if isinstance(name, np.generic) else name


def names_of(labels: Any) -> list[Any]:
    """Labels of any container as a list of Python's own types."""
    if hasattr(labels, "to_list"):
        return list(labels.to_list())
    return [plain(label) for label in labels] if isinstance(labels, list | tuple) else np.asarray(labels).tolist()


def label_array(names: Sequence[Any]) -> NDArray[Any]:
    """Names as an array: of their common type, or of objects where they have none."""
    if len({type(name) for name in names}) == 1 and isinstance(names[0], str | bool | int | float):
        return np.array(names)
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def unmixed(names: list[Any]) -> list[Any]:
    """Names of one type, as a column of a frame must be."""
    return names if len({type(name) for name in names}) == 1 else [str(name) for name in names]


def table(rows: list[list[Any]], width: int | None = None) -> Any:
    """Rows as a two-dimensional array even where there are none."""
    width = (len(rows[0]) if rows else 0) if width is None else width
    return rows if rows else np.empty((0, width))


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
