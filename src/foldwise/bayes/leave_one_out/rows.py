"""Rows that are left out in turn, and how much precision is left after subtracting a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from foldwise.arrays import Bools, Floats, Ints
from foldwise.bayes.families.protocol import ClassTotals, Setting
from foldwise.summaries.alignment import EPS, weight_left

ACCEPTED = 1e-12  # greatest relative error of a fact; beyond, the row needs a refit
LEAST = 8 * EPS / ACCEPTED  # the share of a sum that must remain for this precision


@dataclass(frozen=True)
class LeftOutRows:
    """Rows that are left out in turn: their classes and weights, and the class totals of all rows."""

    y: Ints  # (m,)
    weight: Floats  # (m,)
    seen: Bools  # (m,), whether the weight is above 0; otherwise the row was not learned
    totals: ClassTotals  # of all rows
    whole: bool  # whether all weights are whole numbers, whose differences are exact

    @property
    def n_classes(self) -> int:
        return len(self.totals.weight)

    @property
    def own(self) -> Bools:  # (m, K)
        """Mark the class of each row, if the row was learned."""
        return np.asarray((np.arange(self.n_classes) == self.y[:, None]) & self.seen[:, None])

    def taken(self, held: Bools) -> tuple[Floats, Floats]:  # (m, …) -> (m, K, …) both
        """Compute the weight and count that each row contributes to each class, where `held` is true."""
        own = self.own.reshape(*self.own.shape, *(1,) * (held.ndim - 1)) & held[:, None]
        weight = self.weight.reshape(-1, *(1,) * held.ndim)
        return np.where(own, weight, 0.0), own.astype(np.float64)

    def classes(self) -> ClassTotals:
        """Compute the class totals without each row; both (m, K)."""
        weight, rows = self.taken(np.ones(len(self.y), dtype=bool))
        left = self.totals.rows - rows
        return ClassTotals(weight_left(self.totals.weight, weight, left), left)


class LeftOutBlock(Protocol):
    """A block of columns in leave-one-out."""

    def scores(self, setting: Setting) -> tuple[Floats, Bools]:  # (m, K), (m,)
        """Compute log-likelihoods of each row from the facts of all other rows, and mark rows that need a refit."""


def shrunk(before: Floats, after: Floats, exact_zero: bool = True) -> Bools:
    """Mark sums of which so little is left that rounding errors matter; an exact 0 is accurate."""
    return np.asarray((after < LEAST * before) & ((after > 0) | (not exact_zero)))
