"""The fold session of `CostSensitive`: probabilities are computed once, and any costs are applied to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from foldwise.decisions.resolved_costs import resolve_costs
from foldwise.decisions.wrapper_session import WrapperSession, branches_of, inside
from foldwise.folds.fallback import attempt, raise_hidden
from foldwise.folds.model_session import IndexedAnswer, class_indices
from foldwise.folds.protocol import Answer, Failure, Labels, Need, Params, Rows
from foldwise.folds.rows import take_rows


class CostSensitiveSession(WrapperSession):
    """Settings that differ only in costs use the same probabilities of the wrapped classifier."""

    own = frozenset({"costs"})

    @property
    def order_free(self) -> bool:  # type: ignore[override]
        return self.inner.order_free

    def _group(
        self, indices: Sequence[int], settings: Sequence[Params], train: Rows, test: Rows, need: Need
    ) -> Iterator[IndexedAnswer]:
        branches = branches_of(indices, settings)
        for i, answer in self._inner_answers(self.inner, branches, settings, (train, test, need | Need.PROBA)):
            yield [i], self._decided(settings[i], answer, train, test, need)

    def _decided(
        self, setting: Params, answer: Answer | Failure, train: Rows, test: Rows, need: Need
    ) -> Answer | Failure:
        """Choose the actions of one setting from the probabilities of its classifier."""
        if isinstance(answer, Failure):
            return answer
        proba = answer.probabilities()
        if proba is None:  # the refit raises the error
            return self.answer_by_refit(setting, train, test, need)
        assert isinstance(self.target, Labels)
        present = np.unique(self.target.codes[train])
        try:
            costs = resolve_costs(self.param(setting, "costs"), self.target.classes[present], warn=False)
        except Exception as error:  # not hidden: the failure is the answer
            return Failure(error)
        models = None if answer.models is None else tuple(self._wrapped(setting, model) for model in answer.models)
        shares = replace(answer, labels=None, decision=None, models=models)
        if not need & (Need.LABELS | Need.MODEL):
            return shares
        classes = self.target.classes

        def decide() -> Any:
            X = take_rows(self.X, test) if costs.varying else None
            action, _ = costs.decide(proba[0][:, present], X)
            return class_indices(costs.actions, classes)[action]

        labels, undecided = attempt(decide)
        if labels is None:  # actions that are not classes, or invalid costs of a row: a scorer calls the model itself
            raise_hidden(undecided, partial(self.answer_by_refit, setting, train, test, Need.LABELS))
            return replace(shares, models=models or (self.model(setting, train),))
        return replace(shares, labels=labels[None])

    def model(self, setting: Params, train: Rows) -> Any:
        if not self.can_share(setting):
            return super().model(setting, train)
        return self._wrapped(setting, self.inner.model(inside(setting), train))

    def _wrapped(self, setting: Params, model: Any) -> Any:
        return self.unfitted(setting)._adopt(model, warn=False)
