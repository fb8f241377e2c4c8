"""Search strategies propose the next settings, given the search space, the trials so far and a random generator.

A strategy never sees data. Any object with a method `propose` is a strategy. A trial has a `setting` and a `score`, the
mean over splits of the metric that selects. An empty list ends the search:

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
    """A setting that was scored.

    Attributes
    ----------
    setting : dict
        The setting, i.e. one combination of parameter values.
    score : float
        Its mean score over splits by the metric that selects; NaN if it failed.

    Examples
    --------
    >>> from foldwise.tuning import Trial
    >>> Trial({"alpha": 0.5}, 0.93).score
    0.93
    """

    setting: Params
    score: float


@runtime_checkable
class Strategy(Protocol):
    """The interface of search strategies: any object with a method `propose`.

    A search calls `propose` with all trials so far until it returns no settings. The same generator is passed each
    time, so that a seed determines the whole search.

    Examples
    --------
    >>> from foldwise.tuning import Grid, Strategy
    >>> isinstance(Grid(), Strategy)
    True
    """

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        """Propose the next settings.

        Parameters
        ----------
        space : mapping or list of mappings
            The search space: lists of values, or distributions, by parameter.
        trials : sequence of Trial
            All settings scored so far.
        rng : numpy.random.Generator
            The generator of the search.

        Returns
        -------
        sequence of dict
            The settings to score next; empty when the search is over.
        """


@dataclass(frozen=True)
class Grid:
    """Try every combination of values.

    Examples
    --------
    >>> from foldwise.tuning import Grid
    >>> Grid().propose({"alpha": [0.1, 1.0]}, [], None)
    [{'alpha': 0.1}, {'alpha': 1.0}]
    """

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        """Propose all combinations at once.

        Parameters
        ----------
        space : mapping or list of mappings
            Lists of values by parameter.
        trials : sequence of Trial
            All settings scored so far.
        rng : numpy.random.Generator
            Not used.

        Returns
        -------
        sequence of dict
            All settings; empty once they were tried.
        """
        if trials:
            return []
        check_lists(space)
        return list(ParameterGrid(space))


@dataclass(frozen=True)
class Random:
    """Try random settings.

    Parameters
    ----------
    n_iter : int, default 10
        Number of settings.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, SearchCV
    >>> from foldwise.tuning import Random
    >>> search = SearchCV(NaiveBayes(), {"var_floor": loguniform(1e-9, 1)}, strategy=Random(n_iter=5))
    >>> len(search.fit(*load_iris(return_X_y=True)).cv_results_["params"])
    5
    """

    n_iter: int = 10

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        """Propose all random settings at once.

        Parameters
        ----------
        space : mapping or list of mappings
            Lists of values, or distributions with a method `rvs`, by parameter.
        trials : sequence of Trial
            All settings scored so far.
        rng : numpy.random.Generator
            The generator of the search.

        Returns
        -------
        sequence of dict
            The settings; empty once they were tried.
        """
        if trials:
            return []
        return list(ParameterSampler(space, self.n_iter, random_state=int(rng.integers(2**31))))


NAMED: dict[str, type[Any]] = {"grid": Grid, "random": Random}


def strategy_of(strategy: Any) -> Strategy:
    """Return the strategy of a name, or the object itself."""
    if isinstance(strategy, str):
        if strategy not in NAMED:
            raise InputError(
                f"strategy must be {' or '.join(map(repr, NAMED))}, or an object with a method "
                f"propose(space, trials, rng), got {strategy!r}."
            )
        named: Strategy = NAMED[strategy]()
        return named
    if isinstance(strategy, type):
        raise FoldwiseTypeError(
            f"strategy must be an object, but {strategy.__name__} is a class.", f"pass {strategy.__name__}()."
        )
    if not isinstance(strategy, Strategy):
        raise FoldwiseTypeError(f"strategy must have a method propose(space, trials, rng), but {strategy!r} does not.")
    return strategy


def check_lists(space: Space) -> None:
    """Raise an error for a distribution in a grid, which needs lists of values."""
    for part in [space] if isinstance(space, Mapping) else list(space):
        for name, values in part.items() if hasattr(part, "items") else ():  # ParameterGrid reports other errors
            if hasattr(values, "rvs"):
                raise FoldwiseTypeError(
                    f"Parameter grid for parameter {name!r} needs to be a list or a numpy array, but it is a "
                    "distribution.",
                    "list its values, or search with strategy='random'.",
                )
