"""The dimensions of a search space: what values a parameter may have, on which scale, and under which condition.

Numbers between 0 and 1 stand for the values of a dimension (`to_unit`, `from_unit`), so strategies need not know
scales. Lists of values and scipy distributions are dimensions, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np

from foldwise.errors import FoldwiseTypeError, InputError

Space = Mapping[str, Any] | Sequence[Mapping[str, Any]]
ParameterCondition = Mapping[str, Any]  # values, or lists of values, by parameter
MARGIN = 1e-9  # of the tails of a distribution: an infinite value is not drawn


@runtime_checkable
class Dimension(Protocol):
    """The values that one parameter may have."""

    @property
    def when(self) -> ParameterCondition | None:
        """The values of other parameters that this one needs."""

    @property
    def n_values(self) -> float:
        """How many values there are; infinite for a float."""

    @property
    def ordered(self) -> bool:
        """Whether values that are close to each other act alike."""

    def to_unit(self, value: Any) -> float:
        """The number between 0 and 1 that stands for a value."""

    def from_unit(self, unit: float) -> Any:
        """The value that a number between 0 and 1 stands for."""

    def contains(self, value: Any) -> bool:
        """Whether the parameter may have this value."""


@dataclass(frozen=True)
class Float:
    """A number between two bounds.

    Parameters
    ----------
    low, high : float
        The bounds, which are included.
    log : bool, default False
        Whether to search on the logarithmic scale.
    when : mapping, default None
        The values of other parameters that this one needs, such as `{"kernel": "rbf"}`.

    Examples
    --------
    >>> from foldwise.tuning import Float
    >>> round(Float(0.01, 100, log=True).from_unit(0.5), 9)
    1.0
    """

    low: float
    high: float
    log: bool = False
    when: ParameterCondition | None = None

    def __post_init__(self) -> None:
        check_bounds(self.low, self.high, self.log)

    n_values = math.inf
    ordered = True

    def to_unit(self, value: Any) -> float:
        """Return the number between 0 and 1 that stands for a value.

        Parameters
        ----------
        value : float
            A value between the bounds.

        Returns
        -------
        float
            Its position between the bounds.
        """
        return position(float(value), self.low, self.high, self.log)

    def from_unit(self, unit: float) -> float:
        """Return the value that a number between 0 and 1 stands for.

        Parameters
        ----------
        unit : float
            A number between 0 and 1.

        Returns
        -------
        float
            The value.
        """
        return float(min(max(between(unit, self.low, self.high, self.log), self.low), self.high))

    def contains(self, value: Any) -> bool:
        """Whether a value lies between the bounds.

        Parameters
        ----------
        value : object
            Any value.

        Returns
        -------
        bool
            True for a number between the bounds.
        """
        return is_number(value) and self.low <= value <= self.high


@dataclass(frozen=True)
class Int:
    """A whole number between two bounds.

    Parameters
    ----------
    low, high : int
        The bounds, which are included.
    log : bool, default False
        Whether to search on the logarithmic scale.
    when : mapping, default None
        The values of other parameters that this one needs.

    Examples
    --------
    >>> from foldwise.tuning import Int
    >>> [Int(1, 4).from_unit(u) for u in (0.0, 0.3, 0.99)]
    [1, 2, 4]
    """

    low: int
    high: int
    log: bool = False
    when: ParameterCondition | None = None

    def __post_init__(self) -> None:
        check_bounds(self.low, self.high, self.log)

    ordered = True

    @property
    def n_values(self) -> int:
        """How many values there are."""
        return int(self.high) - int(self.low) + 1

    @property
    def edges(self) -> tuple[float, float]:
        """The bounds of the cells around the values."""
        return (self.low - 0.5, self.high + 0.5)

    def to_unit(self, value: Any) -> float:
        """Return the number between 0 and 1 that stands for a value.

        Parameters
        ----------
        value : int
            A value between the bounds.

        Returns
        -------
        float
            Its position between the bounds.
        """
        return position(float(value), *self.edges, self.log)

    def from_unit(self, unit: float) -> int:
        """Return the value that a number between 0 and 1 stands for.

        Parameters
        ----------
        unit : float
            A number between 0 and 1.

        Returns
        -------
        int
            The value.
        """
        return min(max(math.floor(between(unit, *self.edges, self.log) + 0.5), int(self.low)), int(self.high))

    def contains(self, value: Any) -> bool:
        """Whether a value is a whole number between the bounds.

        Parameters
        ----------
        value : object
            Any value.

        Returns
        -------
        bool
            True for a whole number between the bounds.
        """
        return is_number(value) and value == int(value) and self.low <= value <= self.high


@dataclass(frozen=True)
class Choice:
    """One of several values.

    Parameters
    ----------
    values : sequence
        The values.
    ordered : bool, default False
        Whether neighbors in the list act alike, as sizes do and names do not.
    when : mapping, default None
        The values of other parameters that this one needs.

    Examples
    --------
    >>> from foldwise.tuning import Choice
    >>> Choice(["linear", "rbf"]).from_unit(0.7)
    'rbf'
    """

    values: Sequence[Any]
    ordered: bool = False
    when: ParameterCondition | None = None

    def __post_init__(self) -> None:
        if not len(self.values):
            raise InputError("a choice must have at least one value, got none.", "list the values to try.")

    @property
    def n_values(self) -> int:
        """How many values there are."""
        return len(self.values)

    def index(self, value: Any) -> int:
        """Return the index of a value, or -1 if it is not among the values.

        Parameters
        ----------
        value : object
            Any value.

        Returns
        -------
        int
            The index.
        """
        return next((i for i, one in enumerate(self.values) if same(one, value)), -1)

    def to_unit(self, value: Any) -> float:
        """Return the number between 0 and 1 that stands for a value.

        Parameters
        ----------
        value : object
            One of the values.

        Returns
        -------
        float
            The middle of its part.
        """
        return (self.index(value) + 0.5) / len(self.values)

    def from_unit(self, unit: float) -> Any:
        """Return the value that a number between 0 and 1 stands for.

        Parameters
        ----------
        unit : float
            A number between 0 and 1.

        Returns
        -------
        object
            The value.
        """
        return self.values[min(int(unit * len(self.values)), len(self.values) - 1)]

    def contains(self, value: Any) -> bool:
        """Whether a value is among the values.

        Parameters
        ----------
        value : object
            Any value.

        Returns
        -------
        bool
            True for one of the values.
        """
        return self.index(value) >= 0


@dataclass(frozen=True)
class SampledDimension:
    """The values of a scipy distribution, or of another object with a method `rvs`."""

    distribution: Any
    when: ParameterCondition | None = None
    ordered = True

    @cached_property
    def discrete(self) -> bool:
        return hasattr(getattr(self.distribution, "dist", None), "pmf")

    @property
    def n_values(self) -> float:
        if not self.discrete:
            return math.inf
        low, high = self.distribution.support()
        return float(high - low + 1)

    def quantiles(self) -> Any:
        if not (hasattr(self.distribution, "ppf") and hasattr(self.distribution, "cdf")):
            raise FoldwiseTypeError(
                f"{self.distribution!r} has no methods ppf and cdf, so only random draws from it are possible.",
                "use strategy='random', or give bounds with Float or Int.",
            )
        return self.distribution

    def to_unit(self, value: Any) -> float:
        of = self.quantiles()
        return float((of.cdf(value - 1) + of.cdf(value)) / 2 if self.discrete else of.cdf(value))

    def from_unit(self, unit: float) -> Any:
        found = self.quantiles().ppf(min(max(unit, MARGIN), 1 - MARGIN))
        return int(found) if self.discrete else float(found)

    def sample(self, rng: np.random.Generator) -> Any:
        """Draw a value. Only scipy is known to accept numpy's generators."""
        of_scipy = type(self.distribution).__module__.startswith("scipy.")
        state = rng if of_scipy else np.random.RandomState(int(rng.integers(2**31)))
        found = self.distribution.rvs(random_state=state)
        return found.item() if isinstance(found, np.generic) else found

    def contains(self, value: Any) -> bool:
        if not hasattr(self.distribution, "support"):
            return True
        low, high = self.distribution.support()
        return is_number(value) and low <= value <= high and (not self.discrete or value == int(value))


