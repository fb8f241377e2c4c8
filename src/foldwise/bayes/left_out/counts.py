"""Counts: the multinomial block, whose columns share one total, and binomial columns, whose trials are a maximum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln

from foldwise.bayes.families.binomial import finish_shares, trials_of
from foldwise.bayes.families.protocol import Setting
from foldwise.bayes.left_out.numbers import NumberTurns, by_cell
from foldwise.bayes.left_out.rows import Bools, LeftOut, shrunk
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.schema import Column
from foldwise.summaries.alignment import weight_left
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.sums import Sums
from foldwise.summaries.values import Values


class MultinomialTurns:
    """Sums of a block without each row's own; only cells that are not 0 are looked at, so a sparse block stays so."""

    def __init__(self, cells: Any, summary: Sums, left: LeftOut, columns: Sequence[int]) -> None:
        self._cells = sp.csr_array(np.where(np.isnan(cells), 0.0, cells)) if isinstance(cells, np.ndarray) else cells
        self._summary, self._left, self._columns = summary, left, columns
        row, column, x = self._stored(self._cells)
        before, after = self._own_totals(row, column, x)
        self._poor = np.zeros(len(left.y), dtype=bool)
        self._whole = bool(left.whole and (x % 1 == 0).all())
        if not self._whole:
            self._poor[row[shrunk(before, after)]] = True

    def _stored(self, cells: Any) -> tuple[Any, Any, Floats]:
        found = cells.tocoo()
        return found.row, found.col, found.data.astype(np.float64)

    def _own_totals(self, row: Any, column: Any, x: Floats) -> tuple[Floats, Floats]:
        """The sums of each cell's class and column, of all rows and without the cell's own."""
        left, c = self._left, self._left.y[row]
        hits = self._summary.hits[c, column] - ((x != 0) & left.seen[row])
        before = self._summary.total[c, column]
        return before, weight_left(before, left.weight[row] * x, hits)

    def scores(self, setting: Setting) -> tuple[Floats, Bools]:  # (m, K), (m,)
        used = np.flatnonzero([setting.uses(j) for j in self._columns])
        cells = self._cells if len(used) == self._cells.shape[1] else self._cells[:, used]
        total, alpha, left = self._summary.total[:, used], setting.alpha, self._left
        sums = np.asarray(cells.sum(axis=1), dtype=np.float64).reshape(-1)
        own = np.arange(len(left.y)), left.y
        whole = (total + alpha).sum(axis=1)
        under = np.repeat(whole[None], len(left.y), axis=0)
        under[own] -= left.weight * sums
        poor = self._poor if self._whole else self._poor | shrunk(whole[left.y], under[own], exact_zero=False)
        row, column, x = self._stored(cells)
        over = self._own_totals(row, used[column], x)[1] + alpha
        empty_own = self._emptied(used, row, x, alpha)  # of alpha 0, and no count left in the class
        empty = whole == 0
        under = np.where(empty, float(len(used)), under)
        under[own] = np.where(empty_own, float(len(used)), under[own])
        over = np.where(empty_own[row], 1.0, over)
        with np.errstate(divide="ignore"):
            log = np.log(np.where(empty[:, None], 1.0, total + alpha))
            found = linear_scores(cells, log)
            mine = np.bincount(row, np.multiply(x, np.log(over), where=x != 0, out=np.zeros_like(x)), len(left.y))
            found[own] = mine
            log_under = np.log(np.maximum(under, 0.0))
        divided = np.multiply(sums[:, None], log_under, out=np.zeros_like(under), where=sums[:, None] > 0)
        return found - divided, poor

    def _emptied(self, used: Any, row: Any, x: Floats, alpha: float) -> Bools:  # (m,)
        """Whether a class has no count left without the row, and nothing is added to counts."""
        hits = self._summary.hits[:, used].sum(axis=1)[self._left.y]
        mine = np.bincount(row, (x != 0) & self._left.seen[row], len(self._left.y))
        return np.asarray((hits - mine == 0) & (alpha * len(used) == 0))


class BinomialTurns(NumberTurns):
    """Successes and failures without each cell. Where the row alone holds the most, the trials would be others."""

    def __init__(
        self, cells: Floats, summary: Values, left: LeftOut, columns: Sequence[int], described: Sequence[Column]
    ) -> None:
        self._summary, self._described, self._left = summary, described, left
        super().__init__(cells, summary, left, columns)

    def facts(self, summary: Values, left: LeftOut) -> tuple[Any, Bools]:
        most = np.array([column.x.max(initial=0.0) for column in summary.columns])
        alone = [column.rows[column.x == top].sum() == 1 for column, top in zip(summary.columns, most, strict=True)]
        there = self._there & left.seen[:, None]
        poor = (there & np.array(alone) & (self.cells.reshape(self._shape) == most)).any(axis=1)
        return None, poor

    def logs(self, setting: Setting) -> Floats:  # (K, m·d)
        pairs = zip(self._described, self._summary.columns, strict=True)
        trials = np.array([trials_of(column.name, facts.x, setting) for column, facts in pairs])
        most = np.maximum(trials, 1.0)
        n = self._shape[0]
        weight, _ = self._left.taken(self._there)
        taken, tried = by_cell(weight), np.tile(trials, n)
        width = np.tile(most, n)
        facts = self._summary.weight * most, self._summary.total, self._summary.shortfall(most)
        gone = taken * width, taken * self.cells, taken * (width - self.cells)
        before = [np.tile(all_rows, (1, n)) for all_rows in facts]
        tries, successes, failures = (a - b for a, b in zip(before, gone, strict=True))
        if not self._left.whole:
            for all_rows, left in zip(before, (tries, successes, failures), strict=True):
                self._poor = self._poor | self.rows_of((taken > 0) & shrunk(all_rows, left, exact_zero=False))
                np.maximum(left, 0.0, out=left)
        _, log, speaks = finish_shares(tries, successes, failures, setting)
        hits = self.cells
        there = (hits <= tried) & speaks
        misses = np.where(there, tried - hits, 0.0)
        hits = np.where(there, hits, 0.0)
        ways = gammaln(hits + misses + 1) - gammaln(hits + 1) - gammaln(misses + 1)
        found = np.broadcast_to(ways, log[0].shape).copy()
        for count, logs in ((misses, log[0]), (hits, log[1])):
            found += np.multiply(count, logs, out=np.zeros_like(logs), where=count > 0)
        return np.where(there, found, 0.0)
