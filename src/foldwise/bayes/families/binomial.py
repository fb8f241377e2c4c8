"""Successes out of a number of trials: a binomial distribution in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from foldwise.bayes.families.cell_rules import WHOLE
from foldwise.bayes.families.poisson import class_means
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Parameter, Setting, option
from foldwise.bayes.families.reading import ChunkScorer, dense, factors_of_numbers, left_out
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.errors import InputError
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share
from foldwise.summaries.values import Values, values_of


class Binomial:
    """p is the mean over the number of trials: those given, or the most that a row holds."""

    name = "binomial"

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Values:
        return values_of(dense(view, self.name), columns, share, WHOLE.check)

    def finish(
        self, summary: Values, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> BinomialLikelihood:
        trials = np.array(
            [trials_of(column.name, facts.x, setting) for column, facts in zip(columns, summary.columns, strict=True)]
        )
        most = np.maximum(trials, 1.0)
        share, log, speaks = finish_shares(summary.weight * most, summary.total, summary.shortfall(most), setting)
        return BinomialLikelihood(tuple(column.name for column in columns), trials, share, log, speaks, summary)

    def present(self, summary: Values) -> tuple[Floats, Floats]:
        return summary.weight, summary.rows

    def summary_from_dict(self, facts: dict[str, Any], n_classes: int, n_columns: int) -> Values:
        return Values.from_dict(facts, n_classes, n_columns)


def finish_shares(
    tried: Floats, successes: Floats, failures: Floats, setting: Setting
) -> tuple[Floats, Floats, NDArray[np.bool_]]:  # (K, d), (2, K, d), (d,)
    """Shares of success, logarithms of the shares of failure and success, and which columns say something."""
    # failures are counted like successes: 1 - share would round below 0
    share, everywhere = class_means(tried, successes)
    failure, nowhere = class_means(tried, failures)
    # neither success nor failure is rarer than this share of what it is over all classes
    share = np.maximum(share, setting.var_floor * everywhere)
    failure = np.maximum(failure, setting.var_floor * nowhere)
    speaks = (everywhere > 0) & (nowhere > 0)
    with np.errstate(divide="ignore"):
        log = np.where(speaks, np.log(np.stack([failure, share])), 0.0)
    return share, log, speaks


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
class BinomialLikelihood:
    """log P(x) = log C(n, x) + x·log p + (n - x)·log(1 - p); more successes than trials are left out."""

    names: tuple[str, ...]
    trials: Floats  # (d,)
    share: Floats  # (K, d)
    log: Floats  # (2, K, d): of failure, of success
    speaks: NDArray[np.bool_]  # (d,)
    summary: Values

    def scorer(self, view: AnyView, columns: Sequence[int]) -> ChunkScorer:
        def add(chunk: Chunk, start: int, scores: Floats) -> None:
            rows = chunk.rows
            WHOLE.check(rows, self.names, start)
            there = (rows <= self.trials) & self.speaks  # NaN is not there
            hits = np.where(there, rows, 0.0)
            misses = np.where(there, self.trials - hits, 0.0)
            scores += linear_scores(misses, self.log[0]) + linear_scores(hits, self.log[1])
            ways = gammaln(hits + misses + 1) - gammaln(hits + 1) - gammaln(misses + 1)
            scores += ways.sum(axis=1)[:, None]

        return ChunkScorer(dense(view, Binomial.name).numbers(columns), add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        return factors_of_numbers(dense(view, Binomial.name), columns, self._factor, WHOLE.check)

    def _factor(self, j: int, hits: float) -> Factor:
        name, n_classes, trials = self.names[j], len(self.share), float(self.trials[j])
        if np.isnan(hits):
            return left_out(name, n_classes)
        if not self.speaks[j]:
            return left_out(name, n_classes, "one value was seen at most", hits)
        if hits > trials:
            return left_out(name, n_classes, f"more than {trials:g} trials", hits)
        ways = gammaln(trials + 1) - gammaln(hits + 1) - gammaln(trials - hits + 1)
        log = np.full(n_classes, ways)
        for count, logs in ((trials - hits, self.log[0, :, j]), (hits, self.log[1, :, j])):
            log += count * logs if count else 0.0  # 0 times -inf is 0 here
        return Factor(name, hits, tuple(log.tolist()))

    def parameters(self) -> list[Parameter]:
        lines = []
        weights = self.summary.weight
        for j, name in enumerate(self.names):
            weight = weights[:, j]
            lines.append(Parameter(name, "share", tuple(np.where(weight > 0, self.share[:, j], np.nan).tolist())))
            lines.append(Parameter(name, "trials", (float(self.trials[j]),) * len(weight)))
            lines.append(Parameter(name, "count", tuple(weight.tolist())))
        return lines
