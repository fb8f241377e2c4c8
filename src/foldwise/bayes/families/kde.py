"""Kernel density estimate: numbers, with a Gaussian kernel on every training value of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from foldwise.arrays import Floats
from foldwise.bayes.families.base import DensityLikelihood, ValuesFamily, names_of
from foldwise.bayes.families.kernel_sums import KernelSums, add_kernel_scores, kernel_sums
from foldwise.bayes.families.protocol import ClassTotals, Setting, option
from foldwise.data.cells import Chunk, read_only
from foldwise.data.schema import Column
from foldwise.summaries.alignment import EPS
from foldwise.summaries.moments import refuse_infinite
from foldwise.summaries.values import Values, ValueWeights

TINY = 1e-150


class Kde(ValuesFamily):
    """Gaussian kernels on the values of a class, with a given bandwidth, or Silverman's for each class and column."""

    name = "kde"

    def finish(
        self, summary: Values, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> KdeLikelihood:
        kernels: list[tuple[tuple[Floats, Floats], float]] = []
        for column, values in zip(columns, summary.columns, strict=True):
            given = option(setting.bandwidth, column.name, None)
            kernels += class_kernels(values, summary.n_classes, given, setting)
        informative = np.array([(values.x != values.x[:1]).any() for values in summary.columns])
        parts, widths = zip(*kernels, strict=True)
        sums = kernel_sums(parts, np.array(widths), informative.astype(np.int64))
        return KdeLikelihood(names_of(columns), sums, informative, summary)


def class_kernels(
    values: ValueWeights, n_classes: int, given: float | None, setting: Setting
) -> list[tuple[tuple[Floats, Floats], float]]:
    """Collect values, weights and bandwidth of each class of a column."""
    pooled = values.pooled()
    if not len(pooled[0]):
        return [((np.zeros(1), np.ones(1)), 1.0)] * n_classes  # a column without values has no influence
    overall = silverman(*pooled, setting.ddof)
    narrowest = np.sqrt(setting.var_floor) * deviation(*pooled, 0.0)
    found = []
    for c in range(n_classes):
        own = values.of_class(c)
        part = own if len(own[0]) else pooled  # a class without values uses the distribution over all classes
        # a single value has no bandwidth: use that of the column over all classes
        width = given or silverman(*part, setting.ddof) or overall
        if given is None:
            # no kernel is narrower than the floor or the spacing of floats
            width = max(width, narrowest, EPS * float(np.abs(part[0]).max()), TINY)
        found.append((part, float(width)))
    return found


def silverman(x: Floats, weight: Floats, ddof: float) -> float:
    """Compute 0.9 · min(sd, IQR/1.34) · n^(-1/5), without the IQR if it is 0 (Silverman 1986, eq. 3.31).

    Weights are frequencies: n is their sum, and quartiles are those of the repeated rows.
    """
    n = float(weight.sum())
    spread = deviation(x, weight, ddof)
    low, high = (quantile(x, weight, share) for share in (0.25, 0.75))
    if high > low:
        spread = min(spread, (high - low) / 1.34) if spread else (high - low) / 1.34
    return float(0.9 * spread * n**-0.2)


def deviation(x: Floats, weight: Floats, ddof: float) -> float:
    """Compute the standard deviation with divisor (sum of weights) - ddof; 0 if the divisor is not positive."""
    n = float(weight.sum())
    free = n - ddof
    if free <= 1e-9 * n:
        return 0.0
    _, power = np.frexp(np.abs(x).max())  # exact scaling by a power of 2: squares of large numbers overflow
    off = np.ldexp(x, -power) - np.ldexp(x[0], -power)
    shift = float((weight * off).sum()) / n
    squares = float((weight * (off - shift) ** 2).sum())
    return float(np.ldexp(np.sqrt(squares / free), power))


def quantile(x: Floats, weight: Floats, share: float) -> float:
    """Compute a quantile (R's type 7) of values that are repeated by their weights."""
    below = np.cumsum(weight)
    at = max(float(below[-1]) - 1, 0.0) * share
    whole = np.floor(at + 1e-9)  # tolerates rounding errors of sums
    a, b = np.minimum(np.searchsorted(below, np.array([whole, whole + 1]) + 1e-9, side="right"), len(x) - 1)
    return float(x[a] + (x[b] - x[a]) * max(at - whole, 0.0))


@dataclass(frozen=True)
class KdeLikelihood(DensityLikelihood):
    """log f(x) = log Σ w·exp(-((x - v)/h)²/2) - log(Σw · h · √2π)."""

    family = Kde.name

    names: tuple[str, ...]
    sums: KernelSums
    informative: NDArray[np.bool_]  # (d,)
    summary: Values

    @property
    def bandwidth(self) -> Floats:  # (K, d)
        return self.sums.bandwidth.reshape(-1, self.summary.n_classes).T

    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        rows = chunk.rows
        if add_kernel_scores(read_only(rows), self.sums, scores) >= 0:
            refuse_infinite(rows, self.names, start)

    def logs(self, cells: Floats) -> Floats:
        n_classes = self.summary.n_classes
        entries = enumerate(np.repeat(cells, n_classes).tolist())
        return np.array([self._log_density(e, x) for e, x in entries]).reshape(-1, n_classes).T

    def _log_density(self, entry: int, value: float) -> float:
        """Compute one log-density by a simple sum over all values."""
        sums = self.sums
        part = slice(int(sums.starts[entry]), int(sums.starts[entry + 1]))
        with np.errstate(over="ignore"):
            exponents = -0.5 * ((value - sums.values[part]) / sums.bandwidth[entry]) ** 2
        return float(logsumexp(exponents, b=sums.weight[part]) + sums.log_norm[entry])

    def statistics(self) -> dict[str, Floats]:
        n_classes = self.summary.n_classes
        distinct = [np.bincount(values.y, minlength=n_classes) for values in self.summary.columns]
        return {"bandwidth": self.where_seen(self.bandwidth), "distinct values": np.array(distinct, dtype=np.float64).T}
