"""What a run tells whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Moment:
    """How far a run is: its phase, seconds, models and settings tried, the best so far, what is being done."""

    phase: str
    elapsed: float
    budget: float
    n_models: int
    n_settings: int
    best: str
    doing: tuple[str, ...]
