"""Numbers cut into bins, and then categories: no shape is assumed. Cut points come from the rows that were learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit

from foldwise.bayes.families.categorical import CategoryTable, category_factor, finish_column
from foldwise.bayes.families.cuts import by_entropy, equal_frequency, equal_width
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Parameter, Setting, option
from foldwise.bayes.families.reading import ChunkScorer, dense, factors_of_numbers
from foldwise.data.cells import Chunk, read_only
from foldwise.data.schema import Column
from foldwise.summaries.counts import CategoryCounts, SlotLayout
from foldwise.summaries.moments import check_finite, refuse_infinite
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import Share
from foldwise.summaries.values import Values, ValueWeights, values_of


class Binned:
    """(N_bin + alpha) / (N_present + alpha · bins); the first and the last bin are open."""

    name = "binned"

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Values:
        return values_of(dense(view, self.name), columns, share, check_finite)

    def finish(
        self, summary: Values, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> BinnedLikelihood:
        pairs = list(zip(columns, summary.columns, strict=True))
        cuts = tuple(cuts_of(column.name, values, summary.n_classes, setting) for column, values in pairs)
        tables = tuple(
            finish_bins(column, values, own, totals, setting) for (column, values), own in zip(pairs, cuts, strict=True)
        )
        return BinnedLikelihood(cuts, tables)

    def present(self, summary: Values) -> None:
        return None

    def summary_from_dict(self, facts: dict[str, Any], n_classes: int, n_columns: int) -> Values:
        return Values.from_dict(facts, n_classes, n_columns)


def cuts_of(name: str, values: ValueWeights, n_classes: int, setting: Setting) -> Floats:
    """The cut points of a column."""
    how, n_bins = option(setting.cuts, name, "width"), int(option(setting.bins, name, 10))
    if how == "entropy":
        return by_entropy(values, n_classes)
    return (equal_width if how == "width" else equal_frequency)(values, n_bins)


def finish_bins(
    column: Column, values: ValueWeights, cuts: Floats, totals: ClassTotals, setting: Setting
) -> CategoryTable:
    """The bins of a column as the levels of a category. Every number has its bin, so none is unseen."""
    levels = tuple(range(len(cuts) + 1))
    weight, rows = values.by_bin(np.searchsorted(cuts, values.x), len(levels), len(totals.weight))
    counts = CategoryCounts(levels, weight, rows)
    described = Column(column.name, "categorical", levels)
    return finish_column(described, counts, totals, replace(setting, unseen="ignore"))


def bin_name(cuts: Floats, place: int) -> str:
    """A bin in words."""
    if not len(cuts):
        return "any"
    if place == 0:
        return f"up to {cuts[0]:.6g}"
    return f"above {cuts[-1]:.6g}" if place == len(cuts) else f"{cuts[place - 1]:.6g} to {cuts[place]:.6g}"


@njit(nogil=True, cache=True)
def bins_by_row(cells: Floats, cuts: Floats, starts: Ints, base: Ints, table: Floats, scores: Floats) -> int:
    """Add the entries of `table` (slots, K) for the bins of cells; the first row with an infinite cell, or -1."""
    n, d = cells.shape
    for i in range(n):
        for j in range(d):
            x = cells[i, j]
            low, high = starts[j], starts[j + 1]
            slot = base[j] + high - low + 1  # that of a missing cell, behind the bins
            if x == x:
                if np.isinf(x):
                    return i
                while low < high:
                    middle = (low + high) // 2
                    if cuts[middle] < x:
                        low = middle + 1
                    else:
                        high = middle
                slot = base[j] + low - starts[j]
            for c in range(table.shape[1]):
                scores[i, c] += table[slot, c]
    return -1


@dataclass(frozen=True)
class BinnedLikelihood:
    """The cut points and the finished tables of a block of columns."""

    cuts: tuple[Floats, ...]
    tables: tuple[CategoryTable, ...]

    def scorer(self, view: AnyView, columns: Sequence[int]) -> ChunkScorer:
        names = tuple(table.name for table in self.tables)
        layout = SlotLayout.of(np.zeros(len(self.cuts)), [len(cuts) + 2 for cuts in self.cuts])
        starts = read_only(np.cumsum([0, *(len(cuts) for cuts in self.cuts)], dtype=np.int64))
        where = (read_only(np.concatenate(self.cuts)), starts, read_only(layout.base.astype(np.int64)))
        table = read_only(np.vstack([t.log for t in self.tables]))

        def add(chunk: Chunk, start: int, scores: Floats) -> None:
            rows = chunk.rows
            if bins_by_row(read_only(rows), *where, table, scores) >= 0:
                refuse_infinite(rows, names, start)

        return ChunkScorer(dense(view, Binned.name).numbers(columns), add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        return factors_of_numbers(dense(view, Binned.name), columns, self._factor, check_finite)

    def _factor(self, j: int, value: float) -> Factor:
        table, cuts = self.tables[j], self.cuts[j]
        if np.isnan(value):
            return category_factor(table, len(table.levels), None)
        place = int(np.searchsorted(cuts, value))
        return replace(category_factor(table, place, value), note=f"{table.name} {bin_name(cuts, place)}")

    def parameters(self) -> list[Parameter]:
        lines = []
        for table, cuts in zip(self.tables, self.cuts, strict=True):
            names = [(bin_name(cuts, slot), slot) for slot in table.levels if isinstance(slot, int)]
            names += [("(missing)", -2)] * table.missing_counts
            for name, slot in names:
                values = tuple(np.exp(table.log[slot]).tolist())
                lines.append(Parameter(table.name, name, values, table.fractions(slot)))
        return lines
