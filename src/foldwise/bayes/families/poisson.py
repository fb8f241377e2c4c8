"""Counts of events, each column by itself: a Poisson distribution in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from foldwise.bayes.families.cell_rules import WHOLE
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Parameter, Setting
from foldwise.bayes.families.reading import ChunkScorer, dense, factors_of_numbers, left_out
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share
from foldwise.summaries.sums import Sums, sums_of


class Poisson:
    """λ is the mean of the present cells, and so the variance: at least `var_floor` times that over all classes."""

    name = "poisson"

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Sums:
        return sums_of(dense(view, self.name).numbers(columns), share, WHOLE.check)

    def finish(
        self, summary: Sums, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> PoissonLikelihood:
        rate, overall = class_means(summary.weight, summary.total)
        rate = np.maximum(rate, setting.var_floor * overall)
        with np.errstate(divide="ignore"):
            log = np.log(rate)
        # a column of nothing but zeros says nothing about the class
        names = tuple(column.name for column in columns)
        return PoissonLikelihood(names, rate, np.where(overall > 0, log, 0.0), overall > 0, summary)

    def present(self, summary: Sums) -> tuple[Floats, Floats]:
        return summary.weight, summary.rows

    def summary_from_dict(self, facts: dict[str, Any], n_classes: int, n_columns: int) -> Sums:
        return Sums.from_dict(facts, n_classes, n_columns)


def class_means(weight: Floats, total: Floats) -> tuple[Floats, Floats]:  # (K, d), (d,)
    """The mean of each column in each class, and over all; a class without a cell takes that over all."""
    everything = weight.sum(axis=0)
    overall = np.divide(total.sum(axis=0), everything, out=np.zeros(len(everything)), where=everything > 0)
    mean = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
    return np.where(weight > 0, mean, overall), overall


@dataclass(frozen=True)
class PoissonLikelihood:
    """log P(x) = x·log λ - λ - log x!"""

    names: tuple[str, ...]
    rate: Floats  # (K, d)
    log: Floats  # (K, d)
    speaks: NDArray[np.bool_]  # (d,)
    summary: Sums

    def scorer(self, view: AnyView, columns: Sequence[int]) -> ChunkScorer:
        def add(chunk: Chunk, start: int, scores: Floats) -> None:
            rows = chunk.rows
            WHOLE.check(rows, self.names, start)
            there = ~np.isnan(rows) & self.speaks
            counts = np.where(there, rows, 0.0)
            with np.errstate(over="ignore", invalid="ignore"):
                logs = linear_scores(counts, self.log) - there.astype(np.float64) @ self.rate.T
                logs -= gammaln(counts + 1).sum(axis=1)[:, None]
            scores += np.where(np.isnan(logs), -np.inf, logs)  # x·log λ and log x! beyond float64: impossible

        return ChunkScorer(dense(view, Poisson.name).numbers(columns), add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        return factors_of_numbers(dense(view, Poisson.name), columns, self._factor, WHOLE.check)

    def _factor(self, j: int, count: float) -> Factor:
        if np.isnan(count):
            return left_out(self.names[j], len(self.rate))
        if not self.speaks[j]:
            return left_out(self.names[j], len(self.rate), "nothing but 0 was seen", count)
        with np.errstate(over="ignore", invalid="ignore"):
            powers = count * self.log[:, j] if count else np.zeros(len(self.rate))  # 0 times -inf is 0 here
            logs = powers - self.rate[:, j] - gammaln(count + 1)
        return Factor(self.names[j], count, tuple(np.where(np.isnan(logs), -np.inf, logs).tolist()))

    def parameters(self) -> list[Parameter]:
        lines = []
        for j, name in enumerate(self.names):
            weight = self.summary.weight[:, j]
            lines.append(Parameter(name, "mean", tuple(np.where(weight > 0, self.rate[:, j], np.nan).tolist())))
            lines.append(Parameter(name, "count", tuple(weight.tolist())))
        return lines
