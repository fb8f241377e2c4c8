"""Where gradient search starts: for each combination of discrete values, several points of the continuous ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import qmc

from foldwise.arrays import Floats
from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Dimension, SampledDimension
from foldwise.tuning.space import SearchSpace, holds
from foldwise.tuning.strategies.protocol import Trial, is_tried
from foldwise.tuning.strategies.unit_encoding import levels_of

MOST_COMBINATIONS = 32  # of values of the parameters that are not continuous


def starts(
    space: SearchSpace, estimator: Any, n_starts: int, rng: np.random.Generator
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The starts for each combination of discrete values: the estimator's own numbers and an even design; the ends."""
    own = estimator.get_params(deep=True)
    n_columns, n_even = len(space.columns), min(n_starts - 1, max(2, n_starts - 3))
    even: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    for branch, units in combinations(space, rng):
        design = qmc.Sobol(max(1, n_columns), rng=rng).random_base2(math.ceil(math.log2(n_starts)))
        rows = [[to_unit(one.dimension, own.get(one.name)) for one in space.columns], *design[:n_even, :n_columns]]
        at_ends = [np.ones(n_columns), np.zeros(n_columns)][: n_starts - len(rows)]
        for number, row in enumerate([*rows, *at_ends]):
            mixed = np.where(np.isnan(units), np.asarray(row, dtype=np.float64), units)
            setting = space.from_units(mixed, branch)
            if number == 0:  # exactly, without rounding errors
                setting |= own_values(space, branch, setting, own)
            if not is_tried(setting, [Trial(one, math.nan) for one in even + ends]):
                (even if number < len(rows) else ends).append(setting)
    return even, ends


def combinations(space: SearchSpace, rng: np.random.Generator) -> list[tuple[int, Floats]]:
    """Branches with the positions of their discrete values, each combination once; NaN for other parameters."""
    every = every_combination(space)
    if every is not None:
        return every
    found: list[tuple[int, Floats]] = []
    known: list[Trial] = []
    for units in qmc.Sobol(max(1, len(space.columns)), rng=rng).random_base2(int(math.log2(MOST_COMBINATIONS))):
        branch = space.draw_branch(rng)
        setting = space.from_units(units, branch)
        discrete = {name: value for name, value in setting.items() if not is_continuous(space.branches[branch][name])}
        if not is_tried(discrete, known):
            known.append(Trial(discrete, math.nan))
            found.append((branch, np.where([is_continuous(one.dimension) for one in space.columns], np.nan, units)))
    return found


def every_combination(space: SearchSpace) -> list[tuple[int, Floats]] | None:
    """All combinations of active discrete values; None if there are too many."""
    found: list[tuple[int, Floats]] = []
    for number, branch in enumerate(space.branches):
        at = {one.name: i for i, one in enumerate(space.columns) if number in one.branches}
        parts: list[tuple[dict[str, Any], Floats]] = [({}, np.full(len(space.columns), np.nan))]
        for name, dimension in branch.items():  # parents come before the parameters that depend on them
            if is_continuous(dimension):
                continue
            levels = levels_of(dimension) if dimension.n_values <= MOST_COMBINATIONS else None
            if levels is None:
                return None
            kept = [part for part in parts if not holds(dimension.when, part[0])]
            for setting, units in parts:
                if holds(dimension.when, setting):
                    for level in levels.tolist():
                        more = units.copy()
                        more[at[name]] = level
                        kept.append(({**setting, name: dimension.from_unit(level)}, more))
            parts = kept
        found += [(number, units) for _, units in parts]
        if len(found) > MOST_COMBINATIONS:
            return None
    return found


def to_unit(dimension: Any, value: Any) -> float:
    """The position of a value, or the middle if the dimension does not contain it."""
    return float(dimension.to_unit(value)) if is_continuous(dimension) and dimension.contains(value) else 0.5


def own_values(space: SearchSpace, branch: int, setting: Params, own: Params) -> dict[str, Any]:
    """The estimator's own values of continuous parameters that lie in the space."""
    return {
        name: own[name]
        for name, dimension in space.active(branch, setting)
        if is_continuous(dimension) and dimension.contains(own.get(name))
    }


def is_continuous(dimension: Dimension) -> bool:
    """Whether a parameter may have any value between bounds."""
    return math.isinf(dimension.n_values) and not (isinstance(dimension, SampledDimension) and dimension.discrete)
