"""Marks, 0 or 1: both presence and absence are evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.bayes.families.protocol import AnyView, Factor, Fraction, Parameter, Setting
from foldwise.bayes.families.reading import ChunkScorer, SparseScorer, factors_of_numbers, left_out, log_shares
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.data.view import SparseView, cell_error
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share
from foldwise.summaries.sums import Sums, sums_of, sums_of_sparse


class Bernoulli:
    """(N_1 + alpha) / (N_present + 2·alpha) for a mark, the rest for its absence."""

    name = "bernoulli"

    def summarise(self, view: AnyView, columns: Sequence[int], share: Share) -> Sums:
        if isinstance(view, SparseView):
            view.check_marks()
            return sums_of_sparse(view, share)
        return sums_of(view.numbers(columns), share, check_marks)

    def finish(
        self, summary: Sums, columns: Sequence[Column], class_weight: Floats, setting: Setting
    ) -> BernoulliLikelihood:
        over = np.stack([summary.weight - summary.total, summary.total]) + setting.alpha  # (2, K, d)
        under = summary.weight + 2 * setting.alpha
        # alpha 0 and no present cell in a class: the limit for alpha -> 0 is one half each
        over, under = np.where(under == 0, 1.0, over), np.where(under == 0, 2.0, under)
        return BernoulliLikelihood(tuple(c.name for c in columns), over, under, log_shares(over, under))

    def present_weight(self, summary: Sums) -> Floats:
        return summary.weight

    def summary_from_dict(self, facts: dict[str, Any]) -> Sums:
        return Sums.from_dict(facts)


@dataclass(frozen=True)
class BernoulliLikelihood:
    """The finished tables of a block of marks."""

    names: tuple[str, ...]
    over: Floats  # (2, K, d): absent, present
    under: Floats  # (K, d)
    log: Floats  # (2, K, d)

    def scorer(self, view: AnyView, columns: Sequence[int]) -> ChunkScorer | SparseScorer | SparseMarkScorer:
        if isinstance(view, SparseView):
            view.check_marks()
            off, on = self.log
            if np.isfinite(off).all():
                return SparseScorer(view, on - off, off.sum(axis=1))
            return SparseMarkScorer(view, self.log)

        def add(chunk: Chunk, start: int, scores: Floats) -> None:
            rows = chunk.rows
            check_marks(rows, self.names, start)
            add_marks(rows, self.log, scores)

        return ChunkScorer(view.numbers(columns), add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        return factors_of_numbers(view, columns, self._factor)

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


class SparseMarkScorer:
    """For alpha 0, where an absence can be impossible: rows are made dense a chunk at a time."""

    chunk_rows = 1024

    def __init__(self, view: SparseView, log: Floats) -> None:
        self._matrix, self._log = view.matrix, log

    def add(self, start: int, stop: int, scores: Floats) -> None:
        add_marks(self._matrix[start:stop].toarray(), self._log, scores)


def add_marks(rows: Floats, log: Floats, scores: Floats) -> None:
    """Add the log-probabilities of dense marks; a missing one is neither on nor off."""
    for mark in (0, 1):
        scores += linear_scores((rows == mark).astype(np.float64), log[mark])


def check_marks(rows: Floats, names: tuple[str, ...], row: int) -> None:
    """Refuse anything but 0, 1 and missing: nothing is cut at a threshold silently."""
    bad = (rows != 0) & (rows != 1) & ~np.isnan(rows)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise cell_error(names[j], rows[i, j], "0 or 1 (marks)", row + int(i))
