"""The values and protocols that distribution families share. `base.py` has the classes to build a family from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.view import SparseView, View
from foldwise.summaries.alignment import weight_missing

AnyView = View | SparseView
S = TypeVar("S")


@dataclass(frozen=True)
class Setting:
    """The hyperparameters with which likelihoods are computed from facts. Facts never depend on them."""

    alpha: float = 1.0
    var_floor: float = 1e-9
    ddof: float = 1.0
    missing: str = "ignore"
    unseen: str = "ignore"
    # parameters of single families: one value for all columns, or a mapping from columns to values
    trials: Any = None
    bins: Any = 10
    cuts: Any = "width"
    bandwidth: Any = None
    columns: tuple[int, ...] | None = None  # indices of the columns in use; None for all
    column_weights: Any = None  # as given, or after `by_name` one number per column of the table; None if all are 1
    temperature: float = 1.0

    def uses(self, column: int) -> bool:
        return (self.columns is None or column in self.columns) and self.weight(column) > 0

    def weight(self, column: int) -> float:
        """The factor of the log-likelihood of a column."""
        return 1.0 if self.column_weights is None else float(self.column_weights[column])


def option(given: Any, column: str, default: Any) -> Any:
    """Look up a parameter for one column; columns that a mapping does not name have the default."""
    return given.get(column, default) if isinstance(given, Mapping) else given


@dataclass(frozen=True)
class ClassTotals:
    """Total weight of each class, and its number of rows with a weight above 0."""

    weight: Floats  # (K,)
    rows: Floats  # (K,)

    def missing(self, weight: Floats, rows: Floats) -> Floats:
        """Compute the weight of missing values, from the weight and the rows of the present ones (…, K)."""
        return weight_missing(self.weight, self.rows, weight, rows)


@dataclass(frozen=True)
class Fraction:
    """A probability as a fraction of counts: 2/9 stays 2/9, and is 3/12 with Laplace smoothing.

    Attributes
    ----------
    over, under : float
        Numerator and denominator.
    """

    over: float
    under: float

    @classmethod
    def each(cls, over: Floats, under: Floats) -> tuple[Fraction, ...]:
        """Make one fraction per class."""
        return tuple(cls(a, b) for a, b in zip(over.tolist(), under.tolist(), strict=True))

    def __str__(self) -> str:
        return f"{self.over:.10g}/{self.under:.10g}"


@dataclass(frozen=True)
class Factor:
    """The factor that one value contributes to each class.

    Attributes
    ----------
    column : str
        Name of the column.
    value : object
        The value of the row; None if missing.
    log : tuple of float
        Logarithm of the factor, per class.
    fractions : tuple of Fraction or None
        The factors as fractions of counts, if they are any.
    note : str
        Explanation of a special case.
    """

    column: str
    value: Any
    log: tuple[float, ...]
    fractions: tuple[Fraction, ...] | None = None
    note: str = ""

    @property
    def is_ignored(self) -> bool:
        """Whether the value has no influence on the prediction."""
        return self.note.endswith(", ignored")


@dataclass(frozen=True)
class Parameter:
    """One line of the probability table.

    Attributes
    ----------
    column, name : str
        Name of the column and of the parameter.
    values : tuple of float
        Value of the parameter, per class.
    fractions : tuple of Fraction or None
        The values as fractions of counts, if they are any.
    """

    column: str
    name: str
    values: tuple[float, ...]
    fractions: tuple[Fraction, ...] | None = None


class Summary(Protocol):
    """Facts about rows that can be merged."""

    def __add__(self: S, other: S) -> S: ...
    def __sub__(self: S, other: S) -> S: ...
    def expand(self: S, indices: NDArray[np.int64], n_classes: int) -> S: ...
    def select(self: S, columns: Sequence[int]) -> S: ...
    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Scorer:
    """Adds log-likelihoods of rows start..stop to scores (stop - start, K), at most `chunk_rows` rows at a time."""

    chunk_rows: int
    add: Callable[[int, int, Floats], None]  # start, stop, scores


class Likelihood(Protocol):
    """The log-likelihoods of a block of columns, computed for one setting."""

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer: ...

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        """Return the factor of each column for each row; the simple counterpart of `scorer`."""

    def parameters(self) -> list[Parameter]:
        """Return the lines of the probability table."""
