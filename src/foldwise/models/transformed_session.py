"""The fold session of `TransformedTarget`: per training set and transformation, the regressor's own session answers.

The transformed values of the training rows are learned once per training set. The session of the regressor on them
answers all settings for the test rows, and for the rows whose residuals correct the mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from foldwise.folds import open_session
from foldwise.folds.fallback import attempt, refitted
from foldwise.folds.model_session import IndexedAnswer, ModelSession
from foldwise.folds.protocol import Answer, Failure, Need, Params, Rows
from foldwise.models.target_transforms import FoldTarget, TransformedTarget, check_names, held_out, to_target

PREFIX = "regressor__"
OWN = {"transform", "predicts"}


class TransformedSession(ModelSession):
    """A session in which settings of the same transformation share what the regressor's session shares."""

    def __init__(self, estimator: TransformedTarget, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> None:
        super().__init__(estimator, X, y, fit_params)
        self.inner: Any = open_session(estimator.regressor, X, y, fit_params)
        self.shares = self.inner.shares

    def lazy(self, params: Params) -> frozenset[str]:
        if not is_plain(params):
            return frozenset()
        return frozenset(PREFIX + name for name in self.inner.lazy(stripped(params)))

    def _pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[IndexedAnswer]:
        groups: dict[tuple[Any, Any] | None, list[int]] = {}
        for i, setting in enumerate(settings):
            merged = self.merged(setting)
            key = (merged["transform"], merged["predicts"]) if is_plain(setting) and need == Need.VALUES else None
            groups.setdefault(key, []).append(i)
        for key, group in groups.items():
            chosen = [settings[i] for i in group]
            if key is None:
                for indices, answer in super()._pieces(chosen, train, test, need):
                    yield [group[i] for i in indices], answer
                continue
            target, error = attempt(partial(self._transformed, *key, train))
            if target is None:  # the refit raises the error again
                for indices, answer in super()._pieces(chosen, train, test, need):
                    yield [group[i] for i in indices], refitted(answer, error)
            else:
                for i, answer in zip(group, self._shared(key, target, chosen, train, test), strict=True):
                    yield [i], answer

    def _transformed(self, transform: Any, predicts: Any, train: Rows) -> FoldTarget:
        """The transformed target of the training rows."""
        check_names(transform, predicts)
        truth: Any = self.target
        return FoldTarget.of(transform, truth.numbers[train])

    def _shared(
        self, key: tuple[Any, Any], target: FoldTarget, settings: Sequence[Params], train: Rows, test: Rows
    ) -> list[Answer | Failure]:
        """The answers of one transformation."""
        transform, predicts = key
        inside = [stripped(setting) for setting in settings]
        if transform == "none":
            return values_of(self.inner, inside, train, test)
        truth: Any = self.target
        session = self._session_on(target, train)
        found = values_of(session, inside, train, test)
        if target.learned is None or predicts != "mean":
            back = target.to_median()
            return [one if isinstance(one, Failure) else to_answer(back, one) for one in found]
        kept, left = held_out(len(train))
        weights = self.fit_params.get("sample_weight")
        beside = None if weights is None else np.asarray(weights, dtype=np.float64)[train[left]]
        others = values_of(session, inside, train[kept], train[left])
        answers: list[Answer | Failure] = []
        for one, other in zip(found, others, strict=True):
            if isinstance(one, Failure) or isinstance(other, Failure):
                answers.append(one if isinstance(one, Failure) else other)
                continue
            back = target.to_mean(truth.numbers[train[left]], left, one_row(other), beside)
            answers.append(to_answer(back, one))
        return answers

    def _session_on(self, target: FoldTarget, train: Rows) -> Any:
        """A session of the regressor whose target is known in the training rows only."""
        known = np.zeros(self.n_rows)
        known[train] = target.values
        return open_session(self.estimator.regressor, self.X, known, self.fit_params)


def is_plain(params: Params) -> bool:
    """Whether a setting only has parameters of the regressor and of the transformation."""
    return all(name.startswith(PREFIX) or name in OWN for name in params)


def stripped(params: Params) -> dict[str, Any]:
    """Return the parameters of the regressor, with its own names."""
    return {name.removeprefix(PREFIX): value for name, value in params.items() if name not in OWN}


def values_of(session: Any, settings: Sequence[Params], train: Rows, test: Rows) -> list[Answer | Failure]:
    """Return one answer per setting."""
    found: list[Answer | Failure] = []
    for block in session.answer(settings, train, test, Need.VALUES):
        answer, n = block.answer, block.stop - block.start
        found += [answer] * n if isinstance(answer, Failure) else [answer.cut(i, i + 1) for i in range(n)]
    return found


def one_row(answer: Answer) -> Any:
    assert answer.values is not None
    return np.asarray(answer.values[0], dtype=np.float64)


def to_answer(back: Any, answer: Answer) -> Answer:
    """Return the answer in units of the target."""
    return Answer(values=to_target(back, one_row(answer))[None])
