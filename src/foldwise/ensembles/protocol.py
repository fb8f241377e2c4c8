"""The four blocks of an ensemble and the data that passes between them.

    TrainingData ─ diversity ─> MemberSpec, MemberSpec, …   what each member learns from
                 ─ dependency ─> FittedMembers              fitted members, each with a weight
                 ─ size ─> FittedMembers                    when to stop training, or which members to keep
                 ─ combiner ─> CombinerRule                 a function from members' predictions to the ensemble's

Blocks are small estimators in scikit-learn's sense: `__init__` only stores, so that searches reach their parameters
(`combiner__cv`). A new variant subclasses `Diversity`, `Dependency`, `EnsembleSize` or `Combiner` with one method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from foldwise.folds.protocol import Labels, Rows, TargetValues
from foldwise.folds.rows import take_rows

__all__ = [
    "ChainedDiversity",
    "Combiner",
    "Dependency",
    "Diversity",
    "EnsembleSize",
    "FittedMembers",
    "MemberPredictions",
    "MemberSpec",
    "TrainingData",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class TrainingData:
    """The training table."""

    X: Any
    target: Labels | TargetValues
    weights: Floats | None  # of the rows, as given to fit: frequencies
    n_rows: int
    n_columns: int
    checked: bool = False  # whether X is in the form that trees use, so that they need not check it again

    @property
    def n_classes(self) -> int:
        """How many classes there are; 0 for a regression."""
        return len(self.target.classes) if isinstance(self.target, Labels) else 0

    @property
    def y(self) -> NDArray[Any]:
        """The target that members are fitted to."""
        if isinstance(self.target, Labels):
            return np.asarray(self.target.classes[self.target.codes])
        return self.target.numbers

    @property
    def encoded(self) -> NDArray[Any]:
        """The target that predictions are compared with: class indices, or numbers."""
        return self.target.codes if isinstance(self.target, Labels) else self.target.numbers

    def observed(self) -> TrainingData:
        """The data without rows of weight 0, and without classes that only these have."""
        if self.weights is None or self.weights.all():
            return self
        data = self.take(np.flatnonzero(self.weights))
        if not isinstance(data.target, Labels):
            return data
        present, codes = np.unique(data.target.codes, return_inverse=True)
        return replace(data, target=Labels(data.target.classes[present], codes.astype(np.int64)))

    def take(self, rows: Rows) -> TrainingData:
        """Some of the rows; the classes stay those of the whole."""
        target: Labels | TargetValues
        if isinstance(self.target, Labels):
            target = Labels(self.target.classes, self.target.codes[rows])
        else:
            target = TargetValues(self.target.numbers[rows])
        weights = None if self.weights is None else self.weights[rows]
        return TrainingData(take_rows(self.X, rows), target, weights, len(rows), self.n_columns)


@dataclass(frozen=True)
class MemberSpec:
    """What one member learns from; a diversity changes specs, so diversities compose."""

    name: str
    estimator: Any
    seed: int | None = None
    rows: Rows | None = None  # None: all; a row may come several times
    weights: Floats | None = None  # one for each of `rows`
    counts: bool = False  # whether a weight is the number of times that the row counts
    columns: Indices | None = None  # None: all
    params: dict[str, Any] = field(default_factory=dict)
    code: NDArray[np.int8] | None = None  # the member's label of each class: 1, 0, or -1 for rows it does not see
    draws: int = 0

    def random_state(self) -> np.random.RandomState:
        """The spec's own random numbers: different ones for each diversity that draws."""
        return np.random.RandomState(self.seed if self.draws == 0 else [self.seed or 0, self.draws])

    def drawn(self, **changes: Any) -> MemberSpec:
        """The spec after a draw."""
        return replace(self, draws=self.draws + 1, **changes)

    def row_indices(self, data: TrainingData) -> Rows:
        return np.arange(data.n_rows) if self.rows is None else self.rows

    def column_indices(self, data: TrainingData) -> Indices:
        return np.arange(data.n_columns) if self.columns is None else self.columns

    def out_of_bag(self, data: TrainingData) -> Rows:
        """The rows that the member does not see."""
        rows = self.row_indices(data)
        return np.setdiff1d(np.arange(data.n_rows), rows if self.weights is None else rows[self.weights > 0])


@dataclass(frozen=True)
class MemberPredictions:
    """The predictions of all members for some rows."""

    answers: NDArray[Any]  # (members, rows): class indices or values; (members, rows, classes): probabilities
    weights: Floats  # (members,)
    n_classes: int = 0  # 0 for regressors
    code: NDArray[np.int8] | None = None  # (members, classes), where members learned recoded classes

    @property
    def proba(self) -> Floats | None:  # (members, rows, classes)
        return self.answers if self.answers.ndim == 3 else None

    @property
    def values(self) -> Floats | None:  # (members, rows)
        """The values of regressors."""
        return None if self.n_classes else self.answers

    def labels(self) -> Indices:  # (members, rows)
        return self.answers if self.answers.ndim == 2 else np.asarray(self.answers.argmax(axis=2))

    def take(self, members: Any, weights: Floats | None = None) -> MemberPredictions:
        """The predictions of some of the members."""
        code = None if self.code is None else self.code[members]
        weights = self.weights[members] if weights is None else weights
        return replace(self, answers=self.answers[members], weights=weights, code=code)


