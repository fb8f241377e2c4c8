"""Marks, 0 or 1: both presence and absence are evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foldwise.bayes.families.base import ShareTable, names_of
from foldwise.bayes.families.cell_rules import MARKS
from foldwise.bayes.families.counted import CountedFamily, CountedLikelihood
from foldwise.bayes.families.protocol import ClassTotals, Factor, Parameter, Setting
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.summaries.alignment import weight_left
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.sums import Sums


class Bernoulli(CountedFamily):
    """(N_1 + alpha) / (N_present + 2·alpha) for a mark, the rest for its absence."""

    name = "bernoulli"
    rule = MARKS

    def finish(
        self, summary: Sums, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> BernoulliLikelihood:
        absent = weight_left(summary.weight, summary.total, summary.rows - summary.hits)
        over = np.stack([absent.T, summary.total.T]) + setting.alpha
        return BernoulliLikelihood(names_of(columns), ShareTable.of(over, summary.weight.T + 2 * setting.alpha, 2))


@dataclass(frozen=True)
class BernoulliLikelihood(CountedLikelihood):
    """The finished shares of a block of marks."""

    family = Bernoulli.name
    rule = MARKS

    names: tuple[str, ...]
    shares: ShareTable  # (2, d, K): absent, present

    def on_and_off(self) -> tuple[Floats, Floats]:
        return self.shares.log[1], self.shares.log[0]

    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        rows = chunk.rows
        self.check(rows, start)
        for mark in (0, 1):  # a missing cell is neither
            scores += linear_scores((rows == mark).astype(np.float64), self.shares.log[mark])

    def logs(self, cells: Floats) -> Floats:
        return np.asarray(np.where(cells == 1, self.shares.log[1].T, self.shares.log[0].T))

    def factor(self, j: int, value: float, log: Floats) -> Factor:
        if np.isnan(value):
            return super().factor(j, value, log)
        return self.shares.factor(self.names[j], int(value), (int(value), j))

    def parameters(self) -> list[Parameter]:
        pairs = ((j, mark) for j in range(len(self.names)) for mark in (0, 1))
        return [self.shares.parameter(self.names[j], str(mark), (mark, j)) for j, mark in pairs]
