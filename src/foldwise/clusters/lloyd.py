"""Lloyd's algorithm from given centers: on one thread in one compiled call, or on several threads over row chunks.

Stops as scikit-learn does: when no label changes, when the centers move by at most `tol`, or after `max_iter`
iterations. An empty cluster moves to the row that is farthest from its own center.

Kernels use loops where numpy has a word for it, because numba compiles loops in a tenth of the time.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.clusters.assignment import (
    Bounds,
    Centers,
    ClusteredRows,
    ClusterLabels,
    Totals,
    add_totals,
    assign_rows,
    measure_centers,
    squared_distance,
)

FEW = 0.02  # share of rows that change; below it, an iteration is too short for threads
RENEW = 16  # iterations after which the sums are computed again, so that rounding does not add up


class LloydRun(NamedTuple):
    """A fixed point of Lloyd's algorithm, or where it was stopped."""

    centers: Floats  # (k, d)
    labels: ClusterLabels  # (n,)
    inertia: float
    n_iter: int


@njit(nogil=True, cache=True)
def rows_of(x: Floats, w: Floats) -> ClusteredRows:
    """Return rows with their squared lengths."""
    norms = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            total += x[i, j] * x[i, j]
        norms[i] = total
    return ClusteredRows(x, w, norms)


@njit(nogil=True, cache=True)
def new_bounds(n: int) -> Bounds:
    """Return bounds that know nothing."""
    labels, upper = np.empty(n, dtype=np.int32), np.empty(n)
    for i in range(n):
        labels[i] = -1
        upper[i] = np.inf
    return Bounds(labels, upper, np.zeros(n))


@njit(nogil=True, cache=True)
def new_centers(centers: Floats, largest_norm: float) -> Centers:
    """Return measured centers that have not moved."""
    k = centers.shape[0]
    made = Centers(centers.copy(), np.empty(k), np.empty(k), np.zeros(k), np.zeros(3))
    measure_centers(made, largest_norm)
    return made


@njit(nogil=True, cache=True)
def new_totals(k: int, d: int) -> Totals:
    """Return empty sums."""
    return Totals(np.zeros((k, d)), np.zeros(k), np.zeros(k, dtype=np.int64))


@njit(nogil=True, cache=True)
def merge(totals: Totals, part: Totals) -> None:
    """Add the sums of a part."""
    k, d = totals.sums.shape
    for c in range(k):
        totals.weights[c] += part.weights[c]
        totals.counts[c] += part.counts[c]
        for j in range(d):
            totals.sums[c, j] += part.sums[c, j]


@njit(nogil=True, cache=True)
def clear(totals: Totals) -> None:
    """Set all sums to 0."""
    k, d = totals.sums.shape
    for c in range(k):
        totals.weights[c] = 0.0
        totals.counts[c] = 0
        for j in range(d):
            totals.sums[c, j] = 0.0


@njit(nogil=True, cache=True)
def assign_part(rows: ClusteredRows, bounds: Bounds, centers: Centers, start: int, stop: int, moved: Totals) -> int:
    """Assign some rows; the entry point for threads."""
    return int(assign_rows(rows, bounds, centers, start, stop, moved))


@njit(nogil=True, cache=True)
def total_part(rows: ClusteredRows, labels: ClusterLabels, start: int, stop: int, totals: Totals) -> None:
    """Sum some rows; the entry point for threads."""
    add_totals(rows, labels, start, stop, totals)


@njit(nogil=True, cache=True)
def greatest(values: Floats) -> int:
    """Return the index of the greatest value, the first of equal ones."""
    at = 0
    for i in range(values.size):
        if values[i] > values[at]:
            at = i
    return at


@njit(nogil=True, cache=True)
def fill_empty(rows: ClusteredRows, labels: ClusterLabels, centers: Floats, totals: Totals) -> bool:
    """Give each empty cluster the row that is farthest from its center. Returns whether any row was moved."""
    n_empty = 0
    for c in range(totals.counts.size):
        n_empty += totals.counts[c] == 0
    if n_empty == 0:
        return False
    n, d = rows.x.shape
    far = np.empty(n)
    for i in range(n):
        far[i] = squared_distance(rows.x[i], centers[labels[i]])
    if far[greatest(far)] == 0.0:
        return False
    for c in range(totals.counts.size):
        if totals.counts[c] > 0:
            continue
        i = greatest(far)
        far[i] = -1.0
        old, w = labels[i], rows.w[i]
        for j in range(d):
            totals.sums[old, j] -= w * rows.x[i, j]
            totals.sums[c, j] = w * rows.x[i, j]
        totals.weights[old] -= w
        totals.weights[c] = w
    return True


