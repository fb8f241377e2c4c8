"""Many settings of naive Bayes finished at once: tables with one more axis, for categorical and gaussian columns.

The formulas are those of the families; `foldwise.testing.check_foldable` holds the two together. What a setting may
vary here: alpha, unseen, var_floor, ddof and priors; with `missing="category"` settings are finished one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.bayes.families.gaussian import finish_settings
from foldwise.bayes.families.protocol import Setting
from foldwise.data.cells import Cells, common_block
from foldwise.data.encoded import CodedColumn
from foldwise.folds.sums import CodedTable, LookUp, Numbers, Scores
from foldwise.folds.sums.coding import Places
from foldwise.summaries.moments import moments_of, refuse_infinite
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import Share


@dataclass(frozen=True)
class Settings:
    """Settings that are finished together, as arrays."""

    all: tuple[Setting, ...]
    alpha: Floats  # (S,)
    smooth: Ints  # (S,), 1 where unseen="smooth"
    subsets: bool  # whether some setting leaves columns out

    @classmethod
    def of(cls, settings: Sequence[Setting]) -> Settings:
        alpha = np.array([setting.alpha for setting in settings])
        smooth = np.array([setting.unseen == "smooth" for setting in settings], dtype=np.int64)
        return cls(tuple(settings), alpha, smooth, any(setting.columns is not None for setting in settings))

    def left_out(self, columns: Sequence[int]) -> NDArray[np.bool_]:  # (columns, S)
        """Which settings leave which of these columns out."""
        return np.array([[not setting.uses(j) for setting in self.all] for j in columns])


@dataclass(frozen=True)
class CodeTable:
    """Categorical columns of a whole table: each has a slot for each of its levels and one for missing."""

    coded: CodedTable
    column: Ints  # (slots,), the column of each slot
    is_level: NDArray[np.bool_]  # (slots,), whether it is no missing cell
    declared: NDArray[np.bool_]  # (slots,), whether its column's type declares the level
    extra: Ints  # (d,), declared levels that no row of the table holds
    places: tuple[int, ...]  # (d,), in the table

    @classmethod
    def of(cls, columns: Sequence[CodedColumn], places: tuple[int, ...]) -> CodeTable:
        sizes = np.array([len(c.levels) + 1 for c in columns], dtype=np.int64)
        arrays = [c.coded for c in columns]
        block = common_block(arrays, np.dtype(np.int64))
        side_by_side = block is not None and not block[1]
        coded = CodedTable.of(block[0] if block is not None and side_by_side else np.stack(arrays, axis=1), sizes)
        is_level = np.ones(coded.n_slots, dtype=bool)
        is_level[coded.base + sizes - 1] = False
        declared = np.zeros(len(is_level), dtype=bool)
        extra = np.zeros(len(columns), dtype=np.int64)
        for j, c in enumerate(columns):
            known = set(c.column.levels or ())
            if known:
                declared[coded.base[j] : coded.base[j] + len(c.levels)] = [level in known for level in c.levels]
                extra[j] = len(known.difference(c.levels))
        return cls(coded, coded.column, is_level, declared, extra, places)

    def look_up(self, share: Share, rows: Places, settings: Settings) -> LookUp:
        """Log-probabilities of every slot (slots, K, S), learned from some rows, for every setting."""
        weight, held = self.coded.count(rows, share.y, share.weights, share.n_classes)
        seen = self.is_level & (self.declared | held.any(axis=1))
        present = np.add.reduceat(np.where(self.is_level[:, None], weight, 0.0), self.coded.base, axis=0)  # (d, K)
        levels = np.add.reduceat(seen, self.coded.base, dtype=np.int64) + self.extra  # (d,)
        table = np.empty((*weight.shape, len(settings.alpha)))
        under = np.empty((*present.shape, len(settings.alpha)))
        smooth_counts(weight, seen, self.column, present, levels, settings.alpha, settings.smooth, table, under)
        with np.errstate(divide="ignore"):
            np.log(table, out=table)
        np.log(under, out=under)
        divide_counts(table, under, seen, self.is_level, self.column, settings.smooth)
        if settings.subsets:
            table = np.where(settings.left_out(self.places)[self.column][:, None, :], 0.0, table)
        return LookUp(self.coded, table)


@njit(nogil=True, cache=True)
def smooth_counts(
    weight: Floats,
    seen: NDArray[np.bool_],
    column: Ints,
    present: Floats,
    levels: Ints,
    alpha: Floats,
    smooth: Ints,
    over: Floats,
    under: Floats,
) -> None:
    """Smoothed counts `over` (slots, K, S) and what they are shares of, `under` (d, K, S).

    A level never seen counts nothing. A class that holds no cell gives every level one share, where alpha is 0.
    """
    n_classes, n_settings = over.shape[1:]
    for j in range(under.shape[0]):
        for c in range(n_classes):
            for s in range(n_settings):
                slots = levels[j] + smooth[s]
                value = present[j, c] + alpha[s] * slots
                under[j, c, s] = value if value > 0 else max(slots, 1)
    for slot in range(over.shape[0]):
        j = column[slot]
        for c in range(n_classes):
            count = weight[slot, c] if seen[slot] else 0.0
            for s in range(n_settings):
                value = count + alpha[s]
                over[slot, c, s] = value if present[j, c] > 0 or alpha[s] > 0 else 1.0


@njit(nogil=True, cache=True)
def divide_counts(
    table: Floats, under: Floats, seen: NDArray[np.bool_], is_level: NDArray[np.bool_], column: Ints, smooth: Ints
) -> None:
    """log(over / under) in place; a missing cell says nothing, and without `smooth` a level never seen neither."""
    n_classes, n_settings = table.shape[1:]
    for slot in range(table.shape[0]):
        if not is_level[slot]:
            table[slot] = 0.0
            continue
        for c in range(n_classes):
            for s in range(n_settings):
                table[slot, c, s] -= under[column[slot], c, s]
            if not seen[slot]:
                for s in range(n_settings):
                    if smooth[s] == 0:
                        table[slot, c, s] = 0.0


@dataclass(frozen=True)
class NumberTable:
    """Gaussian columns of a whole table."""

    numbers: Floats  # (n, d)
    names: tuple[str, ...]
    places: tuple[int, ...]  # (d,), in the table

    def learn(self, share: Share, rows: Places, settings: Settings) -> Numbers:
        """Mean (K, d), and scale and log_norm (K, d, S), learned from some rows, for every setting."""
        cells = Cells(self.names, len(rows), list(np.ascontiguousarray(self.numbers[rows]).T), np.float64)
        mean, scale, log_norm = finish_settings(moments_of(cells, share), settings.all)
        if settings.subsets:
            out = settings.left_out(self.places)
            scale, log_norm = np.where(out, 0.0, scale), np.where(out, 0.0, log_norm)
        return Numbers(self.numbers, mean, scale, log_norm)


@dataclass(frozen=True)
class Grid:
    """A table whose columns are all categorical or gaussian, ready to be asked about many settings."""

    categories: CodeTable | None
    numbers: NumberTable | None

    def scores(self, share: Share, train: Places, settings: Settings, log_prior: Floats) -> Scores:
        """What training rows say of every setting; `share` holds their labels and weights, in their order."""
        parts: list[LookUp | Numbers] = []
        if self.categories is not None:
            parts.append(self.categories.look_up(share, train, settings))
        if self.numbers is not None:
            parts.append(self.numbers.learn(share, train, settings))
        return Scores(tuple(parts), np.ascontiguousarray(log_prior))

    def check_finite(self, test: Places) -> None:
        """Refuse infinite cells of test rows, as `predict` does."""
        if self.numbers is not None and np.isinf(self.numbers.numbers[test]).any():
            refuse_infinite(self.numbers.numbers[test], self.numbers.names, 0)
