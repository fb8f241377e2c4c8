"""The data that is passed between the blocks of an ensemble: the table, specs, predictions and fitted members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats, Indices
from foldwise.folds.protocol import Labels, Rows, TargetValues
from foldwise.folds.rows import take_rows

__all__ = ["FittedMembers", "MemberPredictions", "MemberSpec", "TrainingData"]


@dataclass(frozen=True)
class TrainingData:
    """The training table of an ensemble.

    Attributes
    ----------
    X : table
        The rows.
    target : Labels or TargetValues
        Classes with class indices, or numbers.
    weights : array or None
        The sample weights passed to `fit`.
    n_rows : int
        The number of rows.
    n_columns : int
        The number of columns.
    checked : bool
        Whether X is a finite float32 array, so that trees can skip their checks.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.folds.protocol import TargetValues
    >>> data = TrainingData(np.zeros((3, 2)), TargetValues(np.array([1.0, 2.0, 3.0])), None, 3, 2)
    >>> data.take(np.array([0, 2])).y
    array([1., 3.])
    """

    X: Any
    target: Labels | TargetValues
    weights: Floats | None
    n_rows: int
    n_columns: int
    checked: bool = False

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 for regression."""
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
        """Drop rows of weight 0, and classes that only occur in them.

        Returns
        -------
        TrainingData
            The remaining rows.
        """
        if self.weights is None or self.weights.all():
            return self
        data = self.take(np.flatnonzero(self.weights))
        return replace(data, target=data.target.observed()[1]) if isinstance(data.target, Labels) else data

    def take(self, rows: Rows) -> TrainingData:
        """Select rows; the classes stay the same.

        Parameters
        ----------
        rows : array of int
            Indices of rows.

        Returns
        -------
        TrainingData
            The selected rows.
        """
        weights = None if self.weights is None else self.weights[rows]
        return TrainingData(take_rows(self.X, rows), self.target.take(rows), weights, len(rows), self.n_columns)


@runtime_checkable
class HasSplitter(Protocol):
    """A block that says by which splits it wants out-of-fold predictions."""

    cv: Any


def splitter_of(block: Any) -> Any:
    """The splits by which a block wants out-of-fold predictions: its own, or five folds."""
    return block.cv if isinstance(block, HasSplitter) else 5


@dataclass(frozen=True)
class MemberSpec:
    """The rows, weights, columns and parameters that one member is trained with.

    Attributes
    ----------
    name : str
        The name of the member.
    estimator : estimator
        The unfitted estimator.
    seed : int or None
        The seed of its random numbers.
    rows : array of int or None
        Indices of its training rows, possibly repeated; None for all rows.
    weights : array or None
        One weight for each of `rows`.
    counts : bool
        Whether a weight is the number of times that the row was drawn.
    columns : array of int or None
        Indices of its columns; None for all columns.
    params : dict
        Parameters to set, by name.
    code : array or None
        The member's label of each class: 1, 0, or -1 for classes whose rows it does not see.
    draws : int
        How many diversities have drawn random numbers so far.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> spec = MemberSpec("bayes", GaussianNB(), seed=0)
    >>> spec.drawn(columns=[0, 2]).draws
    1
    """

    name: str
    estimator: Any
    seed: int | None = None
    rows: Rows | None = None
    weights: Floats | None = None
    counts: bool = False
    columns: Indices | None = None
    params: dict[str, Any] = field(default_factory=dict)
    code: NDArray[np.int8] | None = None
    draws: int = 0

    def random_state(self) -> np.random.RandomState:
        """Create the generator of the next draw; each draw has its own.

        Returns
        -------
        RandomState
            A new generator.
        """
        return np.random.RandomState(self.seed if self.draws == 0 else [self.seed or 0, self.draws])

    def drawn(self, **changes: Any) -> MemberSpec:
        """Return the spec after a draw.

        Parameters
        ----------
        **changes
            New values of attributes.

        Returns
        -------
        MemberSpec
            A changed copy, with one more draw.
        """
        return replace(self, draws=self.draws + 1, **changes)

    def row_indices(self, data: TrainingData) -> Rows:
        """Return the indices of the training rows.

        Parameters
        ----------
        data : TrainingData
            The training table.

        Returns
        -------
        array of int
            `rows`, or the indices of all rows.
        """
        return np.arange(data.n_rows) if self.rows is None else self.rows

    def column_indices(self, data: TrainingData) -> Indices:
        """Return the indices of the columns.

        Parameters
        ----------
        data : TrainingData
            The training table.

        Returns
        -------
        array of int
            `columns`, or the indices of all columns.
        """
        return np.arange(data.n_columns) if self.columns is None else self.columns

    def out_of_bag(self, data: TrainingData) -> Rows:
        """Return the rows that the member is not trained on.

        Parameters
        ----------
        data : TrainingData
            The training table.

        Returns
        -------
        array of int
            Indices of rows.
        """
        rows = self.row_indices(data)
        return np.setdiff1d(np.arange(data.n_rows), rows if self.weights is None else rows[self.weights > 0])


