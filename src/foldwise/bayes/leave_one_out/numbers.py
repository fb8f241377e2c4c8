"""Numeric columns that do not depend on each other: gaussian, gamma, poisson, bernoulli, binomial.

Every cell becomes a column of its own, whose facts are those of all rows without the cell's. So a family finishes and
scores them by its own formulas.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from foldwise.bayes.families.base import DistributionFamily, NumericLikelihood
from foldwise.bayes.families.bernoulli import Bernoulli
from foldwise.bayes.families.binomial import BinomialLikelihood, finish_shares, trials_of
from foldwise.bayes.families.gamma import Gamma
from foldwise.bayes.families.gaussian import gaussian_likelihood
from foldwise.bayes.families.poisson import Poisson
from foldwise.bayes.families.protocol import Setting
from foldwise.bayes.leave_one_out.rows import ACCEPTED, LEAST, Bools, LeftOutRows, shrunk
from foldwise.data.schema import Column
from foldwise.summaries.log_moments import LogMoments
from foldwise.summaries.moments import Moments
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.sums import Sums
from foldwise.summaries.values import Values

ALIKE = 1e-8  # log-gap of values alike to four digits: the means of a gamma column then need more than float64


class NumericLeftOut(ABC):
    """Numeric rows, each with the facts of the others; a subclass makes the facts and the likelihood."""

    def __init__(
        self, cells: Floats, summary: Any, left: LeftOutRows, columns: Sequence[int], described: Sequence[Column]
    ) -> None:
        self._there = ~np.isnan(cells)  # (m, d)
        self.shape, self._columns, self.described = cells.shape, columns, described
        self.cells = np.where(self._there, cells, 1.0).reshape(-1)  # (m·d,), 1 is a valid cell of every family
        self.summary, self.left = summary, left
        weight, rows = left.taken(self._there)
        self.weight, self.rows = by_cell(weight), by_cell(rows)  # (K, m·d), what each cell takes away
        self.rest, self.poor = self.remove()

    @abstractmethod
    def remove(self) -> tuple[Any, Bools]:
        """Return the facts of the others, with a column for each cell, and the rows for which they are poor."""

    @abstractmethod
    def finish(self, setting: Setting) -> tuple[NumericLikelihood, Bools]:
        """Return the likelihood of these facts, and the rows for which it is poor."""

    def scores(self, setting: Setting) -> tuple[Floats, Bools]:  # (m, K), (m,)
        used = self._there & [setting.uses(j) for j in self._columns]
        likelihood, poor = self.finish(setting)
        logs = likelihood.logs(self.cells).reshape(-1, *self.shape)
        return np.where(used, logs, 0.0).sum(axis=2).T, poor

    def wide(self) -> Any:
        """The facts of all rows, repeated for every row."""
        arrays = (getattr(self.summary, field.name) for field in fields(self.summary))
        return type(self.summary)(*(np.tile(array, (1, self.shape[0])) for array in arrays))

    def rows_of(self, cells: Bools) -> Bools:  # (…, m·d) -> (m,)
        """The rows that hold such a cell."""
        return np.asarray(cells.reshape(-1, *self.shape).any(axis=(0, 2)))


def by_cell(array: Floats) -> Floats:  # (m, K, d) -> (K, m·d)
    return array.transpose(1, 0, 2).reshape(array.shape[1], -1)


class MomentsLeftOut(NumericLeftOut):
    """Mean and spread without each cell."""

    spread: ClassVar[str]  # the field that holds it

    @abstractmethod
    def single(self, mean: Floats) -> Any:
        """Return the facts of single cells."""

    def remove(self) -> tuple[Any, Bools]:
        whole = self.wide()
        found, error = whole.without(self.single(np.where(self.rows > 0, self.cells, 0.0)))
        # in a column that hardly varies any more, the last digits decide whether it is informative
        before, after = getattr(whole.pooled(), self.spread), getattr(found.pooled(), self.spread)
        poor = self.rows_of(error > ACCEPTED) | self.rows_of((after < LEAST * before) & (before > 0))
        if not self.left.whole:  # the mean of one row is that row's, but a difference of weights only comes near it
            lost = shrunk(whole.weight, found.weight) | (found.rows == 1) & (self.rows > 0)
            poor |= self.rows_of(lost)
        return found, poor


class GaussianLeftOut(MomentsLeftOut):
    spread = "m2"

    def single(self, mean: Floats) -> Moments:
        nothing = np.zeros_like(mean)
        return Moments(self.weight, mean, nothing, nothing, self.rows)

    def finish(self, setting: Setting) -> tuple[NumericLikelihood, Bools]:
        return gaussian_likelihood(self.rest, (), setting), self.poor


class FamilyLeftOut(NumericLeftOut):
    """Facts that the family itself finishes."""

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
    """Sums without each cell."""

    def remove(self) -> tuple[Sums, Bools]:
        whole = self.wide()
        found = whole - Sums(self.weight, self.weight * self.cells, self.rows, self.rows * (self.cells != 0))
        if self.left.whole:  # and so are marks and counts of events
            return found, np.zeros(self.shape[0], dtype=bool)
        lost = shrunk(whole.weight, found.weight) | shrunk(whole.total, found.total)
        lost |= shrunk(whole.weight - whole.total, found.weight - found.total)  # of marks, those that are not there
        return found, self.rows_of(lost)


class BernoulliLeftOut(SumsLeftOut):
    family = Bernoulli()


class PoissonLeftOut(SumsLeftOut):
    family = Poisson()


class BinomialLeftOut(NumericLeftOut):
    """Successes and failures without each cell. Where the row alone holds the most, the trials would be others."""

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


NUMERIC: dict[str, type[NumericLeftOut]] = {
    "gaussian": GaussianLeftOut,
    "gamma": GammaLeftOut,
    "poisson": PoissonLeftOut,
    "bernoulli": BernoulliLeftOut,
    "binomial": BinomialLeftOut,
}
