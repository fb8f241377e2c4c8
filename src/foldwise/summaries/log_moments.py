"""Weight, mean and log-spread of positive columns, by class: what a gamma distribution needs of Σx and Σlog x.

The log-spread is Σw·(log mean - log x), which is never negative and small where values lie close together. As the bare
sums of x and log x it would be the difference of two large numbers; kept by itself, it merges without loss, as the
squared deviations of `Moments` do: Σw·h(x/mean) with h(t) = t - 1 - log t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from foldwise.data.cells import ChunkedCells
from foldwise.data.view import view_of_array
from foldwise.errors import InputError
from foldwise.summaries.alignment import EPS, check_precision, rows_left, weight_left
from foldwise.summaries.class_tables import ClassTables
from foldwise.summaries.moments import POOR_PIVOT
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import Share, Window
from foldwise.summaries.sums import Check

WEIGHT, SUM, SPREAD, ROWS = range(4)
FAR = 1e6  # a ratio past which a value is no pivot for another


@dataclass(frozen=True)
class LogMoments(ClassTables):
    """Per class and column: weight of the present cells, their mean, Σw·(log mean - log x), their rows."""

    weight: Floats  # (K, d), as all of them
    mean: Floats
    deviance: Floats
    rows: Floats  # of a weight above 0

    @classmethod
    def of_cells(cls, cells: object, y: object, n_classes: int, weights: object = None) -> LogMoments:
        """The facts of a small array of positive numbers, NaN for missing: for tests and for a few rows at hand."""
        array = np.ascontiguousarray(cells, dtype=np.float64)
        columns = view_of_array(array).numbers(range(array.shape[1]))
        return log_moments_of(columns, Share.of(y, n_classes, weights), lambda rows, names, row: None)

    @property
    def log_gap(self) -> Floats:
        """log mean - mean of the logarithms: what the shape of a gamma distribution depends on."""
        return np.divide(self.deviance, self.weight, out=np.zeros_like(self.weight), where=self.weight > 0)

    def __add__(self, other: LogMoments) -> LogMoments:
        """The facts of both sets of rows."""
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        # an empty side has mean 0, which must not pull the other
        both = (self.weight > 0) & (other.weight > 0)
        mean = np.where(both, self.mean + (other.mean - self.mean) * share, np.maximum(self.mean, other.mean))
        deviance = self.deviance + other.deviance
        deviance = deviance + np.where(both, between(self, mean) + between(other, mean), 0.0)
        return LogMoments(weight, mean, deviance, self.rows + other.rows)

    def __sub__(self, other: LogMoments) -> LogMoments:
        """The facts without the rows of `other`; raises ForgetError where less than 1e-9 of precision would be left."""
        left, error = self.without(other)
        check_precision(error, "log-spread")
        return left

    def without(self, other: LogMoments) -> tuple[LogMoments, Floats]:
        """The facts without the rows of `other`, and the relative error of each log-spread or mean (K, d)."""
        rows = rows_left(self.rows, other.rows)
        weight = weight_left(self.weight, other.weight, rows)
        there = (other.rows > 0) & (weight > 0)
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=there)
        mean = np.where(there, self.mean + (self.mean - other.mean) * share, self.mean)
        mean = np.where(rows == 0, 0.0, np.maximum(mean, 0.0))
        rest = LogMoments(weight, mean, self.deviance, rows)
        gone = between(rest, self.mean) + between(other, self.mean)
        deviance = np.where(there, self.deviance - other.deviance - gone, self.deviance)
        known = rows <= 1  # what is left of one row, or of nothing, has no spread
        deviance = np.where(known, 0.0, np.maximum(deviance, 0.0))
        error = np.maximum(ratio(self.deviance, deviance), ratio(self.weight * self.mean, weight * mean)) * 8 * EPS
        error = np.where(known, ratio(self.weight * self.mean, weight * mean) * 8 * EPS, error)
        error = np.where(there & ((self.deviance > 0) | known), error, 0.0)
        return LogMoments(weight, mean, deviance, rows), error

    def pooled(self) -> LogMoments:
        """The facts of all classes together, as one class."""
        weight = self.weight.sum(axis=0, keepdims=True)
        share = np.divide(self.weight, weight, out=np.zeros_like(self.weight), where=weight > 0)
        mean = (share * self.mean).sum(axis=0, keepdims=True)
        deviance = (self.deviance + between(self, mean)).sum(axis=0, keepdims=True)
        return LogMoments(weight, mean, deviance, self.rows.sum(axis=0, keepdims=True))

    @classmethod
    def from_dict(cls, facts: dict[str, Any], n_classes: int, n_columns: int) -> LogMoments:
        """The facts that `to_dict` wrote, checked."""
        stored = super().from_dict(facts, n_classes, n_columns)
        if ((stored.mean <= 0) & (stored.weight > 0)).any():
            raise InputError("the stored means must be above 0.", "write the model again with to_json.")
        return stored


def between(part: LogMoments, mean: Floats) -> Floats:
    """What a part adds to the log-spread about another mean: weight · h(its mean / that mean)."""
    mean = np.broadcast_to(mean, part.mean.shape)
    there = (part.weight > 0) & (mean > 0) & (part.mean > 0)
    return part.weight * excesses(np.where(there, part.mean, 1.0), np.where(there, mean, 1.0))


def ratio(before: Floats, after: Floats) -> Floats:
    return np.divide(before, after, out=np.full_like(before, np.inf), where=after > 0)


@njit(nogil=True, cache=True)
def excess(x: float, mean: float) -> float:
    """h(x/mean), h(t) = t - 1 - log t, to the last digits also where t is near 1.

    There log t = 2·atanh(z) with z = (x - mean) / (x + mean).
    """
    r = (x - mean) / mean
    if abs(r) > 0.1:
        t = x / mean
        return float(r - (np.log(t) if 1e-290 < t < 1e290 else np.log(x) - np.log(mean)))
    z = r / (2.0 + r)
    q = z * z
    tail = 1 / 3 + q * (1 / 5 + q * (1 / 7 + q * (1 / 9 + q * (1 / 11 + q * (1 / 13)))))
    return r * z - 2.0 * z * q * tail


@njit(nogil=True, cache=True)
def excesses_into(x: Floats, mean: Floats, out: Floats) -> None:
    for i in range(x.size):
        out[i] = excess(x[i], mean[i])


def excesses(x: Floats, mean: Floats) -> Floats:
    """`excess` of every entry."""
    out = np.empty(x.size)
    excesses_into(np.ascontiguousarray(x).reshape(-1), np.ascontiguousarray(mean).reshape(-1), out)
    return out.reshape(x.shape)


@njit(nogil=True, cache=True)
def log_sums_by_row(cells: Floats, y: Ints, w: Floats, pivot: Floats, table: Floats) -> None:
    """Σw, Σw·(x/pivot - 1), Σw·h(x/pivot) and rows of the present cells, into `table` (K, 4, d)."""
    n, d = cells.shape
    for i in range(n):
        c = y[i]
        wi = w[i]
        if wi > 0:
            for j in range(d):
                x = cells[i, j]
                if x == x:
                    p = pivot[c, j]
                    table[c, WEIGHT, j] += wi
                    table[c, SUM, j] += wi * ((x - p) / p)
                    table[c, SPREAD, j] += wi * excess(x, p)
                    table[c, ROWS, j] += 1.0


@njit(nogil=True, cache=True)
def largest_by_row(cells: Floats, y: Ints, w: Floats, largest: Floats) -> None:
    """The largest present cell of each class and column, into `largest` (K, d)."""
    n, d = cells.shape
    for i in range(n):
        if w[i] > 0:
            for j in range(d):
                if cells[i, j] > largest[y[i], j]:
                    largest[y[i], j] = cells[i, j]


def log_moments_of(cells: ChunkedCells, share: Share, check: Check) -> LogMoments:
    """One pass over a share of the rows; `check(rows, names, first row)` refuses what is not positive."""
    total = LogMoments.empty(share.n_classes, len(cells.names))
    for window in share.windows(cells.chunk_rows):
        rows = cells.chunk(window.start, window.stop).rows
        check(rows, cells.names, window.start)
        total = total + log_moments_of_rows(rows, window, total)
    return total


def log_moments_of_rows(rows: Floats, window: Window, before: LogMoments) -> LogMoments:
    """The facts of one chunk: about the means so far, or the largest value; again where that pivot was poor."""
    # a value of the class makes the log-spread of a constant one exactly 0; about a tiny one ratios would overflow,
    # and about one that is far larger than all values their mean would be lost
    largest = np.zeros_like(before.mean)
    largest_by_row(rows, window.y, window.w, largest)
    known = (before.mean / FAR < largest) & (largest / FAR < before.mean)
    pivot = np.where(known, before.mean, np.where(largest > 0, largest, 1.0))
    for last in (False, True):
        table = np.zeros((len(pivot), 4, rows.shape[1]))
        log_sums_by_row(rows, window.y, window.w, pivot, table)
        weight, deviation, about, counted = (table[:, k] for k in (WEIGHT, SUM, SPREAD, ROWS))
        shift = np.divide(deviation, weight, out=np.zeros_like(weight), where=weight > 0)
        mean = np.where(weight > 0, pivot * np.maximum(1 + shift, EPS), pivot)
        moved = weight * excesses(mean, pivot)
        deviance = np.maximum(about - moved, 0.0)
        if last or not ((moved > POOR_PIVOT * deviance) | (shift < -0.9)).any():
            break
        pivot = mean
    return LogMoments(weight, np.where(weight > 0, mean, 0.0), deviance, counted)
