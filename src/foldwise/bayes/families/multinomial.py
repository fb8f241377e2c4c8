"""A block of counts: how often each of d things occurs in a row, as draws from one distribution a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.bayes.families.cell_rules import COUNTS
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Fraction, Parameter, Setting
from foldwise.bayes.families.reading import ChunkScorer, SparseScorer, factors_of_numbers, left_out, log_shares
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.data.view import SparseView
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share
from foldwise.summaries.sums import Sums, sums_of, sums_of_sparse


class Multinomial:
    """θ_jc = (Σx_jc + alpha) / (Σ over the block + alpha·d); a row scores Σ x_j log θ_jc."""

    name = "multinomial"

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Sums:
        if isinstance(view, SparseView):
            COUNTS.check_sparse(view)
            return sums_of_sparse(view, share)
        return sums_of(view.numbers(columns), share, COUNTS.check)

    def finish(
        self, summary: Sums, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> MultinomialLikelihood:
        over = summary.total + setting.alpha
        under = over.sum(axis=1, keepdims=True)
        # alpha 0 and no count in a class: the limit for alpha -> 0 is one share for every column
        over, under = np.where(under == 0, 1.0, over), np.where(under == 0, over.shape[1], under)
        return MultinomialLikelihood(tuple(c.name for c in columns), over, under, log_shares(over, under))

    def present(self, summary: Sums) -> tuple[Floats, Floats]:
        return summary.weight, summary.rows

    def summary_from_dict(self, facts: dict[str, Any], n_classes: int, n_columns: int) -> Sums:
        return Sums.from_dict(facts, n_classes, n_columns)


@dataclass(frozen=True)
class MultinomialLikelihood:
    """The finished shares of a block of columns."""

    names: tuple[str, ...]
    over: Floats  # (K, d)
    under: Floats  # (K, 1)
    log: Floats  # (K, d)

    def scorer(self, view: AnyView, columns: Sequence[int]) -> ChunkScorer | SparseScorer:
        if isinstance(view, SparseView):
            COUNTS.check_sparse(view)
            return SparseScorer(view, self.log, np.zeros_like(self.log))

        def add(chunk: Chunk, start: int, scores: Floats) -> None:
            rows = chunk.rows
            COUNTS.check(rows, self.names, start)
            scores += linear_scores(np.where(np.isnan(rows), 0.0, rows), self.log)

        return ChunkScorer(view.numbers(columns), add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        return factors_of_numbers(view, columns, self._factor, COUNTS.check)

    def _factor(self, j: int, count: float) -> Factor:
        if np.isnan(count):
            return left_out(self.names[j], len(self.log))
        if count == 0:
            return Factor(self.names[j], count, (0.0,) * len(self.log))
        note = "" if count == 1 else f"to the power {count:g}"
        return Factor(self.names[j], count, tuple((count * self.log[:, j]).tolist()), self._fractions(j), note)

    def _fractions(self, j: int) -> tuple[Fraction, ...]:
        return Fraction.each(self.over[:, j], self.under[:, 0])

    def parameters(self) -> list[Parameter]:
        return [
            Parameter(name, "share", tuple(np.exp(self.log[:, j]).tolist()), self._fractions(j))
            for j, name in enumerate(self.names)
        ]
