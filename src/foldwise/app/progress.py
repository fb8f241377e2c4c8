"""What a run reports to whoever watches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RunProgress:
    """How far a run is: its phase, the seconds spent and given, what was done, what is best, what is being done."""

    phase: str
    elapsed: float
    budget: float
    n_models: int = 0  # fitted, or predicted without a fit of their own
    n_settings: int = 0
    best: str = ""
    doing: tuple[str, ...] = ()


Watch = Callable[[RunProgress], None]
