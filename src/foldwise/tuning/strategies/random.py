"""Random settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Space
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import Trial, untried


@dataclass(frozen=True)
class Random:
    """Try random settings. The search says how many.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, SearchCV
    >>> search = SearchCV(NaiveBayes(), {"var_floor": loguniform(1e-9, 1)}, strategy="random", n_trials=5)
    >>> len(search.fit(*load_iris(return_X_y=True)).cv_results_["params"])
    5
    """

    batch = 10_000  # no setting waits for the score of another

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        """Propose a random setting.

        Parameters
        ----------
        space : mapping or list of mappings
            Lists of values, distributions with a method `rvs`, or dimensions, by parameter.
        trials : sequence of Trial
            All settings proposed so far.
        rng : numpy.random.Generator
            The generator of this call.

        Returns
        -------
        sequence of dict
            A setting; empty if all settings of a finite space were tried.
        """
        known = SearchSpace.of(space)
        finite = known.n_settings < 100_000
        return untried(trials if finite else (), partial(known.sample, rng), attempts=1_000)
