"""Weights of columns: the log-likelihood of a column is multiplied by its weight.

The logarithms of most families are in tables, which are multiplied once. The other families compute them row by row;
their columns are split into blocks of equal weight, whose scores are multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from foldwise.arrays import Floats
from foldwise.bayes.assignment import FamilyBlock
from foldwise.bayes.families.base import SPARSE_ROWS, ShareTable
from foldwise.bayes.families.bernoulli_multinomial import CountedLikelihood
from foldwise.bayes.families.binned import BinnedLikelihood
from foldwise.bayes.families.categorical import CategoricalLikelihood
from foldwise.bayes.families.gaussian import GaussianLikelihood
from foldwise.bayes.families.protocol import AnyView, Factor, Likelihood, Parameter, Scorer, Setting
from foldwise.bayes.families.text import TextLikelihood
from foldwise.bayes.presence import WithPresence

ROW_BY_ROW = {"kde", "gamma", "poisson", "binomial"}  # families without tables of logarithms
POWER = "to the power "


def by_weight(block: FamilyBlock, summary: Any, setting: Setting) -> list[tuple[FamilyBlock, Any]]:
    """Split a block, with its facts, into blocks whose logarithms can be multiplied."""
    weights = [setting.weight(j) for j in block.columns]
    if block.family not in ROW_BY_ROW or len(set(weights)) < 2:
        return [(block, summary)]
    found = []
    for weight in dict.fromkeys(weights):
        kept = [k for k, own in enumerate(weights) if own == weight]
        found.append((FamilyBlock(block.family, tuple(block.columns[k] for k in kept)), summary.select(kept)))
    return found


@dataclass(frozen=True)
class WeightedLikelihood:
    """A likelihood whose columns have weights above 0."""

    inner: Likelihood
    names: tuple[str, ...]
    weights: Floats  # (d,)

    @cached_property
    def _scaled(self) -> Any:
        return scale_tables(self.inner, self.weights)

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        if self._scaled is not None:
            scorer: Scorer = self._scaled.scorer(view, columns)
            return scorer
        inner, weight = self.inner.scorer(view, columns), float(self.weights[0])  # all are equal

        def add(start: int, stop: int, scores: Floats) -> None:
            own = np.zeros_like(scores)
            inner.add(start, stop, own)
            scores += weight * own

        return Scorer(inner.chunk_rows, add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        rows = self.inner.factors(view, columns)
        return [[to_power(*pair) for pair in zip(row, self.weights.tolist(), strict=True)] for row in rows]

    def parameters(self) -> list[Parameter]:
        rows = self.inner.parameters()
        n_classes = len(rows[0].values) if rows else 0
        own = zip(self.names, self.weights.tolist(), strict=True)
        return rows + [Parameter(name, "weight", (weight,) * n_classes) for name, weight in own]


@dataclass(frozen=True)
class NoContribution:
    """Stands for a likelihood that adds nothing."""

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        return Scorer(SPARSE_ROWS, lambda start, stop, scores: None)


def scale_tables(likelihood: Any, weights: Floats) -> Any:  # (d,)
    """Multiply the logarithms of each column by its weight; None if they are not in tables."""
    by_column = weights[:, None]  # beside classes
    if isinstance(likelihood, NoContribution):
        return likelihood
    if isinstance(likelihood, WithPresence):
        inner = scale_tables(likelihood.inner, weights)
        shares = scale_shares(likelihood.shares, by_column)
        return None if inner is None else replace(likelihood, inner=inner, shares=shares)
    if isinstance(likelihood, GaussianLikelihood):
        return replace(likelihood, scale=likelihood.scale * weights, log_norm=likelihood.log_norm * weights)
    if isinstance(likelihood, CountedLikelihood):
        return replace(likelihood, shares=scale_shares(likelihood.shares, by_column))  # type: ignore[type-var]
    if isinstance(likelihood, CategoricalLikelihood | BinnedLikelihood | TextLikelihood):
        pairs = zip(likelihood.tables, weights, strict=True)
        tables = tuple(replace(table, shares=scale_shares(table.shares, weight)) for table, weight in pairs)
        if isinstance(likelihood, TextLikelihood):
            return replace(likelihood, tables=tables, presence=likelihood.presence * by_column)
        return replace(likelihood, tables=tables)
    return None


def scale_shares(shares: ShareTable, weights: Any) -> ShareTable:
    """Multiply logarithms; those of a weight of 0 become 0, even if they are infinite."""
    weights = np.broadcast_to(weights, shares.log.shape)
    log = np.multiply(shares.log, weights, out=np.zeros_like(shares.log), where=weights != 0)
    return replace(shares, log=log)


def to_power(factor: Factor, weight: float) -> Factor:
    """Raise a factor to the power of the weight, which is said in its note."""
    if weight == 1 or factor.is_ignored:
        return factor
    log = tuple(weight * own for own in factor.log)
    if factor.note.startswith(POWER):
        return replace(factor, log=log, note=f"{POWER}{weight * float(factor.note.removeprefix(POWER)):g}")
    if not factor.note:
        return replace(factor, log=log, note=f"{POWER}{weight:g}")
    return replace(factor, log=log, fractions=None, note=f"{factor.note}; {POWER}{weight:g}")
