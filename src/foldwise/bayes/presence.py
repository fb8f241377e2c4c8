"""Missing cells of numbers as evidence (`missing="category"`): a factor for presence, around any family.

P(missing | c) = (N_missing + alpha) / (N + 2·alpha), the rest for a cell that is there. A column that was never
missing in training has no such factor. (Categories treat missing as one more level instead.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foldwise.bayes.families.base import ShareTable
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Likelihood, Parameter, Scorer, Setting
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import ChunkedCells
from foldwise.data.view import SparseView
from foldwise.summaries.number_kernels import Floats


@dataclass(frozen=True)
class WithPresence:
    """A likelihood of numbers, and that of their presence."""

    inner: Likelihood
    names: tuple[str, ...]
    shares: ShareTable  # (2, d, K): there, missing; the logarithm is 0 where the column was never missing

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        inner = self.inner.scorer(view, columns)
        if isinstance(view, SparseView):
            return inner
        return PresenceScorer(inner, view.numbers(columns), self.shares.log)

    def _counts(self, j: int) -> bool:
        return bool(self.shares.log[:, j].any())

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        rows = self.inner.factors(view, columns)
        return [
            [self._factor(j, factor) if self._counts(j) else factor for j, factor in enumerate(row)] for row in rows
        ]

    def _factor(self, j: int, factor: Factor) -> Factor:
        missing = int(factor.value is None)
        own = self.shares.factor(factor.column, None, (missing, j), "missing, as evidence")
        if missing:
            return own
        log = tuple(a + b for a, b in zip(factor.log, own.log, strict=True))
        return replace(factor, log=log, fractions=None, note="with the share of cells that are there")

    def parameters(self) -> list[Parameter]:
        counting = [(j, name) for j, name in enumerate(self.names) if self._counts(j)]
        return self.inner.parameters() + [self.shares.parameter(name, "(missing)", (1, j)) for j, name in counting]


class PresenceScorer:
    """Adds the factors of presence to those of another scorer."""

    def __init__(self, inner: Scorer, cells: ChunkedCells, log: Floats) -> None:
        self._inner, self._cells, self._log = inner, cells, log

    @property
    def chunk_rows(self) -> int:
        return min(self._inner.chunk_rows, self._cells.chunk_rows)

    def add(self, start: int, stop: int, scores: Floats) -> None:
        self._inner.add(start, stop, scores)
        gaps = np.isnan(self._cells.chunk(start, stop).rows)
        for marks, log in ((~gaps, self._log[0]), (gaps, self._log[1])):
            scores += linear_scores(marks.astype(np.float64), log)


def presence_shares(present: tuple[Floats, Floats], totals: ClassTotals, setting: Setting) -> ShareTable:
    """The shares of cells that are there and that are missing (2, d, K); `present` is their weight and rows (K, d)."""
    weight, rows = present[0].T, present[1].T
    missing = totals.missing(weight, rows)
    shares = ShareTable.of(np.stack([weight, missing]) + setting.alpha, totals.weight + 2 * setting.alpha, 2)
    shares.log[:, ~missing.any(axis=1)] = 0.0
    return shares
