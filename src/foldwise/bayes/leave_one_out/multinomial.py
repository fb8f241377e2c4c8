"""A multinomial block without each row: its columns share one total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from foldwise.bayes.families.protocol import Setting
from foldwise.bayes.leave_one_out.rows import Bools, LeftOutRows, shrunk
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.summaries.alignment import weight_left
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.sums import Sums


class MultinomialLeftOut:
    """Sums of a block without each row's own; only cells that are not 0 are looked at, so a sparse block stays so."""

    def __init__(self, cells: Any, summary: Sums, left: LeftOutRows, columns: Sequence[int]) -> None:
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
            found = linear_scores(cells, log.T)
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
