"""Categories: the smoothed share of each value in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Fraction, Parameter, Setting
from foldwise.bayes.families.reading import ChunkScorer, dense, left_out, log_shares
from foldwise.bayes.scoring_kernels import (
    codes_by_column,
    codes_by_column_few,
    codes_by_row,
    codes_by_row_few,
)
from foldwise.data.cells import Chunk, ChunkedCells
from foldwise.data.schema import Column, Level
from foldwise.data.view import View
from foldwise.summaries.counts import DIRECT_RANGE, CategoryCounts, Counts, SlotLayout, counts_of, worth_direct
from foldwise.summaries.number_kernels import FEW_CLASSES, Floats
from foldwise.summaries.passes import Share


class Categorical:
    """(N_value + alpha) / (N_present + alpha · levels); levels are those declared by the type, else those seen."""

    name = "categorical"

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Counts:
        return counts_of(dense(view, self.name), columns, share)

    def finish(
        self, summary: Counts, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> CategoricalLikelihood:
        pairs = zip(columns, summary.columns, strict=True)
        return CategoricalLikelihood(tuple(finish_column(c, counts, totals, setting) for c, counts in pairs))

    def present(self, summary: Counts) -> None:
        return None

    def summary_from_dict(self, facts: dict[str, Any], n_classes: int, n_columns: int) -> Counts:
        return Counts.from_dict(facts, n_classes, n_columns)


@dataclass(frozen=True)
class CategoryTable:
    """The finished table of one column: probabilities as counted, for each level, a missing cell, an unseen value."""

    name: str
    levels: tuple[Level, ...]
    over: Floats  # (levels + 2, K): the levels, missing, unseen
    under: Floats  # (K,)
    log: Floats  # (levels + 2, K); 0 for what is left out
    missing_counts: bool
    unseen_counts: bool

    def fractions(self, slot: int) -> tuple[Fraction, ...]:
        """A slot's probability in each class as a fraction."""
        return Fraction.each(self.over[slot], self.under)


def finish_column(column: Column, counts: CategoryCounts, totals: ClassTotals, setting: Setting) -> CategoryTable:
    """Smooth the counts of one column."""
    levels = counts.levels if column.levels is None else declared_levels(column.levels, counts.levels)
    weight, rows = counts.on(levels)
    present = weight.sum(axis=0)
    absent = totals.missing(present, rows.sum(axis=0))
    missing_counts = setting.missing == "category" and bool(absent.any())
    unseen_counts = setting.unseen == "smooth"
    total = present + absent if missing_counts else present
    n_slots = len(levels) + missing_counts + unseen_counts
    over = np.vstack([weight, absent[None], np.zeros((1, len(total)))]) + setting.alpha
    under = total + setting.alpha * n_slots
    if (under == 0).any():
        # alpha 0 and no present cell in a class: the limit for alpha -> 0 is one share for every slot
        over = np.where(under == 0, 1.0, over)
        under = np.where(under == 0, float(max(n_slots, 1)), under)
    log = log_shares(over, under)
    if not missing_counts:
        log[-2] = 0.0
    if not unseen_counts:
        log[-1] = 0.0
    return CategoryTable(column.name, levels, over, under, log, missing_counts, unseen_counts)


def declared_levels(declared: tuple[Level, ...], seen: tuple[Level, ...]) -> tuple[Level, ...]:
    """The declared levels, and behind them what rows held all the same."""
    known = set(declared)
    return (*declared, *(level for level in seen if level not in known))


@dataclass(frozen=True)
class CategoricalLikelihood:
    """The finished tables of a block of columns."""

    tables: tuple[CategoryTable, ...]

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
        sources = [table.sources[j] for j in columns]
        return [
            [
                category_factor(t, int(code), source.value(i))
                for t, code, source in zip(self.tables, row, sources, strict=True)
            ]
            for i, row in enumerate(codes)
        ]

    def parameters(self) -> list[Parameter]:
        lines = []
        for table in self.tables:
            names = [(str(level), slot) for slot, level in enumerate(table.levels)]
            names += [("(missing)", -2)] * table.missing_counts + [("(unseen)", -1)] * table.unseen_counts
            for name, slot in names:
                values = tuple(np.exp(table.log[slot]).tolist())
                lines.append(Parameter(table.name, name, values, table.fractions(slot)))
        return lines


def category_factor(table: CategoryTable, code: int, value: Any) -> Factor:
    """What one cell says."""
    log = tuple(table.log[code].tolist())
    if code == len(table.levels):
        if not table.missing_counts:
            return left_out(table.name, len(log))
        return Factor(table.name, None, log, table.fractions(code), note="missing, as a category")
    if code > len(table.levels):
        if not table.unseen_counts:
            return left_out(table.name, len(log), "never seen", value)
        return Factor(table.name, value, log, table.fractions(code), note="never seen, smoothed")
    return Factor(table.name, value, log, table.fractions(code))


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
