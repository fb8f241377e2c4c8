"""Column subsets of `NaiveBayes`: the terms of each column are computed once per split, then only summed.

The likelihood of a column does not depend on the other columns, except in a multinomial block, where all columns share
one total. For such tables, and for sparse ones, the fold session itself answers subsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldwise.arrays import Floats
from foldwise.bayes.checks import check_priors
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.bayes.finished import FinishedModel, shift_to_max, to_log_probabilities
from foldwise.data.encoded import take_view
from foldwise.folds.caches import ByteBudget, KeyedCache
from foldwise.folds.protocol import NAMES, SHARES, Answer, Block, Failure, Need, Params, Rows
from foldwise.folds.sums.subsets import SharedSums
from foldwise.summaries.passes import windows

KEPT_BYTES = 1 << 28  # for the terms of splits that are kept; those of other splits are recomputed
HELD_CELLS = 1 << 22  # terms computed at a time if they are not kept, and probabilities per block then
BLOCK_CELLS = 1 << 18  # probabilities per block of subsets, so that metrics read them from the cache
COLUMNS = frozenset({"columns"})
COUPLED = {"multinomial"}  # families in which a column's likelihood depends on the others of its block


@dataclass(frozen=True)
class SplitTerms:
    """The terms of single columns in one split. It keeps both arrays of rows alive, so that their ids stay unique."""

    train: Rows
    test: Rows
    present: Any  # indices of the classes that occur
    log_prior: Floats  # (K,)
    facts: NaiveBayesFacts | None  # None if the terms are kept
    terms: Floats | None = None  # (d, K, n), of the test rows


class SubsetsByTerms:
    """Sums the terms of single columns for each subset, which costs one pass over them and no fit."""

    shares = "terms"
    threads = True
    order_free = True

    def __init__(self, session: Any, checked: Any) -> None:
        self._session, self._checked = session, checked
        self.estimator, self.X, self.y = session.estimator, session.X, session.y
        self.fit_params, self.target = session.fit_params, session.target
        self._budget = ByteBudget(KEPT_BYTES)
        self._kept: KeyedCache[SplitTerms] = KeyedCache()
        self._n_columns = session.table.n_columns

    def lazy(self, params: Params) -> frozenset[str]:
        return COLUMNS

    def model(self, setting: Params, train: Rows) -> Any:
        return self._session.model(setting, train)

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        need = need | Need.PROBA if need.has(Need.DECISION) else need  # decision values are probabilities
        subsets = [tuple(setting["columns"]) for setting in settings]
        size = len(subsets)
        try:
            split = self._learn(train, test)
            if need.has(SHARES):
                cells = BLOCK_CELLS if split.terms is not None else HELD_CELLS
                size = max(1, cells // (len(test) * len(split.log_prior)))
            for start in range(0, len(subsets), size):
                part = subsets[start : start + size]
                yield Block(start, start + len(part), self._score(split, SharedSums.of(part), need))
        except Exception as error:  # not hidden: the failure is the answer
            yield Block(0, len(subsets), Failure(error))

    def _learn(self, train: Rows, test: Rows) -> SplitTerms:
        """Find the kept terms of a split, or learn the facts to compute them from."""
        known = self._kept.find((id(train), id(test)))
        if known is not None:
            return known
        training = self._session.training_set(train)
        log_prior = check_priors(self._checked.params["priors"], training.classes, training.totals)
        split = SplitTerms(train, test, training.present, log_prior, training.learn(self._checked.table))
        if not self._budget.take(8 * self._n_columns * len(log_prior) * len(test)):
            return split
        terms = self._terms(split, test, range(self._n_columns))
        return self._kept.keep((id(train), id(test)), replace(split, facts=None, terms=terms))

    def _terms(self, split: SplitTerms, rows: Rows, columns: Sequence[int]) -> Floats:  # (columns, K, n)
        """Compute what each column adds to the score of each class: the score of a model of this column alone."""
        assert split.facts is not None
        table, setting = self._checked.table, self._checked.setting
        view, nothing = take_view(table.view, rows), np.zeros(len(split.log_prior))
        terms = np.empty((len(columns), len(nothing), len(rows)))
        for k, j in enumerate(columns):
            alone = replace(setting, columns=(j,))
            model = FinishedModel.of(split.facts, table.blocks, table.columns, alone, nothing)
            terms[k] = model.score(view, n_jobs=1)[0].T
        return terms

    def _score(self, split: SplitTerms, shared: SharedSums, need: Need) -> Answer:
        n_classes, n = len(split.log_prior), len(split.test)
        labels = np.empty((shared.n_subsets, n), dtype=np.int16) if need.has(NAMES) else None
        scores = np.empty((shared.n_subsets, n, n_classes)) if need.has(SHARES) else None
        for a, b, terms, sums in self._windows(split, shared):
            if labels is not None:
                sums.labels(terms, split.log_prior, labels[:, a:b])
            if scores is not None:
                sums.scores(terms, split.log_prior, scores[:, a:b])
        if scores is not None:
            rows = scores.reshape(-1, n_classes)
            shift_to_max(rows, split.log_prior)
            rows /= self._checked.setting.temperature
            to_log_probabilities(rows, split.log_prior)
        return Answer(labels, scores).among(split.present, len(self._session.classes))

    def _windows(self, split: SplitTerms, shared: SharedSums) -> Iterator[tuple[int, int, Floats, SharedSums]]:
        """Iterate over ranges of test rows with their terms: all at once if they are kept, else as memory allows."""
        test, columns = split.test, shared.columns
        if split.terms is not None:
            yield 0, len(test), split.terms, shared
            return
        sums = shared.among(columns)
        size = max(1, HELD_CELLS // max(1, len(columns) * len(split.log_prior)))
        for a, b in windows(0, len(test), size):
            yield a, b, self._terms(split, test[a:b], columns), sums
