"""Check single arguments. Each error says what must hold, what came and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foldwise.data.schema import choose_among
from foldwise.errors import FoldwiseTypeError, InputError


def at_least_zero(name: str, value: Any, hint: str = "") -> float:
    """Return a number that must be finite and at least 0."""
    if not isinstance(value, int | float | np.integer | np.floating) or value is True or value is False:
        raise FoldwiseTypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.", hint)
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not 0 <= number < np.inf:
        raise InputError(f"{name} must be finite and at least 0, got {value!r}.", hint)
    return number


def above_zero(name: str, value: Any, hint: str = "") -> float:
    """Return a number that must be finite and above 0."""
    number = at_least_zero(name, value, hint)
    if number == 0:
        raise InputError(f"{name} must be above 0, got {value!r}.", hint)
    return number


def whole_at_least(name: str, value: Any, least: int, hint: str = "") -> int:
    """Return an integer that must be at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise FoldwiseTypeError(f"{name} must be an integer, got {value!r} of type {type(value).__name__}.", hint)
    if value < least:
        raise InputError(f"{name} must be an integer of at least {least}, got {value!r}.", hint)
    return int(value)


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return a value that must be one of a few strings, or None if that is one of the choices."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        *others, last = map(repr, choices)
        words = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"{name} must be {words}, got {value!r}.")
    return value


def check_jobs(n_jobs: Any) -> None:
    """Refuse an n_jobs that is neither None nor an integer other than 0."""
    if n_jobs is not None and (not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise InputError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}.", "-1 uses all cores.")


def column_index(argument: str, key: Any, names: Sequence[str]) -> int:
    """Return the index of a column that an argument refers to by name or by index."""
    if str(key) in names:
        return list(names).index(str(key))
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < len(names):
        return int(key)
    raise InputError(f"{argument} refers to column {key!r}, which the table does not have.", choose_among(names, key))


def shown(value: Any) -> str:
    """Show a value in an error: a class by its name.

    >>> shown(int), shown(5)
    ('the class int', '5')
    """
    return f"the class {value.__name__}" if isinstance(value, type) else repr(value)
