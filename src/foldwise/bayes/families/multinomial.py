"""A block of counts: how often each of d things occurs in a row, as draws from one distribution a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.bayes.families.protocol import AnyView, Factor, Fraction, Parameter, Setting
from foldwise.bayes.families.sparse import SparseScorer, sparse_rows
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Cells
from foldwise.data.schema import Column
from foldwise.data.view import SparseView
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.sums import Sums, check_not_negative, sums_of, sums_of_sparse


class Multinomial:
    """θ_jc = (Σx_jc + alpha) / (Σ over the block + alpha·d); a row scores Σ x_j log θ_jc."""

    name = "multinomial"

    def summarise(
        self,
        view: AnyView,
        columns: Sequence[int],
        y: Ints,
        weights: Floats | None,
        n_classes: int,
        start: int,
        stop: int,
    ) -> Sums:
        if isinstance(view, SparseView):
            return sums_of_sparse(view, y, weights, n_classes, start, stop)
        return sums_of(view.numbers(columns), y, weights, n_classes, start, stop)

    def finish(
        self, summary: Sums, columns: Sequence[Column], class_weight: Floats, setting: Setting
    ) -> MultinomialLikelihood:
        over = summary.total + setting.alpha
        under = over.sum(axis=1)
        # alpha 0 and no count in a class: the limit for alpha -> 0 is one share for every column
        over = np.where(under[:, None] == 0, 1.0, over)
        under = np.where(under == 0, over.shape[1], under)
        with np.errstate(divide="ignore"):
            log = np.log(over) - np.log(under)[:, None]
        return MultinomialLikelihood(tuple(column.name for column in columns), over, under, log)

    def present_weight(self, summary: Sums) -> Floats:
        return summary.weight

    def summary_from_dict(self, facts: dict[str, Any]) -> Sums:
        return Sums.from_dict(facts)


@dataclass(frozen=True)
class MultinomialLikelihood:
    """The finished shares of a block of columns."""

    names: tuple[str, ...]
    over: Floats  # (K, d)
    under: Floats  # (K,)
    log: Floats  # (K, d)

    def scorer(self, view: AnyView, columns: Sequence[int]) -> MultinomialScorer | SparseScorer:
        if isinstance(view, SparseView):
            return SparseScorer(view, self.log, np.zeros(len(self.log)))
        return MultinomialScorer(view.numbers(columns), self.log)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        if isinstance(view, SparseView):
            rows = sparse_rows(view)
        else:
            cells = view.numbers(columns)
            rows = cells.chunk(0, cells.n_rows).rows
        return [[self._factor(j, float(count)) for j, count in enumerate(row)] for row in rows]

    def _factor(self, j: int, count: float) -> Factor:
        zeros = (0.0,) * len(self.log)
        if np.isnan(count):
            return Factor(self.names[j], None, zeros, note="missing, left out")
        if count == 0:
            return Factor(self.names[j], count, zeros)
        note = "" if count == 1 else f"to the power {count:g}"
        return Factor(self.names[j], count, tuple((count * self.log[:, j]).tolist()), self._fractions(j), note)

    def _fractions(self, j: int) -> tuple[Fraction, ...]:
        return tuple(Fraction(float(a), float(b)) for a, b in zip(self.over[:, j], self.under, strict=True))

    def parameters(self) -> list[Parameter]:
        return [
            Parameter(name, "share", tuple(np.exp(self.log[:, j]).tolist()), self._fractions(j))
            for j, name in enumerate(self.names)
        ]


class MultinomialScorer:
    """Σ x log θ of dense counts, chunk by chunk."""

    def __init__(self, cells: Cells, log: Floats) -> None:
        self._cells = cells
        self._log = log

    @property
    def chunk_rows(self) -> int:
        return self._cells.chunk_rows

    def add(self, start: int, stop: int, scores: Floats) -> None:
        rows = self._cells.chunk(start, stop).rows
        check_not_negative(rows, self._cells.names, start)
        scores += linear_scores(np.where(np.isnan(rows), 0.0, rows), self._log)
