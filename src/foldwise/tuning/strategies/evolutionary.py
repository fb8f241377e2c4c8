"""Evolution: good settings are recombined and changed a little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Space
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.grid import design
from foldwise.tuning.strategies.protocol import Strategy, Trial, finished, search_generator, untried


@dataclass(frozen=True)
class Evolutionary(Strategy):
    """Recombine and change the best settings, generation after generation.

    The first generation fills the space evenly. The parents of a setting are the winners of two tournaments among the
    best trials so far. Each parameter comes from one of the parents. Numbers are changed by a Gaussian step on their
    scale, which becomes smaller from generation to generation; choices are drawn again.

    Parameters
    ----------
    population : int, default 12
        Settings per generation. A generation can be scored in parallel.
    tournament : int, default 3
        Settings that are compared to find a parent. A larger number converges faster and explores less.
    mutation : float, default 0.3
        Probability that a parameter is changed.
    step : float, default 0.2
        Standard deviation of the first steps, as a share of the range.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from foldwise import SearchCV
    >>> from foldwise.tuning import Evolutionary, Float
    >>> space = {"C": Float(0.03, 30_000, log=True), "gamma": Float(3e-5, 8, log=True)}
    >>> search = SearchCV(SVC(), space, strategy=Evolutionary(population=6), n_trials=18, random_state=0)
    >>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.97)
    True
    """

    population: int = 12
    tournament: int = 3
    mutation: float = 0.3
    step: float = 0.2

    @property
    def batch(self) -> int:
        """Settings that are proposed before their scores are needed: a generation."""
        return self.population

    def generation_size(self, space: Any) -> int:
        """Settings per generation: `population`.

        Parameters
        ----------
        space : mapping, list of mappings or SearchSpace
            The search space.

        Returns
        -------
        int
            The size of a generation.
        """
        return self.population

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        known, number = SearchSpace.of(space), len(trials)
        if number < self.population:
            first = design(known, self.population, search_generator(rng))[number]
            return untried(trials, iter([first]).__next__, attempts=1) or untried(trials, lambda: known.sample(rng))
        ranked = sorted(finished(trials), key=lambda one: one.score, reverse=True)[: self.population]
        if not ranked:
            return untried(trials, lambda: known.sample(rng))
        step = self.step / np.sqrt(number // self.population)
        found = untried(trials, lambda: self._child(known, ranked, rng, step))
        return found or untried(trials, lambda: known.sample(rng))

    def _child(
        self, space: SearchSpace, ranked: Sequence[Trial], rng: np.random.Generator, step: float
    ) -> dict[str, Any]:
        """A setting whose parents are two of the ranked trials."""
        mother, father = (ranked[int(rng.integers(len(ranked), size=self.tournament).min())] for _ in range(2))
        branch = space.branch_of(mother.setting if rng.random() < 0.5 else father.setting)
        if branch < 0:  # a setting supplied by the user, outside the space
            return space.sample(rng)
        genes = [space.to_units(one.setting) for one in (mother, father)]
        units = np.where(rng.random(len(space.columns)) < 0.5, *genes)
        units = np.where(np.isnan(units), np.where(np.isnan(genes[0]), genes[1], genes[0]), units)
        units = np.where(np.isnan(units), rng.random(len(units)), units)  # inactive in both parents
        for i, column in enumerate(space.columns):
            if rng.random() < max(self.mutation, 1 / len(units)):
                ordered = column.dimension.ordered
                units[i] = reflected(units[i] + rng.normal(0, step)) if ordered else rng.random()
        return space.from_units(units, branch)


def reflected(unit: float) -> float:
    """A number brought back between 0 and 1, as by mirrors at both ends."""
    folded = abs(unit) % 2
    return float(2 - folded if folded > 1 else folded)
