"""The values and protocols that distribution families share; `base.py` holds the classes to build one from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from foldwise.data.view import SparseView, View
from foldwise.summaries.alignment import weight_missing
from foldwise.summaries.number_kernels import Floats

AnyView = View | SparseView
S = TypeVar("S")


@dataclass(frozen=True)
class Setting:
    """The hyperparameters that turn facts into likelihoods. Facts never depend on them."""

    alpha: float = 1.0
    var_floor: float = 1e-9
    ddof: float = 1.0
    missing: str = "ignore"
    unseen: str = "ignore"
    # parameters of single families: one value for all columns, or a mapping by column
    trials: Any = None
    bins: Any = 10
    cuts: Any = "width"
    bandwidth: Any = None
    columns: tuple[int, ...] | None = None  # indices of the columns in use; None for all

    def uses(self, column: int) -> bool:
        return self.columns is None or column in self.columns


def option(given: Any, column: str, default: Any) -> Any:
    """The value of a parameter for one column: the same for all, or by name with a default for columns not named."""
    return given.get(column, default) if isinstance(given, Mapping) else given


@dataclass(frozen=True)
class ClassTotals:
    """Weight of each class, and its rows of a weight above 0."""

    weight: Floats  # (K,)
    rows: Floats  # (K,)

    def missing(self, weight: Floats, rows: Floats) -> Floats:
        """The weight of missing cells, from weight and rows of the present ones (…, K)."""
        return weight_missing(self.weight, self.rows, weight, rows)


@dataclass(frozen=True)
class Fraction:
    """A probability as it was counted: 2/9 stays 2/9, and with Laplace 3/12."""

    over: float
    under: float

    @classmethod
    def each(cls, over: Floats, under: Floats) -> tuple[Fraction, ...]:
        """One for each class."""
        return tuple(cls(a, b) for a, b in zip(over.tolist(), under.tolist(), strict=True))

    def __str__(self) -> str:
        return f"{self.over:.10g}/{self.under:.10g}"


@dataclass(frozen=True)
class Factor:
    """The contribution of one cell to each class: the logarithm of its factor, and the fraction where it is one."""

    column: str
    value: Any
    log: tuple[float, ...]
    fractions: tuple[Fraction, ...] | None = None
    note: str = ""


@dataclass(frozen=True)
class Parameter:
    """One line of the probability distribution table: a number for each class, and the fraction where it is one."""

    column: str
    name: str
    values: tuple[float, ...]
    fractions: tuple[Fraction, ...] | None = None


class Summary(Protocol):
    """Facts about rows that merge."""

    def __add__(self: S, other: S) -> S: ...
    def __sub__(self: S, other: S) -> S: ...
    def expand(self: S, indices: NDArray[np.int64], n_classes: int) -> S: ...
    def select(self: S, columns: Sequence[int]) -> S: ...
    def to_dict(self) -> dict[str, Any]: ...


class Scorer(Protocol):
    """Adds the log-likelihoods of rows to their scores. Belongs to one thread."""

    @property
    def chunk_rows(self) -> int: ...

    def add(self, start: int, stop: int, scores: Floats) -> None:
        """Add those of rows start..stop to `scores` (stop - start, K)."""


class Likelihood(Protocol):
    """The log-likelihood tables of a block of columns, finished for one setting."""

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer: ...

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        """For each row, the factor of each column. The plain twin of `scorer`."""

    def parameters(self) -> list[Parameter]:
        """The lines of the probability distribution table."""
