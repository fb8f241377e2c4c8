"""`LogMoments`: weight, mean and log-spread of positive columns, by class, for the gamma distribution.

The log-spread is Σw·(log mean - log x), which is never negative, and small if the values are close together. Computed
from Σx and Σlog x it would be the difference of two large numbers. Stored by itself, it merges without loss like the
squared deviations of `Moments`, because it equals Σw·h(x/mean) with h(t) = t - 1 - log t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.data.cells import ChunkedCells
from foldwise.errors import InputError
from foldwise.summaries.alignment import EPS, check_precision, rows_left, weight_left
from foldwise.summaries.class_tables import ClassTables
from foldwise.summaries.moments import POOR_PIVOT
from foldwise.summaries.passes import ThreadShare, Window
from foldwise.summaries.sums import Check

WEIGHT, SUM, SPREAD, ROWS = range(4)
FAR = 1e6  # largest ratio of a value to its pivot


@dataclass(frozen=True)
class LogMoments(ClassTables):
    """Weight, mean, Σw·(log mean - log x) and number of rows of the cells that are not missing, by class and column."""

    weight: Floats  # (K, d), as all of them
    mean: Floats
    deviance: Floats
    rows: Floats  # with a weight above 0

    @property
    def log_gap(self) -> Floats:
        """log mean - mean of the logarithms, which determines the shape of a gamma distribution."""
        return np.divide(self.deviance, self.weight, out=np.zeros_like(self.weight), where=self.weight > 0)

    def __add__(self, other: LogMoments) -> LogMoments:
        """Merge the summaries of two sets of rows."""
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        # the mean 0 of an empty side must not influence the other
        both = (self.weight > 0) & (other.weight > 0)
        mean = np.where(both, self.mean + (other.mean - self.mean) * share, np.maximum(self.mean, other.mean))
        deviance = self.deviance + other.deviance
        deviance = deviance + np.where(both, between(self, mean) + between(other, mean), 0.0)
        return LogMoments(weight, mean, deviance, self.rows + other.rows)

    def __sub__(self, other: LogMoments) -> LogMoments:
        """Remove the rows of `other`; raise ForgetError if the relative error would be above 1e-9."""
        left, error = self.without(other)
        check_precision(error, "log-spread")
        return left

    def without(self, other: LogMoments) -> tuple[LogMoments, Floats]:
        """Return the summary without the rows of `other`, and the relative error of each log-spread or mean (K, d)."""
        rows = rows_left(self.rows, other.rows)
        weight = weight_left(self.weight, other.weight, rows)
        there = (other.rows > 0) & (weight > 0)
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=there)
        mean = np.where(there, self.mean + (self.mean - other.mean) * share, self.mean)
        mean = np.where(rows == 0, 0.0, np.maximum(mean, 0.0))
        rest = LogMoments(weight, mean, self.deviance, rows)
        gone = between(rest, self.mean) + between(other, self.mean)
        deviance = np.where(there, self.deviance - other.deviance - gone, self.deviance)
        known = rows <= 1  # the spread of one row, or of none, is exactly 0
        deviance = np.where(known, 0.0, np.maximum(deviance, 0.0))
        error = np.maximum(ratio(self.deviance, deviance), ratio(self.weight * self.mean, weight * mean)) * 8 * EPS
        error = np.where(known, ratio(self.weight * self.mean, weight * mean) * 8 * EPS, error)
        error = np.where(there & ((self.deviance > 0) | known), error, 0.0)
        return LogMoments(weight, mean, deviance, rows), error

    def pooled(self) -> LogMoments:
        """Return the summary of all classes together, as one class."""
        weight = self.weight.sum(axis=0, keepdims=True)
        share = np.divide(self.weight, weight, out=np.zeros_like(self.weight), where=weight > 0)
        mean = (share * self.mean).sum(axis=0, keepdims=True)
        deviance = (self.deviance + between(self, mean)).sum(axis=0, keepdims=True)
        return LogMoments(weight, mean, deviance, self.rows.sum(axis=0, keepdims=True))

    @classmethod
    def from_dict(cls, facts: dict[str, Any], n_classes: int, n_columns: int) -> LogMoments:
        """Check and return the summary that `to_dict` wrote."""
        stored = super().from_dict(facts, n_classes, n_columns)
        if ((stored.mean <= 0) & (stored.weight > 0)).any():
            raise InputError("the stored means must be above 0.", "write the model again with to_json.")
        return stored


def between(part: LogMoments, mean: Floats) -> Floats:
    """Return what a part adds to the log-spread about another mean: weight · h(its mean / that mean)."""
    mean = np.broadcast_to(mean, part.mean.shape)
    there = (part.weight > 0) & (mean > 0) & (part.mean > 0)
    return part.weight * excesses(np.where(there, part.mean, 1.0), np.where(there, mean, 1.0))


def ratio(before: Floats, after: Floats) -> Floats:
    return np.divide(before, after, out=np.full_like(before, np.inf), where=after > 0)


@njit(nogil=True, cache=True)
def excess(x: float, mean: float) -> float:
    """Compute h(x/mean) with h(t) = t - 1 - log t, accurate also for t near 1.

    For t near 1, log t = 2·atanh(z) with z = (x - mean) / (x + mean).
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
    """Apply `excess` to every entry."""
    out = np.empty(x.size)
    excesses_into(np.ascontiguousarray(x).reshape(-1), np.ascontiguousarray(mean).reshape(-1), out)
    return out.reshape(x.shape)


@njit(nogil=True, cache=True)
def log_sums_by_row(cells: Floats, y: Ints, w: Floats, pivot: Floats, table: Floats) -> None:
    """Add Σw, Σw·(x/pivot - 1), Σw·h(x/pivot) and the number of rows of the cells to `table` (K, 4, d)."""
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
    """Write the largest cell of each class and column to `largest` (K, d)."""
    n, d = cells.shape
    for i in range(n):
        if w[i] > 0:
            for j in range(d):
                if cells[i, j] > largest[y[i], j]:
                    largest[y[i], j] = cells[i, j]


def log_moments_of(cells: ChunkedCells, share: ThreadShare, check: Check) -> LogMoments:
    """Summarize a share of the rows in one pass; `check(rows, names, first row)` refuses cells of 0 or below."""
    total = LogMoments.empty(share.n_classes, len(cells.names))
    for window in share.windows(cells.chunk_rows):
        rows = cells.chunk(window.start, window.stop).rows
        check(rows, cells.names, window.start)
        total = total + log_moments_of_rows(rows, window, total)
    return total


def log_moments_of_rows(rows: Floats, window: Window, before: LogMoments) -> LogMoments:
    """Summarize one chunk about the means so far, or about the largest value; and again if that pivot was poor."""
    # a value of the class as pivot makes the log-spread of a constant column exactly 0. With a tiny pivot the ratios
    # would overflow, and with one far above all values their mean would be lost
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
