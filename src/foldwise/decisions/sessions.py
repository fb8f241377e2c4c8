"""What the fold sessions of wrappers share: one session of the estimator inside, asked once for equal settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import sklearn

from foldwise.adapters.sklearn_pipelines import alike, key_of
from foldwise.folds.groups import group_settings
from foldwise.folds.model_session import ModelSession, Piece
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Answer, Failure, FoldSession, Need, Params, Rows
from foldwise.folds.randomness import nested_parts, seed_of
from foldwise.folds.rows import take_rows
from foldwise.folds.weights import weight_params

INSIDE = "estimator__"


class Repeating(Protocol):
    """As much of a wrapper as opening needs."""

    estimator: Any

    def _repeats(self, n_rows: int) -> bool: ...


class WrapperSession(ModelSession):
    """Settings of a wrapper: some names are its own, the others those of the estimator inside."""

    own: frozenset[str]  # of the wrapper, what may vary without asking the estimator inside again

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
        return self.inner.shares if self.inner.shares != "refit" else "answers of the estimator inside"

    def lazy(self, params: Params) -> frozenset[str]:
        if not self.can_share(params):
            return frozenset()
        return self.own | {INSIDE + name for name in self.inner.lazy(inside(params))}

    def can_share(self, setting: Params) -> bool:
        """Whether a refit of the setting would be the same each time, of the same estimator inside."""
        known = all(name in self._names or name.startswith(INSIDE) for name in setting)
        if not known or "estimator" in setting:
            return False
        plain = (value for name, value in setting.items() if name not in self._names)
        return not any(name.endswith("random_state") and not isinstance(v, int) for name, v in setting.items()) and all(
            not hasattr(part, "get_params") or isinstance(seed_of(part), int) for v in plain for part in nested_parts(v)
        )

    def _pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Piece]:
        shared = [i for i, setting in enumerate(settings) if self.can_share(setting)]
        for i in sorted({*range(len(settings))} - {*shared}):
            yield [i], self._alone(settings[i], train, test, need)
        for group in group_settings(self, [settings[i] for i in shared]):
            places = [shared[k] for k in group]
            yield from self._group(places, settings, train, test, need)

    def _group(
        self, places: Sequence[int], settings: Sequence[Params], train: Rows, test: Rows, need: Need
    ) -> Iterator[Piece]:
        """The answers to settings that differ in lazy parameters only."""
        raise NotImplementedError

    def _alone(self, setting: Params, train: Rows, test: Rows, need: Need) -> Answer | Failure:
        model = self.fit_alone(setting, train)
        return model if isinstance(model, Failure) else self.predict(model, take_rows(self.X, test), need)

    def param(self, setting: Params, name: str) -> Any:
        """What a setting says of a parameter of the wrapper, or the estimator as it is."""
        return setting.get(name, self._params[name])


def inside(setting: Params) -> dict[str, Any]:
    """What a setting says of the estimator inside."""
    return {name[len(INSIDE) :]: value for name, value in setting.items() if name.startswith(INSIDE)}


def branches_of(places: Sequence[int], settings: Sequence[Params]) -> list[list[int]]:
    """Places of settings with the same estimator inside together."""
    return alike(places, lambda i: key_of(inside(settings[i])))


def may_share(estimator: Repeating, n_rows: int, fit_params: dict[str, Any]) -> bool:
    """Whether a session may share anything; else a refit decides, and says what is wrong."""
    if set(fit_params) - {"sample_weight"} or sklearn.get_config()["enable_metadata_routing"]:
        return False
    inner = estimator.estimator
    return hasattr(inner, "fit") and not isinstance(inner, type) and estimator._repeats(n_rows)
