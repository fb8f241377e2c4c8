"""Numbers with a normal distribution in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from foldwise.bayes.families.dense import dense
from foldwise.bayes.families.protocol import AnyView, Factor, Parameter, Setting
from foldwise.bayes.scoring_kernels import gaussian_by_column, gaussian_by_row
from foldwise.data.cells import Cells
from foldwise.data.schema import Column
from foldwise.errors import InputError
from foldwise.summaries.moments import EPS, Moments, moments_of
from foldwise.summaries.number_kernels import Floats, Ints

TINY = 1e-300


class Gaussian:
    """Mean and n-ddof variance of the present cells; the variance is at least `var_floor` times the column's own."""

    name = "gaussian"

    def summarise(
        self,
        view: AnyView,
        columns: Sequence[int],
        y: Ints,
        weights: Floats | None,
        n_classes: int,
        start: int,
        stop: int,
    ) -> Moments:
        return moments_of(dense(view, self.name).numbers(columns), y, weights, n_classes, start, stop)

    def finish(
        self, summary: Moments, columns: Sequence[Column], class_weight: Floats, setting: Setting
    ) -> GaussianLikelihood:
        pooled = summary.pooled()
        overall = np.divide(pooled.m2, pooled.weight, out=np.zeros_like(pooled.m2), where=pooled.weight > 0)
        free = summary.weight - setting.ddof
        variance = np.divide(summary.m2, free, out=np.zeros_like(summary.m2), where=free > 0)
        variance = np.maximum(variance, setting.var_floor * overall)
        # a class that holds no cell of a column borrows the column's distribution over all classes
        absent = summary.weight <= 0
        mean = np.where(absent, pooled.mean, summary.mean)
        variance = np.where(absent, overall, variance)
        # no density is narrower than the spacing of floats at its mean
        variance = np.maximum(variance, np.maximum(TINY, (EPS * mean) ** 2))
        # a column with one value, or none, says nothing about the class
        silent = np.repeat(overall == 0, len(mean), axis=0)
        scale = np.where(silent, 0.0, 0.5 / variance)
        log_norm = np.where(silent, 0.0, -0.5 * np.log(2 * np.pi * variance))
        return GaussianLikelihood(
            tuple(column.name for column in columns),
            np.ascontiguousarray(np.where(silent, 0.0, mean)),
            scale,
            log_norm,
            log_norm.sum(axis=1),
            np.sqrt(variance),
            summary,
        )

    def present_weight(self, summary: Moments) -> Floats:
        return summary.weight

    def summary_from_dict(self, facts: dict[str, Any]) -> Moments:
        return Moments.from_dict(facts)


@dataclass(frozen=True)
class GaussianLikelihood:
    """log N(x; mean, variance) = log_norm - scale·(x - mean)²; a silent column has scale and log_norm 0."""

    names: tuple[str, ...]
    mean: Floats  # (K, d), as the next two
    scale: Floats
    log_norm: Floats
    constant: Floats  # (K,), the sum of log_norm
    sd: Floats  # (K, d)
    summary: Moments

    def scorer(self, view: AnyView, columns: Sequence[int]) -> GaussianScorer:
        return GaussianScorer(self, dense(view, Gaussian.name).numbers(columns))

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        cells = dense(view, Gaussian.name).numbers(columns)
        rows = cells.chunk(0, cells.n_rows).rows
        return [[self._factor(j, float(value)) for j, value in enumerate(row)] for row in rows]

    def _factor(self, j: int, value: float) -> Factor:
        zeros = (0.0,) * len(self.mean)
        if np.isnan(value):
            return Factor(self.names[j], None, zeros, note="missing, left out")
        if not self.scale[:, j].any():
            return Factor(self.names[j], value, zeros, note="one value was seen at most, left out")
        with np.errstate(over="ignore"):
            log = self.log_norm[:, j] - self.scale[:, j] * (value - self.mean[:, j]) ** 2
        return Factor(self.names[j], value, tuple(log.tolist()))

    def parameters(self) -> list[Parameter]:
        lines = []
        for j, name in enumerate(self.names):
            weight = self.summary.weight[:, j]
            seen = weight > 0
            mean = np.where(seen, self.summary.mean[:, j], np.nan)
            lines += [
                Parameter(name, "mean", tuple(mean.tolist())),
                Parameter(name, "sd", tuple(np.where(seen, self.sd[:, j], np.nan).tolist())),
                Parameter(name, "count", tuple(weight.tolist())),
            ]
        return lines


class GaussianScorer:
    """Log densities chunk by chunk."""

    def __init__(self, likelihood: GaussianLikelihood, cells: Cells) -> None:
        self._tables = (likelihood.mean, likelihood.scale, likelihood.log_norm, likelihood.constant)
        self._cells = cells

    @property
    def chunk_rows(self) -> int:
        return self._cells.chunk_rows

    def add(self, start: int, stop: int, scores: Floats) -> None:
        chunk = self._cells.chunk(start, stop)
        if chunk.by_column:
            row = gaussian_by_column(chunk.cells, chunk.start, chunk.stop, *self._tables, scores)
        else:
            row = gaussian_by_row(chunk.rows, *self._tables, scores)
        if row >= 0:
            self._refuse(chunk.rows[row], start + row)

    def _refuse(self, cells: Floats, row: int) -> NoReturn:
        j = int(np.flatnonzero(np.isinf(cells))[0])
        raise InputError(
            f"column {self._cells.names[j]!r} holds {cells[j]} in row {row}; a number must be finite "
            "(Input X contains infinity).",
            "replace it, or mark it as missing (NaN).",
        )
