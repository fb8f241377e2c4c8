"""Normal (Gaussian) distribution: numbers, with a mean and a variance in each class."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.bayes.families.base import DensityLikelihood, DistributionFamily, dense, names_of
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Setting
from foldwise.bayes.scoring_kernels import gaussian_by_column, gaussian_by_row
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.errors import FoldwiseWarning
from foldwise.summaries.alignment import EPS
from foldwise.summaries.moments import Moments, moments_of, refuse_infinite
from foldwise.summaries.passes import ThreadShare

TINY = 1e-300


class Gaussian(DistributionFamily):
    """Mean, and variance with divisor n - ddof, which is at least `var_floor` times the variance over all classes."""

    name = "gaussian"
    summary_type = Moments

    def summarize(self, view: AnyView, columns: Sequence[int], share: ThreadShare) -> Moments:
        return moments_of(dense(view, self.name).numbers(columns), share)

    def finish(
        self, summary: Moments, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> GaussianLikelihood:
        if ((free_weight(summary.weight, setting.ddof) == 0) & (summary.weight > 0) & (summary.rows > 1)).any():
            warnings.warn(
                f"the sample weights of a class sum to ddof={setting.ddof:g} or less, so its variances are set to the "
                "smallest allowed value. Hint: weights are frequencies; rescale them to sum to the number of rows, or "
                "pass ddof=0.",
                FoldwiseWarning,
                stacklevel=5,
            )
        return gaussian_likelihood(summary, names_of(columns), setting)


def gaussian_likelihood(summary: Moments, names: tuple[str, ...], setting: Setting) -> GaussianLikelihood:
    """Compute log-likelihoods from facts, without a warning about small weights."""
    mean, scale, log_norm = finish_settings(summary, [setting])
    scale, log_norm = (np.ascontiguousarray(table[:, :, 0]) for table in (scale, log_norm))
    return GaussianLikelihood(names, mean, scale, log_norm, np.any(scale, axis=0), summary)


def finish_settings(summary: Moments, settings: Sequence[Setting]) -> tuple[Floats, Floats, Floats]:
    """Compute mean (K, d), scale and log_norm (K, d, S) for every setting."""
    floor = np.array([setting.var_floor for setting in settings])
    ddof = np.array([setting.ddof for setting in settings])
    pooled = summary.pooled()
    overall = np.divide(pooled.m2, pooled.weight, out=np.zeros_like(pooled.m2), where=pooled.weight > 0)
    free = free_weight(summary.weight[:, :, None], ddof)
    m2 = np.broadcast_to(summary.m2[:, :, None], free.shape)
    variance = np.divide(m2, free, out=np.zeros_like(free), where=free > 0)
    variance = np.maximum(variance, floor * overall[:, :, None])
    # a class without values in a column uses the distribution of the column over all classes
    absent = summary.weight <= 0
    mean = np.where(absent, pooled.mean, summary.mean)
    variance = np.where(absent[:, :, None], overall[:, :, None], variance)
    # no density is narrower than the spacing of floats at its mean
    variance = np.maximum(variance, np.maximum(TINY, (EPS * mean) ** 2)[:, :, None])
    # a column without influence: at most one distinct value, or a spread within rounding errors
    silent = np.repeat(overall <= (4 * EPS * pooled.mean) ** 2, len(mean), axis=0)
    scale = np.where(silent[:, :, None], 0.0, 0.5 / variance)
    log_norm = np.where(silent[:, :, None], 0.0, -0.5 * np.log(2 * np.pi * variance))
    return np.where(silent, 0.0, mean), scale, log_norm


def free_weight(weight: Floats, ddof: Any) -> Floats:
    """Compute weight - ddof, and 0 within rounding errors: weights of 1/n do not sum to exactly 1."""
    free = weight - ddof
    return np.where(free > 1e-9 * weight, free, 0.0)


@dataclass(frozen=True)
class GaussianLikelihood(DensityLikelihood):
    """log N(x; mean, variance) = log_norm - scale·(x - mean)²; both are 0 for a column without influence."""

    family = Gaussian.name

    names: tuple[str, ...]
    mean: Floats  # (K, d), as all of them
    scale: Floats
    log_norm: Floats
    informative: NDArray[np.bool_]  # (d,)
    summary: Moments

    @cached_property
    def _constant(self) -> Floats:  # (K,)
        return np.asarray(self.log_norm.sum(axis=1))

    def add(self, chunk: Chunk, start: int, scores: Floats) -> None:
        tables = (self.mean, self.scale, self.log_norm, self._constant)
        if chunk.by_column:
            infinite = gaussian_by_column(chunk.cells, (chunk.start, chunk.stop), *tables, scores)
        else:
            infinite = gaussian_by_row(chunk.rows, *tables, scores)
        if infinite >= 0:
            refuse_infinite(chunk.rows, self.names, start)

    def logs(self, cells: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(self.log_norm - self.scale * (cells - self.mean) ** 2)

    def statistics(self) -> dict[str, Floats]:
        with np.errstate(divide="ignore"):
            sd = np.where(self.scale > 0, np.sqrt(0.5 / self.scale), 0.0)  # 0 for a column without influence
        return {"mean": self.where_seen(self.summary.mean), "sd": self.where_seen(sd)}
