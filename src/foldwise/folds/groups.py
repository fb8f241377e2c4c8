"""Settings that share their work: those that differ in parameters which a session may vary without a refit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from foldwise.folds.protocol import Params


class HasLazy(Protocol):
    """As much of a session as grouping needs."""

    def lazy(self, params: Params) -> frozenset[str]:
        """The parameters that may vary without a refit, given the others."""


def group_settings(session: HasLazy, settings: Sequence[Params]) -> list[list[int]]:
    """The indices of settings that share one fit, in the order of their first."""

    def key(i: int) -> Hashable:
        lazy = session.lazy(settings[i])
        if not lazy:
            return i  # nothing is shared, not even by equal settings: their randomness may differ
        if settings[i].keys() <= lazy:  # the common case, asked once per split: no key to build
            return lazy, ()
        return lazy, params_key({name: value for name, value in settings[i].items() if name not in lazy})

    return group_by(range(len(settings)), key)


def value_key(value: Any) -> Any:
    """A hashable key that two parameter values share if they are the same."""
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
    """A key that two sets of parameters share if they are the same."""
    return tuple((name, value_key(value)) for name, value in sorted(params.items()))


def group_by(indices: Iterable[int], key: Callable[[int], Hashable]) -> list[list[int]]:
    """Indices with the same key together, in the order of their first."""
    found: dict[Hashable, list[int]] = {}
    for i in indices:
        found.setdefault(key(i), []).append(i)
    return list(found.values())
