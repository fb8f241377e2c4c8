"""Search strategies: given the space, the trials so far and a generator, propose the next settings.

A strategy never sees data. Anything with a method `propose` is one:

>>> class Halve:
...     def propose(self, space, trials, rng):
...         return [{"alpha": 2.0 ** -len(trials)}] if len(trials) < 3 else []
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds.protocol import Params

Space = Mapping[str, Any] | Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Trial:
    """A setting that was tried, and its mean score over the splits by the metric that chooses; NaN if it failed."""

    setting: Params
    score: float


class Strategy(Protocol):
    """How a search goes through its space."""

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        """The next settings to try; none when the search is over."""


@dataclass(frozen=True)
class Grid:
    """Every combination of the values of the space, at once."""

    _made: dict[int, tuple[Space, list[Params]]] = field(default_factory=dict, repr=False, compare=False)

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        if trials:
            return []
        if id(space) not in self._made:  # searches inside outer folds ask again, and sessions know settings they met
            check_lists(space)
            self._made[id(space)] = (space, list(ParameterGrid(space)))
        return self._made[id(space)][1]


@dataclass(frozen=True)
class Random:
    """`n_iter` random draws: lists are drawn from evenly, anything with `rvs` (scipy's distributions) by itself."""

    n_iter: int = 10

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        if trials:
            return []
        return list(ParameterSampler(space, self.n_iter, random_state=int(rng.integers(2**31))))


NAMED: dict[str, type[Any]] = {"grid": Grid, "random": Random}


def strategy_of(strategy: Any) -> Strategy:
    """The strategy of a name, or the object itself."""
    if isinstance(strategy, str):
        if strategy not in NAMED:
            raise InputError(
                f"there is no strategy {strategy!r}.",
                f"one of {', '.join(map(repr, NAMED))}, or an object with a method propose(space, trials, rng).",
            )
        named: Strategy = NAMED[strategy]()
        return named
    if not hasattr(strategy, "propose"):
        raise FoldwiseTypeError(f"a strategy needs a method propose(space, trials, rng), but {strategy!r} has none.")
    found: Strategy = strategy
    return found


def check_lists(space: Space) -> None:
    """Refuse a distribution in a grid: it has no list of values."""
    for part in [space] if isinstance(space, Mapping) else list(space):
        for name, values in part.items() if hasattr(part, "items") else ():  # ParameterGrid says what is wrong
            if hasattr(values, "rvs"):
                raise FoldwiseTypeError(
                    f"Parameter grid for parameter {name!r} needs to be a list or a numpy array, but it is a "
                    "distribution.",
                    "list its values, or search with strategy='random'.",
                )
