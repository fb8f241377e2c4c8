"""Settings that share their work: those that differ in parameters which a session may vary without a refit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from foldwise.folds.protocol import Params


class HasLazy(Protocol):
    """As much of a session as grouping needs."""

    def lazy(self, params: Params) -> frozenset[str]:
        """The parameters that may vary without a refit, given the others."""


def group_settings(session: HasLazy, settings: Sequence[Params]) -> list[list[int]]:
    """The places of settings that share one piece of work, in the order of their first."""
    groups: dict[Any, list[int]] = {}
    for i, setting in enumerate(settings):
        lazy = session.lazy(setting)
        others = [name for name in setting if name not in lazy]
        key = tuple((name, same(setting[name])) for name in sorted(others)) if others else ()
        # without a lazy parameter nothing is shared, not even by equal settings: their randomness may differ
        groups.setdefault((lazy, key) if lazy else i, []).append(i)
    return list(groups.values())


def same(value: Any) -> Any:
    """What stands for a value when two settings are compared."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes()) if value.dtype != object else id(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return (type(value), tuple(same(one) for one in value))
    if isinstance(value, dict):
        return tuple((repr(key), same(one)) for key, one in value.items())
    if value is None or isinstance(value, str | bool | int | float | bytes):
        return (type(value), value)
    return id(value)
