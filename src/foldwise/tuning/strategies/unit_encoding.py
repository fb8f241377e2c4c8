"""Settings as rows of numbers, for models of the score: which columns are active, and on which levels values lie.

A row has one number between 0 and 1 per column of the space, also for columns that are not active. Spaces with several
branches have one more column, the first, for the branch. What a column means for the distance between two settings is
decided here, too:

- an ordered column is one feature, its number;
- an unordered column has one feature per value, and two different values have the distance 1;
- a column with a condition is bent to an arc around the origin, and inactive values lie at the origin. All active
  values have the same distance from it, so settings of different branches are not compared by values that only one
  of them has (Swersky et al. 2014, arXiv 1409.4011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Bools, Floats
from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Choice, Int, SampledDimension
from foldwise.tuning.space import SearchSpace, holds

MOST_LEVELS = 256  # a whole number with more values is treated as a float, and rounded at the end
RADIUS = 2 / np.pi  # of the arc: its length is 1
SPREAD = 1 / np.sqrt(2)  # of the features of an unordered column: two values have the distance 1


@dataclass(frozen=True)
class UnitColumn:
    """A column of the rows: the levels of its numbers, None for a float, and how it becomes features."""

    levels: Floats | None
    ordered: bool
    conditional: bool

    @property
    def n_features(self) -> int:
        if self.ordered:
            return 2 if self.conditional else 1
        return 1 if self.levels is None else len(self.levels)


@dataclass(frozen=True)
class UnitEncoding:
    """The rows of numbers that stand for the settings of a space."""

    space: SearchSpace

    @property
    def offset(self) -> int:
        """Index of the first parameter: 1 if there is a column for the branch."""
        return int(len(self.space.branches) > 1)

    @cached_property
    def columns(self) -> tuple[UnitColumn, ...]:
        n_branches = len(self.space.branches)
        first = [UnitColumn((np.arange(n_branches) + 0.5) / n_branches, False, False)] if self.offset else []
        return (
            *first,
            *(
                UnitColumn(
                    levels_of(one.dimension),
                    bool(one.dimension.ordered),
                    len(one.branches) < n_branches or bool(one.dimension.when),
                )
                for one in self.space.columns
            ),
        )

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """The column of each feature."""
        return np.repeat(np.arange(len(self.columns)), [one.n_features for one in self.columns])

    @cached_property
    def ordered(self) -> NDArray[np.intp]:
        """The columns whose numbers have an order."""
        return np.array([i for i, one in enumerate(self.columns) if one.ordered], dtype=np.intp)

    @cached_property
    def discrete(self) -> tuple[int, ...]:
        return tuple(i for i, one in enumerate(self.columns) if one.levels is not None)

    @cached_property
    def _conditions(self) -> list[list[tuple[int, list[tuple[int, Floats]]]]]:
        """Per branch, parents first: a column, and the columns and numbers that it needs."""
        found = []
        for number, branch in enumerate(self.space.branches):
            at = {one.name: i + self.offset for i, one in enumerate(self.space.columns) if number in one.branches}
            steps = []
            for name, dimension in branch.items():
                when = dimension.when or {}
                needs = [(at[parent], allowed_units(branch[parent], parent, wanted)) for parent, wanted in when.items()]
                steps.append((at[name], needs))
            found.append(steps)
        return found

    def branches_of(self, rows: Floats) -> NDArray[np.intp]:
        """The branch of each row."""
        if not self.offset:
            return np.zeros(len(rows), dtype=np.intp)
        n_branches = len(self.space.branches)
        return np.minimum((rows[:, 0] * n_branches).astype(np.intp), n_branches - 1)

    def active(self, rows: Floats) -> Bools:
        """Which columns are active in each row."""
        found = np.zeros(rows.shape, dtype=bool)
        found[:, : self.offset] = True
        branches = self.branches_of(rows)
        for number, steps in enumerate(self._conditions):
            here = branches == number
            for column, needs in steps:
                holding = here.copy()
                for parent, units in needs:
                    near = np.abs(rows[:, parent, None] - units[None, :]) < 1e-9
                    holding &= found[:, parent] & near.any(axis=1)
                found[:, column] |= holding
        return found

    def snapped(self, rows: Floats) -> Floats:
        """Rows whose numbers lie on levels, where a column has levels."""
        found = np.clip(rows, 0.0, 1.0)
        for i in self.discrete:
            levels = self.columns[i].levels
            assert levels is not None
            if self.columns[i].ordered:
                edges = (levels[1:] + levels[:-1]) / 2
                found[:, i] = levels[np.searchsorted(edges, found[:, i])]
            else:
                found[:, i] = levels[np.minimum((found[:, i] * len(levels)).astype(np.intp), len(levels) - 1)]
        return found

    def to_rows(self, settings: Sequence[Params]) -> tuple[Floats, Bools]:
        """The row of each setting, with 0.5 where a column is not active; and whether the setting is in the space."""
        known = np.array([self.space.branch_of(one) for one in settings], dtype=np.intp)
        rows = np.full((len(settings), len(self.columns)), 0.5)
        for row, branch, setting in zip(rows, known, settings, strict=True):
            if branch >= 0:
                row[self.offset :] = self.space.to_units(setting)
                if self.offset:
                    row[0] = (branch + 0.5) / len(self.space.branches)
        return np.clip(np.where(np.isnan(rows), 0.5, rows), 0.0, 1.0), known >= 0

    def to_setting(self, row: Floats) -> dict[str, Any]:
        """The setting that a row stands for."""
        return self.space.from_units(row[self.offset :], int(self.branches_of(row[None, :])[0]))

    def features(self, rows: Floats, active: Bools) -> Floats:
        """The coordinates of rows whose squared differences are the distances between settings."""
        parts = []
        for i, column in enumerate(self.columns):
            numbers, on = rows[:, i], active[:, i]
            if column.ordered and not column.conditional:
                parts.append(numbers[:, None])
            elif column.ordered:
                angle = numbers * np.pi / 2
                parts.append(RADIUS * on[:, None] * np.column_stack([np.sin(angle), np.cos(angle)]))
            elif column.levels is None:
                parts.append(np.where(on, numbers, 0.0)[:, None])
            else:
                n = len(column.levels)
                which = np.minimum((numbers * n).astype(np.intp), n - 1)
                parts.append(SPREAD * on[:, None] * (which[:, None] == np.arange(n)))
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(rows), 0))

    def features_to_rows(self, rows: Floats, active: Bools, slopes: Floats) -> Floats:
        """The derivative by each number of ordered columns, given that by each feature; 0 for other columns."""
        found, at = np.zeros(rows.shape), 0
        for i, column in enumerate(self.columns):
            if column.ordered and not column.conditional:
                found[:, i] = slopes[:, at]
            elif column.ordered:
                angle = rows[:, i] * np.pi / 2
                turned = np.cos(angle) * slopes[:, at] - np.sin(angle) * slopes[:, at + 1]
                found[:, i] = active[:, i] * turned  # radius · pi / 2 is 1
            at += column.n_features
        return found


def levels_of(dimension: Any) -> Floats | None:
    """The numbers that stand for the values of a dimension, if there are only a few."""
    if isinstance(dimension, SampledDimension):
        dimension.quantiles()  # an error for a distribution that can only be drawn from
    if isinstance(dimension, Choice):
        return (np.arange(dimension.n_values) + 0.5) / dimension.n_values
    if not dimension.n_values <= MOST_LEVELS:
        return None
    if isinstance(dimension, Int):
        values: Sequence[Any] = range(int(dimension.low), int(dimension.high) + 1)
    elif isinstance(dimension, SampledDimension):
        low, high = dimension.distribution.support()
        values = range(int(low), int(high) + 1)
    else:  # a dimension of someone else
        units = (np.arange(4 * int(dimension.n_values)) + 0.5) / (4 * int(dimension.n_values))
        return np.unique([dimension.to_unit(dimension.from_unit(float(one))) for one in units])
    return np.unique([dimension.to_unit(one) for one in values])


def allowed_units(dimension: Any, name: str, wanted: Any) -> Floats:
    """The numbers that stand for the wanted values of a parent."""
    values = wanted if isinstance(wanted, list | tuple | set) else [wanted]
    found = [one for one in values if dimension.contains(one) and holds({name: wanted}, {name: one})]
    return np.array([dimension.to_unit(one) for one in found], dtype=float)
