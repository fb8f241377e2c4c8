"""`Moments`: weight, mean and sum of squared deviations of numeric columns, by class.

The mean is stored as a high and a low part. For mean 1e8 and standard deviation 1, merging 1,000 parts with plain means
has an error of 2e-9; with the low part, the difference of two means is as accurate as the deviations themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from foldwise.arrays import Floats
from foldwise.data.cells import Chunk, ChunkedCells
from foldwise.errors import InputError
from foldwise.summaries import number_kernels as kernels
from foldwise.summaries.alignment import EPS, check_precision, rows_left, weight_left
from foldwise.summaries.class_tables import ClassTables
from foldwise.summaries.passes import ThreadShare, Window

POOR_PIVOT = 100.0  # squared distance of pivot and mean, in variances, above which a chunk is summed again


@dataclass(frozen=True)
class Moments(ClassTables):
    """Weight, mean (high + low part), Σw(x-mean)² and number of rows of the cells that are not missing.

    Examples
    --------
    >>> from foldwise.data.view import view
    >>> a = moments_of(view(np.array([[1.0, 2.0], [3.0, np.nan]])).numbers([0, 1]), ThreadShare.of([0, 0], 1))
    >>> a.weight, a.mean, a.m2
    (array([[2., 1.]]), array([[2., 2.]]), array([[2., 0.]]))
    >>> (a + a).weight
    array([[4., 2.]])
    """

    SIGNED = ("high", "low")

    weight: Floats  # (K, d), as all of them
    high: Floats
    low: Floats
    m2: Floats
    rows: Floats  # with a weight above 0; exact, as they are integers

    @property
    def mean(self) -> Floats:
        return self.high + self.low

    def __add__(self, other: Moments) -> Moments:
        """Merge the moments of two sets of rows."""
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        # the mean 0 of an empty side must not influence the other
        gap, gap_low = two_sum(other.high, -self.high)
        delta = np.where((self.weight > 0) & (other.weight > 0), gap + (gap_low + (other.low - self.low)), 0.0)
        start_high = np.where(self.weight > 0, self.high, other.high)
        start_low = np.where(self.weight > 0, self.low, other.low)
        high, rest = two_sum(start_high, delta * share)
        high, low = two_sum(high, rest + start_low)
        m2 = self.m2 + other.m2 + delta * delta * (self.weight * share)
        return Moments(weight, high, low, m2, self.rows + other.rows)

    def __sub__(self, other: Moments) -> Moments:
        """Remove the rows of `other`; raise ForgetError if the relative error would be above 1e-9."""
        left, error = self.without(other)
        check_precision(error, "spread")
        return left

    def without(self, other: Moments) -> tuple[Moments, Floats]:
        """Return the moments without the rows of `other`, and the relative error of each spread (K, d)."""
        rows = rows_left(self.rows, other.rows)
        weight = weight_left(self.weight, other.weight, rows)
        untouched, gone = other.rows == 0, rows == 0
        there = ~untouched & (weight > 0)
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=there)
        gap, gap_low = two_sum(self.high, -other.high)
        delta = np.where(there, gap + (gap_low + (self.low - other.low)), 0.0)
        high, rest = two_sum(self.high, delta * share)
        high, low = two_sum(high, rest + self.low)
        m2 = np.where(there, self.m2 - other.m2 - delta * delta * share * self.weight, self.m2)
        known = rows <= 1  # the spread of one row, or of none, is exactly 0
        m2 = np.where(known, 0.0, np.maximum(m2, 0.0))
        error = np.where(untouched | known | (self.m2 <= 0), 0.0, removal_error(self.m2, m2))
        return Moments(weight, np.where(gone, 0.0, high), np.where(gone, 0.0, low), m2, rows), error

    def pooled(self) -> Moments:
        """Return the moments of all classes together, as one class."""
        weight = self.weight.sum(axis=0, keepdims=True)
        first = np.argmax(self.weight > 0, axis=0)[None]
        pivot = np.take_along_axis(self.high, first, axis=0)
        # as in `+`, the mean 0 of an empty class must not influence the others
        apart = np.where(self.weight > 0, (self.high - pivot) + self.low, 0.0)
        shift = np.divide((self.weight * apart).sum(axis=0)[None], weight, out=np.zeros_like(weight), where=weight > 0)
        high, low = two_sum(pivot, shift)
        m2 = (self.m2 + self.weight * (apart - shift) ** 2).sum(axis=0)[None]
        return Moments(weight, high, low, m2, self.rows.sum(axis=0, keepdims=True))


def removal_error(before: Floats, after: Floats) -> Floats:
    """Return the relative error of a sum of squared deviations after a removal: about 8·eps·before/after."""
    return 8 * EPS * np.divide(before, after, out=np.full_like(before, np.inf), where=after > 0)


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sum and its exact rounding error (Knuth's TwoSum)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def moments_of(cells: ChunkedCells, share: ThreadShare) -> Moments:
    """Summarize a share of the rows in one pass."""
    total = Moments.empty(share.n_classes, len(cells.names))
    first = np.full(len(cells.names), np.nan)  # the first value of each column with a weight above 0
    for window in share.windows(cells.chunk_rows):
        chunk = cells.chunk(window.start, window.stop)
        if np.isnan(first).any():
            first = np.where(np.isnan(first), first_values(chunk, window.w), first)
        pivot = np.where(total.weight > 0, total.high, np.nan_to_num(first))
        moments = moments_of_chunk(chunk, window, pivot, cells.names)
        total = moments if window.start == share.start else total + moments
    return total


def moments_of_chunk(chunk: Chunk, window: Window, pivot: Floats, names: tuple[str, ...]) -> Moments:
    """Summarize one chunk about the pivot, and again about its own means if the pivot was poor."""
    sums = sums_of_chunk(chunk, window, pivot, names)
    if (sums.weight * sums.shift * sums.shift > POOR_PIVOT * np.maximum(sums.m2, 0.0)).any():
        pivot = pivot + sums.shift
        sums = sums_of_chunk(chunk, window, pivot, names)
    high, low = two_sum(np.where(sums.weight > 0, pivot, 0.0), sums.shift)
    return Moments(sums.weight, high, low, np.maximum(sums.m2, 0.0), sums.rows)


@dataclass(frozen=True)
class ChunkSums:
    """Σw, Σw(x-p) and Σw(x-p)² of the cells of a chunk, and their rows with a weight above 0; each (K, d)."""

    weight: Floats
    s1: Floats
    s2: Floats
    rows: Floats

    @property
    def shift(self) -> Floats:
        """The distance of the mean from the pivot."""
        return np.divide(self.s1, self.weight, out=np.zeros_like(self.s1), where=self.weight > 0)

    @property
    def m2(self) -> Floats:
        """Σw(x-mean)²."""
        return np.asarray(self.s2 - self.s1 * self.shift)


def sums_of_chunk(chunk: Chunk, window: Window, pivot: Floats, names: tuple[str, ...]) -> ChunkSums:
    """Sum a chunk about a pivot, with the plain kernels if no cell is missing, else with the masked one."""
    n_classes, d = pivot.shape
    y, w, table = window.y, window.w, kernels.work_table(pivot)
    if chunk.by_column:
        few = n_classes <= kernels.FEW_CLASSES
        kernel = kernels.sums_by_column_few if few else kernels.sums_by_column
        kernel(chunk.cells, chunk.start, chunk.stop, y, w, table)
    else:
        kernels.sums_by_row(chunk.rows, y, w, table)
    if np.isfinite(table[:, kernels.S2, :d]).all():
        weight = table[:, kernels.WEIGHT, 0]
        rows = weight if window.unit else window.rows_by_class(n_classes)
        weight, rows = (np.repeat(values[:, None], d, axis=1) for values in (weight, rows))
        return ChunkSums(weight, table[:, kernels.S1, :d], table[:, kernels.S2, :d], rows)
    cells, table = chunk.rows, kernels.work_table(pivot)
    kernels.sums_by_row_masked(cells, y, w, table)
    if not np.isfinite(table[:, kernels.S2, :d]).all():
        refuse_infinite(cells, names, window.start)
    return ChunkSums(*(table[:, k, :d] for k in (kernels.WEIGHT, kernels.S1, kernels.S2, kernels.ROWS)))


def check_finite(rows: Floats, names: tuple[str, ...], row: int) -> None:
    """Refuse infinite cells; `row` is the number of the first row."""
    if np.isinf(rows).any():
        refuse_infinite(rows, names, row)


def refuse_infinite(rows: Floats, names: tuple[str, ...], row: int) -> NoReturn:
    """Raise an error that names the infinite cell, or the column whose squares are too large for float64."""
    infinite = np.argwhere(np.isinf(rows))
    if infinite.size:
        i, j = infinite[0]
        raise InputError(
            f"Input X contains infinity: column {names[j]!r} is {rows[i, j]} in row {row + int(i)}, but must be "
            "finite.",
            "replace it, or mark it as missing (NaN).",
        )
    largest = np.nanmax(np.abs(rows), axis=0, initial=0.0)
    j = int(np.argmax(largest))
    raise InputError(
        f"column {names[j]!r} contains {largest[j]:.3g}; its square is too large for dtype('float64').",
        "rescale the column.",
    )


def first_values(chunk: Chunk, w: Floats) -> Floats:
    """Return the first value of each column with a weight above 0, or NaN.

    As a pivot it makes the deviations of a constant column exactly 0.
    """
    cells = chunk.columns
    counted = np.flatnonzero(w > 0) if not w[0] > 0 else None
    first = np.full(len(cells), np.nan)
    if counted is not None and not counted.size:
        return first
    first = cells[:, 0 if counted is None else counted[0]].astype(np.float64)
    for j in np.flatnonzero(~np.isfinite(first)):
        present = np.flatnonzero(np.isfinite(cells[j]) & (w > 0))
        first[j] = cells[j, present[0]] if present.size else np.nan
    return first
