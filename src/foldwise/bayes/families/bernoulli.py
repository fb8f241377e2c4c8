"""Marks, 0 or 1: both presence and absence are evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from foldwise.bayes.families.protocol import AnyView, Factor, Fraction, Parameter, Setting
from foldwise.bayes.families.sparse import SparseScorer, sparse_rows
from foldwise.bayes.scoring_kernels import codes_by_row, codes_by_row_few
from foldwise.data.cells import Cells, read_only
from foldwise.data.schema import Column
from foldwise.data.view import SparseView
from foldwise.errors import InputError
from foldwise.summaries.counts import SlotLayout
from foldwise.summaries.moments import FEW_CLASSES
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.sums import Sums, sums_of, sums_of_sparse

MISSING = 2


class Bernoulli:
    """(N_1 + alpha) / (N_present + 2·alpha) for a mark, the rest for its absence."""

    name = "bernoulli"

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
            check_sparse_marks(view)
            return sums_of_sparse(view, y, weights, n_classes, start, stop)
        return sums_of(view.numbers(columns), y, weights, n_classes, start, stop, check_marks)

    def finish(
        self, summary: Sums, columns: Sequence[Column], class_weight: Floats, setting: Setting
    ) -> BernoulliLikelihood:
        over = np.stack([summary.weight - summary.total, summary.total]) + setting.alpha  # (2, K, d)
        under = summary.weight + 2 * setting.alpha
        # alpha 0 and no present cell in a class: the limit for alpha -> 0 is one half each
        over, under = np.where(under == 0, 1.0, over), np.where(under == 0, 2.0, under)
        with np.errstate(divide="ignore"):
            log = np.log(over) - np.log(under)
        return BernoulliLikelihood(tuple(column.name for column in columns), over, under, log)

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

    def scorer(self, view: AnyView, columns: Sequence[int]) -> MarkScorer | SparseScorer | SparseMarkScorer:
        if not isinstance(view, SparseView):
            return MarkScorer(view.numbers(columns), self.log)
        check_sparse_marks(view)
        off, on = self.log
        if np.isfinite(off).all():
            return SparseScorer(view, on - off, off.sum(axis=1))
        return SparseMarkScorer(view, self.log)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        if isinstance(view, SparseView):
            rows = sparse_rows(view)
        else:
            cells = view.numbers(columns)
            rows = cells.chunk(0, cells.n_rows).rows
        return [[self._factor(j, float(mark)) for j, mark in enumerate(row)] for row in rows]

    def _factor(self, j: int, mark: float) -> Factor:
        if np.isnan(mark):
            return Factor(self.names[j], None, (0.0,) * len(self.under), note="missing, left out")
        slot = int(mark)
        return Factor(self.names[j], slot, tuple(self.log[slot, :, j].tolist()), self._fractions(slot, j))

    def _fractions(self, slot: int, j: int) -> tuple[Fraction, ...]:
        pairs = zip(self.over[slot, :, j].tolist(), self.under[:, j].tolist(), strict=True)
        return tuple(Fraction(over, under) for over, under in pairs)

    def parameters(self) -> list[Parameter]:
        return [
            Parameter(name, str(slot), tuple(np.exp(self.log[slot, :, j]).tolist()), self._fractions(slot, j))
            for j, name in enumerate(self.names)
            for slot in (0, 1)
        ]


class MarkScorer:
    """Log-probabilities of dense marks, chunk by chunk; a missing one has a slot of its own that adds 0."""

    def __init__(self, cells: Cells, log: Floats) -> None:
        self._cells = cells
        n_columns = log.shape[2]
        layout = SlotLayout.of(np.zeros(n_columns), np.full(n_columns, MISSING))
        self._where = (layout.low, layout.width, layout.base)
        slots = np.concatenate([log, np.zeros((1, *log.shape[1:]))])  # (3, K, d)
        self._table = np.ascontiguousarray(slots.transpose(2, 0, 1).reshape(3 * n_columns, -1))

    @property
    def chunk_rows(self) -> int:
        return self._cells.chunk_rows

    def add(self, start: int, stop: int, scores: Floats) -> None:
        rows = self._cells.chunk(start, stop).rows
        check_marks(rows, self._cells.names, start)
        codes = np.where(np.isnan(rows), MISSING, rows).astype(np.int64)
        kernel = codes_by_row_few if scores.shape[1] <= FEW_CLASSES else codes_by_row
        kernel(read_only(codes), *self._where, self._table, scores)


class SparseMarkScorer:
    """For alpha 0, where an absence can be impossible: rows are made dense a chunk at a time."""

    chunk_rows = 1024

    def __init__(self, view: SparseView, log: Floats) -> None:
        self._matrix, self._log = view.matrix, log

    def add(self, start: int, stop: int, scores: Floats) -> None:
        rows = self._matrix[start:stop].toarray()
        off, on = self._log
        for c in range(scores.shape[1]):
            scores[:, c] += np.where(rows > 0, on[c], off[c]).sum(axis=1)


def check_marks(rows: Floats, names: tuple[str, ...], row: int) -> None:
    """Refuse anything but 0, 1 and missing: nothing is cut at a threshold silently."""
    bad = (rows != 0) & (rows != 1) & ~np.isnan(rows)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        refuse_mark(names[j], rows[i, j], f" in row {row + int(i)}")


def check_sparse_marks(view: SparseView) -> None:
    """The same for a sparse matrix."""
    data = view.matrix.data
    bad = np.flatnonzero((data != 0) & (data != 1))
    if bad.size:
        refuse_mark(view.names[int(view.matrix.indices[bad[0]])], data[bad[0]], "")


def refuse_mark(name: str, value: float, where: str) -> NoReturn:
    raise InputError(
        f"column {name!r} is declared bernoulli but holds {value:g}{where}; only 0 and 1 are marks.",
        "pass X > 0 to mark presence, or use the family 'multinomial' for counts.",
    )
