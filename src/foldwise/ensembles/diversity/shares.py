"""How many of some things: a share of them, or their number."""

from __future__ import annotations

import numpy as np

from foldwise.errors import InputError


def number_of(name: str, share: float | int, n: int) -> int:
    """So many of n: a whole number is itself, a fraction is a share; at least 1."""
    whole = isinstance(share, int | np.integer) and not isinstance(share, bool)
    if whole and 1 <= share <= n:
        return int(share)
    if not whole and isinstance(share, float | np.floating) and 0 < share <= 1:
        return max(1, int(share * n))
    raise InputError(
        f"{name} must be a share above 0 and at most 1.0, or a whole number from 1 to {n}, got {share!r}.",
        "1.0 takes as many as there are, 1 takes one.",
    )
