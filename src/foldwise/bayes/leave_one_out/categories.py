"""Leave-one-out for categories, bins and presence: counts minus those of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foldwise.arrays import Bools, Floats, Ints
from foldwise.bayes.families.base import ShareTable
from foldwise.bayes.families.binned import cuts_of
from foldwise.bayes.families.protocol import ClassTotals, Setting
from foldwise.bayes.leave_one_out.rows import LeftOutRows, shrunk
from foldwise.data.schema import Column, Level
from foldwise.summaries.alignment import weight_left
from foldwise.summaries.counts import CategoryCounts
from foldwise.summaries.values import Values


@dataclass(frozen=True)
class LevelCounts:
    """Weight and number of rows of each level of one column, over all rows, in the order of the codes."""

    weight: Floats  # (L, K)
    rows: Floats  # (L, K)
    declared: Bools  # (L,)
    extra: int = 0  # declared levels without a code

    @classmethod
    def of(cls, column: Column, counts: CategoryCounts, levels: Sequence[Level]) -> LevelCounts:
        known = set(column.levels or ())
        declared = np.array([level in known for level in levels], dtype=bool)
        return cls(*counts.on(levels), declared, len(known.difference(levels)))


class LevelsLeftOut:
    """One column of levels: for each row, the counts of its level in all other rows."""

    def __init__(self, codes: Ints, counts: LevelCounts, left: LeftOutRows, totals: ClassTotals) -> None:
        n_levels = len(counts.weight)
        self._there = codes < n_levels
        # one more, empty level for missing values
        weight, rows = (np.vstack([array, np.zeros(left.n_classes)]) for array in (counts.weight, counts.rows))
        declared = np.append(counts.declared, False)
        taken, counted = left.taken(self._there)
        left_rows = rows[codes] - counted
        all_weight, all_rows = weight.sum(axis=0), rows.sum(axis=0)
        self.over = weight_left(weight[codes], taken, left_rows)  # (m, K)
        self._present = weight_left(all_weight, taken, all_rows - counted)  # (m, K)
        self._missing = totals.missing(self._present, all_rows - counted)  # (m, K)
        # a level that occurs in no other row does not exist, unless it is declared
        self._unseen: Bools = np.asarray(self._there & ~declared[codes] & (left_rows.sum(axis=1) == 0))
        gone = self._unseen & (counted.sum(axis=1) > 0)
        self._n_levels = int((rows.any(axis=1) | declared).sum()) + counts.extra - gone  # (m,)
        self.poor: Bools = np.zeros(len(codes), dtype=bool)
        if not left.whole:
            lost = shrunk(weight[codes], self.over) | shrunk(all_weight, self._present)
            self.poor = np.asarray(lost.any(axis=1))

    def logs(self, setting: Setting) -> Floats:  # (m, K)
        """Apply the formula of `LevelTable` to the value of each row."""
        missing_counts: Bools = np.asarray((setting.missing == "category") & self._missing.any(axis=1))
        unseen_counts = setting.unseen == "smooth"
        n_slots = (self._n_levels + missing_counts + unseen_counts)[:, None]
        total = self._present + missing_counts[:, None] * self._missing
        held = np.where(self._there[:, None], np.where(self._unseen[:, None], 0.0, self.over), self._missing)
        log = ShareTable.of(held + setting.alpha, total + setting.alpha * n_slots, n_slots).log
        silent = np.where(self._there, self._unseen & (not unseen_counts), ~missing_counts)
        return np.where(silent[:, None], 0.0, log)


class CategoriesLeftOut:
    """A block of categorical columns."""

    def __init__(self, codes: Ints, counts: Sequence[LevelCounts], left: LeftOutRows, columns: Sequence[int]) -> None:
        totals = left.classes()
        self._shape, self._columns = totals.weight.shape, columns
        self._levels = [LevelsLeftOut(codes[:, j], one, left, totals) for j, one in enumerate(counts)]
        self._poor = np.any([one.poor for one in self._levels], axis=0)

    def scores(self, setting: Setting) -> tuple[Floats, Bools]:  # (m, K), (m,)
        found = np.zeros(self._shape)
        for k, j in enumerate(self._columns):
            if setting.uses(j):
                found += setting.weight(j) * self.logs(k, setting)
        return found, self._poor

    def logs(self, k: int, setting: Setting) -> Floats:  # (m, K)
        return self._levels[k].logs(setting)


class PresenceLeftOut(CategoriesLeftOut):
    """The factors of `WithPresence`: a column with the levels "present" and "missing"; 0 unless missing="category"."""

    def __init__(self, there: Bools, present: tuple[Floats, Floats], left: LeftOutRows, columns: Sequence[int]) -> None:
        weight, rows = present[0].T, present[1].T  # (d, K) both
        missing = left.totals.missing(weight, rows), left.totals.rows - rows
        pairs = np.stack([[weight, missing[0]], [rows, missing[1]]])  # (2, 2, d, K)
        declared = np.ones(2, dtype=bool)
        counts = [LevelCounts(pairs[0, :, j], pairs[1, :, j], declared) for j in range(len(columns))]
        self._there, self._missing = there, np.any(missing[0], axis=1)
        super().__init__((~there).astype(np.int64), counts, left, columns)

    def scores(self, setting: Setting) -> tuple[Floats, Bools]:
        if setting.missing != "category":
            return np.zeros(self._shape), np.zeros(len(self._there), dtype=bool)
        return super().scores(replace(setting, missing="ignore"))

    def logs(self, k: int, setting: Setting) -> Floats:
        # without the only missing value, presence has no influence
        counts = np.where(self._there[:, k], self._missing[k], self._levels[k].over.any(axis=1))
        return np.where(counts[:, None], super().logs(k, setting), 0.0)


class BinnedLeftOut:
    """A block of columns with bins of equal width. Rows that alone are at an end of the range need a refit."""

    def __init__(
        self, cells: Floats, summary: Values, left: LeftOutRows, columns: Sequence[int], described: Sequence[Column]
    ) -> None:
        self._cells, self._summary, self._left = cells, summary, left
        self._columns, self._described = columns, described
        self._totals = left.classes()
        ends = [only_ends(summary, j) for j in range(len(columns))]
        at_end = np.array([np.isin(cells[:, j], ends[j]) for j in range(len(columns))]).any(axis=0)
        self._poor = at_end & left.seen

    def scores(self, setting: Setting) -> tuple[Floats, Bools]:  # (m, K), (m,)
        found, poor = np.zeros(self._totals.weight.shape), self._poor
        for k, (j, column) in enumerate(zip(self._columns, self._described, strict=True)):
            if setting.uses(j):
                values, cells = self._summary.columns[k], self._cells[:, k]
                cuts = cuts_of(column.name, values, self._left.n_classes, setting)
                levels = len(cuts) + 1
                weight, rows = values.by_bin(np.searchsorted(cuts, values.x), levels, self._left.n_classes)
                codes = np.where(np.isnan(cells), levels, np.searchsorted(cuts, cells))
                counts = LevelCounts(weight, rows, np.ones(levels, dtype=bool))
                bins = LevelsLeftOut(codes, counts, self._left, self._totals)
                found += setting.weight(j) * bins.logs(replace(setting, unseen="ignore"))
                poor = poor | bins.poor
        return found, poor


def only_ends(summary: Values, k: int) -> Floats:
    """Find the smallest and greatest value of a column, if they occur in one row only."""
    column = summary.columns[k]
    ends = {float(end) for end in (column.x.min(initial=np.inf), column.x.max(initial=-np.inf))}
    return np.array([end for end in sorted(ends) if column.rows[column.x == end].sum() == 1])
