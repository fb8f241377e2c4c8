"""Rows that are left out in turn, and what is left of sums without the part of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from foldwise.bayes.families.protocol import ClassTotals, Setting
from foldwise.summaries.alignment import EPS, weight_left
from foldwise.summaries.number_kernels import Floats, Ints

Bools = NDArray[np.bool_]

ACCEPTED = 1e-12  # relative error of a fact; a row past it is answered by a refit
LEAST = 8 * EPS / ACCEPTED  # the share of a sum that must stay for that


@dataclass(frozen=True)
class LeftOutRows:
    """Rows left out in turn: their classes and weights, and the classes of all rows."""

    y: Ints  # (m,)
    weight: Floats  # (m,)
    seen: Bools  # (m,), of a weight above 0: the others were never learned, so nothing is taken away
    totals: ClassTotals  # of all rows
    whole: bool  # whether weights are whole numbers, of which differences are exact

    @property
    def n_classes(self) -> int:
        return len(self.totals.weight)

    @property
    def own(self) -> Bools:  # (m, K)
        """Marks the class of each row, if the row was learned."""
        return np.asarray((np.arange(self.n_classes) == self.y[:, None]) & self.seen[:, None])

    def taken(self, held: Bools) -> tuple[Floats, Floats]:  # (m, …) -> (m, K, …) both
        """Weight and rows that each row takes from each class, where it holds something."""
        own = self.own.reshape(*self.own.shape, *(1,) * (held.ndim - 1)) & held[:, None]
        weight = self.weight.reshape(-1, *(1,) * held.ndim)
        return np.where(own, weight, 0.0), own.astype(np.float64)

    def classes(self) -> ClassTotals:
        """Weight and rows of the classes without each row; both (m, K)."""
        weight, rows = self.taken(np.ones(len(self.y), dtype=bool))
        left = self.totals.rows - rows
        return ClassTotals(weight_left(self.totals.weight, weight, left), left)


class LeftOutBlock(Protocol):
    """A block of columns whose rows are left out in turn."""

    def scores(self, setting: Setting) -> tuple[Floats, Bools]:  # (m, K), (m,)
        """Return log-likelihoods of each row by the facts of the others, and the rows that need a refit instead."""


def shrunk(before: Floats, after: Floats, exact_zero: bool = True) -> Bools:
    """Where so little of a sum is left that its rounding shows; a 0 may be known to be one."""
    return np.asarray((after < LEAST * before) & ((after > 0) | (not exact_zero)))
