"""What families of counts and marks share: the same facts, smoothed shares, and sparse matrices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from foldwise.bayes.families.base import DistributionFamily, NumericLikelihood, ShareTable
from foldwise.bayes.families.cell_rules import CellRule
from foldwise.bayes.families.protocol import AnyView, Scorer
from foldwise.data.view import SparseView
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share
from foldwise.summaries.sums import Sums, sums_of, sums_of_sparse

SPARSE_ROWS = 16_384  # scored at a time


class CountedFamily(DistributionFamily):
    """Sums of the cells of each column, dense or sparse."""

    summary_type = Sums
    rule: ClassVar[CellRule]

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Sums:
        if isinstance(view, SparseView):
            self.rule.check_sparse(view)
            return sums_of_sparse(view, share)
        return sums_of(view.numbers(columns), share, self.rule.check)


class CountedLikelihood(NumericLikelihood):
    """Smoothed shares of a block of columns."""

    rule: ClassVar[CellRule]  # never None
    shares: ShareTable

    @abstractmethod
    def on_and_off(self) -> tuple[Floats, Floats]:  # (d, K) both
        """Return the log-likelihoods of a cell of 1 and of a cell of 0."""

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        if not isinstance(view, SparseView):
            return super().scorer(view, columns)
        self.rule.check_sparse(view)
        return SparseScorer(view, *self.on_and_off())

    def _rows(self, view: AnyView, columns: Sequence[int]) -> Floats:
        return view.matrix.toarray() if isinstance(view, SparseView) else super()._rows(view, columns)


class SparseScorer:
    """scores += Σ over stored cells of x·(on - off) + Σ off, for sparse X; `off` is the score of a cell of 0.

    A logarithm of -inf makes a row impossible: an `on` that is stored, or an `off` that is not.
    """

    chunk_rows = SPARSE_ROWS

    def __init__(self, view: SparseView, on: Floats, off: Floats) -> None:  # (d, K) both
        self._matrix = view.matrix
        self._never_on, self._never_off = (np.isneginf(log).astype(np.float64) for log in (on, off))
        on, off = (np.where(np.isneginf(log), 0.0, log) for log in (on, off))
        self._slope, self._of_empty_row = on - off, off.sum(axis=0)

    def add(self, start: int, stop: int, scores: Floats) -> None:
        rows = self._matrix[start:stop]
        scores += rows @ self._slope + self._of_empty_row
        if self._never_on.any():
            scores[rows @ self._never_on > 0] = -np.inf
        if self._never_off.any():
            scores[self._never_off.sum(axis=0) - (rows != 0) @ self._never_off > 0.5] = -np.inf
