"""Groups of settings that share their work: they differ only in parameters that need no refit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from foldwise.folds.protocol import Params


class HasLazy(Protocol):
    """The part of a session that grouping needs."""

    def lazy(self, params: Params) -> frozenset[str]:
        """The parameters that may vary without a refit, given the others."""


def group_settings(session: HasLazy, settings: Sequence[Params]) -> list[list[int]]:
    """The indices of settings that share one fit, ordered by the first of each group."""

    def key(i: int) -> Hashable:
        lazy = session.lazy(settings[i])
        if not lazy:
            return i  # even equal settings share nothing: their randomness may differ
        if settings[i].keys() <= lazy:  # the common case, without the cost of a key
            return lazy, ()
        return lazy, params_key({name: value for name, value in settings[i].items() if name not in lazy})

    return group_by(range(len(settings)), key)


def value_key(value: Any) -> Any:
    """A hashable key, the same for equal parameter values."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes()) if value.dtype != object else id(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return (type(value), tuple(value_key(one) for one in value))
    if isinstance(value, dict):
        return tuple((repr(key), value_key(one)) for key, one in value.items())
    if value is None or isinstance(value, str | bool | int | float | bytes):
        return (type(value), value)
    return id(value)


def params_key(params: Params) -> Hashable:
    """A hashable key, the same for equal parameters."""
    return tuple((name, value_key(value)) for name, value in sorted(params.items()))


def group_by(indices: Iterable[int], key: Callable[[int], Hashable]) -> list[list[int]]:
    """Groups of indices with the same key, ordered by the first of each group."""
    found: dict[Hashable, list[int]] = {}
    for i in indices:
        found.setdefault(key(i), []).append(i)
    return list(found.values())
