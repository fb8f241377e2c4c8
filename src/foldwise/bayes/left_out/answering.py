"""All splits of leave-one-out from one pass over the rows: facts of all, less what each row has added.

Rows for which a difference of facts would not do are named instead: the only row of a class, a row that carries nearly
all of a sum, one that alone holds an end of a range. There are few of them, at most a handful a class and column, and
they are answered by a model of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.bayes.assignment import Block
from foldwise.bayes.facts import Facts
from foldwise.bayes.families import FAMILIES
from foldwise.bayes.families.protocol import Setting, option
from foldwise.bayes.left_out.categories import BinnedTurns, CategoryTurns, Slots
from foldwise.bayes.left_out.counts import BinomialTurns, MultinomialTurns
from foldwise.bayes.left_out.numbers import BernoulliTurns, GammaTurns, GaussianTurns, PoissonTurns
from foldwise.bayes.left_out.presence import PresenceTurns
from foldwise.bayes.left_out.rows import Bools, LeftOut, Turned, shrunk
from foldwise.bayes.parameters import check_priors
from foldwise.data.encoded import take_view
from foldwise.data.schema import Column
from foldwise.data.target import Target
from foldwise.data.view import SparseView
from foldwise.folds.protocol import Rows
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import windows

CELLS = 1 << 17  # cells × classes held at a time

BY_ITSELF: dict[str, Callable[..., Turned]] = {
    "gaussian": GaussianTurns,
    "gamma": GammaTurns,
    "poisson": PoissonTurns,
    "bernoulli": BernoulliTurns,
    "multinomial": MultinomialTurns,
}
DESCRIBED: dict[str, Callable[..., Turned]] = {"binomial": BinomialTurns, "binned": BinnedTurns}


def can_turn(view: Any, blocks: Sequence[Block], columns: Sequence[Column], setting: Setting) -> bool:
    """Whether every family of a table is known here; kde, text, and cuts that depend on all rows are not."""
    if isinstance(view, SparseView):
        return [block.family for block in blocks] == ["multinomial"]
    for block in blocks:
        if block.family == "binned":
            cuts = {option(setting.cuts, columns[j].name, "width") for j in block.columns}
            if cuts != {"width"}:
                return False
        elif block.family != "categorical" and block.family not in BY_ITSELF and block.family not in DESCRIBED:
            return False
    return True


class LeavingOut:
    """The facts of some rows, ready to be asked about each of them without itself."""

    def __init__(
        self, view: Any, target: Target, weights: Floats | None, blocks: Sequence[Block], columns: Sequence[Column]
    ) -> None:
        self._view, self._y, self._blocks, self._columns = view, target.codes, blocks, columns
        self.facts = Facts.learn(view, target, weights, blocks, n_jobs=1)
        self._weight = np.ones(len(target.codes)) if weights is None else weights
        self._whole = weights is None or bool((weights % 1 == 0).all())
        self.counts = np.bincount(self._y, minlength=len(target.classes))  # rows of each class, of any weight
        self._slots = [self._slots_of(block, k) for k, block in enumerate(blocks)]

    def _slots_of(self, block: Block, k: int) -> list[Slots]:
        if block.family != "categorical":
            return []
        counts: Any = self.facts.summaries[k]
        coded = [self._view.coded_columns[j] for j in block.columns]
        triples = zip(block.columns, counts.columns, coded, strict=True)
        return [Slots.of(self._columns[j], found, column.levels) for j, found, column in triples]

    def ask(self, places: Rows, settings: Sequence[Setting], priors: Sequence[Any]) -> Scored:
        """Joint log-probabilities of the rows at some places by all others, for every setting."""
        n_classes = len(self.facts.classes)
        scored = Scored(len(settings), len(places), n_classes)
        size = max(1, CELLS // (n_classes * max(1, len(self._columns))))
        for a, b in windows(0, len(places), size):
            self._ask_some(places[a:b], settings, priors, scored.some(a, b))
        return scored

    def _ask_some(self, places: Rows, settings: Sequence[Setting], priors: Sequence[Any], out: Scored) -> None:
        weight = self._weight[places]
        left = LeftOut(self._y[places], weight, weight > 0, self.facts.totals, self._whole)
        classes = left.classes()
        out.rest[:] = self.counts[left.y] == 1
        out.rest |= left.seen & (classes.rows[np.arange(len(places)), left.y] == 0)
        if not self._whole:
            out.rest |= shrunk(self.facts.class_weight, classes.weight).any(axis=1)
        evidence = any(setting.missing == "category" for setting in settings)
        parts = list(self._parts(take_view(self._view, places), left, evidence))
        for s, (setting, given) in enumerate(zip(settings, priors, strict=True)):
            out.prior[s] = self._log_prior(given, classes.weight)
            out.scores[s] = out.prior[s]
            for part in parts:
                scores, poor = part.scores(setting)
                out.scores[s] += scores
                out.rest |= poor

    def _log_prior(self, given: Any, weight: Floats) -> Floats:  # (m, K) or (K,)
        if isinstance(given, str) and given == "empirical":
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(np.log(weight / weight.sum(axis=1, keepdims=True)))
        return check_priors(given, self.facts.classes, self.facts.class_weight)

    def _parts(self, view: Any, left: LeftOut, evidence: bool) -> Iterator[Turned]:
        """What each block says of some rows, with the presence of numbers where that is evidence."""
        summary: Any
        for block, summary, slots in zip(self._blocks, self.facts.summaries, self._slots, strict=True):
            columns, family = block.columns, block.family
            if isinstance(view, SparseView):
                yield MultinomialTurns(view.matrix, summary, left, columns)
                continue
            if family == "categorical":
                codes: Ints = np.stack([view.coded_columns[j].coded for j in columns], axis=1)
                yield CategoryTurns(codes, slots, left, columns)
                continue
            cells = view.numbers(columns).chunk(0, view.n_rows).rows
            if family in DESCRIBED:
                yield DESCRIBED[family](cells, summary, left, columns, [self._columns[j] for j in columns])
            else:
                yield BY_ITSELF[family](cells, summary, left, columns)
            present = FAMILIES[family].present(summary)
            if evidence and present is not None:
                yield PresenceTurns(~np.isnan(cells), present, left, columns)


class Scored:
    """Joint log-probabilities of rows, and the rows that are left to models of their own."""

    def __init__(self, n_settings: int, n_rows: int, n_classes: int) -> None:
        self.scores = np.empty((n_settings, n_rows, n_classes))
        self.prior = np.empty((n_settings, n_rows, n_classes))
        self.rest: Bools = np.zeros(n_rows, dtype=bool)

    def some(self, start: int, stop: int) -> Scored:
        """The lines of some rows, as views."""
        part = object.__new__(Scored)
        part.scores, part.prior = self.scores[:, start:stop], self.prior[:, start:stop]
        part.rest = self.rest[start:stop]
        return part

    def labels(self) -> NDArray[np.intp]:  # (settings, rows)
        """The most probable class; the prior answers where every class is impossible."""
        return np.asarray(self._settled().argmax(axis=2))

    def log_proba(self) -> Floats:  # (settings, rows, classes)
        """Normalised log-probabilities."""
        scores = self._settled()
        scores = scores - scores.max(axis=2, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=2, keepdims=True)))

    def _settled(self) -> Floats:
        impossible = np.isneginf(self.scores.max(axis=2, keepdims=True))
        found = np.where(impossible, self.prior, self.scores)
        found[:, self.rest] = 0.0  # nothing of use, and nothing that warns
        return found
