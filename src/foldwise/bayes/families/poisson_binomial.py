"""Poisson and binomial distributions: counts of events, and numbers of successes in a known number of trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from foldwise.arrays import Floats
from foldwise.bayes.families.base import (
    WHOLE,
    DensityLikelihood,
    DistributionFamily,
    ValuesFamily,
    dense,
    names_of,
    neutral_factor,
    times,
)
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Setting, option
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.errors import InputError
from foldwise.summaries.passes import ThreadShare
from foldwise.summaries.sums import Sums, sums_of
from foldwise.summaries.values import Values


class Poisson(DistributionFamily):
    """λ is the mean, which is also the variance: at least `var_floor` times the mean over all classes."""

    name = "poisson"
    summary_type = Sums

    def summarize(self, view: AnyView, columns: Sequence[int], share: ThreadShare) -> Sums:
        return sums_of(dense(view, self.name).numbers(columns), share, WHOLE.check)

    def finish(
        self, summary: Sums, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> PoissonLikelihood:
        rate, overall = class_means(summary.weight, summary.total)
        rate = np.maximum(rate, setting.var_floor * overall)
        with np.errstate(divide="ignore"):
            log = np.log(rate)
        # a column of zeros has no influence
        return PoissonLikelihood(names_of(columns), rate, np.where(overall > 0, log, 0.0), overall > 0, summary)


def class_means(weight: Floats, total: Floats) -> tuple[Floats, Floats]:  # (K, d), (d,)
    """Compute the mean of each column in each class, and over all classes, which classes without values use."""
    everything = weight.sum(axis=0)
    overall = np.divide(total.sum(axis=0), everything, out=np.zeros(len(everything)), where=everything > 0)
    mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
    return np.where(weight > 0, mean, overall), overall


@dataclass(frozen=True)
class PoissonLikelihood(DensityLikelihood):
    """log P(x) = x·log λ - λ - log x!"""

    family = Poisson.name
    rule = WHOLE
    uninformative = "only 0 in the training rows"

    names: tuple[str, ...]
    rate: Floats  # (K, d)
    log: Floats  # (K, d)
    informative: NDArray[np.bool_]  # (d,)
    summary: Sums

    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        rows = chunk.rows
        self.check(rows, start)
        there = ~np.isnan(rows) & self.informative
        counts = np.where(there, rows, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            logs = linear_scores(counts, self.log.T) - there.astype(np.float64) @ self.rate.T
            logs -= gammaln(counts + 1).sum(axis=1)[:, None]
        scores += np.where(np.isnan(logs), -np.inf, logs)  # x·log λ and log x! overflow: impossible

    def logs(self, cells: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            logs = times(cells, self.log) - self.rate - gammaln(cells + 1)
        return np.where(self.informative, np.where(np.isnan(logs), -np.inf, logs), 0.0)

    def statistics(self) -> dict[str, Floats]:
        return {"mean": self.where_seen(self.rate)}


class Binomial(ValuesFamily):
    """p is the mean divided by the number of trials, which is given or the largest value of the column."""

    name = "binomial"
    rule = WHOLE

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
    """Compute the share of successes, the log-shares of failures and successes, and which columns are informative."""
    # failures are counted like successes, because 1 - share may round below 0
    share, everywhere = class_means(tried, successes)
    failure, nowhere = class_means(tried, failures)
    # both shares have a floor relative to their shares over all classes
    share = np.maximum(share, setting.var_floor * everywhere)
    failure = np.maximum(failure, setting.var_floor * nowhere)
    informative = (everywhere > 0) & (nowhere > 0)
    with np.errstate(divide="ignore"):
        log = np.where(informative, np.log(np.stack([failure, share])), 0.0)
    return share, log, informative


def trials_of(name: str, seen: Floats, setting: Setting) -> float:
    """Look up the number of trials of a column."""
    most = float(seen.max(initial=0.0))
    given = option(setting.trials, name, None)
    if given is None:
        return most
    if most > given:
        raise InputError(
            f"column {name!r} contains {most:g}, which is more than trials={given:g}.",
            "correct the value, or pass a larger number of trials.",
        )
    return float(given)


@dataclass(frozen=True)
class BinomialLikelihood(DensityLikelihood):
    """log P(x) = log C(n, x) + x·log p + (n - x)·log(1 - p); values above the number of trials are ignored."""

    family = Binomial.name
    rule = WHOLE

    names: tuple[str, ...]
    trials: Floats  # (d,)
    share: Floats  # (K, d)
    log: Floats  # (2, K, d): of failure, of success
    informative: NDArray[np.bool_]  # (d,)
    summary: Values

    def _outcomes(self, cells: Floats) -> tuple[Floats, Floats, Floats]:  # (…, d) each
        """Compute successes, failures and log C(n, x); all are 0 for values that are missing or ignored."""
        there = (cells <= self.trials) & self.informative  # false for NaN
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
