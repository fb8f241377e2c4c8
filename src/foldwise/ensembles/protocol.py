"""The four blocks of an ensemble and what passes between them.

    Task ─ diversity ─> Lesson, Lesson, …       what each member learns from
         ─ dependency ─> Crew                   fitted members, each with a weight
         ─ size ─> Crew                         when to stop, or whom to keep
         ─ combiner ─> Rule                     a function from what members say to what the ensemble says

Blocks are small estimators in scikit-learn's sense: `__init__` only stores, so that searches reach their parameters
(`combiner__cv`). A new variant is a subclass of `Diversity`, `Dependency`, `Size` or `Combiner` with one method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from foldwise.folds.protocol import Labels, Rows, Values
from foldwise.folds.rows import take_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """The training table."""

    X: Any
    target: Labels | Values
    weights: Floats | None  # of the rows, as given to fit: frequencies
    n_rows: int
    n_columns: int
    checked: bool = False  # whether X is in the form of trees, which they need not check again

    @property
    def n_classes(self) -> int:
        """How many classes there are; 0 for a regression."""
        return len(self.target.classes) if isinstance(self.target, Labels) else 0

    @property
    def y(self) -> NDArray[Any]:
        """The target as members are told it."""
        if isinstance(self.target, Labels):
            return np.asarray(self.target.classes[self.target.codes])
        return self.target.numbers

    @property
    def coded(self) -> NDArray[Any]:
        """The target as members are judged by it: places of classes, or numbers."""
        return self.target.codes if isinstance(self.target, Labels) else self.target.numbers

    def counted(self) -> Task:
        """The task without rows of weight 0, which were not seen, and without classes that only these have."""
        if self.weights is None or self.weights.all():
            return self
        task = self.some(np.flatnonzero(self.weights))
        if not isinstance(task.target, Labels):
            return task
        present, codes = np.unique(task.target.codes, return_inverse=True)
        return replace(task, target=Labels(task.target.classes[present], codes.astype(np.int64)))

    def some(self, rows: Rows) -> Task:
        """The same task with some of its rows; the classes stay those of the whole."""
        target: Labels | Values
        if isinstance(self.target, Labels):
            target = Labels(self.target.classes, self.target.codes[rows])
        else:
            target = Values(self.target.numbers[rows])
        weights = None if self.weights is None else self.weights[rows]
        return Task(take_rows(self.X, rows), target, weights, len(rows), self.n_columns)


@dataclass(frozen=True)
class Lesson:
    """What one member learns from; a diversity changes lessons, so diversities compose."""

    name: str
    estimator: Any
    seed: int | None = None
    rows: Rows | None = None  # None: all; a row may come several times
    weights: Floats | None = None  # one for each of `rows`
    counts: bool = False  # whether the weights are so many times the row
    columns: NDArray[np.intp] | None = None  # None: all
    params: dict[str, Any] = field(default_factory=dict)
    code: NDArray[np.int8] | None = None  # what the member calls each class: 1, 0, or -1 for rows it does not see
    draws: int = 0

    def random(self) -> np.random.RandomState:
        """The lesson's own source of chance: another one for each diversity that draws."""
        return np.random.RandomState(self.seed if self.draws == 0 else [self.seed or 0, self.draws])

    def drawn(self, **changes: Any) -> Lesson:
        """The lesson after a draw."""
        return replace(self, draws=self.draws + 1, **changes)

    def rows_of(self, task: Task) -> Rows:
        return np.arange(task.n_rows) if self.rows is None else self.rows

    def left_out(self, task: Task) -> Rows:
        """The rows that the member does not see."""
        seen = self.rows_of(task) if self.weights is None else self.rows_of(task)[self.weights > 0]
        return np.setdiff1d(np.arange(task.n_rows), seen)


@dataclass(frozen=True)
class Panel:
    """What all members say of some rows."""

    weights: Floats  # (members,)
    labels: NDArray[np.intp] | None = None  # (members, rows), places of classes
    proba: Floats | None = None  # (members, rows, classes)
    values: Floats | None = None  # (members, rows), of regressors
    n_classes: int = 0
    code: NDArray[np.int8] | None = None  # (members, classes), where members were told other targets

    @property
    def answers(self) -> NDArray[Any]:
        """The richest that members say: probabilities, else labels, else values."""
        found = next((part for part in (self.proba, self.labels, self.values) if part is not None), None)
        assert found is not None
        return found

    def some(self, places: Any) -> Panel:
        """What some of the members say."""
        parts = {name: getattr(self, name) for name in ("weights", "labels", "proba", "values", "code")}
        return replace(self, **{name: part[places] for name, part in parts.items() if part is not None})

    def as_labels(self) -> NDArray[np.intp]:  # (members, rows)
        if self.labels is not None:
            return self.labels
        assert self.proba is not None
        return np.asarray(self.proba.argmax(axis=2))


