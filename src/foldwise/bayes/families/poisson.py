"""Counts of events, each column by itself: a Poisson distribution in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from foldwise.bayes.families.base import DensityLikelihood, DistributionFamily, dense, names_of, times
from foldwise.bayes.families.cell_rules import WHOLE
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Setting
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share
from foldwise.summaries.sums import Sums, sums_of


class Poisson(DistributionFamily):
    """λ is the mean of the present cells, and so the variance: at least `var_floor` times that over all classes."""

    name = "poisson"
    summary_type = Sums

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Sums:
        return sums_of(dense(view, self.name).numbers(columns), share, WHOLE.check)

    def finish(
        self, summary: Sums, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> PoissonLikelihood:
        rate, overall = class_means(summary.weight, summary.total)
        rate = np.maximum(rate, setting.var_floor * overall)
        with np.errstate(divide="ignore"):
            log = np.log(rate)
        # a column of nothing but zeros has no influence
        return PoissonLikelihood(names_of(columns), rate, np.where(overall > 0, log, 0.0), overall > 0, summary)


def class_means(weight: Floats, total: Floats) -> tuple[Floats, Floats]:  # (K, d), (d,)
    """The mean of each column in each class, and over all; a class without a cell takes that over all."""
    everything = weight.sum(axis=0)
    overall = np.divide(total.sum(axis=0), everything, out=np.zeros(len(everything)), where=everything > 0)
    mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
    return np.where(weight > 0, mean, overall), overall


@dataclass(frozen=True)
class PoissonLikelihood(DensityLikelihood):
    """log P(x) = x·log λ - λ - log x!"""

    family = Poisson.name
    rule = WHOLE
    uninformative = "nothing but 0 was seen"

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
        scores += np.where(np.isnan(logs), -np.inf, logs)  # x·log λ and log x! beyond float64: impossible

    def logs(self, cells: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            logs = times(cells, self.log) - self.rate - gammaln(cells + 1)
        return np.where(self.informative, np.where(np.isnan(logs), -np.inf, logs), 0.0)

    def statistics(self) -> dict[str, Floats]:
        return {"mean": self.where_seen(self.rate)}
