"""Facts turned into log-likelihoods by one setting: what scores and explains rows. It never learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.bayes.assignment import FamilyBlock, in_use, narrow
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.bayes.families import FAMILIES, Likelihood, Setting
from foldwise.bayes.families.base import names_of
from foldwise.bayes.families.protocol import AnyView, Factor, Parameter
from foldwise.bayes.presence import WithPresence, presence_shares
from foldwise.data.schema import Column
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import map_rows, windows

SCORED_ROWS = 16_384  # at a time: their scores stay in the cache until they are normalized

Normalize = Callable[[Floats, Floats], int]  # scores (n, K) in place, log priors -> rows that the prior answered


@dataclass(frozen=True)
class FinishedModel:
    """The likelihoods of all blocks in use, and the prior."""

    classes: NDArray[Any]
    log_prior: Floats  # (K,)
    setting: Setting  # what it was finished with
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
        """Finish the facts of `blocks` with one setting; `columns` are those of the table."""
        used, likelihoods = [], []
        for whole, all_facts in zip(blocks, facts.summaries, strict=True):
            block, summary = in_use(whole, all_facts, setting)
            if not block.columns:
                continue
            family, own = FAMILIES[block.family], [columns[j] for j in block.columns]
            likelihood = family.finish(summary, own, facts.totals, setting)
            present = family.present(summary)
            if setting.missing == "category" and present is not None:
                likelihood = WithPresence(likelihood, names_of(own), presence_shares(present, facts.totals, setting))
            used.append(block)
            likelihoods.append(likelihood)
        return cls(facts.classes, log_prior, setting, tuple(used), tuple(likelihoods))

    def score(self, view: AnyView, n_jobs: int | None, normalize: Normalize | None = None) -> tuple[Floats, int]:
        """Joint log-probabilities (n, K), normalized while they are in the cache; how many rows the prior answered."""
        scores = np.empty((view.n_rows, len(self.classes)))

        def part(start: int, stop: int) -> int:
            pairs = zip(self.blocks, self.likelihoods, strict=True)
            scorers = [likelihood.scorer(*narrow(view, block.columns)) for block, likelihood in pairs]
            impossible = 0
            for a, b in windows(start, stop, min([SCORED_ROWS, *(scorer.chunk_rows for scorer in scorers)])):
                chunk = scores[a:b]
                chunk[:] = self.log_prior
                for scorer in scorers:
                    scorer.add(a, b, chunk)
                if normalize is not None:
                    impossible += normalize(chunk, self.log_prior)
            return impossible

        return scores, sum(map_rows(view.n_rows, view.n_columns, n_jobs, part))

    def factors(self, view: AnyView) -> list[tuple[Factor, ...]]:
        """The factors of each row, in the order of the columns."""
        by_column: dict[int, list[Factor]] = {}
        for block, likelihood in zip(self.blocks, self.likelihoods, strict=True):
            rows = likelihood.factors(*narrow(view, block.columns))
            by_column.update((j, [row[k] for row in rows]) for k, j in enumerate(block.columns))
        return [tuple(by_column[j][i] for j in sorted(by_column)) for i in range(view.n_rows)]

    def parameters(self, names: Sequence[str]) -> list[Parameter]:
        """The rows of the probability table, in the order of the columns."""
        rows = [row for likelihood in self.likelihoods for row in likelihood.parameters()]
        order = {name: j for j, name in enumerate(names)}
        return sorted(rows, key=lambda row: order[row.column])
