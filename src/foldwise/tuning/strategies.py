"""Search strategies: given the space, the trials so far and a generator, propose the next settings.

A strategy never sees data. Anything with a method `propose` is one; a trial has a `setting` and a `score`, the mean
over the splits of the metric that chooses; an empty list ends the search:

>>> from sklearn.datasets import load_iris
>>> from foldwise import NaiveBayes, SearchCV
>>> class Halving:
...     def propose(self, space, trials, rng):
...         if len(trials) > 1 and trials[-1].score < trials[-2].score:
...             return []
...         return [{"var_floor": 2.0 ** -len(trials)}] if len(trials) < 5 else []
>>> X, y = load_iris(return_X_y=True)
>>> SearchCV(NaiveBayes(), {}, strategy=Halving()).fit(X, y).models_scored_
10
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

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


@runtime_checkable
class Strategy(Protocol):
    """How a search goes through its space: any object with this method, or a name in `NAMED`.

    A search calls `propose` again and again, each time with all trials so far, until it gives no setting. The same
    generator is passed each time, so that a seed determines the whole search.
    """

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        """The next settings to try; none when the search is over."""


@dataclass(frozen=True)
class Grid:
    """Every combination of the values of the space, at once."""

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        if trials:
            return []
        check_lists(space)
        return list(ParameterGrid(space))


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
    if isinstance(strategy, type):
        raise FoldwiseTypeError(
            f"a strategy is an object, but {strategy.__name__} is a class.", "pass an instance of it."
        )
    if not isinstance(strategy, Strategy):
        raise FoldwiseTypeError(f"a strategy needs a method propose(space, trials, rng), but {strategy!r} has none.")
    return strategy


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
