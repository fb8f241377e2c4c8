"""Subsets of columns of `NaiveBayes`: what each column says of each test row is had once a split, then only summed.

A column's likelihood does not depend on the other columns, except in a multinomial block, whose shares are taken of all
its columns: such tables, and sparse ones, finish each subset from facts learned once (`SubsetsByFacts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from sklearn.base import clone

from foldwise.bayes.facts import Facts
from foldwise.bayes.parameters import check_priors
from foldwise.bayes.posterior import divide_by_sum, shift_to_max
from foldwise.data.encoded import take_view
from foldwise.data.target import Target
from foldwise.folds.protocol import NAMES, SHARES, Answer, Block, Failure, Need, Params, Rows
from foldwise.folds.sums.subsets import Shared
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import windows

KEPT_BYTES = 1 << 28  # terms of all splits that are kept; of the others they are made at each question anew
HELD_CELLS = 1 << 22  # terms made at a time where they are not kept, and probabilities of a block then
BLOCK_CELLS = 1 << 18  # probabilities of a block: metrics read them while they are in a near cache
COLUMNS = frozenset({"columns"})
COUPLED = {"multinomial"}  # families in which a column's likelihood depends on the others of its block


class SubsetsByFacts:
    """Each subset is finished from the facts of all columns, which are learned once a question and split."""

    shares = "summaries"
    threads = True
    order_free = True

    def __init__(self, session: Any, asked: Any) -> None:
        self._session, self._asked = session, asked
        self.estimator, self.X, self.y = session.estimator, session.X, session.y
        self.fit_params, self.target = session.fit_params, session.target

    def lazy(self, params: Params) -> frozenset[str]:
        return COLUMNS

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        yield from self._session.answer(settings, train, test, need)

    def model(self, setting: Params, train: Rows) -> Any:
        return self._session.model(setting, train)


@dataclass(frozen=True)
class Learned:
    """What a training set says of single columns."""

    train: Rows
    present: Any  # the classes that occur, as places among all
    log_prior: Floats  # (K,)
    facts: Facts | None  # None where the terms are kept
    terms: Floats | None = None  # (d, K, n), of the test rows `test`
    test: Rows | None = None


class SubsetsByTerms(SubsetsByFacts):
    """Terms of single columns, summed for each subset: a question costs a pass over them, and no fit."""

    shares = "terms"

    def __init__(self, session: Any, asked: Any) -> None:
        super().__init__(session, asked)
        self._lock = Lock()
        self._kept: dict[tuple[int, int], Learned] = {}  # holds train and test, so that no id is used anew
        self._room = KEPT_BYTES
        self._n_columns = session.table.n_columns

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        need = need | Need.PROBA if need.has(Need.DECISION) else need  # there are no decision values
        subsets = [tuple(setting["columns"]) for setting in settings]
        size = len(subsets)
        try:
            learned = self._learn(train, test)
            if need.has(SHARES):
                cells = BLOCK_CELLS if learned.terms is not None else HELD_CELLS
                size = max(1, cells // (len(test) * len(learned.log_prior)))
            for start in range(0, len(subsets), size):
                part = subsets[start : start + size]
                yield Block(start, start + len(part), self._score(learned, Shared.of(part), test, need))
        except Exception as error:
            yield Block(0, len(subsets), Failure(error))

    def _learn(self, train: Rows, test: Rows) -> Learned:
        """The terms of a split where they are kept, else what they are made of."""
        known = self._kept.get((id(train), id(test)))
        if known is not None:
            return known
        session, opened = self._session, self._asked.opened
        training = session._training(train)
        classes = session.classes[training.present]
        view, target = take_view(opened.view, train), Target(classes, training.share.y)
        facts = Facts.learn(view, target, training.share.weights, opened.blocks, n_jobs=1)
        log_prior = check_priors(self._asked.params["priors"], facts.classes, facts.class_weight)
        learned = Learned(train, training.present, log_prior, facts)
        n_bytes = 8 * self._n_columns * len(classes) * len(test)
        with self._lock:
            if n_bytes > self._room:
                return learned
            self._room -= n_bytes
        terms = self._terms(learned, test, range(self._n_columns))
        self._kept[id(train), id(test)] = found = replace(learned, facts=None, terms=terms, test=test)
        return found

    def _terms(self, learned: Learned, rows: Rows, columns: Sequence[int]) -> Floats:  # (columns, K, n)
        """What each of these columns adds to the score of each class: the score of a model of this column alone."""
        model = clone(self.estimator).set_params(n_jobs=1)
        model._adopt(self._asked.opened.template)
        view = take_view(self._asked.opened.view, rows)
        nothing = np.zeros(len(learned.log_prior))
        terms = np.empty((len(columns), len(nothing), len(rows)))
        for k, j in enumerate(columns):
            alone = model._finish(learned.facts, replace(self._asked.setting, columns=(j,)), nothing)
            terms[k] = alone._score(view, None)[0].T
        return terms

    def _score(self, learned: Learned, shared: Shared, test: Rows, need: Need) -> Answer:
        n_classes, n = len(learned.log_prior), len(test)
        labels = np.empty((shared.n_subsets, n), dtype=np.int16) if need.has(NAMES) else None
        scores = np.empty((shared.n_subsets, n, n_classes)) if need.has(SHARES) else None
        for a, b, terms, sums in self._windows(learned, shared, test):
            if labels is not None:
                sums.labels(terms, learned.log_prior, labels[:, a:b])
            if scores is not None:
                sums.scores(terms, learned.log_prior, scores[:, a:b])
        proba = None if scores is None else self._settle(scores.reshape(-1, n_classes), learned.log_prior)
        if proba is not None:
            proba = proba.reshape(shared.n_subsets, n, n_classes)
        return Answer(labels, scores, proba).among(learned.present, len(self._session.classes))

    def _settle(self, scores: Floats, log_prior: Floats) -> Floats:  # both (·, K)
        """Joint log-probabilities become those of the classes, in place; gives probabilities as `predict_proba` does.

        Logarithms of them, and back, would break ties in rank that a refit has.
        """
        shift_to_max(scores, log_prior)
        proba = np.exp(scores)
        scores -= np.log(proba.sum(axis=1, keepdims=True))
        divide_by_sum(proba)
        return proba

    def _windows(self, learned: Learned, shared: Shared, test: Rows) -> Iterator[tuple[int, int, Floats, Shared]]:
        """Test rows from a to b with their terms: all at once where they are kept, else as many as memory allows."""
        if learned.terms is not None:
            yield 0, len(test), learned.terms, shared
            return
        columns = shared.columns
        sums = shared.among(columns)
        size = max(1, HELD_CELLS // max(1, len(columns) * len(learned.log_prior)))
        for a, b in windows(0, len(test), size):
            yield a, b, self._terms(learned, test[a:b], columns), sums
