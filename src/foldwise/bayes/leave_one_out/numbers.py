"""Leave-one-out for numeric columns: gaussian, gamma, poisson, bernoulli and binomial ones, and multinomial blocks.

Every value becomes a column of its own, whose facts are those of all rows minus the value. So each family computes and
scores them by its own formulas. A multinomial block has formulas of its own, because its columns share one total.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from foldwise.arrays import Bools, Floats
from foldwise.bayes.families.base import DistributionFamily, NumericLikelihood
from foldwise.bayes.families.bernoulli_multinomial import Bernoulli
from foldwise.bayes.families.gamma import Gamma
from foldwise.bayes.families.gaussian import gaussian_likelihood
from foldwise.bayes.families.poisson_binomial import BinomialLikelihood, Poisson, finish_shares, trials_of
from foldwise.bayes.families.protocol import Setting
from foldwise.bayes.leave_one_out.rows import ACCEPTED, LEAST, LeftOutRows, shrunk
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.schema import Column
from foldwise.summaries.alignment import weight_left
from foldwise.summaries.log_moments import LogMoments
from foldwise.summaries.moments import Moments
from foldwise.summaries.sums import Sums
from foldwise.summaries.values import Values

ALIKE = 1e-8  # log-gap of values that agree to four digits: gamma means then need more precision than float64


class NumericLeftOut(ABC):
    """A block of numeric columns; a subclass computes facts without each value, and likelihoods from them."""

    def __init__(
        self, cells: Floats, summary: Any, left: LeftOutRows, columns: Sequence[int], described: Sequence[Column]
    ) -> None:
        self._there = ~np.isnan(cells)  # (m, d)
        self.shape, self._columns, self.described = cells.shape, columns, described
        self.cells = np.where(self._there, cells, 1.0).reshape(-1)  # (m·d,), 1 is a valid value in every family
        self.summary, self.left = summary, left
        weight, rows = left.taken(self._there)
        self.weight, self.rows = by_cell(weight), by_cell(rows)  # (K, m·d), of each value
        self.rest, self.poor = self.remove()

    @abstractmethod
    def remove(self) -> tuple[Any, Bools]:
        """Compute facts without each value, one column per value, and the rows for which they are inaccurate."""

    @abstractmethod
    def finish(self, setting: Setting) -> tuple[NumericLikelihood, Bools]:
        """Compute the likelihood from these facts, and the rows for which it is inaccurate."""

    def scores(self, setting: Setting) -> tuple[Floats, Bools]:  # (m, K), (m,)
        used = self._there & [setting.uses(j) for j in self._columns]
        likelihood, poor = self.finish(setting)
        logs = likelihood.logs(self.cells).reshape(-1, *self.shape)
        weights = np.array([setting.weight(j) for j in self._columns])
        return (np.where(used, logs, 0.0) * weights).sum(axis=2).T, poor

    def wide(self) -> Any:
        """Repeat the facts of all rows for every row."""
        arrays = (getattr(self.summary, field.name) for field in fields(self.summary))
        return type(self.summary)(*(np.tile(array, (1, self.shape[0])) for array in arrays))

    def rows_of(self, cells: Bools) -> Bools:  # (…, m·d) -> (m,)
        """Mark the rows in which any value is marked."""
        return np.asarray(cells.reshape(-1, *self.shape).any(axis=(0, 2)))


def by_cell(array: Floats) -> Floats:  # (m, K, d) -> (K, m·d)
    return array.transpose(1, 0, 2).reshape(array.shape[1], -1)


class MomentsLeftOut(NumericLeftOut):
    """Mean and spread without each value."""

    spread: ClassVar[str]  # the field with the spread

    @abstractmethod
    def single(self, mean: Floats) -> Any:
        """Make the facts of single values."""

    def remove(self) -> tuple[Any, Bools]:
        whole = self.wide()
        found, error = whole.without(self.single(np.where(self.rows > 0, self.cells, 0.0)))
        # in a column that hardly varies without the value, the last digits decide whether it is informative
        before, after = getattr(whole.pooled(), self.spread), getattr(found.pooled(), self.spread)
        poor = self.rows_of(error > ACCEPTED) | self.rows_of((after < LEAST * before) & (before > 0))
        if not self.left.whole:
            poor |= self.rows_of(shrunk(whole.weight, found.weight))
        if not np.isin(self.weight, (0.0, 1.0)).all():  # a difference of weighted means is not exactly the row left
            poor |= self.rows_of((found.rows == 1) & (self.rows > 0))
        return found, poor


class GaussianLeftOut(MomentsLeftOut):
    spread = "m2"

    def single(self, mean: Floats) -> Moments:
        nothing = np.zeros_like(mean)
        return Moments(self.weight, mean, nothing, nothing, self.rows)

    def finish(self, setting: Setting) -> tuple[NumericLikelihood, Bools]:
        return gaussian_likelihood(self.rest, (), setting), self.poor


class FamilyLeftOut(NumericLeftOut):
    """Facts from which the family itself computes likelihoods."""

    family: ClassVar[DistributionFamily]

    def finish(self, setting: Setting) -> tuple[NumericLikelihood, Bools]:
        likelihood: Any = self.family.finish(self.rest, [], self.left.totals, setting)
        return likelihood, self.poor


class GammaLeftOut(FamilyLeftOut, MomentsLeftOut):
    family, spread = Gamma(), "deviance"

    def single(self, mean: Floats) -> LogMoments:
        return LogMoments(self.weight, mean, np.zeros_like(mean), self.rows)

    def remove(self) -> tuple[LogMoments, Bools]:
        found, poor = super().remove()
        alike = (self.rows > 0) & (found.rows > 1) & (found.log_gap < ALIKE)
        return found, poor | self.rows_of(alike) | self.rows_of(found.pooled().log_gap < ALIKE)


class SumsLeftOut(FamilyLeftOut):
    """Sums without each value."""

    def remove(self) -> tuple[Sums, Bools]:
        whole = self.wide()
        found = whole - Sums(self.weight, self.weight * self.cells, self.rows, self.rows * (self.cells != 0))
        if self.left.whole:  # differences of whole numbers are exact
            return found, np.zeros(self.shape[0], dtype=bool)
        lost = shrunk(whole.weight, found.weight) | shrunk(whole.total, found.total)
        lost |= shrunk(
            whole.weight - whole.total, found.weight - found.total
        )  # the number of zeros in a bernoulli column
        return found, self.rows_of(lost)


class BernoulliLeftOut(SumsLeftOut):
    family = Bernoulli()


class PoissonLeftOut(SumsLeftOut):
    family = Poisson()


class BinomialLeftOut(NumericLeftOut):
    """Successes and failures without each value. A row that alone has the largest value changes the trials."""

    summary: Values

    def remove(self) -> tuple[None, Bools]:
        most = np.array([column.x.max(initial=0.0) for column in self.summary.columns])
        pairs = zip(self.summary.columns, most, strict=True)
        alone = np.array([column.rows[column.x == top].sum() == 1 for column, top in pairs])
        at_most = self.cells.reshape(self.shape) == most
        return None, (self._there & self.left.seen[:, None] & alone & at_most).any(axis=1)

    def finish(self, setting: Setting) -> tuple[NumericLikelihood, Bools]:
        pairs = zip(self.described, self.summary.columns, strict=True)
        trials = np.array([trials_of(column.name, facts.x, setting) for column, facts in pairs])
        most, n = np.maximum(trials, 1.0), self.shape[0]
        width, poor = np.tile(most, n), self.poor
        facts = self.summary.weight * most, self.summary.total, self.summary.shortfall(most)
        before = [np.tile(table, (1, n)) for table in facts]
        gone = self.weight * width, self.weight * self.cells, self.weight * (width - self.cells)
        after = tries, successes, failures = [a - b for a, b in zip(before, gone, strict=True)]
        if not self.left.whole:
            for all_rows, left in zip(before, after, strict=True):
                poor = poor | self.rows_of((self.weight > 0) & shrunk(all_rows, left, exact_zero=False))
                np.maximum(left, 0.0, out=left)
        share, log, informative = finish_shares(tries, successes, failures, setting)
        return BinomialLikelihood((), np.tile(trials, n), share, log, informative, self.summary), poor


class MultinomialLeftOut:
    """A multinomial block: sums without each row. Only nonzero values are used, so sparse data stays sparse."""

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
        """Look up the sum of the class and column of each value, with and without the value."""
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
        weights = np.array([setting.weight(self._columns[k]) for k in used.tolist()])
        over = self._own_totals(row, used[column], x)[1] + alpha
        empty_own = self._emptied(used, row, x, alpha)  # alpha is 0, and the class has no count without the row
        empty = whole == 0
        under = np.where(empty, float(len(used)), under)
        under[own] = np.where(empty_own, float(len(used)), under[own])
        over = np.where(empty_own[row], 1.0, over)
        with np.errstate(divide="ignore"):
            log = np.log(np.where(empty[:, None], 1.0, total + alpha))
            found = linear_scores(cells, log.T * weights[:, None])
            own_logs = weights[column] * np.log(over)
            mine = np.bincount(row, np.multiply(x, own_logs, where=x != 0, out=np.zeros_like(x)), len(left.y))
            found[own] = mine
            log_under = np.log(np.maximum(under, 0.0))
        weighted = np.bincount(row, weights[column] * x, len(left.y))[:, None]
        divided = np.multiply(weighted, log_under, out=np.zeros_like(under), where=weighted > 0)
        return found - divided, poor

    def _emptied(self, used: Any, row: Any, x: Floats, alpha: float) -> Bools:  # (m,)
        """Mark rows without which their class has no count, if alpha is 0."""
        hits = self._summary.hits[:, used].sum(axis=1)[self._left.y]
        mine = np.bincount(row, (x != 0) & self._left.seen[row], len(self._left.y))
        return np.asarray((hits - mine == 0) & (alpha * len(used) == 0))


NUMERIC: dict[str, type[NumericLeftOut]] = {
    "gaussian": GaussianLeftOut,
    "gamma": GammaLeftOut,
    "poisson": PoissonLeftOut,
    "bernoulli": BernoulliLeftOut,
    "binomial": BinomialLeftOut,
}
