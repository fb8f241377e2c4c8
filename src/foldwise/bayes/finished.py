"""`FinishedModel`: log-likelihoods computed from facts with one setting, which score and explain rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.bayes.assignment import FamilyBlock, in_use, narrow
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.bayes.families import FAMILIES, Likelihood, Setting
from foldwise.bayes.families.base import names_of
from foldwise.bayes.families.protocol import AnyView, Factor, Parameter
from foldwise.bayes.presence import WithPresence, presence_shares
from foldwise.bayes.weighting import WeightedLikelihood, by_weight
from foldwise.data.schema import Column
from foldwise.summaries.passes import map_rows, windows

SCORED_ROWS = 16_384  # scored at a time, so that scores are still in the cache when they are normalized

Normalize = Callable[
    [Floats, Floats], int
]  # scores (n, K) in place, log priors -> number of rows predicted by the prior


@dataclass(frozen=True)
class FinishedModel:
    """The prior, and the likelihoods of all blocks in use."""

    classes: NDArray[Any]
    log_prior: Floats  # (K,)
    setting: Setting  # with which the likelihoods were computed
    blocks: tuple[FamilyBlock, ...]
    likelihoods: tuple[Likelihood, ...]

    @classmethod
    def of(
        cls,
        facts: NaiveBayesFacts,
        blocks: Sequence[FamilyBlock],
        columns: Sequence[Column],
        setting: Setting,
        log_prior: Floats,
    ) -> FinishedModel:
        """Compute likelihoods from the facts of `blocks`; `columns` are those of the table."""
        used, likelihoods = [], []
        for block, summary in blocks_in_use(facts, blocks, setting):
            family, own = FAMILIES[block.family], [columns[j] for j in block.columns]
            likelihood = family.finish(summary, own, facts.totals, setting)
            present = family.present(summary)
            if setting.missing == "category" and present is not None:
                likelihood = WithPresence(likelihood, names_of(own), presence_shares(present, facts.totals, setting))
            weights = np.array([setting.weight(j) for j in block.columns])
            if (weights != 1).any():
                likelihood = WeightedLikelihood(likelihood, names_of(own), weights)
            used.append(block)
            likelihoods.append(likelihood)
        return cls(facts.classes, log_prior, setting, tuple(used), tuple(likelihoods))

    def score(self, view: AnyView, n_jobs: int | None, normalize: Normalize | None = None) -> tuple[Floats, int]:
        """Compute joint log-probabilities (n, K), or normalized ones, and the number of rows predicted by the prior."""
        scores = np.empty((view.n_rows, len(self.classes)))
        temperature = self.setting.temperature

        def part(start: int, stop: int) -> int:
            pairs = zip(self.blocks, self.likelihoods, strict=True)
            scorers = [likelihood.scorer(*narrow(view, block.columns)) for block, likelihood in pairs]
            impossible = 0
            for a, b in windows(start, stop, min([SCORED_ROWS, *(scorer.chunk_rows for scorer in scorers)])):
                chunk = scores[a:b]
                chunk[:] = self.log_prior
                for scorer in scorers:
                    scorer.add(a, b, chunk)
                if normalize is not None and temperature == 1:
                    impossible += normalize(chunk, self.log_prior)
                elif normalize is not None:
                    impossible += shift_to_max(chunk, self.log_prior)  # first, so that the division cannot overflow
                    chunk /= temperature
                    normalize(chunk, self.log_prior)
            return impossible

        return scores, sum(map_rows(view.n_rows, view.n_columns, n_jobs, part))

    def factors(self, view: AnyView) -> list[tuple[Factor, ...]]:
        """Compute the factors of each row, in the order of the columns."""
        by_column: dict[int, list[Factor]] = {}
        for block, likelihood in zip(self.blocks, self.likelihoods, strict=True):
            rows = likelihood.factors(*narrow(view, block.columns))
            by_column.update((j, [row[k] for row in rows]) for k, j in enumerate(block.columns))
        return [tuple(by_column[j][i] for j in sorted(by_column)) for i in range(view.n_rows)]

    def parameters(self, names: Sequence[str]) -> list[Parameter]:
        """Return the rows of the probability table, in the order of the columns."""
        rows = [row for likelihood in self.likelihoods for row in likelihood.parameters()]
        order = {name: j for j, name in enumerate(names)}
        return sorted(rows, key=lambda row: order[row.column])


def blocks_in_use(
    facts: NaiveBayesFacts, blocks: Sequence[FamilyBlock], setting: Setting
) -> list[tuple[FamilyBlock, Any]]:
    """The blocks that a setting uses, with their facts."""
    used = [in_use(block, summary, setting) for block, summary in zip(blocks, facts.summaries, strict=True)]
    return [part for block, summary in used if block.columns for part in by_weight(block, summary, setting)]


@njit(nogil=True, cache=True)
def shift_to_max(scores: Floats, log_prior: Floats) -> int:
    """Subtract the maximum of each row. A row of only -inf becomes the prior; returns the number of such rows."""
    n, n_classes = scores.shape
    contradictions = 0
    for i in range(n):
        top = scores[i, 0]
        for c in range(1, n_classes):
            top = max(top, scores[i, c])
        if top == -np.inf:
            contradictions += 1
            top = log_prior.max()
            for c in range(n_classes):
                scores[i, c] = log_prior[c]
        for c in range(n_classes):
            scores[i, c] -= top
    return contradictions


@njit(nogil=True, cache=True)
def divide_by_sum(shares: Floats) -> None:
    """Scale each row to sum to 1."""
    n, n_classes = shares.shape
    for i in range(n):
        total = 0.0
        for c in range(n_classes):
            total += shares[i, c]
        share = 1.0 / total
        for c in range(n_classes):
            shares[i, c] *= share


def to_probabilities(scores: Floats, log_prior: Floats) -> int:
    """Convert joint log-probabilities to probabilities, in place; returns the number of rows predicted by the prior."""
    contradictions = shift_to_max(scores, log_prior)
    np.exp(scores, out=scores)
    divide_by_sum(scores)
    return int(contradictions)


def to_log_probabilities(scores: Floats, log_prior: Floats) -> int:
    """Normalize joint log-probabilities in place; returns the number of rows predicted by the prior."""
    contradictions = shift_to_max(scores, log_prior)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return int(contradictions)