class SpeakingMember(Protocol):
    """As much of a fitted member as combiners may want."""

    lesson: Lesson

    def says(self, X: Any, proba: bool) -> NDArray[Any]:
        """Its answers about rows."""


@dataclass(frozen=True)
class Crew:
    """Fitted members with their weights."""

    members: tuple[Any, ...]
    weights: Floats
    history: dict[str, Any] = field(default_factory=dict)  # what training has to tell, round by round

    def some(self, places: Sequence[int], weights: Floats | None = None) -> Crew:
        kept = self.weights[list(places)] if weights is None else weights
        return replace(self, members=tuple(self.members[i] for i in places), weights=kept)


class Panels(Protocol):
    """Where a block that learns gets what members say of rows they have not seen."""

    def out_of_fold(self, cv: Any) -> Panel:
        """The answers of all members to every row of the task, by models fitted without it."""


@dataclass(frozen=True)
class Learning:
    """What a combiner or a size may learn from."""

    task: Task
    panels: Panels
    crew: Crew | None  # None in a fold session, which fits no members
    seed: int | None = None


class Rule(Protocol):
    """What a combiner has learned: a function that can be pickled."""

    def __call__(self, panel: Panel, X: Any) -> Floats:
        """(rows, classes) that sum to 1, or (rows,) values, from what members say of the rows X."""


class Diversity(BaseEstimator):  # type: ignore[misc]
    """Where the difference between members comes from."""

    @property
    def random(self) -> bool:
        """Whether it draws: then nothing is shared between fits."""
        return True

    def wanted(self, task: Task) -> int | None:
        """How many members it makes if nobody says; None for any number."""
        return None

    def vary(self, lessons: Sequence[Lesson], task: Task) -> list[Lesson]:
        """The lessons, changed."""
        raise NotImplementedError


class Dependency(BaseEstimator):  # type: ignore[misc]
    """Whether members know of each other while they are trained."""

    parallel: ClassVar[bool] = False
    combiners: ClassVar[tuple[str, ...] | None] = None  # the only ones that suit it; None for any
    sparse: ClassVar[bool] = True  # whether it takes sparse tables

    def train(self, task: Task, lessons: Sequence[Lesson], training: Any) -> Crew:
        """The members, one a lesson, or fewer where training stops."""
        raise NotImplementedError


class Size(BaseEstimator):  # type: ignore[misc]
    """How many members: known beforehand, seen during training, or chosen after it."""

    chooses: ClassVar[bool] = False  # whether it chooses after training, from out-of-fold answers

    def most(self, usual: int) -> int:
        """How many lessons are drawn."""
        return usual

    def watch(self, task: Task, plan: Any) -> Any:
        """An object that is told of each new member and says when there are enough; None to train all."""
        return None

    def choose(self, panel: Panel, task: Task) -> Floats:
        """The weight of each member; 0 leaves it out."""
        raise NotImplementedError


class Combiner(BaseEstimator):  # type: ignore[misc]
    """How the answers of members become one answer."""

    needs: ClassVar[str] = "proba"  # of classifiers: "proba", "labels", or "any" for probabilities if all have them
    learns: ClassVar[bool] = False  # whether `learn` looks at the task
    exact: ClassVar[bool] = True  # whether what it learns is the same where answers differ in their last bits only
    decodes: ClassVar[bool] = False  # whether it wants members that were told other targets

    def learn(self, learning: Learning) -> Rule:
        """The rule; a combiner that learns nothing is its own."""
        return Plainly(self)

    def combine(self, panel: Panel) -> Floats:
        """What the ensemble says: (rows, classes) that sum to 1, or (rows,) values."""
        raise NotImplementedError


@dataclass(frozen=True)
class Plainly:
    """The rule of a combiner that learns nothing."""

    combiner: Combiner

    def __call__(self, panel: Panel, X: Any) -> Floats:
        return self.combiner.combine(panel)
