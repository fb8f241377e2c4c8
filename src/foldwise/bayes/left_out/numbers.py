"""Columns of numbers that do not know each other: gaussian, gamma, poisson, bernoulli.

Every cell becomes a column of its own, whose facts are those of all rows without the cell's. So a family finishes them
by its own formulas, and only looks at one cell a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln

from foldwise.bayes.families.bernoulli import Bernoulli
from foldwise.bayes.families.gamma import Gamma
from foldwise.bayes.families.gaussian import finish_settings
from foldwise.bayes.families.poisson import Poisson
from foldwise.bayes.families.protocol import Setting
from foldwise.bayes.left_out.rows import ACCEPTED, LEAST, Bools, LeftOut, shrunk
from foldwise.summaries.log_moments import LogMoments, excesses
from foldwise.summaries.moments import Moments
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.sums import Sums

ALIKE = 1e-8  # log-gap of values alike to four digits: the means of a gamma column then need more than float64


class NumberTurns:
    """Rows of numbers, each with the facts of the others; a subclass makes the facts and scores the cells."""

    def __init__(self, cells: Floats, summary: Any, left: LeftOut, columns: Sequence[int]) -> None:
        self._there = ~np.isnan(cells)  # (m, d)
        self._shape, self._columns = cells.shape, columns
        self.cells = np.where(self._there, cells, 1.0).reshape(-1)  # (m·d,), 1 is a cell of all families
        self.totals = left.totals
        self.left, self._poor = self.facts(summary, left)

    def facts(self, summary: Any, left: LeftOut) -> tuple[Any, Bools]:
        """The facts of the others, with a column for each cell, and the rows for which they are poor."""
        raise NotImplementedError

    def logs(self, setting: Setting) -> Floats:  # (K, m·d)
        """Log-likelihoods of the cells."""
        raise NotImplementedError

    def scores(self, setting: Setting) -> tuple[Floats, Bools]:  # (m, K), (m,)
        used = self._there & [setting.uses(j) for j in self._columns]
        logs = self.logs(setting).reshape(-1, *self._shape)
        return np.where(used, logs, 0.0).sum(axis=2).T, self._poor

    def wide(self, summary: Any, names: Sequence[str]) -> Any:
        """The facts of all rows, repeated for every row."""
        return type(summary)(*(np.tile(getattr(summary, name), (1, self._shape[0])) for name in names))

    def taken(self, left: LeftOut) -> tuple[Floats, Floats]:  # (K, m·d) both
        """Weight and rows that each cell takes away."""
        weight, rows = left.taken(self._there)
        return by_cell(weight), by_cell(rows)

    def rows_of(self, cells: Bools) -> Bools:  # (…, m·d) -> (m,)
        """The rows that hold such a cell."""
        return np.asarray(cells.reshape(-1, *self._shape).any(axis=(0, 2)))


def by_cell(array: Floats) -> Floats:  # (m, K, d) -> (K, m·d)
    return array.transpose(1, 0, 2).reshape(array.shape[1], -1)


class GaussianTurns(NumberTurns):
    """Moments without each cell."""

    def facts(self, summary: Moments, left: LeftOut) -> tuple[Moments, Bools]:
        whole = self.wide(summary, ("weight", "high", "low", "m2", "rows"))
        weight, rows = self.taken(left)
        nothing = np.zeros_like(weight)
        found, error = whole.without(Moments(weight, np.where(rows > 0, self.cells, 0.0), nothing, nothing, rows))
        # a column that hardly varies any more: whether it says anything hangs on the last digits
        before, after = np.tile(summary.pooled().m2, (1, self._shape[0])), found.pooled().m2
        flat = (after < LEAST * before) & (before > 0)
        # the mean of one row is that row's, but a difference of parts of weights only comes near it
        lost = (
            np.zeros_like(rows > 0)
            if left.whole
            else shrunk(whole.weight, found.weight) | (found.rows == 1) & (rows > 0)
        )
        return found, self.rows_of(error > ACCEPTED) | self.rows_of(flat) | self.rows_of(lost)

    def logs(self, setting: Setting) -> Floats:
        mean, scale, log_norm = finish_settings(self.left, [setting])
        with np.errstate(over="ignore"):
            found: Floats = log_norm[:, :, 0] - scale[:, :, 0] * (self.cells - mean) ** 2
        return found


class GammaTurns(NumberTurns):
    """Log-moments without each cell."""

    def facts(self, summary: LogMoments, left: LeftOut) -> tuple[LogMoments, Bools]:
        whole = self.wide(summary, ("weight", "mean", "deviance", "rows"))
        weight, rows = self.taken(left)
        gone = LogMoments(weight, np.where(rows > 0, self.cells, 0.0), np.zeros_like(weight), rows)
        found, error = whole.without(gone)
        before, after = np.tile(summary.pooled().deviance, (1, self._shape[0])), found.pooled()
        flat = ((after.deviance < LEAST * before) & (before > 0)) | (after.log_gap < ALIKE)
        alike = (rows > 0) & (found.rows > 1) & (found.log_gap < ALIKE)
        lost = np.zeros_like(flat) if left.whole else shrunk(whole.weight, found.weight)
        return found, self.rows_of((error > ACCEPTED) | alike) | self.rows_of(flat) | self.rows_of(lost)

    def logs(self, setting: Setting) -> Floats:
        like = Gamma().finish(self.left, [], self.totals, setting)
        x = np.broadcast_to(self.cells, like.mean.shape)
        logs = like.log_norm - np.log(x) - like.shape * excesses(x, like.mean)
        return np.asarray(np.where(like.speaks, logs, 0.0))


class SumTurns(NumberTurns):
    """Sums without each cell."""

    def facts(self, summary: Sums, left: LeftOut) -> tuple[Sums, Bools]:
        whole = self.wide(summary, ("weight", "total", "rows", "hits"))
        weight, rows = self.taken(left)
        found = whole - Sums(weight, weight * self.cells, rows, rows * (self.cells != 0))
        if left.whole:  # and so are marks and counts of events
            return found, np.zeros(self._shape[0], dtype=bool)
        lost = shrunk(whole.weight, found.weight) | shrunk(whole.total, found.total)
        lost |= shrunk(whole.weight - whole.total, found.weight - found.total)  # of marks, those that are not there
        return found, self.rows_of(lost)


class BernoulliTurns(SumTurns):
    def logs(self, setting: Setting) -> Floats:
        like = Bernoulli().finish(self.left, [], self.totals, setting)
        return np.asarray(np.where(self.cells == 1, like.log[1], like.log[0]))


class PoissonTurns(SumTurns):
    def logs(self, setting: Setting) -> Floats:
        like = Poisson().finish(self.left, [], self.totals, setting)
        powers = np.multiply(self.cells, like.log, out=np.zeros_like(like.log), where=self.cells > 0)
        return np.asarray(np.where(like.speaks, powers - like.rate - gammaln(self.cells + 1), 0.0))
