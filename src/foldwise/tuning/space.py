"""Search spaces: the dimensions of all parameters, their conditions and branches.

A space is a mapping of names to dimensions, or a list of mappings, which are its branches. scikit-learn's parameter
grids and distributions are spaces.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import ParameterCondition, SampledDimension, dimension_of, same


@dataclass(frozen=True)
class SpaceColumn:
    """A parameter of a space in one or more of its branches."""

    name: str
    dimension: Any
    branches: tuple[int, ...]


@dataclass(frozen=True)
class SearchSpace:
    """A space whose dimensions are known.

    A setting has a value for each active parameter. A parameter is active if its branch was chosen and its condition
    holds.
    """

    branches: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, space: Any) -> SearchSpace:
        """Read a mapping of lists, distributions and dimensions, or a list of such mappings."""
        if isinstance(space, SearchSpace):
            return space
        parts = [space] if isinstance(space, Mapping) else list(space)
        if not all(isinstance(one, Mapping) for one in parts):
            raise FoldwiseTypeError(
                f"a search space must be a dict, or a list of dicts, got {space!r}.",
                "pass the values of each parameter by its name.",
            )
        return cls(tuple(in_order({name: dimension_of(name, values) for name, values in one.items()}) for one in parts))

    @cached_property
    def columns(self) -> tuple[SpaceColumn, ...]:
        """All parameters; branches share a parameter that has the same dimension in them."""
        found: list[SpaceColumn] = []
        for number, branch in enumerate(self.branches):
            for name, dimension in branch.items():
                at = next((i for i, one in enumerate(found) if one.name == name and same(one.dimension, dimension)), -1)
                if at < 0:
                    found.append(SpaceColumn(name, dimension, (number,)))
                else:
                    found[at] = SpaceColumn(name, dimension, (*found[at].branches, number))
        return tuple(found)

    @property
    def n_settings(self) -> float:
        """How many settings there are at most; infinite with a float."""
        return sum(math.prod(float(one.n_values) for one in branch.values()) for branch in self.branches)

    def active(self, branch: int, setting: Params) -> Iterator[tuple[str, Any]]:
        """The parameters of a branch whose conditions hold, parents first; the setting may grow meanwhile."""
        for name, dimension in self.branches[branch].items():
            if holds(dimension.when, setting):
                yield name, dimension

    def sample(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a setting: a branch in proportion to its number of settings, then each active parameter."""
        branch = self.draw_branch(rng)
        setting: dict[str, Any] = {}
        for name, dimension in self.active(branch, setting):
            drawn = (
                dimension.sample(rng) if isinstance(dimension, SampledDimension) else dimension.from_unit(rng.random())
            )
            setting[name] = drawn
        return setting

    def draw_branch(self, rng: np.random.Generator) -> int:
        """A branch; where each has finitely many settings, all settings are equally likely."""
        if len(self.branches) == 1:
            return 0
        sizes = np.array([math.prod(float(one.n_values) for one in branch.values()) for branch in self.branches])
        shares = np.ones(len(sizes)) if np.isinf(sizes).any() else sizes
        return int(rng.choice(len(sizes), p=shares / shares.sum()))

    def branch_of(self, setting: Params) -> int:
        """The first branch that contains a setting, or -1."""
        return next((k for k in range(len(self.branches)) if self.in_branch(k, setting)), -1)

    def in_branch(self, branch: int, setting: Params) -> bool:
        active = dict(self.active(branch, setting))
        return active.keys() == setting.keys() and all(one.contains(setting[name]) for name, one in active.items())

    def contains(self, setting: Params) -> bool:
        """Whether a setting has a valid value for each active parameter, and no other."""
        return self.branch_of(setting) >= 0

    def to_units(self, setting: Params) -> NDArray[np.float64]:
        """One number between 0 and 1 per column; NaN where the parameter is not active."""
        branch = self.branch_of(setting)
        active = dict(self.active(branch, setting)) if branch >= 0 else {}
        return np.array(
            [
                one.dimension.to_unit(setting[one.name]) if branch in one.branches and one.name in active else np.nan
                for one in self.columns
            ]
        )

    def from_units(self, units: Sequence[float] | NDArray[np.float64], branch: int = 0) -> dict[str, Any]:
        """The setting of a branch that numbers between 0 and 1 stand for; those of inactive columns are not used."""
        at = {one.name: i for i, one in enumerate(self.columns) if branch in one.branches}
        setting: dict[str, Any] = {}
        for name, dimension in self.active(branch, setting):
            setting[name] = dimension.from_unit(float(units[at[name]]))
        return setting


def in_order(branch: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a branch, each after those that its condition names."""
    found: dict[str, Any] = {}
    left = dict(branch)
    while left:
        ready = [name for name, one in left.items() if not set(one.when or ()) & left.keys()]
        if not ready:
            raise InputError(
                f"the conditions of {', '.join(map(repr, left))} form a cycle.",
                "let each parameter depend on earlier ones only.",
            )
        for name in ready:
            unknown = set(left[name].when or ()) - found.keys()
            if unknown:
                raise InputError(
                    f"parameter {name!r} depends on {min(unknown)!r}, which is not in the space.",
                    "add that parameter, or change the condition.",
                )
        found |= {name: left.pop(name) for name in ready}
    return found


def holds(when: ParameterCondition | None, setting: Params) -> bool:
    """Whether a condition holds in a setting."""
    for name, wanted in (when or {}).items():
        values = wanted if isinstance(wanted, list | tuple | set) else [wanted]
        if name not in setting or not any(same(one, setting[name]) for one in values):
            return False
    return True
