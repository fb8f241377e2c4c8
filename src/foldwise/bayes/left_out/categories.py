"""Categories and bins: counts without each row's own. A level that only this row holds is gone, as in a refit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foldwise.bayes.families.binned import cuts_of
from foldwise.bayes.families.protocol import ClassTotals, Setting
from foldwise.bayes.families.reading import log_shares
from foldwise.bayes.left_out.rows import Bools, LeftOut, shrunk
from foldwise.data.schema import Column, Level
from foldwise.summaries.alignment import weight_left
from foldwise.summaries.counts import CategoryCounts
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.values import Values


@dataclass(frozen=True)
class Slots:
    """One column: what all rows hold of each level, in the order of the codes."""

    weight: Floats  # (L, K)
    rows: Floats  # (L, K)
    declared: Bools  # (L,)
    extra: int  # declared levels without a code

    @classmethod
    def of(cls, column: Column, counts: CategoryCounts, levels: Sequence[Level]) -> Slots:
        known = set(column.levels or ())
        declared = np.array([level in known for level in levels], dtype=bool)
        return cls(*counts.on(levels), declared, len(known.difference(levels)))


class ColumnTurns:
    """One column of categories: for each row, what the others hold of its level."""

    def __init__(self, codes: Ints, slots: Slots, left: LeftOut, totals: ClassTotals) -> None:
        n_levels = len(slots.weight)
        self._there = codes < n_levels
        safe = np.where(self._there, codes, 0) if n_levels else np.zeros_like(codes)
        weight, rows = (array if n_levels else np.zeros((1, left.n_classes)) for array in (slots.weight, slots.rows))
        taken, counted = left.taken(self._there)
        left_rows = rows[safe] - counted
        self._over = weight_left(weight[safe], taken, left_rows)  # (m, K)
        all_rows = slots.rows.sum(axis=0)
        self._present = weight_left(slots.weight.sum(axis=0), taken, all_rows - counted)  # (m, K)
        self._absent = totals.missing(self._present, all_rows - counted)  # (m, K)
        declared = slots.declared[safe] if n_levels else np.zeros(len(codes), dtype=bool)
        holders = slots.rows.sum(axis=1)
        # a level without a holder among the others is none, unless it is declared
        self._unseen: Bools = np.asarray(self._there & ~declared & (left_rows.sum(axis=1) == 0))
        gone = self._unseen & (counted.sum(axis=1) > 0)
        self._n_levels = int(((holders > 0) | slots.declared).sum()) + slots.extra - gone  # (m,)
        self.poor: Bools = np.zeros(len(codes), dtype=bool)
        if not left.whole:
            lost = shrunk(weight[safe], self._over).any(axis=1) & self._there
            self.poor = np.asarray(lost | shrunk(slots.weight.sum(axis=0), self._present).any(axis=1))

    def logs(self, setting: Setting) -> Floats:  # (m, K)
        """The formula of `finish_column`, for the cell of each row."""
        missing_counts: Bools = np.asarray((setting.missing == "category") & self._absent.any(axis=1))
        unseen_counts = setting.unseen == "smooth"
        n_slots = (self._n_levels + missing_counts + unseen_counts)[:, None]
        total = np.where(missing_counts[:, None], self._present + self._absent, self._present)
        held = np.where(self._there[:, None], np.where(self._unseen[:, None], 0.0, self._over), self._absent)
        over, under = held + setting.alpha, total + setting.alpha * n_slots
        empty = under == 0
        if empty.any():
            over, under = np.where(empty, 1.0, over), np.where(empty, np.maximum(n_slots, 1.0), under)
        log = log_shares(over, under)
        silent = np.where(self._there, self._unseen & (not unseen_counts), ~missing_counts)
        return np.where(silent[:, None], 0.0, log)


class CategoryTurns:
    """A block of categories."""

    def __init__(self, codes: Ints, slots: Sequence[Slots], left: LeftOut, columns: Sequence[int]) -> None:
        totals = left.classes()
        self._columns = columns
        self._turns = [ColumnTurns(codes[:, j], one, left, totals) for j, one in enumerate(slots)]
        self._poor = np.any([one.poor for one in self._turns], axis=0)
        self._shape = totals.weight.shape

    def scores(self, setting: Setting) -> tuple[Floats, Bools]:  # (m, K), (m,)
        found = np.zeros(self._shape)
        for j, one in zip(self._columns, self._turns, strict=True):
            if setting.uses(j):
                found += one.logs(setting)
        return found, self._poor


class BinnedTurns:
    """A block of numbers cut in equal widths: by the cuts of all rows, unless an end of the range is left out."""

    def __init__(
        self, cells: Floats, summary: Values, left: LeftOut, columns: Sequence[int], described: Sequence[Column]
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
                places = np.searchsorted(cuts, values.x)
                weight, rows = values.by_bin(places, levels, self._left.n_classes)
                codes = np.where(np.isnan(cells), levels, np.searchsorted(cuts, cells))
                slots = Slots(weight, rows, np.ones(levels, dtype=bool), 0)
                turns = ColumnTurns(codes, slots, self._left, self._totals)
                found += turns.logs(replace(setting, unseen="ignore"))
                poor = poor | turns.poor
        return found, poor


def only_ends(summary: Values, k: int) -> Floats:
    """The least and the greatest value of a column, as far as one row alone holds them."""
    column = summary.columns[k]
    ends = {float(end) for end in (column.x.min(initial=np.inf), column.x.max(initial=-np.inf))}
    return np.array([end for end in sorted(ends) if column.rows[column.x == end].sum() == 1])
