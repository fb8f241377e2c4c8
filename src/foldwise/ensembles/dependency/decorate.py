"""DECORATE: members differ because they are also trained on artificial rows that contradict the other members.

The columns of artificial rows are drawn independently: numbers from a normal distribution, categories by their
smoothed frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.arguments import above_zero, whole_at_least
from foldwise.data.levels import is_missing
from foldwise.ensembles.blocks import Dependency
from foldwise.ensembles.members import Member, fit_member
from foldwise.ensembles.protocol import FittedMembers, MemberSpec, TrainingData
from foldwise.ensembles.training import MemberTrainer
from foldwise.errors import InputError
from foldwise.folds.protocol import Labels
from foldwise.folds.rows import stack_rows

LEAST = 1e-6  # lower bound of probabilities before they are inverted


@dataclass(repr=False, eq=False)
class Decorate(Dependency):
    """Train each member after the first also on artificial rows that contradict the ensemble so far.

    The labels of artificial rows are drawn with probabilities inverse to those that the ensemble predicts. A member is
    kept only if it does not increase the training error of the ensemble.

    Parameters
    ----------
    share : float, default=1.0
        The number of artificial rows, relative to the number of training rows.
    trials : int, default=50
        How many members are trained at most, including those that are not kept.

    References
    ----------
    P. Melville and R. Mooney (2003). Constructing diverse classifier ensembles using artificial training examples.
    IJCAI.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import Decorate, Ensemble
    >>> model = Ensemble(DecisionTreeClassifier(), dependency=Decorate(share=0.5), size=15)
    """

    share: float = 1.0
    trials: int = 50
    combiners: ClassVar[tuple[str, ...] | None] = ("Mean", "Vote")
    sparse: ClassVar[bool] = False

    def train(self, data: TrainingData, specs: Sequence[MemberSpec], trainer: MemberTrainer) -> FittedMembers:
        n = max(1, round(above_zero("share", self.share) * data.n_rows))
        whole_at_least("trials", self.trials, 1)
        if data.n_classes == 0:
            raise InputError("Decorate needs a classification target.", "use dependency='residuals' for regression.")
        monitor, proba = trainer.monitor, trainer.proba
        members = [fit_member(specs[0], data)]
        votes = member_votes(members[0], data.X, data.n_classes, proba)
        errors = [error_rate(votes, data)]
        monitor.add(members, [1.0])
        for trial in range(1, self.trials):
            if len(members) >= len(specs) or monitor.should_stop:
                break
            spec = specs[len(members)]
            rng = np.random.RandomState([spec.seed or 0, trial])
            extended = self._with_artificial(data, members, n, rng, proba)
            member = fit_member(with_artificial_rows(spec, data.n_rows, n), extended)
            new_votes = votes + member_votes(member, data.X, data.n_classes, proba)
            error = error_rate(new_votes, data)
            if error <= errors[-1]:
                members.append(member)
                votes = new_votes
                errors.append(error)
                monitor.add([member], [1.0])
        n_kept = monitor.best_size(len(members))
        return FittedMembers(tuple(members[:n_kept]), np.ones(n_kept), {"errors": errors[:n_kept]})

    def _with_artificial(
        self, data: TrainingData, members: list[Member], n: int, rng: np.random.RandomState, proba: bool
    ) -> TrainingData:
        """The data with artificial rows that contradict the ensemble."""
        made = artificial_rows(data.X, n, rng)
        X = data.X if not isinstance(data.X, np.ndarray) else data.X.astype(made.dtype, copy=False)
        both = stack_rows(X, made)
        if both is None:
            raise InputError("Decorate cannot append artificial rows to this table.", "pass an array or a data frame.")
        votes = sum(member_votes(member, made, data.n_classes, proba) for member in members) / len(members)
        against = 1 / np.maximum(votes, LEAST)
        edges = np.cumsum(against / against.sum(axis=1, keepdims=True), axis=1)
        codes = np.minimum((rng.random_sample((n, 1)) > edges).sum(axis=1), data.n_classes - 1)
        assert isinstance(data.target, Labels)
        target = Labels(data.target.classes, np.concatenate([data.target.codes, codes]))
        weights = None if data.weights is None else np.append(data.weights, np.full(n, data.weights.mean()))
        return replace(data, X=both, target=target, weights=weights, n_rows=data.n_rows + n)


def with_artificial_rows(spec: MemberSpec, n_rows: int, n: int) -> MemberSpec:
    """The spec with the artificial rows, which follow all others."""
    rows, weights = spec.rows, spec.weights
    return replace(
        spec,
        rows=None if rows is None else np.append(rows, np.arange(n_rows, n_rows + n)),
        weights=None if weights is None else np.append(weights, np.ones(n)),
    )


def member_votes(member: Member, X: object, n_classes: int, proba: bool) -> Floats:  # (rows, classes)
    """The probabilities of a member, or 0 and 1 for its labels, depending on the combiner."""
    if proba:
        return np.asarray(member.predict(X, proba=True))
    return np.asarray(np.eye(n_classes)[member.predict(X, proba=False)])


def error_rate(votes: Floats, data: TrainingData) -> float:
    """The training error of the ensemble."""
    return float(np.average(votes.argmax(axis=1) != data.encoded, weights=data.weights))


def artificial_rows(X: Any, n: int, rng: np.random.RandomState) -> Any:
    """n rows in the container of X, without missing cells."""
    if sp.issparse(X):
        raise InputError("Decorate does not support sparse input.", "pass an array or a data frame.")
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        drawn = frame[np.zeros(n, dtype=np.intp).tolist()]
        columns = [drawn_series(frame[:, j], n, rng) for j in range(len(frame.columns))]  # a name may be a number
        return drawn.with_columns(*columns).to_native()
    if X.dtype != object:
        return np.column_stack([drawn_numbers(X[:, j].astype(np.float64), n, rng) for j in range(X.shape[1])]).astype(
            X.dtype if X.dtype.kind == "f" else np.float64
        )
    cells = np.empty((n, X.shape[1]), dtype=object)
    for j in range(X.shape[1]):
        column = X[:, j]
        present = [value for value in column.tolist() if not is_missing(value)]
        if all(isinstance(value, int | float) for value in present):
            cells[:, j] = drawn_numbers(np.array(present, dtype=np.float64), n, rng)
        else:
            cells[:, j] = column[drawn_rows(column.tolist(), n, rng)]
    return cells


def drawn_series(series: Any, n: int, rng: np.random.RandomState) -> Any:
    """A drawn column of a frame, of the same type; integers are rounded."""
    if not series.dtype.is_numeric():
        return series[drawn_rows(series.to_list(), n, rng).tolist()].alias(series.name)
    numbers = drawn_numbers(np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64), n, rng)
    if series.dtype.is_integer():
        numbers = np.round(numbers)
        if series.dtype.is_unsigned_integer():
            numbers = np.maximum(numbers, 0)
    made = nw.new_series(series.name, numbers, nw.Float64, backend=series.implementation)
    return made.cast(series.dtype)


def drawn_numbers(values: NDArray[np.float64], n: int, rng: np.random.RandomState) -> NDArray[np.float64]:
    present = values[np.isfinite(values)]
    if present.size == 0:
        return np.full(n, np.nan)
    spread = float(present.std(ddof=1)) if present.size > 1 else 0.0
    return np.asarray(rng.normal(float(present.mean()), spread, n))


def drawn_rows(cells: list[Any], n: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Indices of rows with the drawn levels, whose probabilities are proportional to their count + 1."""
    first: dict[Any, int] = {}
    counts: dict[Any, int] = {}
    for i, value in enumerate(cells):
        if not is_missing(value):
            first.setdefault(value, i)
            counts[value] = counts.get(value, 1) + 1
    if not first:
        return np.zeros(n, dtype=np.intp)
    shares = np.array(list(counts.values()), dtype=np.float64)
    return np.array(list(first.values()))[rng.choice(len(shares), n, p=shares / shares.sum())]
