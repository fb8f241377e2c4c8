"""The time a run is given, from reading to report, and what of it must be left for the end."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from foldwise.errors import InputError

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
LEAST = 1.0


def seconds_of(budget: float | str) -> float:
    """A budget in seconds.

    >>> seconds_of("2m"), seconds_of(30)
    (120.0, 30.0)
    """
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h|)\s*", budget)
        given = float(found[1]) * UNITS[found[2]] if found else float("nan")
    else:
        given = float(budget)
    if not LEAST <= given < float("inf"):
        raise InputError(f"a budget is at least {LEAST:g} s, got {budget!r}.", "write 60s, 5m or 1h.")
    return given


@dataclass
class Clock:
    """Counts from the start of the process, or of the run, and remembers how long each phase took."""

    budget: float
    started: float = field(default_factory=time.monotonic)
    phases: list[tuple[str, float]] = field(default_factory=list)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    def enter(self, phase: str) -> None:
        """A new phase begins."""
        self.phases.append((phase, self.elapsed))

    @property
    def phase(self) -> str:
        return self.phases[-1][0] if self.phases else ""

    def spent(self) -> list[tuple[str, float]]:
        """The seconds of each phase; what passed before the first is the loading of libraries."""
        loaded = self.phases[0][1] if self.phases else 0.0
        phases = [("loading", 0.0), *self.phases] if loaded > 0.05 else self.phases  # from Python all is loaded
        ends = [start for _, start in phases[1:]] + [self.elapsed]
        return [(name, end - start) for (name, start), end in zip(phases, ends, strict=True)]
