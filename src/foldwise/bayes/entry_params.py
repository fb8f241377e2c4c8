"""Entries of mappings as parameters of their own: `column_weights__age`, `priors__yes`. A search can vary each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator

from foldwise.errors import InputError

OPEN = ("column_weights", "priors")  # the parameters whose entries have names
SEPARATOR = "__"


def entry_of(name: str) -> tuple[str, str] | None:
    """Split the name of an entry into parameter and key; None if it is not the name of an entry."""
    parameter, separator, key = name.partition(SEPARATOR)
    return (parameter, key) if separator and parameter in OPEN else None


class EntryParams(BaseEstimator):  # type: ignore[misc]
    """An estimator with mappings whose entries can be read and set as parameters."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with `deep=True` also the entries of `column_weights` and `priors`.

        Parameters
        ----------
        deep : bool, default True
            Whether to return each entry of these mappings as a parameter of its own.

        Returns
        -------
        dict
            Values by name.
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            mappings = {name: params[name] for name in OPEN if isinstance(params[name], Mapping)}
            params |= {f"{name}{SEPARATOR}{key}": entry for name, m in mappings.items() for key, entry in m.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also single entries such as `column_weights__age` and `priors__yes`.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        NaiveBayes
            The estimator itself.
        """
        entries = {name: found for name in params if (found := entry_of(name)) is not None}
        super().set_params(**{name: value for name, value in params.items() if name not in entries})
        for name, (parameter, key) in entries.items():
            setattr(self, parameter, with_entry(parameter, getattr(self, parameter), key, params[name]))
        return self


def with_entry(parameter: str, known: Any, key: str, value: Any) -> dict[Any, Any]:
    """A copy of a mapping with one entry changed or added."""
    if known is None or isinstance(known, str):
        return {key: value}
    if not isinstance(known, Mapping):
        raise InputError(
            f"{parameter}{SEPARATOR}{key} can be set if {parameter} is a mapping, but it is {known!r}.",
            f"pass {parameter} as a mapping.",
        )
    old = next((own for own in known if str(own) == key), key)  # a class or column may be a number
    return {**known, old: value}
