"""Levels, i.e. the categories of a column: strings, numbers or booleans in one canonical order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from foldwise.data.schema import Level
from foldwise.errors import FoldwiseTypeError, InputError


def plain(value: Any) -> Any:
    """Convert a numpy scalar to a Python value."""
    return value.item() if isinstance(value, np.generic) else value


def is_missing(value: Any) -> bool:
    """Whether a cell is missing: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and math.isnan(value)


def as_level(value: Any, column: str) -> Level:
    """Return a cell that is not missing as a level, and refuse anything but strings and finite numbers."""
    value = plain(value)
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise InputError(
                f"column {column!r} contains {value}, which cannot be a category.",
                "replace infinite values, or mark them as missing.",
            )
        return value
    raise FoldwiseTypeError(
        f"column {column!r} contains {value!r} of type {type(value).__name__}; "
        "every cell of the X argument must be a string or a number.",
        "convert such cells to strings, or drop the column.",
    )


def sort_levels(levels: Iterable[Level]) -> tuple[Level, ...]:
    """Return distinct levels in canonical order: numbers and booleans by size, then strings.

    The order depends on the values alone, so that summaries of parts merge to the summary of the whole.

    Examples
    --------
    >>> sort_levels(["b", 3, "a", 2.5])
    (2.5, 3, 'a', 'b')
    """
    return tuple(sorted(set(levels), key=lambda level: (isinstance(level, str), level)))


def are_text(levels: Iterable[Level]) -> bool | None:
    """Whether levels are strings (True) or numbers (False); None if there are none or both."""
    kinds = {isinstance(level, str) for level in levels}
    return kinds.pop() if len(kinds) == 1 else None
