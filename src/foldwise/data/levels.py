"""What a category is: a string, a number or a truth value, in one canonical order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from foldwise.data.schema import Level
from foldwise.errors import FoldwiseTypeError, InputError


def plain(value: Any) -> Any:
    """A numpy scalar as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def is_missing(value: Any) -> bool:
    """Whether one cell is missing: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and math.isnan(value)


def as_level(value: Any, column: str) -> Level:
    """One present cell as a level; numpy scalars become Python's, anything else is refused."""
    value = plain(value)
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise InputError(
                f"column {column!r} holds {value} among its categories.",
                "replace infinite values, or mark them as missing.",
            )
        return value
    raise FoldwiseTypeError(
        f"column {column!r} holds {value!r} of type {type(value).__name__}; "
        "a category's argument must be a string or a number.",
        "turn such cells into strings, or leave the column out.",
    )


def sort_levels(levels: Iterable[Level]) -> tuple[Level, ...]:
    """Distinct levels in canonical order: numbers and truth values by size, then strings.

    The order depends on the values alone, so that summaries of parts merge to the summary of the whole.

    >>> sort_levels(["b", 3, "a", 2.5])
    (2.5, 3, 'a', 'b')
    """
    return tuple(sorted(set(levels), key=lambda level: (isinstance(level, str), level)))


def are_text(levels: Iterable[Level]) -> bool | None:
    """Whether levels are strings (True), numbers (False), or neither can be said (None: no level, or both)."""
    kinds = {isinstance(level, str) for level in levels}
    return kinds.pop() if len(kinds) == 1 else None
