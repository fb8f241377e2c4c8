"""Categorical distribution: the smoothed share of each level in each class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.arrays import Floats
from foldwise.bayes.families.base import DistributionFamily, ShareTable, chunk_scorer, dense, neutral_factor
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Parameter, Scorer, Setting
from foldwise.bayes.scoring_kernels import codes_by_column, codes_by_column_few, codes_by_row, codes_by_row_few
from foldwise.data.cells import Chunk, ChunkedCells
from foldwise.data.schema import Column, Level
from foldwise.data.view import View
from foldwise.summaries.counts import DIRECT_RANGE, CategoryCounts, Counts, SlotLayout, can_count_by_value, counts_of
from foldwise.summaries.number_kernels import FEW_CLASSES
from foldwise.summaries.passes import ThreadShare


@dataclass(frozen=True)
class LevelTable:
    """Shares of the levels, bins or words of one column, then those of a missing and of an unseen value."""

    name: str
    levels: tuple[Level, ...]
    shares: ShareTable  # (levels + 2, K); the logarithm is 0 for ignored values
    missing_counts: bool
    unseen_counts: bool

    @classmethod
    def of(
        cls, name: str, levels: tuple[Level, ...], weight: Floats, missing: Floats, setting: Setting
    ) -> LevelTable:  # weight (levels, K), missing (K,)
        """Smooth the weights of levels and missing values: (N + alpha) / (N_total + alpha · slots)."""
        missing_counts = setting.missing == "category" and bool(missing.any())
        unseen_counts = setting.unseen == "smooth"
        n_slots = len(levels) + missing_counts + unseen_counts
        over = np.vstack([weight, missing, np.zeros_like(missing)]) + setting.alpha
        under = weight.sum(axis=0) + missing_counts * missing + setting.alpha * n_slots
        shares = ShareTable.of(over, under, n_slots)
        if not missing_counts:
            shares.log[-2] = 0.0
        if not unseen_counts:
            shares.log[-1] = 0.0
        return cls(name, levels, shares, missing_counts, unseen_counts)

    @property
    def log(self) -> Floats:  # (levels + 2, K)
        return self.shares.log

    def factor(self, slot: int, value: Any, note: str = "") -> Factor:
        """Explain one value."""
        if slot == len(self.levels):
            if not self.missing_counts:
                return neutral_factor(self.name, self.log.shape[1])
            return self.shares.factor(self.name, None, slot, "missing, treated as a category")
        if slot > len(self.levels):
            if not self.unseen_counts:
                return neutral_factor(self.name, self.log.shape[1], "unseen", value)
            return self.shares.factor(self.name, value, slot, "unseen, smoothed")
        return self.shares.factor(self.name, value, slot, note)

    def parameters(self, names: Iterable[str]) -> list[Parameter]:
        """Return the rows of the probability table; `names` are the names of the levels."""
        rows = [*enumerate(names), *[(-2, "(missing)")] * self.missing_counts, *[(-1, "(unseen)")] * self.unseen_counts]
        return [self.shares.parameter(self.name, name, slot) for slot, name in rows]


class Categorical(DistributionFamily):
    """P(level) = (N_level + alpha) / (N_present + alpha · levels), over the declared levels, or those that occur."""

    name = "categorical"
    summary_type = Counts

    def summarize(self, view: AnyView, columns: Sequence[int], share: ThreadShare) -> Counts:
        return counts_of(dense(view, self.name), columns, share)

    def finish(
        self, summary: Counts, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> CategoricalLikelihood:
        pairs = zip(columns, summary.columns, strict=True)
        return CategoricalLikelihood(tuple(finish_column(c, counts, totals, setting) for c, counts in pairs))

    def present(self, summary: Counts) -> None:
        return None  # missing is one more level


def finish_column(column: Column, counts: CategoryCounts, totals: ClassTotals, setting: Setting) -> LevelTable:
    """Compute the smoothed shares of one column."""
    levels = counts.levels if column.levels is None else declared_levels(column.levels, counts.levels)
    weight, rows = counts.on(levels)
    return LevelTable.of(column.name, levels, weight, totals.missing(weight.sum(axis=0), rows.sum(axis=0)), setting)


def declared_levels(declared: tuple[Level, ...], seen: tuple[Level, ...]) -> tuple[Level, ...]:
    """Append levels that occur without being declared to the declared levels."""
    known = set(declared)
    return (*declared, *(level for level in seen if level not in known))


@dataclass(frozen=True)
class CategoricalLikelihood:
    """The shares of the levels of a block of columns."""

    tables: tuple[LevelTable, ...]

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        table = dense(view, Categorical.name)
        direct = self._direct_scorer(table, columns)
        if direct is not None:
            return direct
        layout = SlotLayout.of(np.zeros(len(self.tables)), [len(t.levels) + 1 for t in self.tables])
        return code_scorer(self._codes(table, columns), layout, np.vstack([t.log for t in self.tables]))

    def _codes(self, view: View, columns: Sequence[int]) -> ChunkedCells:
        return view.codes(columns, [table.levels for table in self.tables])

    def _direct_scorer(self, view: View, columns: Sequence[int]) -> Scorer | None:
        """Make a scorer that looks whole numbers of a small range up by their value; None if it does not apply."""
        ranges = [whole_range(table.levels) for table in self.tables]
        cells = view.integers(columns) if all(r is not None for r in ranges) else None
        if cells is None:
            return None
        known = [r for r in ranges if r is not None]
        spans = [width - 1 for _, width in known]
        if max(spans) >= DIRECT_RANGE or not can_count_by_value(np.array(spans, np.int64), self.tables[0].log.shape[1]):
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
    """Find the smallest level and the range, if all levels are whole numbers."""
    if not levels:
        return 0, 0
    if not all(type(level) is int and abs(level) < 1 << 62 for level in levels):
        return None
    low, high = int(min(levels)), int(max(levels))
    return low, high - low + 1


def code_scorer(cells: ChunkedCells, layout: SlotLayout, table: Floats) -> Scorer:
    """Make a scorer that looks codes up in a table of log-probabilities (slots, K)."""
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

    return chunk_scorer(cells, add)
