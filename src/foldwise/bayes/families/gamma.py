"""Gamma distribution: positive numbers, with maximum likelihood estimates in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import gammaln, polygamma, psi

from foldwise.arrays import Floats
from foldwise.bayes.families.base import POSITIVE, DensityLikelihood, DistributionFamily, dense, names_of
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Setting
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.summaries.alignment import EPS
from foldwise.summaries.log_moments import LogMoments, excess, excesses, log_moments_of
from foldwise.summaries.passes import ThreadShare

LARGE = 20.0  # above this shape, series in 1/shape are exact, and differences of large functions are not
LEAST = 1e-200  # the smallest shape, whose reciprocal is far from overflow
STEPS = 12  # of Newton's method; four are enough from a start with an error below 1.5%


class Gamma(DistributionFamily):
    """Mean and shape. The variance is at least `var_floor` times that of the gamma distribution over all classes."""

    name = "gamma"
    summary_type = LogMoments

    def summarize(self, view: AnyView, columns: Sequence[int], share: ThreadShare) -> LogMoments:
        return log_moments_of(dense(view, self.name).numbers(columns), share, POSITIVE.check)

    def finish(
        self, summary: LogMoments, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> GammaLikelihood:
        pooled = summary.pooled()
        overall = shape_of(pooled.log_gap)
        absent = summary.weight <= 0
        # a class without values in a column uses the distribution of the column over all classes
        mean = np.where(absent, pooled.mean, summary.mean)
        shape = np.where(absent, overall, shape_of(summary.log_gap))
        # variance = mean²/shape >= var_floor · (mean² / shape over all), and never narrower than the spacing of floats
        relative = np.divide(mean, pooled.mean, out=np.ones_like(mean), where=pooled.mean > 0)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            most = np.maximum(overall * relative**2, LEAST) / np.float64(setting.var_floor)
        shape = np.minimum(shape, np.minimum(most, EPS**-2))
        # a column with at most one distinct value has no influence
        informative = (pooled.log_gap > 8 * EPS**2)[0]
        mean, shape = np.where(informative, mean, 1.0), np.where(informative, shape, 1.0)
        return GammaLikelihood(names_of(columns), mean, shape, log_norm_of(shape), informative, summary)


def shape_of(gap: Floats) -> Floats:
    """Solve log k - ψ(k) = gap, the maximum likelihood equation of the shape k.

    Newton's method from the start of Minka (2002), Estimating a gamma distribution.
    """
    gap = np.maximum(gap, EPS**2 / 4)
    k = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(STEPS):
        off, slope = gap_of(k)
        k = np.maximum(k - (off - gap) / slope, 0.1 * k)
    return np.asarray(k)


def gap_of(k: Floats) -> tuple[Floats, Floats]:
    """Compute log k - ψ(k) and its derivative; for large k by series, because the difference would cancel."""
    near, u = np.minimum(k, LARGE), 1 / np.maximum(k, LARGE)
    series = u / 2 + u**2 * (1 / 12 - u**2 * (1 / 120 - u**2 * (1 / 252 - u**2 * (1 / 240 - u**2 / 132))))
    slope = -(u**2) * (1 / 2 + u * (1 / 6 - u**2 * (1 / 30 - u**2 * (1 / 42 - u**2 / 30))))
    value = np.where(k < LARGE, np.log(near) - psi(near), series)
    return value, np.where(k < LARGE, 1 / near - polygamma(1, near), slope)


def log_norm_of(k: Floats) -> Floats:
    """Compute k·log k - k - log Γ(k); by Stirling's series for large k."""
    near, u = np.minimum(k, LARGE), 1 / np.maximum(k, LARGE)
    series = -0.5 * np.log(2 * np.pi * u) - u * (1 / 12 - u**2 * (1 / 360 - u**2 * (1 / 1260 - u**2 / 1680)))
    return np.where(k < LARGE, near * np.log(near) - near - gammaln(near), series)


@njit(nogil=True, cache=True)
def gamma_by_row(cells: Floats, mean: Floats, shape: Floats, log_norm: Floats, used: Any, scores: Floats) -> None:
    """Add log_norm - log x - shape·h(x / mean) of the present values, where h(t) = t - 1 - log t."""
    n, d = cells.shape
    for i in range(n):
        for j in range(d):
            x = cells[i, j]
            if x == x and used[j]:
                log_x = np.log(x)
                for c in range(mean.shape[0]):
                    scores[i, c] += log_norm[c, j] - log_x - shape[c, j] * excess(x, mean[c, j])


@dataclass(frozen=True)
class GammaLikelihood(DensityLikelihood):
    """log f(x) = k·log k - k - log Γ(k) - log x - k·(x/mean - 1 - log(x/mean)), stable for any shape k."""

    family = Gamma.name
    rule = POSITIVE

    names: tuple[str, ...]
    mean: Floats  # (K, d)
    shape: Floats  # (K, d)
    log_norm: Floats  # (K, d)
    informative: NDArray[np.bool_]  # (d,)
    summary: LogMoments

    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        rows = chunk.rows
        self.check(rows, start)
        gamma_by_row(rows, self.mean, self.shape, self.log_norm, self.informative, scores)

    def logs(self, cells: Floats) -> Floats:
        with np.errstate(over="ignore"):
            off = self.shape * excesses(np.broadcast_to(cells, self.mean.shape), self.mean)
        return np.where(self.informative, self.log_norm - np.log(cells) - off, 0.0)

    def statistics(self) -> dict[str, Floats]:
        shape = np.where(self.informative, self.shape, np.nan)
        return {"mean": self.where_seen(self.summary.mean), "shape": self.where_seen(shape)}
