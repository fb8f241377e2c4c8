"""The progress that a run reports to its caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RunProgress:
    """The progress of a run: phase, time, counts, best model so far, and models being fitted."""

    phase: str
    elapsed: float
    budget: float
    n_models: int = 0  # fitted, or predicted without a fit of their own
    n_settings: int = 0
    best: str = ""
    doing: tuple[str, ...] = ()
    estimate: str = ""  # of the best model, from folds that did not choose it


Watch = Callable[[RunProgress], None]
