"""Monotone transformations: of parameters, so that the score changes evenly along them, and of scores.

Parameters are warped by the distribution function of Kumaraswamy, 1 - (1 - u^a)^b, which bends [0, 1] to itself. Scores
are warped by the power transformation of Yeo and Johnson, or by their ranks (a Gaussian copula).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from foldwise.arrays import Floats

EDGE = 1e-6  # keeps slopes finite at both ends
POWERS = np.linspace(-2.0, 4.0, 121)
POWER_PRIOR = 0.02  # penalty per observation and squared distance of the power from 1, which changes nothing


def kumaraswamy(units: Floats, a: Floats, b: Floats) -> Floats:
    """Warp numbers between 0 and 1, by column."""
    inside = np.clip(units, EDGE, 1 - EDGE)
    return 1 - (1 - inside**a) ** b


def kumaraswamy_slopes(units: Floats, a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """The derivatives of the warped numbers by the number, by log a and by log b."""
    inside = np.clip(units, EDGE, 1 - EDGE)
    power = inside**a
    rest = 1 - power
    outer = b * rest ** (b - 1)
    by_unit = np.where((units > EDGE) & (units < 1 - EDGE), outer * a * power / inside, 0.0)
    return by_unit, outer * power * np.log(inside) * a, -(rest**b) * np.log(rest) * b


def yeo_johnson(values: Floats, power: Floats | float) -> Floats:
    """The power transformation of Yeo and Johnson."""
    up, down = np.maximum(values, 0.0), np.maximum(-values, 0.0)
    high = np.where(power == 0, 1.0, power)
    low = np.where(power == 2, 1.0, 2 - np.asarray(power))
    rising = np.where(power == 0, np.log1p(up), np.expm1(high * np.log1p(up)) / high)
    falling = np.where(power == 2, np.log1p(down), np.expm1(low * np.log1p(down)) / low)
    return np.where(values >= 0, rising, -falling)


def yeo_johnson_back(warped: Floats, power: float) -> Floats:
    """The values whose transformation is given; the ends of the range, where there is none."""
    up, down = np.maximum(warped, 0.0), np.maximum(-warped, 0.0)
    tiny = 1e-300
    low = 2 - power
    rising = np.expm1(np.log(np.maximum(1 + power * up, tiny)) / power) if power else np.expm1(up)
    falling = np.expm1(np.log(np.maximum(1 + low * down, tiny)) / low) if low else np.expm1(down)
    return np.where(warped >= 0, rising, -falling)


@dataclass(frozen=True)
class ScoreWarping:
    """A transformation of scores to numbers with mean 0 and standard deviation 1, found from the scores."""

    kind: Literal["power", "copula", "none"]
    center: float
    scale: float
    power: float = 1.0
    warped_center: float = 0.0
    warped_scale: float = 1.0
    known: tuple[Floats, Floats] | None = None  # sorted scores and the quantiles of their ranks, for "copula"

    @classmethod
    def of(cls, scores: Floats, kind: Literal["power", "copula", "none"]) -> ScoreWarping:
        """Find the transformation of these scores."""
        center, scale = float(scores.mean()), float(scores.std())
        if not scale > 1e-12 * max(1.0, abs(center)):  # all scores are the same
            return cls("none", center, 1.0)
        if kind == "none":
            return cls("none", center, scale)
        if kind == "copula":
            values, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
            ranks = np.cumsum(counts) - (counts - 1) / 2  # of equal scores the mean
            quantiles = ndtri((ranks - 0.5) / len(scores))
            mean, spread = float(quantiles[inverse].mean()), float(quantiles[inverse].std())
            return cls("copula", center, scale, 1.0, mean, spread, known=(values, quantiles))
        standard = (scores - center) / scale
        power = best_power(standard)
        warped = yeo_johnson(standard, power)
        return cls("power", center, scale, power, float(warped.mean()), float(warped.std()) or 1.0)

    def forward(self, scores: Floats) -> Floats:
        """Transform scores."""
        if self.known is not None:
            return (np.interp(scores, *self.known) - self.warped_center) / self.warped_scale
        standard = (scores - self.center) / self.scale
        warped = yeo_johnson(standard, self.power) if self.kind == "power" else standard
        return (warped - self.warped_center) / self.warped_scale

    def back(self, warped: Floats) -> Floats:
        """Transform numbers back to scores."""
        if self.known is not None:
            values, quantiles = self.known
            return np.interp(warped * self.warped_scale + self.warped_center, quantiles, values)
        raw = warped * self.warped_scale + self.warped_center
        return (yeo_johnson_back(raw, self.power) if self.kind == "power" else raw) * self.scale + self.center


def best_power(standard: Floats) -> float:
    """The power after which scores look most like a normal distribution, by likelihood."""
    warped = yeo_johnson(standard[None, :], POWERS[:, None])
    stretch = (np.sign(standard) * np.log1p(np.abs(standard))).mean()
    with np.errstate(divide="ignore"):
        fit = -0.5 * np.log(warped.var(axis=1)) + (POWERS - 1) * stretch - POWER_PRIOR * (POWERS - 1) ** 2
    return float(POWERS[np.argmax(fit)])