@dataclass(frozen=True)
class MemberPredictions:
    """The predictions of all members for some rows.

    Attributes
    ----------
    answers : array
        (members, rows) class indices or values, or (members, rows, classes) probabilities.
    weights : array of shape (members,)
        The weights of the members.
    n_classes : int
        The number of classes; 0 for regressors.
    code : array of shape (members, classes) or None
        The labels of the classes for members with recoded classes.

    Examples
    --------
    >>> import numpy as np
    >>> predictions = MemberPredictions(np.array([[[0.2, 0.8]], [[0.6, 0.4]]]), np.ones(2), 2)
    >>> predictions.labels()
    array([[1],
           [0]])
    """

    answers: NDArray[Any]
    weights: Floats
    n_classes: int = 0
    code: NDArray[np.int8] | None = None

    @property
    def proba(self) -> Floats | None:  # (members, rows, classes)
        """Probabilities, if members predict them."""
        return self.answers if self.answers.ndim == 3 else None

    @property
    def values(self) -> Floats | None:  # (members, rows)
        """The values of regressors."""
        return None if self.n_classes else self.answers

    def labels(self) -> Indices:
        """Return the class indices that members predict.

        Returns
        -------
        array of shape (members, rows)
            Indices of classes.
        """
        return self.answers if self.answers.ndim == 2 else np.asarray(self.answers.argmax(axis=2))

    def take(self, members: Any, weights: Floats | None = None) -> MemberPredictions:
        """Select members.

        Parameters
        ----------
        members : array of int or slice
            Indices of members.
        weights : array, optional
            New weights; by default their present ones.

        Returns
        -------
        MemberPredictions
            The predictions of these members.
        """
        code = None if self.code is None else self.code[members]
        weights = self.weights[members] if weights is None else weights
        return replace(self, answers=self.answers[members], weights=weights, code=code)


@dataclass(frozen=True)
class FittedMembers:
    """Fitted members with their weights.

    Attributes
    ----------
    members : tuple
        The fitted members.
    weights : array of shape (members,)
        Their weights.
    history : dict
        What training reports for each round.

    Examples
    --------
    >>> import numpy as np
    >>> FittedMembers(("a", "b", "c"), np.ones(3)).take([0, 2], np.array([0.7, 0.3])).members
    ('a', 'c')
    """

    members: tuple[Any, ...]
    weights: Floats
    history: dict[str, Any] = field(default_factory=dict)

    def take(self, indices: Sequence[int], weights: Floats) -> FittedMembers:
        """Select members.

        Parameters
        ----------
        indices : sequence of int
            Indices of members.
        weights : array
            Their new weights.

        Returns
        -------
        FittedMembers
            The selected members.
        """
        return replace(self, members=tuple(self.members[i] for i in indices), weights=weights)
