"""The fold session of `Balanced`.

Rows that are drawn, fewer or more, are a list of training rows like any other, so one session of the classifier inside
answers for all splits. Weights depend on the classes of the training rows, so they open one session a split, which the
settings of that split share. What makes rows that were not there (SMOTE, samplers) is refitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foldwise.data.target import check_weights
from foldwise.decisions.balanced import DRAWN, balance_params, check_method, corrected, generator
from foldwise.decisions.resampling import balancing_weights
from foldwise.decisions.sessions import WrapperSession, branches_of, inside, may_share
from foldwise.folds.model_session import Piece
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Answer, Failure, FoldSession, Labels, Need, Params, Rows
from foldwise.folds.rows import count_rows

SHARED = ("weights", *DRAWN)


class BalancedSession(WrapperSession):
    """Settings of one method share what the session of the classifier inside shares."""

    own = frozenset({"correct_priors"})

    def can_share(self, setting: Params) -> bool:
        method, seed = self.param(setting, "method"), self.param(setting, "random_state")
        if not isinstance(method, str) or method not in SHARED:
            return False
        others = {name: value for name, value in setting.items() if name != "random_state"}
        return super().can_share(others) and (method == "weights" or isinstance(seed, int | np.integer))

    def _group(
        self, places: Sequence[int], settings: Sequence[Params], train: Rows, test: Rows, need: Need
    ) -> Iterator[Piece]:
        try:
            shown = self._shown(settings[places[0]], train)
        except Exception:
            for i in places:  # the refit says what is wrong
                yield [i], self._alone(settings[i], train, test, need)
            return
        branches = branches_of(places, settings)
        asked = tuple(inside(settings[branch[0]]) for branch in branches)
        wanted = need | Need.PROBA if any(self.param(settings[i], "correct_priors") for i in places) else need
        for block in shown.session.answer(asked, shown.rows, test, Need(wanted & ~Need.MODEL)):
            for b in range(block.start, block.stop):
                answer = block.answer
                one = answer if isinstance(answer, Failure) else answer.cut(b - block.start, b - block.start + 1)
                for i in branches[b]:
                    yield [i], self._corrected(settings[i], one, shown, train, test, need)

    def _shown(self, setting: Params, train: Rows) -> Shown:
        """What the classifier inside is fitted on, instead of the training rows as they are."""
        assert isinstance(self.target, Labels)
        method = self.param(setting, "method")
        check_method(method)
        present, codes = np.unique(self.target.codes[train], return_inverse=True)
        given = self.fit_params.get("sample_weight")
        checked = check_weights(None if given is None else np.asarray(given)[train], len(train))
        weights = np.ones(len(train)) if checked is None else checked
        true = np.bincount(codes, weights)
        if method != "weights":
            drawn = DRAWN[method](codes, weights, generator(self.param(setting, "random_state")))
            totals = np.bincount(codes[drawn], weights[drawn], minlength=len(present))
            return Shown(self.inner, train[drawn], present, true / true.sum(), totals / totals.sum())
        balanced = balancing_weights(codes, weights)
        totals = np.bincount(codes, balanced)
        # every weight of the table by its class: of other rows than those of the training set none is ever read
        whole = np.ones(self.n_rows) if given is None else np.asarray(given, dtype=np.float64)
        factor = np.ones(len(self.target.classes))
        factor[present] = np.divide(totals, true, out=np.ones(len(true)), where=true > 0)
        inner = self.estimator.estimator
        session = open_session(inner, self.X, self.y, balance_params(inner, whole * factor[self.target.codes]))
        return Shown(session, train, present, true / true.sum(), totals / totals.sum())

    def _corrected(
        self, setting: Params, answer: Answer | Failure, shown: Shown, train: Rows, test: Rows, need: Need
    ) -> Answer | Failure:
        if isinstance(answer, Failure):
            return answer
        if not self.param(setting, "correct_priors"):
            return replace(answer, models=None)
        logs = answer.log_probabilities()
        if logs is None:  # the refit says what is wrong
            return self._alone(setting, train, test, need)
        assert isinstance(self.target, Labels)
        log_proba = corrected(logs[0][:, shown.present], shown.priors, shown.shares)
        mended = Answer(labels=log_proba.argmax(axis=1)[None], log_proba=log_proba[None])
        return mended.among(shown.present, len(self.target.classes))


class Shown:
    """What a classifier is shown: rows of a session, with the true and the shown shares of the classes there."""

    def __init__(self, session: FoldSession, rows: Rows, present: Any, priors: Any, shares: Any) -> None:
        self.session, self.rows, self.present, self.priors, self.shares = session, rows, present, priors, shares


def open_balanced(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> BalancedSession | None:
    """A session, or None where a refit must decide."""
    if not may_share(estimator, count_rows(X), fit_params):
        return None
    session = BalancedSession(estimator, X, y, fit_params)
    return session if isinstance(session.target, Labels) else None
