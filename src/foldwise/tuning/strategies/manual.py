"""Settings that a person chooses: from a table that can be edited between rounds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds.protocol import Params
from foldwise.tuning.space import SearchSpace, Space
from foldwise.tuning.strategies.protocol import Trial, is_tried

RESULTS = ("score", "state", "std")  # columns of a table that are not parameters


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


def read_settings(given: Any, space: SearchSpace) -> list[dict[str, Any]]:
    """The settings of a list, a frame or a CSV file."""
    if isinstance(given, str | Path):
        given = pl.read_csv(given, infer_schema_length=None)
    if hasattr(given, "to_dict") and not isinstance(given, pl.DataFrame):  # pandas
        given = pl.from_pandas(given)
    if isinstance(given, pl.DataFrame):
        given = given.drop(RESULTS, strict=False).to_dicts()
    if not isinstance(given, Sequence) or not all(isinstance(one, Mapping) for one in given):
        raise FoldwiseTypeError(
            f"settings must be a list of dicts, a frame or the path of a CSV file, got {type(given).__name__}."
        )
    cells = [{str(k): v for k, v in one.items() if v is not None and v == v} for one in given]
    return [{name: as_value(name, value, space) for name, value in one.items()} for one in cells]


def as_value(name: str, cell: Any, space: SearchSpace) -> Any:
    """The value of the space that a cell of a table means: 3 for 3.0, and (8, 4) for the text "[8, 4]"."""
    dimensions = [branch[name] for branch in space.branches if name in branch]
    if any(one.contains(cell) for one in dimensions):
        whole = isinstance(cell, float) and cell == int(cell) and any(one.n_values < np.inf for one in dimensions)
        return int(cell) if whole and not any(one.contains(0.5) for one in dimensions) else cell
    values = [value for one in dimensions for value in getattr(one, "values", ())]
    return next((value for value in values if as_cell(value) == cell or str(value) == str(cell)), cell)


def as_cell(value: Any) -> Any:
    """A value as a cell of a table: a number or a text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    try:
        return json.dumps(value)
    except TypeError:
        return str(value)
