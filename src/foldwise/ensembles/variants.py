"""The unfitted ensemble of each setting, with members that are shared between settings.

Cloning a whole ensemble reads the signatures of all its parts, which takes longer than combining predictions.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from foldwise.ensembles.config import named_members
from foldwise.ensembles.ensemble import ComposedEnsemble
from foldwise.folds.caches import KeyedCache
from foldwise.folds.groups import value_key
from foldwise.folds.protocol import Params


class EnsembleVariants:
    """Variants of an ensemble with other blocks and other parameters of members."""

    def __init__(self, estimator: Any) -> None:
        self._base = clone(estimator)
        self._own = set(self._base.get_params(deep=False)) - {"members"}
        members = self._base.members
        self._named = named_members(members) if isinstance(members, dict | list | tuple) and members else {}
        kind = type(estimator)
        usual = kind.set_params is ComposedEnsemble.set_params and kind.get_params is ComposedEnsemble.get_params
        self._usual = usual and bool(self._named) and not self._own & self._named.keys()
        # with the parameter values, because ids in keys are unique only while the values live
        self._made: KeyedCache[tuple[Sequence[Any], Any]] = KeyedCache()

    def of(self, setting: Params) -> Any | None:
        """clone → set_params, not to be fitted; None for a setting that replaces members."""
        if not self._usual:
            return None
        inner: dict[str, dict[str, Any]] = {}
        for name, value in setting.items():
            member, _, rest = name.partition("__")
            if rest and member in self._named:
                inner.setdefault(member, {})[rest] = value
            elif name not in self._own:
                return None
        model = copy.copy(self._base)
        for name in self._own:  # clones, because a generator would continue from setting to setting
            setattr(model, name, clone(setting.get(name, getattr(self._base, name)), safe=False))
        members = {name: self._member(name, inner.get(name, {})) for name in self._named}
        as_before = self._base.members
        model.members = members if isinstance(as_before, dict) else type(as_before)(members.values())
        return model

    def _member(self, name: str, params: dict[str, Any]) -> Any:
        def make() -> tuple[Sequence[Any], Any]:
            model = clone(self._named[name])
            if params:
                model.set_params(**{inner: clone(value, safe=False) for inner, value in params.items()})
            return tuple(params.values()), model

        key = (name, *((inner, value_key(value)) for inner, value in sorted(params.items())))
        return self._made.get(key, make)[1]
