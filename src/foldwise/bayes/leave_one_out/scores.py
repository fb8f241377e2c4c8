"""Answers all splits of leave-one-out from one pass over the rows: the facts of all rows, minus those of each row.

Some rows need a refit, because the difference would be inaccurate: the only row of a class, a row that contributes
nearly all of a sum, a row that alone is at an end of a range. There are at most a few of them per class and column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Bools, Floats, Ints
from foldwise.bayes.assignment import FamilyBlock
from foldwise.bayes.checks import check_priors
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.bayes.families import FAMILIES
from foldwise.bayes.families.protocol import Setting, option
from foldwise.bayes.leave_one_out.categories import BinnedLeftOut, CategoriesLeftOut, LevelCounts, PresenceLeftOut
from foldwise.bayes.leave_one_out.numbers import NUMERIC, MultinomialLeftOut
from foldwise.bayes.leave_one_out.rows import LeftOutBlock, LeftOutRows, shrunk
from foldwise.data.encoded import take_view
from foldwise.data.schema import Column
from foldwise.data.target import Target
from foldwise.data.view import SparseView
from foldwise.folds.protocol import Rows
from foldwise.summaries.passes import windows

CELLS = 1 << 17  # values × classes in memory at a time


def can_leave_out(view: Any, blocks: Sequence[FamilyBlock], columns: Sequence[Column], setting: Setting) -> bool:
    """Check whether all families of a table are supported; kde, text, and bins by frequency or entropy are not."""
    families = {block.family for block in blocks}
    if isinstance(view, SparseView):
        return families == {"multinomial"}
    binned = [columns[j].name for block in blocks if block.family == "binned" for j in block.columns]
    by_width = all(option(setting.cuts, name, "width") == "width" for name in binned)
    return by_width and families <= {"categorical", "binned", "multinomial", *NUMERIC}


class LeaveOneOutFacts:
    """The facts of some rows, from which each row is scored without itself."""

    def __init__(
        self,
        view: Any,
        target: Target,
        weights: Floats | None,
        blocks: Sequence[FamilyBlock],
        columns: Sequence[Column],
    ) -> None:
        self._view, self._y, self._blocks, self._columns = view, target.codes, blocks, columns
        self.facts = NaiveBayesFacts.learn(view, target, weights, blocks, n_jobs=1)
        self._weight = np.ones(len(target.codes)) if weights is None else weights
        self._whole = weights is None or bool((weights % 1 == 0).all())
        self.counts = np.bincount(self._y, minlength=len(target.classes))  # rows of each class, with any weight
        self._levels = [self._level_counts(block, k) for k, block in enumerate(blocks)]

    def _level_counts(self, block: FamilyBlock, k: int) -> list[LevelCounts]:
        if block.family != "categorical":
            return []
        counts: Any = self.facts.summaries[k]
        coded = [self._view.coded_columns[j] for j in block.columns]
        triples = zip(block.columns, counts.columns, coded, strict=True)
        return [LevelCounts.of(self._columns[j], found, column.levels) for j, found, column in triples]

    def score(self, indices: Rows, settings: Sequence[Setting], priors: Sequence[Any]) -> LeaveOneOutScores:
        """Compute joint log-probabilities of some rows from all other rows, for every setting."""
        n_classes = len(self.facts.classes)
        scored = LeaveOneOutScores.empty(settings, len(indices), n_classes)
        size = max(1, CELLS // (n_classes * max(1, len(self._columns))))
        for a, b in windows(0, len(indices), size):
            self._fill(indices[a:b], settings, priors, scored.part(a, b))
        return scored

    def _fill(self, indices: Rows, settings: Sequence[Setting], priors: Sequence[Any], out: LeaveOneOutScores) -> None:
        weight = self._weight[indices]
        left = LeftOutRows(self._y[indices], weight, weight > 0, self.facts.totals, self._whole)
        classes = left.classes()
        out.refit[:] = self.counts[left.y] == 1
        out.refit[:] |= left.seen & (classes.rows[np.arange(len(indices)), left.y] == 0)
        if not self._whole:
            out.refit[:] |= shrunk(self.facts.class_weight, classes.weight).any(axis=1)
        evidence = any(setting.missing == "category" for setting in settings)
        parts = list(self._parts(take_view(self._view, indices), left, evidence))
        for s, (setting, given) in enumerate(zip(settings, priors, strict=True)):
            out.prior[s] = self._log_prior(given, classes.weight)
            out.scores[s] = out.prior[s]
            for part in parts:
                scores, poor = part.scores(setting)
                out.scores[s] += scores
                out.refit[:] |= poor

    def _log_prior(self, given: Any, weight: Floats) -> Floats:  # (m, K) or (K,)
        if isinstance(given, str) and given == "empirical":
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(np.log(weight / weight.sum(axis=1, keepdims=True)))
        return check_priors(given, self.facts.classes, self.facts.class_weight)

    def _parts(self, view: Any, left: LeftOutRows, evidence: bool) -> Iterator[LeftOutBlock]:
        """Iterate over the blocks of some rows; with `evidence`, also over the presence of numeric values."""
        summary: Any
        for block, summary, levels in zip(self._blocks, self.facts.summaries, self._levels, strict=True):
            columns, family = block.columns, block.family
            if isinstance(view, SparseView):
                yield MultinomialLeftOut(view.matrix, summary, left, columns)
                continue
            if family == "categorical":
                codes: Ints = np.stack([view.coded_columns[j].coded for j in columns], axis=1)
                yield CategoriesLeftOut(codes, levels, left, columns)
                continue
            cells = view.numbers(columns).chunk(0, view.n_rows).rows
            if family == "multinomial":
                yield MultinomialLeftOut(cells, summary, left, columns)
            else:
                block_type: Any = BinnedLeftOut if family == "binned" else NUMERIC[family]
                yield block_type(cells, summary, left, columns, [self._columns[j] for j in columns])
            present = FAMILIES[family].present(summary)
            if evidence and present is not None:
                yield PresenceLeftOut(~np.isnan(cells), present, left, columns)


@dataclass(frozen=True)
class LeaveOneOutScores:
    """Joint log-probabilities of rows, and which rows need a refit."""

    scores: Floats  # (settings, rows, K)
    prior: Floats  # (settings, rows, K)
    refit: Bools  # (rows,)
    temperature: Floats  # (settings,)

    @classmethod
    def empty(cls, settings: Sequence[Setting], n_rows: int, n_classes: int) -> LeaveOneOutScores:
        shape = (len(settings), n_rows, n_classes)
        temperature = np.array([setting.temperature for setting in settings])
        return cls(np.empty(shape), np.empty(shape), np.zeros(n_rows, dtype=bool), temperature)

    def part(self, start: int, stop: int) -> LeaveOneOutScores:
        """Select a range of rows, as views."""
        rows = slice(start, stop)
        return LeaveOneOutScores(self.scores[:, rows], self.prior[:, rows], self.refit[rows], self.temperature)

    def labels(self) -> NDArray[np.intp]:  # (settings, rows)
        """Find the most probable class; the prior decides if every class is impossible."""
        return np.asarray(self._possible().argmax(axis=2))

    def log_proba(self) -> Floats:  # (settings, rows, K)
        """Compute normalized log-probabilities."""
        scores = self._possible()
        scores -= scores.max(axis=2, keepdims=True)
        scores /= self.temperature[:, None, None]
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=2, keepdims=True)))

    def _possible(self) -> Floats:
        impossible = np.isneginf(self.scores.max(axis=2, keepdims=True))
        found = np.where(impossible, self.prior, self.scores)
        found[:, self.refit] = 0.0  # not used; avoids warnings
        return found
