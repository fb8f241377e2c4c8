"""The session of scikit-learn's five naive Bayes classifiers: one summary per training set serves all settings.

`lazy` of the formulas names the parameters that settings may vary. Unusual cases (an invalid parameter, alpha=0, a
class without weight) are refitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.multiclass import type_of_target

from foldwise.adapters.sklearn_bayes_models import (
    FORMULAS,
    NaiveBayesFormulas,
    NBSettingBatch,
    NeedsRefit,
    TrainingCounts,
)
from foldwise.adapters.support import SKLEARN, Support
from foldwise.folds.caches import IdentityCache, nothing_known
from foldwise.folds.fallback import attempt, raise_hidden
from foldwise.folds.model_session import ModelSession
from foldwise.folds.protocol import NAMES, SHARES, Answer, Block, Labels, Need, Params, Rows
from foldwise.folds.rows import take_rows

MOST_CLASSES = 30_000  # labels are int16

BatchRun = tuple[range, NBSettingBatch | None]  # indices of settings, and their batch; None for a refit

SUPPORT = Support(SKLEARN)


def open_folds(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> BayesSession | None:
    """A session, or None if the table or the weights are not valid for scikit-learn."""
    formulas = FORMULAS[type(estimator).__name__](clone(estimator))
    session = BayesSession(estimator, X, y, fit_params, formulas)
    refit = partial(session.refit, {}, np.arange(session.n_rows))
    if not isinstance(session.target, Labels) or not set(fit_params) <= {"sample_weight"}:
        return None
    if len(session.target.classes) > MOST_CLASSES:
        return None
    if session.target.classes.dtype.kind not in "biuf" and type_of_target(y) == "unknown":
        return None
    weights = fit_params.get("sample_weight")
    if weights is not None:
        session.weights, error = attempt(lambda: as_floats(weights))
        if session.weights is None:
            raise_hidden(error, refit)
            return None
        usual = session.weights.shape == (session.n_rows,) and np.isfinite(session.weights).all()
        if not usual or (session.weights < 0).any():
            return None
    is_supported, error = attempt(lambda: formulas.prepare(X))
    raise_hidden(error, refit)
    return session if is_supported else None


def as_floats(weights: Any) -> NDArray[np.float64]:
    return np.asarray(weights, dtype=np.float64)


class BayesSession(ModelSession):
    """A session in which settings share the counts or moments of a training set."""

    shares = "summaries"
    threads = True
    order_free = True

    def __init__(
        self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any], formulas: NaiveBayesFormulas
    ) -> None:
        super().__init__(estimator, X, y, fit_params)
        self.formulas = formulas
        self.weights: NDArray[np.float64] | None = None
        self._plain = IdentityCache(self._plain_params)
        self._runs: IdentityCache[dict[int, list[BatchRun]]] = IdentityCache(nothing_known, most=4)

    def lazy(self, params: Params) -> frozenset[str]:
        return self.formulas.lazy if self._plain.of(params) is not None else frozenset()

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        need = need | Need.PROBA if need.has(Need.DECISION) else need  # these classifiers have no decision values
        facts = self._learn(train)
        size = len(settings) if not need.has(SHARES) else self.block_size(len(test))
        if facts is None or not self.formulas.knows(facts, test):
            yield from self._by_refit(settings, range(len(settings)), train, test, need)
            return
        for indices, batch in self._runs_of(settings, size):
            if batch is None:
                yield from self._by_refit(settings, indices, train, test, need)
            else:
                yield from self._at_once(settings, indices, batch, facts, train, test, need)

    def _runs_of(self, settings: Sequence[Params], size: int) -> list[BatchRun]:
        """Runs of at most `size` settings that are computed together; cached for all splits."""
        known = self._runs.of(settings) if isinstance(settings, tuple) else {}
        if size not in known:
            plain = [self._plain.of(setting) for setting in settings]
            known[size] = []
            for is_plain, run in groupby(range(len(settings)), key=lambda i: plain[i] is not None):
                indices = list(run)
                for a in range(indices[0], indices[-1] + 1, size):
                    part = range(a, min(a + size, indices[-1] + 1))
                    found = [one for one in plain[part.start : part.stop] if one is not None]
                    known[size].append((part, NBSettingBatch(tuple(found)) if is_plain else None))
        return known[size]

    def _at_once(
        self,
        settings: Sequence[Params],
        indices: range,
        batch: NBSettingBatch,
        facts: TrainingCounts,
        train: Rows,
        test: Rows,
        need: Need,
    ) -> Iterator[Block]:
        """One block, or several if some of the settings must be refitted."""
        try:
            answer = self._finished(batch, facts, test, need)
        except NeedsRefit:
            if len(indices) == 1:
                yield from self._by_refit(settings, indices, train, test, need)
                return
            half = len(indices) // 2  # unusual settings are found by halving, so that the others stay together
            for side in (range(half), range(half, len(indices))):
                part = indices[side.start : side.stop]
                yield from self._at_once(settings, part, batch.some(side), facts, train, test, need)
            return
        yield Block(indices.start, indices.stop, answer)

    def _finished(self, batch: NBSettingBatch, facts: TrainingCounts, test: Rows, need: Need) -> Answer:
        scores = self.formulas.scores(facts, batch)
        labels = scores.labels(test).T if need.has(NAMES) else None
        log_proba = scores.log_proba(test).transpose(2, 0, 1) if need.has(SHARES) else None
        assert isinstance(self.target, Labels)
        return Answer(labels, log_proba).among(facts.present, len(self.target.classes))

    def _by_refit(
        self, settings: Sequence[Params], indices: Sequence[int], train: Rows, test: Rows, need: Need
    ) -> Iterator[Block]:
        answers = self.answer_group([settings[i] for i in indices], train, take_rows(self.X, test), need)
        for i, answer in zip(indices, answers, strict=True):
            yield Block(i, i + 1, answer)

    def _plain_params(self, setting: Params) -> dict[str, Any] | None:
        """All parameters of a setting that can be computed together with others; None for a refit."""
        params = self.merged(setting)
        return params if set(setting) <= self.formulas.lazy and self.formulas.is_plain(params) else None

    def _learn(self, train: Rows) -> TrainingCounts | None:
        """The counts or moments of a training set; None if it is unusual."""
        assert isinstance(self.target, Labels)
        codes = self.target.codes[train]
        count = np.bincount(codes, minlength=len(self.target.classes))
        present = np.flatnonzero(count)
        if len(present) < len(count):
            codes = np.searchsorted(present, codes)
        weights = None if self.weights is None else self.weights[train]
        weight = np.bincount(codes, weights=weights, minlength=len(present)).astype(np.float64)
        if len(present) < 2 or weight.min() < 1e-6:
            return None
        return self.formulas.learn(TrainingCounts(present, codes.astype(np.int64), weights, weight, train))
