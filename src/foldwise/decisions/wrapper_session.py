"""The base of the fold sessions of wrappers: one session of the wrapped estimator answers equal settings once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import sklearn

from foldwise.folds.abilities import work_shared
from foldwise.folds.groups import group_by, group_settings, params_key
from foldwise.folds.model_session import IndexedAnswer, ModelSession
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Answer, Failure, FoldSession, Labels, Need, Params, Rows
from foldwise.folds.randomness import nested_parts, seed_of
from foldwise.folds.rows import count_rows
from foldwise.folds.weights import weight_params

INSIDE = "estimator__"
SplitNeed = tuple[Rows, Rows, Need]  # train, test, what is needed


class WrapperSession(ModelSession):
    """A session whose settings hold parameters of the wrapper and of the wrapped estimator."""

    own: frozenset[str]  # parameters of the wrapper that may vary without new answers of the wrapped estimator

    @classmethod
    def open(cls, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> Self | None:
        """Open a session, or return None if only a refit is right; errors are then raised by the refit."""
        if set(fit_params) - {"sample_weight"} or sklearn.get_config()["enable_metadata_routing"]:
            return None
        inner = estimator.estimator
        if not hasattr(inner, "fit") or isinstance(inner, type) or not estimator._repeats(count_rows(X)):
            return None
        session = cls(estimator, X, y, fit_params)
        targets = (session.target, session.inner.target)
        return session if all(isinstance(target, Labels) for target in targets) else None

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        super().__init__(estimator, X, y, fit_params)
        self._names = frozenset(estimator.get_params(deep=False))
        self._params = estimator.get_params(deep=False)
        self.inner = self.open_inner()
        self.threads = self.inner.threads

    def open_inner(self) -> FoldSession:
        inner = self.estimator.estimator
        return open_session(inner, self.X, self.y, weight_params(inner, self.fit_params.get("sample_weight")))

    @property
    def shares(self) -> str:  # type: ignore[override]
        return self.shares_of([{}])

    def shares_of(self, settings: Sequence[Params]) -> str:
        shared = work_shared(self.inner, [inside(setting) for setting in settings])
        return shared if shared != "refit" else "answers of the wrapped estimator"

    def lazy(self, params: Params) -> frozenset[str]:
        if not self.can_share(params):
            return frozenset()
        return self.own | {INSIDE + name for name in self.inner.lazy(inside(params))}

    def can_share(self, setting: Params) -> bool:
        """Whether repeated fits of the setting give the same model, with the same wrapped estimator."""
        known = all(name in self._names or name.startswith(INSIDE) for name in setting)
        if not known or "estimator" in setting:
            return False
        plain = (value for name, value in setting.items() if name not in self._names)
        return not any(name.endswith("random_state") and not isinstance(v, int) for name, v in setting.items()) and all(
            not hasattr(part, "get_params") or isinstance(seed_of(part), int) for v in plain for part in nested_parts(v)
        )

    def _pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[IndexedAnswer]:
        shared = [i for i, setting in enumerate(settings) if self.can_share(setting)]
        for i in sorted({*range(len(settings))} - {*shared}):
            yield [i], self.answer_by_refit(settings[i], train, test, need)
        for group in group_settings(self, [settings[i] for i in shared]):
            yield from self._group([shared[k] for k in group], settings, train, test, need)

    def _group(
        self, indices: Sequence[int], settings: Sequence[Params], train: Rows, test: Rows, need: Need
    ) -> Iterator[IndexedAnswer]:
        """Answer settings that differ only in lazy parameters."""
        raise NotImplementedError

    def _inner_answers(
        self, session: FoldSession, branches: Sequence[Sequence[int]], settings: Sequence[Params], question: SplitNeed
    ) -> Iterator[tuple[int, Answer | Failure]]:
        """Yield each setting with the answer of its wrapped estimator; settings of one branch share it."""
        asked = tuple(inside(settings[branch[0]]) for branch in branches)
        for block in session.answer(asked, *question):
            for b in range(block.start, block.stop):
                answer = block.answer
                one = answer if isinstance(answer, Failure) else answer.cut(b - block.start, b - block.start + 1)
                for i in branches[b]:
                    yield i, one

    def param(self, setting: Params, name: str) -> Any:
        """Return the value of a parameter of the wrapper in a setting."""
        return setting.get(name, self._params[name])


def inside(setting: Params) -> dict[str, Any]:
    """Return the parameters of the wrapped estimator in a setting."""
    return {name[len(INSIDE) :]: value for name, value in setting.items() if name.startswith(INSIDE)}


def branches_of(indices: Sequence[int], settings: Sequence[Params]) -> list[list[int]]:
    """Group indices of settings by equal parameters of the wrapped estimator."""
    return group_by(indices, lambda i: params_key(inside(settings[i])))
