"""Subsets of columns for linear models: the Gram matrix of a subset is a part of that of all columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from foldwise.adapters.linear_facts import TrainingFacts
from foldwise.adapters.linear_session import GramSession, Solution, kept, with_predictions
from foldwise.folds.abilities import equal_settings
from foldwise.folds.groups import group_by
from foldwise.folds.model_session import IndexedAnswer, SubsetRefitSession, in_order
from foldwise.folds.protocol import Block, Need, Params, Rows
from foldwise.folds.splits import Split

COLUMNS = frozenset({"columns"})


class SolvedSubsets(SubsetRefitSession):
    """Base of sessions whose settings are `{"columns": indices}`, for which a linear model is solved."""

    threads = True
    order_free = True
    small_products = True
    refit_type = SubsetRefitSession  # what the audit compares with

    def lazy(self, params: Params) -> frozenset[str]:
        return COLUMNS


class LinearSubsets(SolvedSubsets):
    """Subsets that are solved from the facts of the session of all columns."""

    shares = "gram"

    def __init__(self, session: GramSession[Any], setting: Any) -> None:
        super().__init__(session.estimator, session.X, session.y, session.fit_params)
        self._session, self._setting = session, setting

    def equal_settings(self, setting: Params) -> list[dict[str, Any]]:
        """The same subset with parameters that lead to the same solution."""
        return [{**setting, **other} for other in equal_settings(self._session, {})]

    def expect(self, splits: Sequence[Split]) -> None:
        """Note which training sets are unions of the test rows of the other splits."""
        self._session.expect(splits)

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        yield from in_order(self._pieces(settings, train, test, with_predictions(need)))

    def _pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[IndexedAnswer]:
        shared = len(train) > 0 and len(test) > 0
        facts = self._session.facts(train, self._setting.class_weight) if shared else None
        alone = list(range(len(settings)))
        if facts is not None and facts.rows is None:
            solution = self._solve([np.asarray(one["columns"], dtype=np.intp) for one in settings], facts)
            solved = np.flatnonzero(solution.usable).tolist()
            alone = np.flatnonzero(~solution.usable).tolist()
            if solved:
                for at, answer in self._session.answers(kept(solution), facts, test, need):
                    yield solved[at], answer
        for i in alone:
            yield [i], self.answer_by_refit(settings[i], train, test, need)

    def _solve(self, subsets: Sequence[Any], facts: TrainingFacts) -> Solution:
        """The coefficients of all subsets, with zeros for the columns that are not in them."""
        n, m, d = len(subsets), len(facts.y_mean), facts.n_columns
        coef, intercept, usable = np.zeros((n, m, d)), np.zeros((n, m)), np.zeros(n, dtype=bool)
        for group in group_by(range(n), lambda i: len(subsets[i])):
            columns = np.array([subsets[i] for i in group])  # (subsets, size)
            found = self._session.solve_subsets(self._setting, facts, columns)
            coef[np.array(group)[:, None, None], np.arange(m)[:, None], columns[:, None]] = found.coef
            intercept[group], usable[group] = found.intercept, found.usable
        return Solution(coef, intercept, usable)
