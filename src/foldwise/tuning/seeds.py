"""Random states of searches: their seeds, and whether they are used up."""

from __future__ import annotations

from typing import Any

import numpy as np


def holds_generator(value: Any) -> bool:
    """Whether a splitter or a strategy has a stateful random generator."""
    state = getattr(value, "random_state", None)
    return isinstance(state, np.random.RandomState | np.random.Generator)


def seed_of(random_state: Any) -> int:
    """Convert a random state to a seed. None gives another one each time."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(np.random.default_rng(random_state).integers(2**31))
