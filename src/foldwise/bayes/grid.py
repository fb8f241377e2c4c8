"""Many settings of naive Bayes finished at once: tables with one more axis, for categorical and gaussian columns.

The formulas are those of the families; `foldwise.testing.check_foldable` holds the two together. What a setting may
vary here: alpha, unseen, var_floor, ddof and priors; with `missing="category"` settings are finished one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.bayes.families.gaussian import finish_settings
from foldwise.bayes.families.protocol import Setting
from foldwise.data.cells import ChunkedCells, common_block
from foldwise.data.encoded import CodedColumn
from foldwise.folds.sums import CategoricalTerms, CodedTable, CountLogs, GaussianTerms, JointScores
from foldwise.folds.sums.coding import Places
from foldwise.summaries.moments import moments_of, refuse_infinite
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import Share

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class SettingArrays:
    """SettingArrays that are finished together, as arrays."""

    all: tuple[Setting, ...]
    alpha: Floats  # (S,)
    smooth: Ints  # (S,), 1 where unseen="smooth"
    subsets: bool  # whether some setting leaves columns out

    @classmethod
    def of(cls, settings: Sequence[Setting]) -> SettingArrays:
        alpha = np.array([setting.alpha for setting in settings])
        smooth = np.array([setting.unseen == "smooth" for setting in settings], dtype=np.int64)
        return cls(tuple(settings), alpha, smooth, any(setting.columns is not None for setting in settings))

    @cached_property
    def logs(self) -> CountLogs:
        """Logarithms of counts plus alpha, which training sets share."""
        return CountLogs(self.alpha)

    def left_out(self, columns: Sequence[int]) -> NDArray[np.bool_]:  # (columns, S)
        """Which settings leave which of these columns out."""
        return np.array([[not setting.uses(j) for setting in self.all] for j in columns])


@dataclass(frozen=True)
class CategoricalColumns:
    """Categorical columns of a whole table: each has a slot for each of its levels, and one for missing if one is."""

    coded: CodedTable
    is_level: Bools  # (slots,), whether it is no missing cell
    declared: Bools  # (slots,), whether its column's type declares the level
    extra: Ints  # (d,), declared levels that no row of the table holds
    columns: tuple[int, ...]  # (d,), their indices in the table

    @classmethod
    def of(cls, columns: Sequence[CodedColumn], indices: tuple[int, ...]) -> CategoricalColumns:
        arrays = [c.coded for c in columns]
        block = common_block(arrays, np.dtype(np.int64))
        side_by_side = block is not None and not block[1]
        codes = block[0] if block is not None and side_by_side else np.stack(arrays, axis=1)
        n_levels = np.array([len(c.levels) for c in columns], dtype=np.int64)
        gaps = codes.max(axis=0, initial=0) == n_levels
        coded = CodedTable.of(codes, n_levels + gaps)
        is_level = np.ones(coded.n_slots, dtype=bool)
        is_level[(coded.base + n_levels)[gaps]] = False
        declared = np.zeros(len(is_level), dtype=bool)
        extra = np.zeros(len(columns), dtype=np.int64)
        for j, c in enumerate(columns):
            known = set(c.column.levels or ())
            if known:
                declared[coded.base[j] : coded.base[j] + len(c.levels)] = [level in known for level in c.levels]
                extra[j] = len(known.difference(c.levels))
        return cls(coded, is_level, declared, extra, indices)

    def look_up(self, share: Share, rows: Places, settings: SettingArrays) -> CategoricalTerms:
        """Log-probabilities of every slot (slots, K, S), learned from some rows, for every setting."""
        weight, held = self.coded.count(rows, share.y, share.weights, share.n_classes)
        alpha, smooth = settings.alpha, settings.smooth
        seen = np.empty(len(weight), dtype=bool)
        present = np.zeros((len(self.extra), share.n_classes))
        under = np.empty((*present.shape, len(alpha)))
        slots = SlotKinds(self.coded.base, self.coded.sizes, self.is_level, self.declared, self.extra)
        smooth_totals(slots, weight, held, alpha, smooth, seen, present, under)
        np.log(under, out=under)
        logs, line = settings.logs.of(weight, whole=share.weights is None)
        table = np.empty((*weight.shape, len(alpha)))
        divide_counts(slots, logs, line, under, seen, present, alpha, smooth, table)
        if settings.subsets:
            table = np.where(settings.left_out(self.columns)[self.coded.column][:, None, :], 0.0, table)
        return CategoricalTerms(self.coded, table)


class SlotKinds(NamedTuple):
    """The slots of all columns, as kernels take them (see `CategoricalColumns`)."""

    base: Ints
    sizes: Ints
    is_level: Bools
    declared: Bools
    extra: Ints


@njit(nogil=True, cache=True)
def smooth_totals(
    slots: SlotKinds, weight: Floats, held: Floats, alpha: Floats, smooth: Ints,
    seen: Bools, present: Floats, under: Floats,
) -> None:  # fmt: skip
    """Which slots are levels of the training rows, `present` weight (d, K), and what shares are taken of (d, K, S)."""
    n_classes, n_settings = under.shape[1:]
    for j in range(slots.base.size):
        n_levels = slots.extra[j]
        for slot in range(slots.base[j], slots.base[j] + slots.sizes[j]):
            seen[slot] = slots.is_level[slot] and (slots.declared[slot] or held[slot].any())
            n_levels += seen[slot]
            if slots.is_level[slot]:
                for c in range(n_classes):
                    present[j, c] += weight[slot, c]
        for c in range(n_classes):
            for s in range(n_settings):
                n_shares = n_levels + smooth[s]
                value = present[j, c] + alpha[s] * n_shares
                under[j, c, s] = value if value > 0 else max(n_shares, 1)


@njit(nogil=True, cache=True)
def divide_counts(
    slots: SlotKinds, logs: Floats, line: Ints, under: Floats, seen: Bools, present: Floats,
    alpha: Floats, smooth: Ints, table: Floats,
) -> None:  # fmt: skip
    """log(over / under) into `table` (slots, K, S), where `logs[line[slot, c]]` (S) are those of smoothed counts.

    A missing cell has no influence, and without `smooth` neither has a level never seen. A class that holds no cell
    gives every level one share, where alpha is 0.
    """
    n_classes, n_settings = table.shape[1:]
    for j in range(slots.base.size):
        for slot in range(slots.base[j], slots.base[j] + slots.sizes[j]):
            for c in range(n_classes):
                out, above, below = table[slot, c], logs[line[slot, c]], under[j, c]
                for s in range(n_settings):
                    out[s] = above[s] - below[s]
                if present[j, c] == 0:
                    for s in range(n_settings):
                        if alpha[s] == 0:
                            out[s] = -below[s]
                if not seen[slot]:
                    for s in range(n_settings):
                        if smooth[s] == 0 or not slots.is_level[slot]:
                            out[s] = 0.0


@dataclass(frozen=True)
class GaussianColumns:
    """Gaussian columns of a whole table."""

    numbers: Floats  # (n, d)
    names: tuple[str, ...]
    columns: tuple[int, ...]  # (d,), their indices in the table

    def learn(self, share: Share, rows: Places, settings: SettingArrays) -> GaussianTerms:
        """Mean (K, d), and scale and log_norm (K, d, S), learned from some rows, for every setting."""
        cells = ChunkedCells(self.names, len(rows), list(np.ascontiguousarray(self.numbers[rows]).T), np.float64)
        mean, scale, log_norm = finish_settings(moments_of(cells, share), settings.all)
        if settings.subsets:
            out = settings.left_out(self.columns)
            scale, log_norm = np.where(out, 0.0, scale), np.where(out, 0.0, log_norm)
        return GaussianTerms(self.numbers, mean, scale, log_norm)


@dataclass(frozen=True)
class GridTable:
    """A table whose columns are all categorical or gaussian, ready for many settings."""

    categories: CategoricalColumns | None
    numbers: GaussianColumns | None

    def scores(self, share: Share, train: Places, settings: SettingArrays, log_prior: Floats) -> JointScores:
        """The scores of every setting, learned from training rows; `share` holds their labels and weights."""
        parts: list[CategoricalTerms | GaussianTerms] = []
        if self.categories is not None:
            parts.append(self.categories.look_up(share, train, settings))
        if self.numbers is not None:
            parts.append(self.numbers.learn(share, train, settings))
        return JointScores(tuple(parts), np.ascontiguousarray(log_prior))

    def check_finite(self, test: Places) -> None:
        """Refuse infinite cells of test rows, as `predict` does."""
        if self.numbers is not None and np.isinf(self.numbers.numbers[test]).any():
            refuse_infinite(self.numbers.numbers[test], self.numbers.names, 0)
