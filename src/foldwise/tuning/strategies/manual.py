"""Settings that a person chooses, from a table that can be edited between rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Space
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import Trial, is_tried
from foldwise.tuning.trial_table import read_settings


@dataclass(frozen=True)
class Manual:
    """Try settings that you list.

    Parameters
    ----------
    settings : list of dict, frame or path of a CSV
        The settings, one per row. A missing cell means that the parameter is not set. Columns "score", "state" and
        "std" are not read, so that the table of an earlier round can be edited. A file is read again whenever the
        search asks for settings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from foldwise import SearchCV
    >>> from foldwise.tuning import Float, Manual
    >>> settings = [{"C": 1.0}, {"C": 30.0}]
    >>> search = SearchCV(SVC(), {"C": Float(0.01, 100)}, strategy=Manual(settings))
    >>> search.fit(*load_iris(return_X_y=True)).best_params_
    {'C': 30.0}
    """

    settings: Any

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        """Propose the settings that have not been tried.

        Parameters
        ----------
        space : mapping or list of mappings
            The search space, which must contain the settings unless it is empty.
        trials : sequence of Trial
            All settings proposed so far.
        rng : numpy.random.Generator
            Not used.

        Returns
        -------
        sequence of dict
            The settings; empty once all were tried.
        """
        known = SearchSpace.of(space)
        listed = read_settings(self.settings, known)
        for one in listed:
            if any(known.branches) and not known.contains(one):
                raise InputError(
                    f"setting {dict(one)} is not in the search space.", "change the setting, or the space."
                )
        return [one for one in listed if not is_tried(one, trials)]