@njit(nogil=True, cache=True)
def move_centers(totals: Totals, centers: Centers, largest_norm: float) -> float:
    """Move the centers to the means of their rows. Returns the sum of the squared moves."""
    k, d = centers.c.shape
    biggest = greatest(totals.weights)
    fresh = np.empty((k, d))
    for c in range(k):
        source = c if totals.weights[c] > 0.0 else biggest
        for j in range(d):
            fresh[c, j] = totals.sums[source, j] / totals.weights[source]
    total = 0.0
    centers.extremes[0] = 0.0
    centers.extremes[1] = 0.0
    for c in range(k):
        move = squared_distance(fresh[c], centers.c[c])
        total += move
        drift = np.sqrt(move) * (1.0 + (d + 4) * 2.0**-52)
        centers.drift[c] = drift
        if drift > centers.extremes[0]:
            centers.extremes[1] = centers.extremes[0]
            centers.extremes[0] = drift
        elif drift > centers.extremes[1]:
            centers.extremes[1] = drift
        for j in range(d):
            centers.c[c, j] = fresh[c, j]
    measure_centers(centers, largest_norm)
    return total


@njit(nogil=True, cache=True)
def inertia_part(rows: ClusteredRows, labels: ClusterLabels, centers: Floats, start: int, stop: int) -> float:
    """Sum the weighted squared distances of some rows to their centers."""
    total = 0.0
    for i in range(start, stop):
        total += rows.w[i] * squared_distance(rows.x[i], centers[labels[i]])
    return total


@njit(nogil=True, cache=True)
def run_lloyd(
    rows: ClusteredRows, bounds: Bounds, start: Floats, max_iter: int, tol: float
) -> tuple[Floats, float, int]:
    """Run Lloyd's algorithm on one thread; `bounds` may hold the nearest of the `start` centers, and is changed.

    Returns the centers, the inertia and the number of iterations.
    """
    n, d = rows.x.shape
    k = start.shape[0]
    largest = rows.norms[greatest(rows.norms)]
    centers = new_centers(start, largest)
    totals, moved = new_totals(k, d), new_totals(k, d)
    settled, refilled, n_iter = False, False, 0
    zero = n - n  # a plain 0 would be a constant, for which numba compiles the functions it is passed to once more
    for step in range(max_iter):
        n_iter = step + 1
        clear(moved)
        n_changed = assign_rows(rows, bounds, centers, zero, n, moved)
        if step % RENEW == 0 or refilled:
            clear(totals)
            add_totals(rows, bounds.labels, zero, n, totals)
        else:
            merge(totals, moved)
        refilled = fill_empty(rows, bounds.labels, centers.c, totals)
        shift = move_centers(totals, centers, largest)
        settled = step > 0 and n_changed == 0
        if settled or shift <= tol:
            break
    if not settled:
        assign_rows(rows, bounds, centers, zero, n, moved)
    return centers.c, inertia_part(rows, bounds.labels, centers.c, zero, n), n_iter


def run_lloyd_on_threads(rows: ClusteredRows, start: Floats, max_iter: int, tol: float, n_threads: int) -> LloydRun:
    """Run Lloyd's algorithm; each thread has a chunk of rows, and sums are merged in row order."""
    n, d = rows.x.shape
    bounds = new_bounds(n)
    if n_threads == 1:
        centers, inertia, n_iter = run_lloyd(rows, bounds, start, max_iter, tol)
        return LloydRun(centers, bounds.labels, inertia, n_iter)
    k, largest = len(start), float(rows.norms.max())
    moving = new_centers(start, largest)
    ends = [n * t // n_threads for t in range(n_threads + 1)]
    chunks = list(pairwise(ends))
    totals, parts = new_totals(k, d), [new_totals(k, d) for _ in chunks]
    settled, refilled, n_iter, n_changed = False, False, 0, n
    with ThreadPoolExecutor(n_threads) as pool:

        def assign(part: Totals, chunk: tuple[int, int]) -> int:
            clear(part)
            return int(assign_part(rows, bounds, moving, *chunk, part))

        def add(part: Totals, chunk: tuple[int, int]) -> None:
            clear(part)
            total_part(rows, bounds.labels, *chunk, part)

        def far(chunk: tuple[int, int]) -> float:
            return float(inertia_part(rows, bounds.labels, moving.c, *chunk))

        for step in range(max_iter):
            n_iter = step + 1
            run = pool.map if n_changed > FEW * n else map
            n_changed = sum(run(assign, parts, chunks))
            if step % RENEW == 0 or refilled:
                list(pool.map(add, parts, chunks))
                clear(totals)
            for part in parts:
                merge(totals, part)
            refilled = fill_empty(rows, bounds.labels, moving.c, totals)
            shift = move_centers(totals, moving, largest)
            settled = step > 0 and n_changed == 0
            if settled or shift <= tol:
                break
        if not settled:
            list(pool.map(assign, parts, chunks))
        inertia = sum(pool.map(far, chunks))
    return LloydRun(moving.c, bounds.labels, inertia, n_iter)


def nearest(rows: ClusteredRows, centers: Floats, n_threads: int = 1) -> ClusterLabels:
    """Return the index of the nearest center of each row."""
    n, d = rows.x.shape
    bounds = new_bounds(n)
    measured = new_centers(centers, float(rows.norms.max(initial=0.0)))
    ends = [n * t // n_threads for t in range(n_threads + 1)]

    def part(chunk: tuple[int, int]) -> None:
        assign_part(rows, bounds, measured, *chunk, new_totals(len(centers), d))

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(part, pairwise(ends)))
    return bounds.labels


__all__ = ["Bounds", "ClusteredRows", "Ints", "LloydRun", "nearest", "new_bounds", "rows_of", "run_lloyd"]
