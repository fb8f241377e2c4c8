"""Numbers cut into bins, and then categories: no shape is assumed. Cut points come from the rows that were learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit

from foldwise.bayes.families.base import DistributionFamily, NumericLikelihood, dense, names_of
from foldwise.bayes.families.cuts import by_entropy, equal_frequency, equal_width
from foldwise.bayes.families.level_table import LevelTable
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Parameter, Setting, option
from foldwise.data.cells import Chunk, read_only
from foldwise.data.schema import Column
from foldwise.summaries.moments import check_finite, refuse_infinite
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import Share
from foldwise.summaries.values import Values, ValueWeights, values_of


class Binned(DistributionFamily):
    """(N_bin + alpha) / (N_present + alpha · bins); the first and the last bin are open."""

    name = "binned"
    summary_type = Values

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Values:
        return values_of(dense(view, self.name), columns, share, check_finite)

    def finish(
        self, summary: Values, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> BinnedLikelihood:
        pairs = list(zip(columns, summary.columns, strict=True))
        cuts = tuple(cuts_of(column.name, values, summary.n_classes, setting) for column, values in pairs)
        tables = tuple(
            finish_bins(column.name, values, own, totals, setting)
            for (column, values), own in zip(pairs, cuts, strict=True)
        )
        return BinnedLikelihood(names_of(columns), cuts, tables)

    def present(self, summary: Values) -> None:
        return None  # missing is one more bin


def cuts_of(name: str, values: ValueWeights, n_classes: int, setting: Setting) -> Floats:
    """The cut points of a column."""
    how, n_bins = option(setting.cuts, name, "width"), int(option(setting.bins, name, 10))
    if how == "entropy":
        return by_entropy(values, n_classes)
    return (equal_width if how == "width" else equal_frequency)(values, n_bins)


def finish_bins(name: str, values: ValueWeights, cuts: Floats, totals: ClassTotals, setting: Setting) -> LevelTable:
    """The bins of a column as the levels of a category. Every number has its bin, so none is unseen."""
    n_bins = len(cuts) + 1
    weight, rows = values.by_bin(np.searchsorted(cuts, values.x), n_bins, len(totals.weight))
    missing = totals.missing(weight.sum(axis=0), rows.sum(axis=0))
    return LevelTable.of(name, tuple(range(n_bins)), weight, missing, replace(setting, unseen="ignore"))


def bin_name(cuts: Floats, index: int) -> str:
    """A bin in words."""
    if not len(cuts):
        return "any"
    if index == 0:
        return f"up to {cuts[0]:.6g}"
    return f"above {cuts[-1]:.6g}" if index == len(cuts) else f"{cuts[index - 1]:.6g} to {cuts[index]:.6g}"


@njit(nogil=True, cache=True)
def bins_by_row(cells: Floats, cuts: Floats, starts: Ints, base: Ints, table: Floats, scores: Floats) -> int:
    """Add the entries of `table` (slots, K) for the bins of cells; the first row with an infinite cell, or -1."""
    n, d = cells.shape
    for i in range(n):
        for j in range(d):
            x = cells[i, j]
            own = cuts[starts[j] : starts[j + 1]]
            slot = base[j] + own.size + 1  # that of a missing cell, behind the bins
            if x == x:
                if np.isinf(x):
                    return i
                slot = base[j] + np.searchsorted(own, x)
            for c in range(table.shape[1]):
                scores[i, c] += table[slot, c]
    return -1


@dataclass(frozen=True)
class BinnedLikelihood(NumericLikelihood):
    """The cut points and the finished tables of a block of columns."""

    family = Binned.name

    names: tuple[str, ...]
    cuts: tuple[Floats, ...]
    tables: tuple[LevelTable, ...]

    @cached_property
    def _flat(self) -> tuple[Floats, Ints, Ints, Floats]:
        """All cut points, where those of each column start, where its bins start, and their logarithms (bins, K)."""
        starts, base = (np.cumsum([0, *(len(cuts) + more for cuts in self.cuts)], dtype=np.int64) for more in (0, 3))
        arrays = (np.concatenate(self.cuts), starts, base, np.vstack([table.log for table in self.tables]))
        cuts, starts, base, log = (read_only(array) for array in arrays)
        return cuts, starts, base, log

    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        rows = chunk.rows
        if bins_by_row(read_only(rows), *self._flat, scores) >= 0:
            refuse_infinite(rows, self.names, start)

    def logs(self, cells: Floats) -> Floats:
        found = zip(self.tables, self.cuts, cells, strict=True)
        return np.stack([table.log[np.searchsorted(cuts, x)] for table, cuts, x in found], axis=1)

    def factor(self, j: int, value: float, log: Floats) -> Factor:
        table, cuts = self.tables[j], self.cuts[j]
        if np.isnan(value):
            return table.factor(len(table.levels), None)
        index = int(np.searchsorted(cuts, value))
        return table.factor(index, value, f"{table.name} {bin_name(cuts, index)}")

    def parameters(self) -> list[Parameter]:
        pairs = zip(self.tables, self.cuts, strict=True)
        named = ((table, [bin_name(cuts, slot) for slot in range(len(table.levels))]) for table, cuts in pairs)
        return [row for table, names in named for row in table.parameters(names)]
