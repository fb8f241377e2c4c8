"""Convert values to plain JSON types, without loading a library."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Convert a value to JSON types. NaN and infinity become None.

    >>> plain({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):  # numpy's, scalars too
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)
