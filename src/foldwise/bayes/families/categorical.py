"""Categories: the smoothed share of each value in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foldwise.bayes.families.base import ChunkScorer, DistributionFamily, dense
from foldwise.bayes.families.level_table import LevelTable
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Parameter, Setting
from foldwise.bayes.scoring_kernels import codes_by_column, codes_by_column_few, codes_by_row, codes_by_row_few
from foldwise.data.cells import Chunk, ChunkedCells
from foldwise.data.schema import Column, Level
from foldwise.data.view import View
from foldwise.summaries.counts import DIRECT_RANGE, CategoryCounts, Counts, SlotLayout, counts_of, worth_direct
from foldwise.summaries.number_kernels import FEW_CLASSES, Floats
from foldwise.summaries.passes import Share


class Categorical(DistributionFamily):
    """(N_value + alpha) / (N_present + alpha · levels); levels are those declared by the type, else those seen."""

    name = "categorical"
    summary_type = Counts

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Counts:
        return counts_of(dense(view, self.name), columns, share)

    def finish(
        self, summary: Counts, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> CategoricalLikelihood:
        pairs = zip(columns, summary.columns, strict=True)
        return CategoricalLikelihood(tuple(finish_column(c, counts, totals, setting) for c, counts in pairs))

    def present(self, summary: Counts) -> None:
        return None  # missing is one more level


def finish_column(column: Column, counts: CategoryCounts, totals: ClassTotals, setting: Setting) -> LevelTable:
    """Smooth the counts of one column."""
    levels = counts.levels if column.levels is None else declared_levels(column.levels, counts.levels)
    weight, rows = counts.on(levels)
    return LevelTable.of(column.name, levels, weight, totals.missing(weight.sum(axis=0), rows.sum(axis=0)), setting)


def declared_levels(declared: tuple[Level, ...], seen: tuple[Level, ...]) -> tuple[Level, ...]:
    """The declared levels, and behind them what rows held all the same."""
    known = set(declared)
    return (*declared, *(level for level in seen if level not in known))


@dataclass(frozen=True)
class CategoricalLikelihood:
    """The finished tables of a block of columns."""

    tables: tuple[LevelTable, ...]

    def scorer(self, view: AnyView, columns: Sequence[int]) -> ChunkScorer:
        table = dense(view, Categorical.name)
        direct = self._direct_scorer(table, columns)
        if direct is not None:
            return direct
        layout = SlotLayout.of(np.zeros(len(self.tables)), [len(t.levels) + 1 for t in self.tables])
        return code_scorer(self._codes(table, columns), layout, np.vstack([t.log for t in self.tables]))

    def _codes(self, view: View, columns: Sequence[int]) -> ChunkedCells:
        return view.codes(columns, [table.levels for table in self.tables])

    def _direct_scorer(self, view: View, columns: Sequence[int]) -> ChunkScorer | None:
        """Whole numbers of a short range are looked up by their own value."""
        ranges = [whole_range(table.levels) for table in self.tables]
        cells = view.integers(columns) if all(r is not None for r in ranges) else None
        if cells is None:
            return None
        known = [r for r in ranges if r is not None]
        spans = [width - 1 for _, width in known]
        if max(spans) >= DIRECT_RANGE or not worth_direct(np.array(spans, np.int64), self.tables[0].log.shape[1]):
            return None
        parts = []
        for table, (low, width) in zip(self.tables, known, strict=True):
            part = np.repeat(table.log[-1:], width + 1, axis=0)
            part[[int(level) - low for level in table.levels]] = table.log[:-2]
            parts.append(part)
        layout = SlotLayout.of([low for low, _ in known], [width for _, width in known])
        return code_scorer(cells, layout, np.vstack(parts))

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        table = dense(view, Categorical.name)
        cells = self._codes(table, columns)
        codes = cells.chunk(0, cells.n_rows).rows
        triples = [
            (t, table.sources[j], codes[:, k]) for k, (t, j) in enumerate(zip(self.tables, columns, strict=True))
        ]
        return [[t.factor(int(own[i]), source.value(i)) for t, source, own in triples] for i in range(cells.n_rows)]

    def parameters(self) -> list[Parameter]:
        return [row for table in self.tables for row in table.parameters(map(str, table.levels))]


def whole_range(levels: tuple[Level, ...]) -> tuple[int, int] | None:
    """Least level and width where all are whole numbers; None where not."""
    if not levels:
        return 0, 0
    if not all(type(level) is int and abs(level) < 1 << 62 for level in levels):
        return None
    low, high = int(min(levels)), int(max(levels))
    return low, high - low + 1


def code_scorer(cells: ChunkedCells, layout: SlotLayout, table: Floats) -> ChunkScorer:
    """A scorer of codes by a table of log-probabilities (slots, K)."""
    where = (layout.low, layout.width, layout.base)
    by_class = np.ascontiguousarray(table.T)

    def add(chunk: Chunk, start: int, scores: Floats) -> None:
        few = scores.shape[1] <= FEW_CLASSES
        if not chunk.by_column:
            (codes_by_row_few if few else codes_by_row)(chunk.rows, *where, table, scores)
        elif few:
            codes_by_column_few(chunk.cells, chunk.start, chunk.stop, *where, by_class, scores)
        else:
            codes_by_column(chunk.cells, chunk.start, chunk.stop, *where, table, scores)

    return ChunkScorer(cells, add)
