"""What makes a setting worth a trial, given the mean and standard deviation of its score: acquisition functions.

Each returns its value and its derivatives by the mean and by the standard deviation. All are maximized.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from foldwise.arrays import Floats

AcquisitionValues = tuple[Floats, Floats, Floats]
LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)
FAR = -1 / np.sqrt(np.finfo(float).eps)  # below it, the tail is its leading term
GUMBEL_STEPS = 40  # of the bisection for a quantile of the maximum


class Acquisition(Protocol):
    """The interface of acquisition functions."""

    def __call__(self, mean: Floats, deviation: Floats) -> AcquisitionValues:
        """The value, and the derivatives by mean and standard deviation."""


def log_h(z: Floats) -> Floats:
    """log(φ(z) + z Φ(z)), without loss of precision for z far below 0 (Ament et al. 2023, arXiv 2310.20708)."""
    near = np.maximum(z, -1.0)
    middle = np.clip(z, FAR, -1.0)
    far = np.minimum(z, FAR)
    close = np.log(np.exp(-0.5 * near**2 - LOG_ROOT_2PI) + near * ndtr(near))
    # 1 - |z| √(π/2) erfcx(|z|/√2), by its logarithm; close to 0 for large |z|
    share = np.log(erfcx(-middle / np.sqrt(2)) * -middle) + 0.5 * np.log(np.pi / 2)
    tail = -0.5 * middle**2 - LOG_ROOT_2PI + log_one_minus_exp(np.minimum(share, -1e-300))
    limit = -0.5 * far**2 - LOG_ROOT_2PI - 2 * np.log(-far)
    return np.asarray(np.where(z > -1, close, np.where(z > FAR, tail, limit)))


def log_one_minus_exp(x: Floats) -> Floats:
    """log(1 - exp(x)) for x below 0."""
    with np.errstate(divide="ignore"):
        return np.where(x > -np.log(2), np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


@dataclass(frozen=True)
class LogExpectedImprovement:
    """The logarithm of the expected improvement over a value."""

    best: float

    def __call__(self, mean: Floats, deviation: Floats) -> AcquisitionValues:
        z = (mean - self.best) / deviation
        log_of_h = log_h(z)
        ratio = np.exp(np.minimum(log_ndtr(z) - log_of_h, 700.0))  # Φ / h
        return np.log(deviation) + log_of_h, ratio / deviation, (1 - ratio * z) / deviation


@dataclass(frozen=True)
class ExpectedImprovement:
    """The expected improvement over a value."""

    best: float

    def __call__(self, mean: Floats, deviation: Floats) -> AcquisitionValues:
        z = (mean - self.best) / deviation
        return deviation * np.exp(log_h(z)), ndtr(z), np.exp(-0.5 * z**2 - LOG_ROOT_2PI)


@dataclass(frozen=True)
class ProbabilityOfImprovement:
    """The logarithm of the probability of an improvement over a value."""

    best: float

    def __call__(self, mean: Floats, deviation: Floats) -> AcquisitionValues:
        z = (mean - self.best) / deviation
        log_of_cdf = log_ndtr(z)
        ratio = np.exp(np.minimum(-0.5 * z**2 - LOG_ROOT_2PI - log_of_cdf, 700.0))
        return log_of_cdf, ratio / deviation, -ratio * z / deviation


@dataclass(frozen=True)
class UpperConfidenceBound:
    """The mean plus some standard deviations."""

    kappa: float

    def __call__(self, mean: Floats, deviation: Floats) -> AcquisitionValues:
        return mean + self.kappa * deviation, np.ones_like(mean), np.full_like(deviation, self.kappa)


@dataclass(frozen=True)
class MaxValueEntropy:
    """What a score would tell about the highest value (Wang and Jegelka 2017, arXiv 1703.01968)."""

    maxima: Floats  # sampled

    def __call__(self, mean: Floats, deviation: Floats) -> AcquisitionValues:
        gamma = (self.maxima[:, None] - mean[None, :]) / deviation[None, :]
        log_of_cdf = log_ndtr(gamma)
        ratio = np.exp(-0.5 * gamma**2 - LOG_ROOT_2PI - log_of_cdf)
        value = (0.5 * gamma * ratio - log_of_cdf).mean(axis=0)
        by_gamma = -0.5 * ratio * (1 + gamma * (gamma + ratio))
        return value, -by_gamma.mean(axis=0) / deviation, -(by_gamma * gamma).mean(axis=0) / deviation


def sample_maxima(mean: Floats, deviation: Floats, least: float, n: int, rng: np.random.Generator) -> Floats:
    """Draw the highest value of a process, by a Gumbel distribution with its quartiles.

    Means and deviations are those of many settings, taken as independent. No value is below `least`.
    """
    low, high = float((mean - 5 * deviation).min()), float((mean + 8 * deviation).max())
    quartiles = [quantile_of_max(mean, deviation, share, low, high) for share in (0.25, 0.5, 0.75)]
    inner = [-np.log(-np.log(share)) for share in (0.25, 0.5, 0.75)]
    scale = max((quartiles[2] - quartiles[0]) / (inner[2] - inner[0]), 1e-6)
    center = quartiles[1] - scale * inner[1]
    drawn = center - scale * np.log(-np.log(rng.uniform(1e-6, 1 - 1e-6, n)))
    return np.asarray(np.maximum(drawn, least + 1e-3 * scale))


def quantile_of_max(mean: Floats, deviation: Floats, share: float, low: float, high: float) -> float:
    for _ in range(GUMBEL_STEPS):
        middle = (low + high) / 2
        below = log_ndtr((middle - mean) / deviation).sum()
        low, high = (middle, high) if below < np.log(share) else (low, middle)
    return (low + high) / 2


BY_NAME: dict[str, Callable[[float], Acquisition]] = {
    "logei": LogExpectedImprovement,
    "ei": ExpectedImprovement,
    "pi": ProbabilityOfImprovement,
}
