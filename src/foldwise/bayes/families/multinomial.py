"""A block of counts: how often each of d things occurs in a row, as draws from one distribution per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foldwise.bayes.families.base import ShareTable, names_of, times
from foldwise.bayes.families.cell_rules import COUNTS
from foldwise.bayes.families.counted import CountedFamily, CountedLikelihood
from foldwise.bayes.families.protocol import ClassTotals, Factor, Parameter, Setting
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.sums import Sums


class Multinomial(CountedFamily):
    """θ_jc = (Σx_jc + alpha) / (Σ over the block + alpha·d); a row scores Σ x_j log θ_jc."""

    name = "multinomial"
    rule = COUNTS

    def finish(
        self, summary: Sums, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> MultinomialLikelihood:
        over = summary.total.T + setting.alpha
        return MultinomialLikelihood(names_of(columns), ShareTable.of(over, over.sum(axis=0), len(over)))


@dataclass(frozen=True)
class MultinomialLikelihood(CountedLikelihood):
    """The finished shares of a block of columns."""

    family = Multinomial.name
    rule = COUNTS

    names: tuple[str, ...]
    shares: ShareTable  # (d, K)

    def on_and_off(self) -> tuple[Floats, Floats]:
        return self.shares.log, np.zeros_like(self.shares.log)

    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        rows = chunk.rows
        self.check(rows, start)
        scores += linear_scores(np.where(np.isnan(rows), 0.0, rows), self.shares.log)

    def logs(self, cells: Floats) -> Floats:
        return times(cells, self.shares.log.T)

    def factor(self, j: int, value: float, log: Floats) -> Factor:
        plain = super().factor(j, value, log)
        if np.isnan(value) or value == 0:
            return plain
        note = "" if value == 1 else f"to the power {value:g}"
        return replace(plain, fractions=self.shares.fractions(j), note=note)

    def parameters(self) -> list[Parameter]:
        return [self.shares.parameter(name, "share", j) for j, name in enumerate(self.names)]