@dataclass(frozen=True)
class FittedMembers:
    """Fitted members with their weights."""

    members: tuple[Any, ...]
    weights: Floats
    history: dict[str, Any] = field(default_factory=dict)  # what training reports, round by round

    def take(self, indices: Sequence[int], weights: Floats) -> FittedMembers:
        return replace(self, members=tuple(self.members[i] for i in indices), weights=weights)


OutOfFold = Callable[[Any], MemberPredictions]
"""From a splitter to the predictions of all members for every row, by models fitted without it."""


@dataclass(frozen=True)
class CombinerData:
    """What a combiner may learn from."""

    data: TrainingData
    out_of_fold: OutOfFold
    fitted: FittedMembers | None  # None in a fold session, which fits no members
    seed: int | None = None


class CombinerRule(Protocol):
    """What a combiner has learned: a function that can be pickled."""

    def __call__(self, predictions: MemberPredictions, X: Any) -> Floats:
        """(rows, classes) that sum to 1, or (rows,) values, from the members' predictions for the rows X."""


class Diversity(BaseEstimator):  # type: ignore[misc]
    """What makes members differ."""

    @property
    def random(self) -> bool:
        """Whether it draws random numbers: then nothing is shared between fits."""
        return True

    def n_members(self, data: TrainingData) -> int | None:
        """How many members it makes by default; None for any number."""
        return None

    def vary(self, specs: Sequence[MemberSpec], data: TrainingData) -> list[MemberSpec]:
        """Change the specs; by default each by itself."""
        return [self.draw(spec, data) for spec in specs]

    def draw(self, spec: MemberSpec, data: TrainingData) -> MemberSpec:
        """Change one spec."""
        raise NotImplementedError


@dataclass(repr=False, eq=False)
class ChainedDiversity(Diversity):
    """Several diversities, each applied to the result of the one before: a bootstrap sample of some columns, etc."""

    parts: Sequence[Diversity] = ()

    @property
    def random(self) -> bool:
        return any(part.random for part in self.parts)

    def n_members(self, data: TrainingData) -> int | None:
        return next((n for part in self.parts if (n := part.n_members(data)) is not None), None)

    def vary(self, specs: Sequence[MemberSpec], data: TrainingData) -> list[MemberSpec]:
        found = list(specs)
        for part in self.parts:
            found = part.vary(found, data)
        return found


class Dependency(BaseEstimator):  # type: ignore[misc]
    """Whether members depend on each other in training."""

    parallel: ClassVar[bool] = False
    combiners: ClassVar[tuple[str, ...] | None] = None  # the only ones that suit it; None for any
    sparse: ClassVar[bool] = True  # whether it takes sparse tables

    def train(self, data: TrainingData, specs: Sequence[MemberSpec], trainer: Any) -> FittedMembers:
        """Fit the members, one per spec, or fewer where training stops early."""
        raise NotImplementedError


class EnsembleSize(BaseEstimator):  # type: ignore[misc]
    """How many members: fixed, decided during training, or selected after it."""

    chooses: ClassVar[bool] = False  # whether it selects after training, from out-of-fold predictions

    def max_members(self, default: int) -> int:
        """How many specs are drawn."""
        return default

    def monitor(self, data: TrainingData, config: Any) -> Any:
        """An object that follows training and says when there are enough members; None to train all."""
        return None

    def choose(self, predictions: MemberPredictions, data: TrainingData) -> Floats:
        """The weight of each member; 0 leaves it out."""
        raise NotImplementedError


class Combiner(BaseEstimator):  # type: ignore[misc]
    """How the predictions of members become one."""

    needs: ClassVar[str] = "proba"  # of classifiers: "proba", "labels", or "any" for probabilities if all have them
    learns: ClassVar[bool] = False  # whether `learn` looks at the data
    exact: ClassVar[bool] = True  # whether a change of the predictions in the last digits changes the result as little
    decodes: ClassVar[bool] = False  # whether it needs members that learned recoded classes

    def learn(self, info: CombinerData) -> CombinerRule:
        """The rule; by default the combiner learns nothing."""
        return StatelessRule(self)

    def combine(self, predictions: MemberPredictions) -> Floats:
        """The predictions of the ensemble: (rows, classes) that sum to 1, or (rows,) values."""
        raise NotImplementedError


@dataclass(frozen=True)
class StatelessRule:
    """The rule of a combiner that learns nothing."""

    combiner: Combiner

    def __call__(self, predictions: MemberPredictions, X: Any) -> Floats:
        return self.combiner.combine(predictions)
