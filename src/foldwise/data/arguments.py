"""Checks of single arguments, each with what must hold, what came and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foldwise.data.schema import listing
from foldwise.errors import FoldwiseTypeError, InputError


def at_least_zero(name: str, value: Any, hint: str = "") -> float:
    """A finite number of at least 0."""
    if not isinstance(value, int | float | np.integer | np.floating) or value is True or value is False:
        raise FoldwiseTypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.", hint)
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not 0 <= number < np.inf:
        raise InputError(f"{name} must be a finite number of at least 0, got {value!r}.", hint)
    return number


def above_zero(name: str, value: Any, hint: str = "") -> float:
    """A finite number above 0."""
    number = at_least_zero(name, value, hint)
    if number == 0:
        raise InputError(f"{name} must be above 0, got {value!r}.", hint)
    return number


def whole_at_least(name: str, value: Any, least: int, hint: str = "") -> int:
    """A whole number of at least so much."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise FoldwiseTypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}.", hint)
    if value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}.", hint)
    return int(value)


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """One of a few words, or None where that is a choice."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise InputError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}.")
    return value


def check_jobs(n_jobs: Any) -> None:
    """None, or a whole number other than 0."""
    if n_jobs is not None and (not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise InputError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.", "-1 uses all cores.")


def column_index(argument: str, key: Any, names: Sequence[str]) -> int:
    """The index of a column that an argument refers to, by its name or by its index."""
    if str(key) in names:
        return list(names).index(str(key))
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < len(names):
        return int(key)
    raise InputError(f"{argument} names {key!r}, which the table does not have.", f"its columns are {listing(names)}.")
