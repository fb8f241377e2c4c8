"""The smoothed shares of the levels, bins or words of one column, as categories, binned numbers and text share them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.bayes.families.base import ShareTable, neutral_factor
from foldwise.bayes.families.protocol import Factor, Parameter, Setting
from foldwise.data.schema import Level
from foldwise.summaries.number_kernels import Floats


@dataclass(frozen=True)
class LevelTable:
    """The finished table of one column. Behind its levels lie the slots of a missing cell and of an unseen value."""

    name: str
    levels: tuple[Level, ...]
    shares: ShareTable  # (levels + 2, K); the logarithm is 0 for what is left out
    missing_counts: bool
    unseen_counts: bool

    @classmethod
    def of(
        cls, name: str, levels: tuple[Level, ...], weight: Floats, missing: Floats, setting: Setting
    ) -> LevelTable:  # weight (levels, K), missing (K,)
        """Smooth the weights of levels and of missing cells: (N + alpha) / (N_total + alpha · slots)."""
        missing_counts = setting.missing == "category" and bool(missing.any())
        unseen_counts = setting.unseen == "smooth"
        n_slots = len(levels) + missing_counts + unseen_counts
        over = np.vstack([weight, missing, np.zeros_like(missing)]) + setting.alpha
        under = weight.sum(axis=0) + missing_counts * missing + setting.alpha * n_slots
        shares = ShareTable.of(over, under, n_slots)
        if not missing_counts:
            shares.log[-2] = 0.0
        if not unseen_counts:
            shares.log[-1] = 0.0
        return cls(name, levels, shares, missing_counts, unseen_counts)

    @property
    def log(self) -> Floats:  # (levels + 2, K)
        return self.shares.log

    def factor(self, slot: int, value: Any, note: str = "") -> Factor:
        """Explain one cell."""
        if slot == len(self.levels):
            if not self.missing_counts:
                return neutral_factor(self.name, self.log.shape[1])
            return self.shares.factor(self.name, None, slot, "missing, as a category")
        if slot > len(self.levels):
            if not self.unseen_counts:
                return neutral_factor(self.name, self.log.shape[1], "never seen", value)
            return self.shares.factor(self.name, value, slot, "never seen, smoothed")
        return self.shares.factor(self.name, value, slot, note)

    def parameters(self, names: Iterable[str]) -> list[Parameter]:
        """The rows of the probability table; `names` are those of the levels."""
        rows = [*enumerate(names), *[(-2, "(missing)")] * self.missing_counts, *[(-1, "(unseen)")] * self.unseen_counts]
        return [self.shares.parameter(self.name, name, slot) for slot, name in rows]
