"""Marks, 0 or 1: both presence and absence are evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.bayes.families.cell_rules import MARKS
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Fraction, Parameter, Setting
from foldwise.bayes.families.reading import ChunkScorer, SparseScorer, factors_of_numbers, left_out, log_shares
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.data.view import SparseView
from foldwise.summaries.alignment import weight_left
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share
from foldwise.summaries.sums import Sums, sums_of, sums_of_sparse


class Bernoulli:
    """(N_1 + alpha) / (N_present + 2·alpha) for a mark, the rest for its absence."""

    name = "bernoulli"

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Sums:
        if isinstance(view, SparseView):
            MARKS.check_sparse(view)
            return sums_of_sparse(view, share)
        return sums_of(view.numbers(columns), share, MARKS.check)

    def finish(
        self, summary: Sums, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> BernoulliLikelihood:
        absent = weight_left(summary.weight, summary.total, summary.rows - summary.hits)
        over = np.stack([absent, summary.total]) + setting.alpha  # (2, K, d)
        under = summary.weight + 2 * setting.alpha
        # alpha 0 and no present cell in a class: the limit for alpha -> 0 is one half each
        over, under = np.where(under == 0, 1.0, over), np.where(under == 0, 2.0, under)
        return BernoulliLikelihood(tuple(c.name for c in columns), over, under, log_shares(over, under))

    def present(self, summary: Sums) -> tuple[Floats, Floats]:
        return summary.weight, summary.rows

    def summary_from_dict(self, facts: dict[str, Any], n_classes: int, n_columns: int) -> Sums:
        return Sums.from_dict(facts, n_classes, n_columns)


@dataclass(frozen=True)
class BernoulliLikelihood:
    """The finished tables of a block of marks."""

    names: tuple[str, ...]
    over: Floats  # (2, K, d): absent, present
    under: Floats  # (K, d)
    log: Floats  # (2, K, d)

    def scorer(self, view: AnyView, columns: Sequence[int]) -> ChunkScorer | SparseScorer:
        if isinstance(view, SparseView):
            MARKS.check_sparse(view)
            off, on = self.log
            return SparseScorer(view, on, off)

        def add(chunk: Chunk, start: int, scores: Floats) -> None:
            rows = chunk.rows
            MARKS.check(rows, self.names, start)
            add_marks(rows, self.log, scores)

        return ChunkScorer(view.numbers(columns), add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        return factors_of_numbers(view, columns, self._factor, MARKS.check)

    def _factor(self, j: int, mark: float) -> Factor:
        if np.isnan(mark):
            return left_out(self.names[j], len(self.under))
        slot = int(mark)
        return Factor(self.names[j], slot, tuple(self.log[slot, :, j].tolist()), self._fractions(slot, j))

    def _fractions(self, slot: int, j: int) -> tuple[Fraction, ...]:
        return Fraction.each(self.over[slot, :, j], self.under[:, j])

    def parameters(self) -> list[Parameter]:
        return [
            Parameter(name, str(slot), tuple(np.exp(self.log[slot, :, j]).tolist()), self._fractions(slot, j))
            for j, name in enumerate(self.names)
            for slot in (0, 1)
        ]


def add_marks(rows: Floats, log: Floats, scores: Floats) -> None:
    """Add the log-probabilities of dense marks; a missing one is neither on nor off."""
    for mark in (0, 1):
        scores += linear_scores((rows == mark).astype(np.float64), log[mark])
