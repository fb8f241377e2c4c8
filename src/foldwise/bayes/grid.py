"""Computes likelihoods of many settings at once, for tables of categorical and gaussian columns.

The formulas are those of the families, with one more axis for settings; `foldwise.testing.check_foldable` compares the
two. Settings may differ in alpha, unseen, var_floor, ddof, priors, columns, their weights and the temperature. With
`missing="category"`, settings are computed one by one instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from foldwise.arrays import Bools, Floats, Ints
from foldwise.bayes.families.gaussian import finish_settings
from foldwise.bayes.families.protocol import Setting
from foldwise.data.cells import ChunkedCells, common_block
from foldwise.data.encoded import CodedColumn
from foldwise.folds.protocol import Rows
from foldwise.folds.sums import BatchLogs, CategoricalTerms, CodedTable, GaussianTerms, JointScores
from foldwise.summaries.moments import moments_of, refuse_infinite
from foldwise.summaries.passes import ThreadShare


@dataclass(frozen=True)
class GridBatch(BatchLogs):
    """Settings of one grid that are computed together, as arrays."""

    grid: GridTable
    settings: tuple[Setting, ...]
    priors: tuple[Any, ...]  # of each setting, as given

    @cached_property
    def alpha(self) -> Floats:  # (S,)
        return np.array([setting.alpha for setting in self.settings])

    @cached_property
    def smooth(self) -> Ints:  # (S,), 1 for unseen="smooth"
        return np.array([setting.unseen == "smooth" for setting in self.settings], dtype=np.int64)

    @cached_property
    def temperature(self) -> Floats | None:  # (S,)
        """The temperature of each setting; None if all are 1."""
        found = np.array([setting.temperature for setting in self.settings])
        return None if (found == 1).all() else found

    @cached_property
    def _all_columns(self) -> bool:
        """Whether every setting uses all columns, with weight 1."""
        return all(setting.columns is None and setting.column_weights is None for setting in self.settings)

    def weights(self, columns: Sequence[int]) -> Floats | None:  # (columns, S)
        """The weight of each column in each setting, 0 if it is not in use; None if all are 1."""
        if self._all_columns:
            return None
        return np.array([[one.weight(j) if one.uses(j) else 0.0 for one in self.settings] for j in columns])


@dataclass(frozen=True)
class CategoricalColumns:
    """Categorical columns of a whole table, with one slot per level, and one for missing values if there are any."""

    coded: CodedTable
    is_level: Bools  # (slots,), false for the slot of missing values
    declared: Bools  # (slots,), whether the level is declared by the type of the column
    extra: Ints  # (d,), declared levels that do not occur in the table
    columns: tuple[int, ...]  # (d,), their indices in the table

    @classmethod
    def of(cls, columns: Sequence[CodedColumn], indices: tuple[int, ...]) -> CategoricalColumns:
        arrays = [c.coded for c in columns]
        block, by_column = common_block(arrays, np.dtype(np.int64)) or (np.stack(arrays), True)
        codes = block.T if by_column else block
        n_levels = np.array([len(c.levels) for c in columns], dtype=np.int64)
        gaps = codes.max(axis=0, initial=0) == n_levels
        coded = CodedTable.of(np.ascontiguousarray(codes), n_levels + gaps)
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

    def look_up(self, share: ThreadShare, rows: Rows, batch: GridBatch) -> CategoricalTerms:
        """Learn the log-probabilities of every slot (slots, K, S) from some rows, for every setting."""
        weight, held = self.coded.count(rows, share.y, share.weights, share.n_classes)
        alpha, smooth = batch.alpha, batch.smooth
        seen = np.empty(len(weight), dtype=bool)
        present = np.zeros((len(self.extra), share.n_classes))
        under = np.empty((*present.shape, len(alpha)))
        slots = SlotKinds(self.coded.base, self.coded.sizes, self.is_level, self.declared, self.extra)
        smooth_totals(slots, weight, held, alpha, smooth, seen, present, under)
        np.log(under, out=under)
        logs, line = batch.logs.of(weight, whole=share.weights is None)
        table = np.empty((*weight.shape, len(alpha)))
        divide_counts(slots, logs, line, under, seen, present, alpha, smooth, table)
        if (weights := batch.weights(self.columns)) is not None:
            factor = np.broadcast_to(weights[self.coded.column][:, None, :], table.shape)
            table = np.multiply(table, factor, out=np.zeros_like(table), where=factor != 0)  # 0 times -inf is 0
        return CategoricalTerms(self.coded, table)


class SlotKinds(NamedTuple):
    """The slots of all columns in the form that kernels need (see `CategoricalColumns`)."""

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
    """Fill in which slots occur in training, the `present` weight (d, K), and the denominators `under` (d, K, S)."""
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
    """Write log(over / under) to `table` (slots, K, S), where `logs[line[slot, c]]` (S) are logs of smoothed counts.

    A missing value has no influence, and neither has an unseen level without `smooth`. If alpha is 0 and a class has no
    values, all levels have equal shares.
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

    def learn(self, share: ThreadShare, rows: Rows, batch: GridBatch) -> GaussianTerms:
        """Learn mean (K, d), scale and log_norm (K, d, S) from some rows, for every setting."""
        cells = ChunkedCells(self.names, len(rows), list(np.ascontiguousarray(self.numbers[rows]).T), np.float64)
        mean, scale, log_norm = finish_settings(moments_of(cells, share), batch.settings)
        if (weights := batch.weights(self.columns)) is not None:
            scale, log_norm = scale * weights, log_norm * weights
        return GaussianTerms(self.numbers, mean, scale, log_norm)


@dataclass(frozen=True)
class GridTable:
    """A table whose columns are all categorical or gaussian, prepared for many settings."""

    categories: CategoricalColumns | None
    numbers: GaussianColumns | None

    def scores(self, share: ThreadShare, train: Rows, batch: GridBatch, log_prior: Floats) -> JointScores:
        """Compute the scores of every setting from training rows, with labels and weights in `share`."""
        parts: list[CategoricalTerms | GaussianTerms] = []
        if self.categories is not None:
            parts.append(self.categories.look_up(share, train, batch))
        if self.numbers is not None:
            parts.append(self.numbers.learn(share, train, batch))
        return JointScores(tuple(parts), np.ascontiguousarray(log_prior), temperature=batch.temperature)

    def check_finite(self, test: Rows) -> None:
        """Raise for infinite values in test rows, as `predict` does."""
        if self.numbers is not None and np.isinf(self.numbers.numbers[test]).any():
            refuse_infinite(self.numbers.numbers[test], self.numbers.names, 0)
