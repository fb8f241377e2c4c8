"""Numbers with a normal distribution in each class."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Parameter, Setting
from foldwise.bayes.families.reading import ChunkScorer, dense, factors_of_numbers, left_out
from foldwise.bayes.scoring_kernels import gaussian_by_column, gaussian_by_row
from foldwise.data.cells import Chunk
from foldwise.data.schema import Column
from foldwise.errors import FoldwiseWarning
from foldwise.summaries.alignment import EPS
from foldwise.summaries.moments import Moments, check_finite, moments_of, refuse_infinite
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share

TINY = 1e-300


class Gaussian:
    """Mean and n-ddof variance of the present cells; the variance is at least `var_floor` times the column's own."""

    name = "gaussian"

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> Moments:
        return moments_of(dense(view, self.name).numbers(columns), share)

    def finish(
        self, summary: Moments, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> GaussianLikelihood:
        if ((free_weight(summary.weight, setting.ddof) == 0) & (summary.weight > 0) & (summary.rows > 1)).any():
            warnings.warn(
                f"the weights of a class sum to {setting.ddof:g} or less, so its variances fall to the floor. "
                "Hint: weights are frequencies; rescale them to sum to the number of rows, or pass ddof=0.",
                FoldwiseWarning,
                stacklevel=4,
            )
        mean, scale, log_norm = finish_settings(summary, [setting])
        names = tuple(column.name for column in columns)
        return GaussianLikelihood(
            names, mean, np.ascontiguousarray(scale[:, :, 0]), np.ascontiguousarray(log_norm[:, :, 0]), summary
        )

    def present(self, summary: Moments) -> tuple[Floats, Floats]:
        return summary.weight, summary.rows

    def summary_from_dict(self, facts: dict[str, Any], n_classes: int, n_columns: int) -> Moments:
        return Moments.from_dict(facts, n_classes, n_columns)


def finish_settings(summary: Moments, settings: Sequence[Setting]) -> tuple[Floats, Floats, Floats]:
    """Mean (K, d), and scale and log_norm (K, d, S), for every setting."""
    floor = np.array([setting.var_floor for setting in settings])
    ddof = np.array([setting.ddof for setting in settings])
    pooled = summary.pooled()
    overall = np.divide(pooled.m2, pooled.weight, out=np.zeros_like(pooled.m2), where=pooled.weight > 0)
    free = free_weight(summary.weight[:, :, None], ddof)
    m2 = np.broadcast_to(summary.m2[:, :, None], free.shape)
    variance = np.divide(m2, free, out=np.zeros_like(free), where=free > 0)
    variance = np.maximum(variance, floor * overall[:, :, None])
    # a class that holds no cell of a column borrows the column's distribution over all classes
    absent = summary.weight <= 0
    mean = np.where(absent, pooled.mean, summary.mean)
    variance = np.where(absent[:, :, None], overall[:, :, None], variance)
    # no density is narrower than the spacing of floats at its mean
    variance = np.maximum(variance, np.maximum(TINY, (EPS * mean) ** 2)[:, :, None])
    # a column with one value, or none, says nothing about the class; nor does a spread below that of rounding
    silent = np.repeat(overall <= (4 * EPS * pooled.mean) ** 2, len(mean), axis=0)
    scale = np.where(silent[:, :, None], 0.0, 0.5 / variance)
    log_norm = np.where(silent[:, :, None], 0.0, -0.5 * np.log(2 * np.pi * variance))
    return np.where(silent, 0.0, mean), scale, log_norm


def free_weight(weight: Floats, ddof: Any) -> Floats:
    """weight - ddof, and 0 where it is nothing but rounding: weights of 1/n do not sum to exactly 1."""
    free = weight - ddof
    return np.where(free > 1e-9 * weight, free, 0.0)


@dataclass(frozen=True)
class GaussianLikelihood:
    """log N(x; mean, variance) = log_norm - scale·(x - mean)²; a silent column has scale and log_norm 0."""

    names: tuple[str, ...]
    mean: Floats  # (K, d), as all of them
    scale: Floats
    log_norm: Floats
    summary: Moments

    def scorer(self, view: AnyView, columns: Sequence[int]) -> ChunkScorer:
        tables = (self.mean, self.scale, self.log_norm, self.log_norm.sum(axis=1))

        def add(chunk: Chunk, start: int, scores: Floats) -> None:
            if chunk.by_column:
                infinite = gaussian_by_column(chunk.cells, chunk.start, chunk.stop, *tables, scores)
            else:
                infinite = gaussian_by_row(chunk.rows, *tables, scores)
            if infinite >= 0:
                refuse_infinite(chunk.rows, self.names, start)

        return ChunkScorer(dense(view, Gaussian.name).numbers(columns), add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        return factors_of_numbers(dense(view, Gaussian.name), columns, self._factor, check_finite)

    def _factor(self, j: int, value: float) -> Factor:
        if np.isnan(value):
            return left_out(self.names[j], len(self.mean))
        if not self.scale[:, j].any():
            return left_out(self.names[j], len(self.mean), "one value was seen at most", value)
        with np.errstate(over="ignore"):
            log = self.log_norm[:, j] - self.scale[:, j] * (value - self.mean[:, j]) ** 2
        return Factor(self.names[j], value, tuple(log.tolist()))

    def parameters(self) -> list[Parameter]:
        lines = []
        for j, name in enumerate(self.names):
            weight = self.summary.weight[:, j]
            with np.errstate(divide="ignore"):
                sd = np.where(self.scale[:, j] > 0, np.sqrt(0.5 / self.scale[:, j]), 0.0)  # a silent column has none
            for what, values in (("mean", self.summary.mean[:, j]), ("sd", sd)):
                lines.append(Parameter(name, what, tuple(np.where(weight > 0, values, np.nan).tolist())))
            lines.append(Parameter(name, "count", tuple(weight.tolist())))
        return lines
