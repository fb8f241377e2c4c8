"""Missing cells of numbers as evidence (`missing="category"`): a factor for being there or not, around any family.

P(missing | c) = (N_missing + alpha) / (N + 2·alpha), the rest for a cell that is there. A column that was never
missing in training has no such factor. (Categories take missing as one more level instead.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foldwise.bayes.families.protocol import (
    AnyView,
    ClassTotals,
    Factor,
    Fraction,
    Likelihood,
    Parameter,
    Scorer,
    Setting,
)
from foldwise.bayes.families.reading import log_shares
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import ChunkedCells
from foldwise.data.view import SparseView, View
from foldwise.summaries.number_kernels import Floats


@dataclass(frozen=True)
class WithPresence:
    """A likelihood of numbers together with what their absence says."""

    inner: Likelihood
    names: tuple[str, ...]
    over: Floats  # (2, K, d): there, missing
    under: Floats  # (K,)
    log: Floats  # (2, K, d), 0 where the column was never missing

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        inner = self.inner.scorer(view, columns)
        if isinstance(view, SparseView):
            return inner
        return PresenceScorer(inner, view, columns, self.log)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        rows = self.inner.factors(view, columns)
        return [[self._factor(j, factor) for j, factor in enumerate(row)] for row in rows]

    def _factor(self, j: int, factor: Factor) -> Factor:
        missing = int(factor.value is None)
        if not self.log[:, :, j].any():
            return factor
        log = tuple(a + b for a, b in zip(factor.log, self.log[missing, :, j].tolist(), strict=True))
        if missing:
            return replace(factor, log=log, fractions=self._fractions(1, j), note="missing, as evidence")
        return replace(factor, log=log, fractions=None, note="with the share of cells that are there")

    def _fractions(self, slot: int, j: int) -> tuple[Fraction, ...]:
        return Fraction.each(self.over[slot, :, j], self.under)

    def parameters(self) -> list[Parameter]:
        lines = self.inner.parameters()
        for j, name in enumerate(self.names):
            if self.log[:, :, j].any():
                values = tuple(np.exp(self.log[1, :, j]).tolist())
                lines.append(Parameter(name, "(missing)", values, self._fractions(1, j)))
        return lines


class PresenceScorer:
    """Adds the factors of presence to those of another scorer."""

    def __init__(self, inner: Scorer, view: View, columns: Sequence[int], log: Floats) -> None:
        self._inner = inner
        self._cells: ChunkedCells = view.numbers(columns)
        self._log = log

    @property
    def chunk_rows(self) -> int:
        return min(self._inner.chunk_rows, self._cells.chunk_rows)

    def add(self, start: int, stop: int, scores: Floats) -> None:
        self._inner.add(start, stop, scores)
        gaps = np.isnan(self._cells.chunk(start, stop).rows)
        for marks, log in ((~gaps, self._log[0]), (gaps, self._log[1])):
            scores += linear_scores(marks.astype(np.float64), log)


def with_presence(
    likelihood: Likelihood,
    names: tuple[str, ...],
    present: tuple[Floats, Floats],
    totals: ClassTotals,
    setting: Setting,
) -> WithPresence:
    """Put the evidence of presence around a likelihood; `present` holds weight and rows of its cells (K, d)."""
    return WithPresence(likelihood, names, *presence_logs(present, totals, setting))


def presence_logs(
    present: tuple[Floats, Floats], totals: ClassTotals, setting: Setting
) -> tuple[Floats, Floats, Floats]:  # (2, K, d), (K,), (2, K, d)
    """Numerators and denominators of the shares of cells that are there and that are missing, and their logarithms."""
    weight, rows = present
    missing = totals.missing(weight.T, rows.T).T
    over = np.stack([weight, missing]) + setting.alpha
    under = totals.weight + 2 * setting.alpha
    empty = under == 0
    over = np.where(empty[:, None], 1.0, over)
    under = np.where(empty, 2.0, under)
    log = np.where(missing.any(axis=0), log_shares(over, under[:, None]), 0.0)
    return over, under, log
