"""Scales: the position of a value between two ends, and round values to mark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """From values to coordinates; `log` for values that span magnitudes."""

    low: float
    high: float
    start: float = 0.0
    end: float = 100.0
    log: bool = False

    def __call__(self, value: float) -> float:
        """The coordinate of a value, clipped to the ends."""
        low, high, value = (self._transformed(v) for v in (self.low, self.high, value))
        share = 0.5 if high == low else (value - low) / (high - low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        """Whether a value lies between the ends."""
        return self.low <= value <= self.high

    def _transformed(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    def ticks(self, most: int = 5) -> list[float]:
        """Round values between the ends."""
        if self.log:
            return magnitudes(self.low, self.high, most)
        return round_values(self.low, self.high, most)


def around(values: Sequence[float], room: float = 0.06) -> Scale:
    """A scale that holds all values with some room at both ends."""
    low, high = min(values), max(values)
    gap = (high - low) * room or abs(high) * 0.1 or 0.5
    return Scale(low - gap, high + gap)


def round_values(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 between the ends, at most `most` of them."""
    if not high > low or most < 1:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    for factor in (1, 2, 5, 10, 20):
        first, last = math.ceil(low / (step * factor) - 1e-9), math.floor(high / (step * factor) + 1e-9)
        if last - first + 1 <= most:
            return [round(k * step * factor, 12) for k in range(first, last + 1)] or [low]
    return [low]


def magnitudes(low: float, high: float, most: int) -> list[float]:
    """Powers of ten between the ends, at most `most` of them."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    if last - first < 1:
        return round_values(low, high, most)
    step = max(1, math.ceil((last - first + 1) / most))
    return [10.0**k for k in range(first, last + 1, step)]
