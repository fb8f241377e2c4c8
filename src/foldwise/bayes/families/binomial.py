"""Successes out of a number of trials: a binomial distribution in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from foldwise.bayes.families.base import DensityLikelihood, DistributionFamily, dense, names_of, neutral_factor, times
from foldwise.bayes.families.cell_rules import WHOLE
from foldwise.bayes.families.poisson import class_means
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Setting, option
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.errors import InputError
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share
from foldwise.summaries.values import Values, values_of


class Binomial(DistributionFamily):
    """p is the mean over the number of trials: those given, or the most that a row holds."""

    name = "binomial"
    summary_type = Values

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Values:
        return values_of(dense(view, self.name), columns, share, WHOLE.check)

    def finish(
        self, summary: Values, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> BinomialLikelihood:
        trials = np.array(
            [trials_of(column.name, facts.x, setting) for column, facts in zip(columns, summary.columns, strict=True)]
        )
        most = np.maximum(trials, 1.0)
        share, log, informative = finish_shares(summary.weight * most, summary.total, summary.shortfall(most), setting)
        return BinomialLikelihood(names_of(columns), trials, share, log, informative, summary)


def finish_shares(
    tried: Floats, successes: Floats, failures: Floats, setting: Setting
) -> tuple[Floats, Floats, NDArray[np.bool_]]:  # (K, d), (2, K, d), (d,)
    """Shares of success, logarithms of the shares of failure and success, and which columns are informative."""
    # failures are counted like successes: 1 - share would round below 0
    share, everywhere = class_means(tried, successes)
    failure, nowhere = class_means(tried, failures)
    # neither success nor failure is rarer than this share of what it is over all classes
    share = np.maximum(share, setting.var_floor * everywhere)
    failure = np.maximum(failure, setting.var_floor * nowhere)
    informative = (everywhere > 0) & (nowhere > 0)
    with np.errstate(divide="ignore"):
        log = np.where(informative, np.log(np.stack([failure, share])), 0.0)
    return share, log, informative


def trials_of(name: str, seen: Floats, setting: Setting) -> float:
    """The number of trials of a column."""
    most = float(seen.max(initial=0.0))
    given = option(setting.trials, name, None)
    if given is None:
        return most
    if most > given:
        raise InputError(
            f"column {name!r} holds {most:g}, which is more than the {given:g} trials given.",
            "correct the cell, or pass the number of trials that the column has.",
        )
    return float(given)


@dataclass(frozen=True)
class BinomialLikelihood(DensityLikelihood):
    """log P(x) = log C(n, x) + x·log p + (n - x)·log(1 - p); more successes than trials are left out."""

    family = Binomial.name
    rule = WHOLE

    names: tuple[str, ...]
    trials: Floats  # (d,)
    share: Floats  # (K, d)
    log: Floats  # (2, K, d): of failure, of success
    informative: NDArray[np.bool_]  # (d,)
    summary: Values

    def _outcomes(self, cells: Floats) -> tuple[Floats, Floats, Floats]:  # (…, d) each
        """Successes, failures and log C(n, x); all 0 for a cell that is missing, too large or has no influence."""
        there = (cells <= self.trials) & self.informative  # NaN is not there
        hits = np.where(there, cells, 0.0)
        misses = np.where(there, self.trials - hits, 0.0)
        return hits, misses, gammaln(hits + misses + 1) - gammaln(hits + 1) - gammaln(misses + 1)

    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        rows = chunk.rows
        self.check(rows, start)
        hits, misses, ways = self._outcomes(rows)
        scores += linear_scores(misses, self.log[0].T) + linear_scores(hits, self.log[1].T)
        scores += ways.sum(axis=1)[:, None]

    def logs(self, cells: Floats) -> Floats:
        hits, misses, ways = self._outcomes(cells)
        return ways + times(misses, self.log[0]) + times(hits, self.log[1])

    def factor(self, j: int, value: float, log: Floats) -> Factor:
        if self.informative[j] and value > self.trials[j]:
            return neutral_factor(self.names[j], len(log), f"more than {self.trials[j]:g} trials", value)
        return super().factor(j, value, log)

    def statistics(self) -> dict[str, Floats]:
        return {"share": self.where_seen(self.share), "trials": np.broadcast_to(self.trials, self.share.shape)}
