"""Many settings of naive Bayes finished at once: tables with one more axis, for categorical and gaussian columns.

The formulas are those of the families; `foldwise.testing.check_foldable` holds the two together. What a setting may
vary here: alpha, unseen, var_floor, ddof and priors; with `missing="category"` settings are finished one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foldwise.bayes.families.gaussian import finish_settings
from foldwise.bayes.families.protocol import Setting
from foldwise.bayes.families.reading import log_shares
from foldwise.bayes.grid_kernels import Places, add_rows, choose, count_rows
from foldwise.data.cells import Cells
from foldwise.data.encoded import CodedColumn
from foldwise.summaries.moments import moments_of, refuse_infinite
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import Share

Tables = tuple[Ints, Ints, Floats, Floats, Floats, Floats, Floats]
SCORE_CELLS = 1 << 21  # scores held at a time


@dataclass(frozen=True)
class CodeTable:
    """Categorical columns of a whole table: slots of column j from `base[j]` on, its levels and one for missing."""

    codes: Ints  # (n, d)
    base: Ints  # (d,)
    n_levels: Ints  # (d,)
    column: Ints  # (slots,), the column of each slot
    is_level: np.ndarray[tuple[int], np.dtype[np.bool_]]  # (slots,), whether it is no missing cell
    declared: np.ndarray[tuple[int], np.dtype[np.bool_]]  # (slots,), whether its column's type declares the level
    extra: Ints  # (d,), declared levels that no row of the table holds

    @classmethod
    def of(cls, columns: Sequence[CodedColumn]) -> CodeTable:
        sizes = np.array([len(c.levels) + 1 for c in columns], dtype=np.int64)
        base = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        place = np.repeat(np.arange(len(columns)), sizes)
        is_level = np.ones(int(sizes.sum()), dtype=bool)
        is_level[base + sizes - 1] = False
        declared = np.zeros(len(is_level), dtype=bool)
        extra = np.zeros(len(columns), dtype=np.int64)
        for j, c in enumerate(columns):
            known = set(c.column.levels or ())
            declared[base[j] : base[j] + len(c.levels)] = [level in known for level in c.levels]
            extra[j] = len(known.difference(c.levels))
        codes = np.ascontiguousarray(np.stack([c.coded for c in columns], axis=1))
        return cls(codes, base, sizes - 1, place, is_level, declared, extra)

    def log_table(self, share: Share, rows: Places, settings: Sequence[Setting]) -> Floats:  # (slots, K, S)
        """Log-probabilities of every slot, learned from some rows, for every setting."""
        weight, held = np.zeros((2, len(self.column), share.n_classes))
        w = np.ones(len(rows)) if share.weights is None else share.weights
        count_rows(self.codes, rows, share.y, w, self.base, weight, held)
        alpha = np.array([setting.alpha for setting in settings])
        smooth = np.array([setting.unseen == "smooth" for setting in settings])
        seen = self.is_level & (self.declared | held.any(axis=1))
        present = np.add.reduceat(np.where(self.is_level[:, None], weight, 0.0), self.base, axis=0)  # (d, K)
        slots = np.add.reduceat(seen, self.base, dtype=np.int64) + self.extra  # (d,)
        n_slots = slots[:, None] + smooth  # (d, S)
        under = present[:, :, None] + alpha * n_slots[:, None, :]  # (d, K, S)
        empty = under == 0
        full = np.where(empty, np.maximum(n_slots, 1)[:, None, :], under)
        over = np.where(empty[self.column], 1.0, weight[:, :, None] + alpha)
        table = log_shares(over, full[self.column])
        unseen = np.where(smooth, log_shares(np.where(empty, 1.0, alpha), full), 0.0)  # (d, K, S)
        table[~seen] = unseen[self.column[~seen]]
        table[~self.is_level] = 0.0
        return np.ascontiguousarray(table)


@dataclass(frozen=True)
class NumberTable:
    """Gaussian columns of a whole table."""

    numbers: Floats  # (n, d)
    names: tuple[str, ...]

    def log_tables(self, share: Share, rows: Places, settings: Sequence[Setting]) -> tuple[Floats, Floats, Floats]:
        """Mean (K, d), and scale and log_norm (K, d, S), learned from some rows, for every setting."""
        cells = Cells(self.names, len(rows), list(np.ascontiguousarray(self.numbers[rows]).T), np.float64)
        return finish_settings(moments_of(cells, share), settings)


@dataclass(frozen=True)
class Grid:
    """A table whose columns are all categorical or gaussian, ready to be asked about many settings."""

    categories: CodeTable | None
    numbers: NumberTable | None

    def scores(self, share: Share, train: Places, test: Places, settings: Sequence[Setting]) -> GridScores:
        """What training rows say of every setting; `share` holds their labels and weights, in their order."""
        codes = None if self.categories is None else self.categories.log_table(share, train, settings)
        tables = None if self.numbers is None else self.numbers.log_tables(share, train, settings)
        return GridScores(self, codes, tables, test, (share.n_classes, len(settings)))


@dataclass(frozen=True)
class GridScores:
    """Log-likelihoods of test rows for every class and setting, some rows at a time."""

    grid: Grid
    codes: Floats | None
    tables: tuple[Floats, Floats, Floats] | None
    test: Places
    shape: tuple[int, int]

    def labels(self, log_prior: Floats) -> NDArray[np.int16]:  # (rows, S)
        """The place of the most probable class, for every row and setting."""
        labels = np.empty((len(self.test), self.shape[1]), dtype=np.int16)
        self._finite(choose(*self._tables(), log_prior, self.test, labels), 0)
        return labels

    @property
    def chunk_rows(self) -> int:
        return max(1, SCORE_CELLS // max(1, self.shape[0] * self.shape[1]))

    def rows(self, start: int, stop: int) -> Floats:  # (rows, K, S)
        """The log-likelihoods of test rows start..stop."""
        scores = np.zeros((stop - start, *self.shape))
        self._finite(add_rows(*self._tables(), self.test[start:stop], scores), start)
        return scores

    def _tables(self) -> Tables:
        """What the kernels read; a table without columns where there are none of a family."""
        n_classes, n_settings = self.shape
        codes, base, table = np.zeros((0, 0), np.int64), np.zeros(0, np.int64), np.zeros((0, 0, 0))
        if self.grid.categories is not None and self.codes is not None:
            codes, base, table = self.grid.categories.codes, self.grid.categories.base, self.codes
        none = np.zeros((n_classes, 0, n_settings))
        numbers, (mean, scale, log_norm) = np.zeros((0, 0)), (np.zeros((n_classes, 0)), none, none)
        if self.grid.numbers is not None and self.tables is not None:
            numbers, (mean, scale, log_norm) = self.grid.numbers.numbers, self.tables
        return codes, base, table, numbers, mean, scale, log_norm

    def _finite(self, infinite: int, start: int) -> None:
        """Refuse the infinite cell that a kernel met."""
        if infinite >= 0 and self.grid.numbers is not None:
            refuse_infinite(self.grid.numbers.numbers[self.test[start:]], self.grid.numbers.names, start)
