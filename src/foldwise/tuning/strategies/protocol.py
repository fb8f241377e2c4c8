"""What a search strategy is: an object that proposes the next settings, given the space and the trials so far.

A strategy sees no data, unless it has a method `bind` (`DataStrategy`): a search calls `bind(data)` once with its
estimator, rows and splits, and then asks the strategy that it returns. Any object with a method `propose` is a
strategy. An empty list ends the search:

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

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np

from foldwise.arrays import Floats
from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Space, same

if TYPE_CHECKING:
    from foldwise.tuning.smooth_losses import SearchData


@dataclass(frozen=True)
class Trial:
    """A setting that was proposed, and what is known about it.

    Attributes
    ----------
    setting : dict
        The setting, i.e. one combination of parameter values.
    score : float
        Its mean score over splits by the metric that selects; NaN if it failed or is still running.
    state : {"finished", "running", "failed"}
        Whether its score is known.
    error : float
        Standard error of the score over splits; NaN if unknown.

    Examples
    --------
    >>> from foldwise.tuning import Trial
    >>> Trial({"alpha": 0.5}, 0.93).score
    0.93
    """

    setting: Params
    score: float
    state: Literal["finished", "running", "failed"] = "finished"
    error: float = math.nan


@runtime_checkable
class Strategy(Protocol):
    """The interface of search strategies: any object with a method `propose`.

    A search calls `propose` with all trials so far until it returns no settings, or until the search has made
    all its trials. The generator of each call follows from the seed of the search and the number of trials, so that a
    search can be repeated from its trials. If a strategy has an attribute `batch` (`BatchStrategy`), `propose` is
    called that many times before the settings are scored; those already proposed are running trials. A strategy keeps
    no state of its own.

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
            The search space: lists of values, distributions or dimensions, by parameter.
        trials : sequence of Trial
            All settings proposed so far: finished, failed and running.
        rng : numpy.random.Generator
            The generator of this call.

        Returns
        -------
        sequence of dict
            The settings to score next; empty when the search is over.
        """


@runtime_checkable
class BatchStrategy(Strategy, Protocol):
    """A strategy that learns from scores and proposes one setting at a time, so many before any of them is scored."""

    @property
    def batch(self) -> int: ...


@runtime_checkable
class DataStrategy(Strategy, Protocol):
    """A strategy that looks at the rows of a search: the one that `bind` returns is asked in its place."""

    def bind(self, data: SearchData) -> Strategy: ...


@runtime_checkable
class ForecastingStrategy(Strategy, Protocol):
    """A strategy that knows how much the best untried setting may still improve the score."""

    def expected_improvement(self, space: Space, trials: Sequence[Trial]) -> float: ...


@runtime_checkable
class GenerationStrategy(Strategy, Protocol):
    """A strategy that proposes its settings in generations, which a picture shows."""

    def generation_size(self, space: Any) -> int: ...


@runtime_checkable
class DescentStrategy(Strategy, Protocol):
    """A strategy that remembers its steps downhill, which a picture shows: settings with their losses."""

    @property
    def paths(self) -> list[list[tuple[Params, float]]]: ...


def trial_generator(seed: int, number: int) -> np.random.Generator:
    """The generator for a proposal after so many trials."""
    return np.random.default_rng([seed, number])


def search_generator(rng: np.random.Generator) -> np.random.Generator:
    """A generator that is the same in all calls of one search, found from the generator of one call."""
    entropy = getattr(rng.bit_generator.seed_seq, "entropy", 0)
    return np.random.default_rng(entropy[0] if isinstance(entropy, list | tuple) else entropy)


def scored_trial(setting: Params, scores: Floats) -> Trial:
    """The trial of a setting with its scores on the splits."""
    mean, n = float(np.average(scores)), len(scores)
    error = float(np.std(scores, ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return Trial(setting, mean, "finished" if math.isfinite(mean) else "failed", error)


def as_running(setting: Params) -> Trial:
    """The trial of a setting that has not been scored."""
    return Trial(setting, math.nan, "running")


def is_tried(setting: Params, trials: Sequence[Trial]) -> bool:
    """Whether a setting is among the trials."""
    return any(
        one.setting.keys() == setting.keys() and all(same(one.setting[name], setting[name]) for name in setting)
        for one in trials
    )


def finished(trials: Sequence[Trial]) -> list[Trial]:
    """The trials whose scores are known."""
    return [one for one in trials if one.state == "finished" and math.isfinite(one.score)]


def untried(trials: Sequence[Trial], draw: Any, attempts: int = 100) -> list[Params]:
    """A setting of `draw` that is not among the trials, as a list; empty if none is found in so many attempts."""
    for _ in range(attempts):
        setting = draw()
        if not is_tried(setting, trials):
            return [setting]
    return []
