"""The input of all leak checks: columns, labels and splits in one form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from foldwise.arrays import Bools, Ints
from foldwise.data.findings import Finding, find
from foldwise.evaluation.leaks.likeness import Likeness
from foldwise.folds.splits import Split

EXAMPLES = 5


@dataclass(frozen=True)
class LeakInput:
    """A table with its splits."""

    X: Any  # as passed
    frame: pl.DataFrame  # its columns; empty for a sparse matrix
    n_rows: int
    labels: pl.Series | None
    quantity: bool  # whether the labels are numbers, not classes
    splits: Sequence[Split]
    coded: dict[str, Ints] = field(default_factory=dict)  # codes of columns computed so far

    @property
    def n_tested(self) -> int:
        return sum(len(split.test) for split in self.splits)

    @cached_property
    def likeness(self) -> Likeness | None:
        """The likeness of labels; None if some are missing."""
        if self.labels is None or self.labels.null_count():
            return None
        if self.quantity:
            values = self.labels.cast(pl.Float64).to_numpy()
            return Likeness(values) if bool(np.isfinite(values).all()) else None
        return Likeness(codes_of(self.labels))

    def codes(self, name: str) -> Ints:
        """Return the codes of a column, ordered as its numbers or dates; -1 is missing."""
        if name not in self.coded:
            self.coded[name] = codes_of(self.frame[name])
        return self.coded[name]

    @cached_property
    def findings(self) -> dict[str, Finding]:
        """The detected type of each column."""
        return {column.name: find(column) for column in self.frame}

    def shared(self, units: Ints) -> Iterator[tuple[Split, Bools]]:
        """Yield each split with a mask of the test rows whose unit has a training row; negative units do not count."""
        n_units = int(units.max(initial=-1)) + 1
        for split in self.splits:
            trained = np.zeros(n_units + 1, dtype=bool)
            trained[units[split.train]] = True
            trained[-1] = False  # where -1 points to
            yield split, trained[units[split.test]]


def codes_of(series: pl.Series) -> Ints:
    """Encode equal values as equal numbers from 0; missing cells are -1."""
    if series.dtype.is_float():
        series = series.fill_nan(None)
    if series.dtype.is_numeric() or series.dtype.is_temporal() or series.dtype == pl.Boolean:
        return np.asarray(series.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1, dtype=np.int64)
    # a dictionary is faster than a sort of strings
    physical = series.cast(pl.String, strict=False).cast(pl.Categorical).to_physical()
    codes = physical.cast(pl.Int64).fill_null(-1).to_numpy()
    there = np.bincount(codes + 1)[1:] > 0
    return np.asarray(np.append(np.cumsum(there) - 1, -1)[codes], dtype=np.int64)


def some(rows: Any) -> tuple[int, ...]:
    """Return the first few row indices as examples."""
    return tuple(int(row) for row in rows[:EXAMPLES])
