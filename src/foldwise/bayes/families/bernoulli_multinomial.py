"""Bernoulli and multinomial distributions: columns of 0 and 1, and columns that count how often things occur in a row.

Both use sums of the columns, and both support sparse matrices.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from foldwise.arrays import Floats
from foldwise.bayes.families.base import (
    SPARSE_ROWS,
    CellRule,
    DistributionFamily,
    NumericLikelihood,
    ShareTable,
    names_of,
    times,
)
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Parameter, Scorer, Setting
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.data.view import SparseView
from foldwise.summaries.alignment import weight_left
from foldwise.summaries.passes import ThreadShare
from foldwise.summaries.sums import Sums, sums_of, sums_of_sparse

COUNTS = CellRule(
    "finite numbers of at least 0",
    "correct the value, or use the family 'gaussian', which supports any finite number.",
    lambda rows: (rows < 0) | np.isinf(rows),
)

MARKS = CellRule(
    "only 0 and 1",
    "pass X > 0 to indicate presence, or use the family 'multinomial' for counts.",
    lambda rows: (rows != 0) & (rows != 1) & ~np.isnan(rows),
)


class CountedFamily(DistributionFamily):
    """A family whose facts are sums of each column, from dense or sparse data."""

    summary_type = Sums
    rule: ClassVar[CellRule]

    def summarize(self, view: AnyView, columns: Sequence[int], share: ThreadShare) -> Sums:
        if isinstance(view, SparseView):
            self.rule.check_sparse(view)
            return sums_of_sparse(view, share)
        return sums_of(view.numbers(columns), share, self.rule.check)


class CountedLikelihood(NumericLikelihood):
    """A likelihood of smoothed shares."""

    rule: ClassVar[CellRule]  # never None
    shares: ShareTable

    @abstractmethod
    def on_and_off(self) -> tuple[Floats, Floats]:  # (d, K) both
        """Return the log-likelihoods of the value 1 and of the value 0."""

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        if not isinstance(view, SparseView):
            return super().scorer(view, columns)
        self.rule.check_sparse(view)
        return sparse_scorer(view, *self.on_and_off())

    def _rows(self, view: AnyView, columns: Sequence[int]) -> Floats:
        return view.matrix.toarray() if isinstance(view, SparseView) else super()._rows(view, columns)


def sparse_scorer(view: SparseView, on: Floats, off: Floats) -> Scorer:  # (d, K) both
    """Make a scorer of a sparse matrix: Σ over stored values of x·(on - off) + Σ off, where `off` is the score of a 0.

    A logarithm of -inf makes a row impossible: an `on` of a stored value, or an `off` of a value that is not stored.
    """
    never_on, never_off = (np.isneginf(log).astype(np.float64) for log in (on, off))
    on, off = (np.where(np.isneginf(log), 0.0, log) for log in (on, off))
    slope, of_empty_row = on - off, off.sum(axis=0)

    def add(start: int, stop: int, scores: Floats) -> None:
        rows = view.matrix[start:stop]
        scores += rows @ slope + of_empty_row
        if never_on.any():
            scores[rows @ never_on > 0] = -np.inf
        if never_off.any():
            scores[never_off.sum(axis=0) - (rows != 0) @ never_off > 0.5] = -np.inf

    return Scorer(SPARSE_ROWS, add)


class Bernoulli(CountedFamily):
    """P(1) = (N_1 + alpha) / (N_present + 2·alpha), and P(0) = 1 - P(1)."""

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
    """The shares of 0 and 1 in a block of columns."""

    family = Bernoulli.name
    rule = MARKS

    names: tuple[str, ...]
    shares: ShareTable  # (2, d, K): of 0, of 1

    def on_and_off(self) -> tuple[Floats, Floats]:
        return self.shares.log[1], self.shares.log[0]

    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        rows = chunk.rows
        self.check(rows, start)
        for mark in (0, 1):  # a missing value is neither
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


class Multinomial(CountedFamily):
    """θ_jc = (Σx_jc + alpha) / (Σ over the block + alpha·d); the log-likelihood of a row is Σ x_j log θ_jc."""

    name = "multinomial"
    rule = COUNTS

    def finish(
        self, summary: Sums, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> MultinomialLikelihood:
        over = summary.total.T + setting.alpha
        return MultinomialLikelihood(names_of(columns), ShareTable.of(over, over.sum(axis=0), len(over)))


@dataclass(frozen=True)
class MultinomialLikelihood(CountedLikelihood):
    """The shares of a block of columns."""

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
