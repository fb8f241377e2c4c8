"""Every combination of values, or a design that fills the space evenly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import qmc
from sklearn.model_selection import ParameterGrid

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Dimension, Float, Int, Space, same
from foldwise.tuning.space import SearchSpace, holds
from foldwise.tuning.strategies.protocol import Strategy, Trial, is_tried, search_generator


@dataclass(frozen=True)
class Grid:
    """Try every combination of values.

    Parameters
    ----------
    n_points : int, default 5
        Number of values of each `Float` and `Int`, evenly spaced on their scale. Lists of values are used as they are.

    Examples
    --------
    >>> from foldwise.tuning import Float, Grid
    >>> Grid().propose({"alpha": [0.1, 1.0]}, [], None)
    [{'alpha': 0.1}, {'alpha': 1.0}]
    >>> Grid(n_points=3).propose({"C": Float(0.5, 2, log=True)}, [], None)
    [{'C': 0.5}, {'C': 1.0}, {'C': 2.0}]
    """

    n_points: int = 5

    def propose(self, space: Space, trials: Sequence[Trial], rng: Any) -> Sequence[Params]:
        """Propose all combinations that have not been tried.

        Parameters
        ----------
        space : mapping or list of mappings
            Lists of values, `Float` or `Int`, by parameter.
        trials : sequence of Trial
            All settings proposed so far.
        rng : numpy.random.Generator
            Not used.

        Returns
        -------
        sequence of dict
            All settings; empty once they were tried.
        """
        check_lists(space)
        parts = [space] if isinstance(space, Mapping) else list(space)
        are_dicts = all(isinstance(part, Mapping) for part in parts)  # otherwise scikit-learn says what must hold
        if are_dicts and any(isinstance(values, Dimension) for part in parts for values in part.values()):
            settings = list(grid_points(SearchSpace.of(space), self.n_points))
        else:
            settings = list(ParameterGrid(space))
        return [one for one in settings if not is_tried(one, trials)] if trials else settings


def grid_points(space: SearchSpace, n_points: int) -> Iterator[dict[str, Any]]:
    """All combinations in a space with bounds and conditions, each once."""
    for number, dimensions in enumerate(space.branches):
        found: list[dict[str, Any]] = [{}]
        for name, dimension in dimensions.items():  # parents come before the parameters that depend on them
            values, when = grid_values(dimension, n_points), dimension.when
            found = [
                {**one, name: value} if active else one
                for one in found
                for active in [holds(when, one)]
                for value in (values if active else [None])
            ]
        yield from (one for one in found if not any(on_grid(space, k, one, n_points) for k in range(number)))


def on_grid(space: SearchSpace, branch: int, setting: Params, n_points: int) -> bool:
    """Whether the grid of a branch contains a setting."""
    return space.in_branch(branch, setting) and all(
        any(same(value, one) for one in grid_values(space.branches[branch][name], n_points))
        for name, value in setting.items()
    )


def grid_values(dimension: Any, n_points: int) -> list[Any]:
    """The values of one parameter."""
    if isinstance(dimension, Float | Int):
        return list(dict.fromkeys(dimension.from_unit(u) for u in np.linspace(0, 1, n_points)))
    return list(dimension.values)


@dataclass(frozen=True)
class Design(Strategy):
    """Try settings that fill the space more evenly than random ones.

    Parameters
    ----------
    size : int, default 32
        Number of settings. A power of two is best for "sobol".
    kind : {"sobol", "latin_hypercube"}, default "sobol"
        The design.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.tuning import Design, Float
    >>> len(Design(8).propose({"C": Float(0.01, 100, log=True)}, [], np.random.default_rng(0)))
    8
    """

    size: int = 32
    kind: Literal["sobol", "latin_hypercube"] = "sobol"

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        found = design(SearchSpace.of(space), self.size, search_generator(rng), self.kind)
        kept: list[Trial] = []
        for one in found:
            if not is_tried(one, [*trials, *kept]):
                kept.append(Trial(one, float("nan"), "running"))
        return [one.setting for one in kept]


def design(space: SearchSpace, size: int, rng: np.random.Generator, kind: str = "sobol") -> list[dict[str, Any]]:
    """Settings that fill a space evenly, also its branches."""
    n_columns = max(1, len(space.columns))
    if kind not in ("sobol", "latin_hypercube"):
        raise InputError(f"kind must be 'sobol' or 'latin_hypercube', got {kind!r}.")
    if kind == "sobol":
        engine = qmc.Sobol(n_columns + 1, rng=rng)
        units = engine.random_base2(max(0, int(np.ceil(np.log2(max(size, 1))))))[:size]
    else:
        units = qmc.LatinHypercube(n_columns + 1, rng=rng).random(size)
    n_branches = len(space.branches)
    branches = np.minimum((units[:, 0] * n_branches).astype(int), n_branches - 1)
    return [space.from_units(row[1:], int(branch)) for row, branch in zip(units, branches, strict=True)]


def check_lists(space: Space) -> None:
    """Raise an error for a distribution in a grid, which needs lists of values."""
    for part in [space] if isinstance(space, Mapping) else list(space):
        for name, values in part.items() if hasattr(part, "items") else ():  # ParameterGrid reports other errors
            if hasattr(values, "rvs"):
                raise FoldwiseTypeError(
                    f"Parameter grid for parameter {name!r} needs to be a list or a numpy array, but it is a "
                    "distribution.",
                    "list its values, give bounds with Float or Int, or search with strategy='random'.",
                )
