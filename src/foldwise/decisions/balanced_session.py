"""The fold session of `Balanced`.

Rows drawn by "under" and "over" are rows of the table, so one session of the wrapped classifier serves all splits.
Balancing weights depend on the training rows, so "weights" opens one session per split, shared by all settings. Methods
that create new rows (SMOTE, samplers) are refitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.target import check_weights
from foldwise.decisions.balanced import DRAWN, balance_params, check_method, corrected, generator
from foldwise.decisions.resampling import balancing_weights
from foldwise.decisions.wrapper_session import WrapperSession, branches_of
from foldwise.folds.fallback import attempt, refitted
from foldwise.folds.model_session import IndexedAnswer
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Answer, Failure, FoldSession, Labels, Need, Params, Rows

SHARED = ("weights", *DRAWN)


@dataclass(frozen=True)
class BalancedSample:
    """The training rows of the wrapped classifier, with the class frequencies before and after balancing."""

    session: FoldSession
    rows: Rows
    present: NDArray[np.intp]  # the classes of the training rows
    priors: Floats
    shown: Floats


class BalancedSession(WrapperSession):
    """Settings with the same method share the work of the wrapped classifier's session."""

    own = frozenset({"correct_priors"})

    def can_share(self, setting: Params) -> bool:
        method, seed = self.param(setting, "method"), self.param(setting, "random_state")
        if not isinstance(method, str) or method not in SHARED:
            return False
        others = {name: value for name, value in setting.items() if name != "random_state"}
        return super().can_share(others) and (method == "weights" or isinstance(seed, int | np.integer))

    def _group(
        self, indices: Sequence[int], settings: Sequence[Params], train: Rows, test: Rows, need: Need
    ) -> Iterator[IndexedAnswer]:
        sample, error = attempt(lambda: self._balanced(settings[indices[0]], train))
        if sample is None:
            for i in indices:  # the refit raises the error
                yield [i], refitted(self.answer_by_refit(settings[i], train, test, need), error)
            return
        branches = branches_of(indices, settings)
        corrects = any(self.param(settings[i], "correct_priors") for i in indices)
        inner_need = Need((need | Need.PROBA if corrects else need) & ~Need.MODEL)
        for i, answer in self._inner_answers(sample.session, branches, settings, (sample.rows, test, inner_need)):
            yield [i], self._corrected(settings[i], answer, sample, train, test, need)

    def _balanced(self, setting: Params, train: Rows) -> BalancedSample:
        """Balance the training rows by the method of a setting."""
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
            return BalancedSample(self.inner, train[drawn], present, true / true.sum(), totals / totals.sum())
        balanced = balancing_weights(codes, weights)
        totals = np.bincount(codes, balanced)
        # weights of all rows of the table, though only those of training rows are ever used
        whole = np.ones(self.n_rows) if given is None else np.asarray(given, dtype=np.float64)
        factor = np.ones(len(self.target.classes))
        factor[present] = np.divide(totals, true, out=np.ones(len(true)), where=true > 0)
        inner = self.estimator.estimator
        session = open_session(inner, self.X, self.y, balance_params(inner, whole * factor[self.target.codes]))
        return BalancedSample(session, train, present, true / true.sum(), totals / totals.sum())

    def _corrected(
        self, setting: Params, answer: Answer | Failure, sample: BalancedSample, train: Rows, test: Rows, need: Need
    ) -> Answer | Failure:
        if isinstance(answer, Failure):
            return answer
        if not self.param(setting, "correct_priors"):
            return replace(answer, models=None)
        logs = answer.log_probabilities()
        if logs is None:  # the refit raises the error
            return self.answer_by_refit(setting, train, test, need)
        assert isinstance(self.target, Labels)
        log_proba = corrected(logs[0][:, sample.present], sample.priors, sample.shown)
        answer = Answer(labels=log_proba.argmax(axis=1)[None], log_proba=log_proba[None])
        return answer.among(sample.present, len(self.target.classes))
