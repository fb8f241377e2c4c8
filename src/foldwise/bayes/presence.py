"""`missing="category"` for numeric columns: one more factor, for whether a value is present or missing.

P(missing | c) = (N_missing + alpha) / (N + 2·alpha). A column without missing values in training has no such factor.
Categorical and binned columns treat missing as one more level instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foldwise.arrays import Floats
from foldwise.bayes.families.base import ShareTable
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Likelihood, Parameter, Scorer, Setting
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.view import SparseView


@dataclass(frozen=True)
class WithPresence:
    """A likelihood of numeric columns, and that of their presence."""

    inner: Likelihood
    names: tuple[str, ...]
    shares: ShareTable  # (2, d, K): present, missing; the logarithm is 0 for a column that was never missing

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        inner = self.inner.scorer(view, columns)
        if isinstance(view, SparseView):
            return inner
        cells = view.numbers(columns)

        def add(start: int, stop: int, scores: Floats) -> None:
            inner.add(start, stop, scores)
            gaps = np.isnan(cells.chunk(start, stop).rows)
            for marks, log in ((~gaps, self.shares.log[0]), (gaps, self.shares.log[1])):
                scores += linear_scores(marks.astype(np.float64), log)

        return Scorer(min(inner.chunk_rows, cells.chunk_rows), add)

    def _counts(self, j: int) -> bool:
        return bool(self.shares.log[:, j].any())

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        rows = self.inner.factors(view, columns)
        return [
            [self._factor(j, factor) if self._counts(j) else factor for j, factor in enumerate(row)] for row in rows
        ]

    def _factor(self, j: int, factor: Factor) -> Factor:
        missing = int(factor.value is None)
        own = self.shares.factor(factor.column, None, (missing, j), "missing, treated as a category")
        if missing:
            return own
        log = tuple(a + b for a, b in zip(factor.log, own.log, strict=True))
        return replace(factor, log=log, fractions=None, note="includes the probability that the value is present")

    def parameters(self) -> list[Parameter]:
        counting = [(j, name) for j, name in enumerate(self.names) if self._counts(j)]
        return self.inner.parameters() + [self.shares.parameter(name, "(missing)", (1, j)) for j, name in counting]


def presence_shares(present: tuple[Floats, Floats], totals: ClassTotals, setting: Setting) -> ShareTable:
    """Compute the shares of present and missing values (2, d, K), from weight and rows of the present ones (K, d)."""
    weight, rows = present[0].T, present[1].T
    missing = totals.missing(weight, rows)
    shares = ShareTable.of(np.stack([weight, missing]) + setting.alpha, totals.weight + 2 * setting.alpha, 2)
    shares.log[:, ~missing.any(axis=1)] = 0.0
    return shares
