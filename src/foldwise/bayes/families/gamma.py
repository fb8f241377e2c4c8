"""Positive numbers with a gamma distribution in each class, by maximum likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import gammaln, polygamma, psi

from foldwise.bayes.families.cell_rules import POSITIVE
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Parameter, Setting
from foldwise.bayes.families.reading import ChunkScorer, dense, factors_of_numbers, left_out
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.summaries.alignment import EPS
from foldwise.summaries.log_moments import LogMoments, excess, log_moments_of
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share

LARGE = 20.0  # shapes past which series in 1/shape are exact, and differences of large functions no more
LEAST = 1e-200  # shapes whose reciprocal is a float with room to spare
STEPS = 12  # of Newton, from a start that is right to 1.5 %; four are enough


class Gamma:
    """Mean and shape; the variance is at least `var_floor` times that of the gamma distribution of all classes."""

    name = "gamma"

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> LogMoments:
        return log_moments_of(dense(view, self.name).numbers(columns), share, POSITIVE.check)

    def finish(
        self, summary: LogMoments, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> GammaLikelihood:
        pooled = summary.pooled()
        overall = shape_of(pooled.log_gap)
        absent = summary.weight <= 0
        # a class that holds no cell of a column borrows the column's distribution over all classes
        mean = np.where(absent, pooled.mean, summary.mean)
        shape = np.where(absent, overall, shape_of(summary.log_gap))
        # variance = mean²/shape >= var_floor · (mean² / shape over all); never narrower than the spacing of floats
        relative = np.divide(mean, pooled.mean, out=np.ones_like(mean), where=pooled.mean > 0)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            most = np.maximum(overall * relative**2, LEAST) / np.float64(setting.var_floor)
        shape = np.minimum(shape, np.minimum(most, EPS**-2))
        # a column with one value, or none, says nothing about the class
        speaks = (pooled.log_gap > 8 * EPS**2)[0]
        names = tuple(column.name for column in columns)
        mean, shape = np.where(speaks, mean, 1.0), np.where(speaks, shape, 1.0)
        return GammaLikelihood(names, mean, shape, log_norm_of(shape), speaks, summary)

    def present(self, summary: LogMoments) -> tuple[Floats, Floats]:
        return summary.weight, summary.rows

    def summary_from_dict(self, facts: dict[str, Any], n_classes: int, n_columns: int) -> LogMoments:
        return LogMoments.from_dict(facts, n_classes, n_columns)


def shape_of(gap: Floats) -> Floats:
    """The shape k with log k - ψ(k) = gap, the equation of maximum likelihood; the largest float where gap is 0.

    Newton in k from Minka's start ("Estimating a Gamma distribution", 2002).
    """
    gap = np.maximum(gap, EPS**2 / 4)
    k = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(STEPS):
        off, slope = gap_of(k)
        k = np.maximum(k - (off - gap) / slope, 0.1 * k)
    return np.asarray(k)


def gap_of(k: Floats) -> tuple[Floats, Floats]:
    """log k - ψ(k) and its derivative; for large k by their series, because the difference would lose its digits."""
    near, u = np.minimum(k, LARGE), 1 / np.maximum(k, LARGE)
    series = u / 2 + u**2 * (1 / 12 - u**2 * (1 / 120 - u**2 * (1 / 252 - u**2 * (1 / 240 - u**2 / 132))))
    slope = -(u**2) * (1 / 2 + u * (1 / 6 - u**2 * (1 / 30 - u**2 * (1 / 42 - u**2 / 30))))
    value = np.where(k < LARGE, np.log(near) - psi(near), series)
    return value, np.where(k < LARGE, 1 / near - polygamma(1, near), slope)


def log_norm_of(k: Floats) -> Floats:
    """k·log k - k - log Γ(k), by Stirling's series where k is large."""
    near, u = np.minimum(k, LARGE), 1 / np.maximum(k, LARGE)
    series = -0.5 * np.log(2 * np.pi * u) - u * (1 / 12 - u**2 * (1 / 360 - u**2 * (1 / 1260 - u**2 / 1680)))
    return np.where(k < LARGE, near * np.log(near) - near - gammaln(near), series)


@njit(nogil=True, cache=True)
def gamma_by_row(cells: Floats, mean: Floats, shape: Floats, log_norm: Floats, speaks: Any, scores: Floats) -> None:
    """Add log_norm - log x - shape·h(x / mean) of the present cells, h(t) = t - 1 - log t."""
    n, d = cells.shape
    for i in range(n):
        for j in range(d):
            x = cells[i, j]
            if x == x and speaks[j]:
                log_x = np.log(x)
                for c in range(mean.shape[0]):
                    scores[i, c] += log_norm[c, j] - log_x - shape[c, j] * excess(x, mean[c, j])


@dataclass(frozen=True)
class GammaLikelihood:
    """log f(x) = k·log k - k - log Γ(k) - log x - k·(x/mean - 1 - log(x/mean)), stable for any shape k."""

    names: tuple[str, ...]
    mean: Floats  # (K, d)
    shape: Floats  # (K, d)
    log_norm: Floats  # (K, d)
    speaks: NDArray[np.bool_]  # (d,)
    summary: LogMoments

    def scorer(self, view: AnyView, columns: Sequence[int]) -> ChunkScorer:
        def add(chunk: Chunk, start: int, scores: Floats) -> None:
            rows = chunk.rows
            POSITIVE.check(rows, self.names, start)
            gamma_by_row(rows, self.mean, self.shape, self.log_norm, self.speaks, scores)

        return ChunkScorer(dense(view, Gamma.name).numbers(columns), add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        return factors_of_numbers(dense(view, Gamma.name), columns, self._factor, POSITIVE.check)

    def _factor(self, j: int, value: float) -> Factor:
        if np.isnan(value):
            return left_out(self.names[j], len(self.mean))
        if not self.speaks[j]:
            return left_out(self.names[j], len(self.mean), "one value was seen at most", value)
        off = [excess(value, mean) for mean in self.mean[:, j].tolist()]
        with np.errstate(over="ignore"):
            log = self.log_norm[:, j] - np.log(value) - self.shape[:, j] * np.array(off)
        return Factor(self.names[j], value, tuple(log.tolist()))

    def parameters(self) -> list[Parameter]:
        lines = []
        for j, name in enumerate(self.names):
            weight = self.summary.weight[:, j]
            shape = np.where(self.speaks[j], self.shape[:, j], np.nan)
            for what, values in (("mean", self.summary.mean[:, j]), ("shape", shape)):
                lines.append(Parameter(name, what, tuple(np.where(weight > 0, values, np.nan).tolist())))
            lines.append(Parameter(name, "count", tuple(weight.tolist())))
        return lines
