"""Conditions of rules, and the integer codes they are tested on: category levels, or intervals between cut points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.levels import sort_levels
from foldwise.data.schema import Level
from foldwise.data.view import View

ConditionCodes = NDArray[np.int32]
MOST_CUTS = 63


@dataclass(frozen=True)
class Condition:
    """A condition on one column: `column = level`, `column <= cut` or `column > cut`. A missing value fails it."""

    column: str
    sign: str  # "=", "<=" or ">"
    value: Level

    def __str__(self) -> str:
        return f"{self.column} {self.sign} {self.value:.6g}" if self.sign != "=" else f"{self.column} = {self.value}"


@dataclass(frozen=True)
class CodingScheme:
    """How columns become integer codes: by the levels of a categorical column or the cut points of a numeric one."""

    names: tuple[str, ...]
    levels: tuple[tuple[Level, ...] | None, ...]  # None for a numeric column
    cuts: tuple[tuple[float, ...], ...]

    def codes(self, table: View) -> ConditionCodes:  # (rows, columns); -1 where missing or unknown
        """Encode rows: the index of a level, or the number of cut points below a value."""
        out = np.empty((table.n_rows, table.n_columns), dtype=np.int32)
        for j, (levels, cuts) in enumerate(zip(self.levels, self.cuts, strict=True)):
            if levels is None:
                cells = numbers_of(table, j)
                out[:, j] = np.where(np.isnan(cells), -1, np.searchsorted(np.array(cuts), cells, side="left"))
            else:
                read = np.empty(table.n_rows, dtype=np.int64)
                table.sources[j].codes(levels)(0, table.n_rows, read)
                out[:, j] = np.where(read < len(levels), read, -1)
        return out

    def n_codes(self, j: int) -> int:
        """Count the codes of a column."""
        levels = self.levels[j]
        return len(self.cuts[j]) + 1 if levels is None else len(levels)

    def condition(self, j: int, sign: str, code: int) -> Condition:
        """Translate a test of codes into a readable condition."""
        levels = self.levels[j]
        return Condition(self.names[j], sign, self.cuts[j][code] if levels is None else levels[code])


def fit_scheme(table: View) -> CodingScheme:
    """Learn the levels of categorical columns and at most 63 cut points per numeric column."""
    levels: list[tuple[Level, ...] | None] = []
    cuts: list[tuple[float, ...]] = []
    for j, source in enumerate(table.sources):
        if source.column.kind == "numeric":
            cells = numbers_of(table, j)
            levels.append(None)
            cuts.append(cut_points(cells[np.isfinite(cells)]))
        else:
            levels.append(sort_levels(source.distinct(0, table.n_rows)))
            cuts.append(())
    return CodingScheme(tuple(column.name for column in table.columns), tuple(levels), tuple(cuts))


def numbers_of(table: View, j: int) -> NDArray[np.float64]:  # (rows,)
    """Read a numeric column; NaN where missing."""
    return np.asarray(table.numbers([j]).chunk(0, table.n_rows).rows, dtype=np.float64)[:, 0]


def cut_points(cells: NDArray[np.float64]) -> tuple[float, ...]:
    """Find cut points midway between adjacent values; at quantiles if there are too many values."""
    values = np.unique(cells)
    if len(values) > MOST_CUTS + 1:
        shares = np.linspace(0, 1, MOST_CUTS + 2)[1:-1]
        edges = np.unique(np.quantile(cells, shares, method="inverted_cdf"))
        edges = edges[edges < values[-1]]
        above = values[np.searchsorted(values, edges, side="right")]
        return tuple((edges / 2 + above / 2).tolist())
    return tuple((values[:-1] / 2 + values[1:] / 2).tolist())


def matches(codes: ConditionCodes, tests: Sequence[tuple[int, str, int]]) -> NDArray[np.bool_]:
    """Mark the rows that pass all tests. A test is a column, a sign and a code."""
    passed = np.ones(len(codes), dtype=np.bool_)
    for test in tests:
        passed &= passes(codes, test)
    return passed


def passes(codes: ConditionCodes, test: tuple[int, str, int]) -> NDArray[Any]:
    """Mark the rows that pass one test. A value <= cut number i has at most i cut points below it."""
    j, sign, code = test
    column = codes[:, j]
    if sign == "=":
        return np.asarray(column == code)
    return np.asarray((column >= 0) & (column <= code) if sign == "<=" else column > code)