def dimension_of(name: str, values: Any) -> Dimension:
    """The dimension that a list of values, a distribution or a dimension describes."""
    if isinstance(values, Dimension):
        return values
    if hasattr(values, "rvs"):
        return SampledDimension(values)
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise FoldwiseTypeError(
            f"the values of parameter {name!r} must be a list, a distribution or a dimension such as Float, got "
            f"{values!r}.",
            f"pass [{values!r}] to try this value alone.",
        )
    listed = list(values)
    numbers = len(listed) > 2 and all(is_number(one) for one in listed)
    rising = numbers and all(a < b for a, b in pairwise(listed))
    return Choice(tuple(listed), ordered=rising)


def same(a: Any, b: Any) -> bool:
    """Whether two values or dimensions are the same."""
    if isinstance(a, SampledDimension) and isinstance(b, SampledDimension):
        first, second = a.distribution, b.distribution
        frozen = hasattr(first, "dist") and hasattr(second, "dist")
        return first is second or (
            frozen and type(first.dist) is type(second.dist) and (first.args, first.kwds) == (second.args, second.kwds)
        )
    if a is b:
        return True
    if isinstance(a, bool) != isinstance(b, bool):  # True == 1, but they are different values
        return False
    try:
        return bool(np.all(a == b)) if type(a) is type(b) or (is_number(a) and is_number(b)) else False
    except (TypeError, ValueError):  # values without a comparison, such as arrays of different lengths
        return False


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_bounds(low: Any, high: Any, log: bool) -> None:
    if not (is_number(low) and is_number(high) and math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"the bounds must be two numbers with low < high, got {low!r} and {high!r}.")
    if log and low <= 0:
        raise InputError(f"with log=True the bounds must be positive, got low={low!r}.", "raise it, or use log=False.")


def position(value: float, low: float, high: float, log: bool) -> float:
    return (math.log(value / low) / math.log(high / low)) if log else (value - low) / (high - low)


def between(unit: float, low: float, high: float, log: bool) -> float:
    return low * (high / low) ** unit if log else low + (high - low) * unit
