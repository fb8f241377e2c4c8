"""Compiled assignment of rows to their nearest centers, with bounds that skip most distances (Hamerly 2010).

Each row keeps an upper bound of the distance to its own center and a lower bound of the distance to every other one.
Centers that move by a little loosen the bounds by as much. A row whose bounds still do not cross cannot change its
label. Rows that fail this test are collected in tiles, so that the distances to all centers are computed by vector
instructions. The labels are those of a full search; the bounds allow for rounding.

Numba caches the entry points in `lloyd` with these functions inlined, but watches only that file. After a change here,
remove `__pycache__/*.nbi`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats, Ints

ClusterLabels = NDArray[np.int32]

TILE = 128  # rows whose distances are computed together
GROUP = 4  # centers handled together: each value is loaded once for all of them
REORDER = {"reassoc", "contract", "nsz"}  # sums may be vectorized
EPSILON = 2.0**-52


class ClusteredRows(NamedTuple):
    """The rows to cluster."""

    x: Floats  # (n, d)
    w: Floats  # (n,)
    norms: Floats  # (n,): squared lengths


class Bounds(NamedTuple):
    """The label of each row and the bounds of its distances."""

    labels: ClusterLabels  # (n,)
    upper: Floats  # (n,): at least the distance to the own center
    lower: Floats  # (n,): at most the distance to any other center


class Centers(NamedTuple):
    """The centers, and what the bounds need to know about them."""

    c: Floats  # (k, d)
    norms: Floats  # (k,): squared lengths
    halves: Floats  # (k,): half the distance to the nearest other center
    drift: Floats  # (k,): how far each center has moved
    extremes: Floats  # (3,): greatest drift, greatest drift of another center, rounding error of a squared distance


class Totals(NamedTuple):
    """Sums over the rows of each cluster."""

    sums: Floats  # (k, d)
    weights: Floats  # (k,)
    counts: Ints  # (k,): rows of positive weight


class TileWork(NamedTuple):
    """Arrays that one pass reuses for every tile."""

    rows: Ints  # (TILE,): indices of the rows
    x: Floats  # (d * TILE,): their values, column by column
    sums: Floats  # (GROUP * TILE,)
    best: Floats  # (TILE,): smallest |c|² - 2xc
    second: Floats  # (TILE,): second smallest
    labels: ClusterLabels  # (TILE,)


@njit(nogil=True)
def tile_work(n_columns: int) -> TileWork:
    """Make the arrays of one pass."""
    return TileWork(
        np.zeros(TILE, dtype=np.int64),
        np.zeros(n_columns * TILE),
        np.empty(GROUP * TILE),
        np.empty(TILE),
        np.empty(TILE),
        np.empty(TILE, dtype=np.int32),
    )


@njit(nogil=True, fastmath=REORDER)
def squared_distance(a: Floats, b: Floats) -> float:
    """Compute |a - b|² from the differences, which does not cancel."""
    total = 0.0
    for j in range(a.size):
        t = a[j] - b[j]
        total += t * t
    return total


@njit(nogil=True, fastmath=REORDER)
def add_products(x: Floats, n_columns: int, c: Floats, first: int, sums: Floats) -> None:
    """Add -2xc of a tile `x` and the GROUP centers from `first` on to `sums` (GROUP * TILE,)."""
    fours = n_columns // 4 * 4
    for j in range(0, fours, 4):
        v = x[j * TILE : (j + 4) * TILE]
        a0, a1, a2, a3 = -2 * c[first, j], -2 * c[first, j + 1], -2 * c[first, j + 2], -2 * c[first, j + 3]
        b0, b1 = -2 * c[first + 1, j], -2 * c[first + 1, j + 1]
        b2, b3 = -2 * c[first + 1, j + 2], -2 * c[first + 1, j + 3]
        e0, e1 = -2 * c[first + 2, j], -2 * c[first + 2, j + 1]
        e2, e3 = -2 * c[first + 2, j + 2], -2 * c[first + 2, j + 3]
        f0, f1 = -2 * c[first + 3, j], -2 * c[first + 3, j + 1]
        f2, f3 = -2 * c[first + 3, j + 2], -2 * c[first + 3, j + 3]
        for i in range(TILE):
            x0, x1, x2, x3 = v[i], v[i + TILE], v[i + 2 * TILE], v[i + 3 * TILE]
            sums[i] += x0 * a0 + x1 * a1 + x2 * a2 + x3 * a3
            sums[i + TILE] += x0 * b0 + x1 * b1 + x2 * b2 + x3 * b3
            sums[i + 2 * TILE] += x0 * e0 + x1 * e1 + x2 * e2 + x3 * e3
            sums[i + 3 * TILE] += x0 * f0 + x1 * f1 + x2 * f2 + x3 * f3
    for j in range(fours, n_columns):
        v = x[j * TILE : (j + 1) * TILE]
        a, b, e, f = -2 * c[first, j], -2 * c[first + 1, j], -2 * c[first + 2, j], -2 * c[first + 3, j]
        for i in range(TILE):
            t = v[i]
            sums[i] += t * a
            sums[i + TILE] += t * b
            sums[i + 2 * TILE] += t * e
            sums[i + 3 * TILE] += t * f


@njit(nogil=True, fastmath=REORDER)
def add_products_of_one(x: Floats, n_columns: int, center: Floats, sums: Floats) -> None:
    """Add -2xc of a tile and one center to `sums` (TILE,)."""
    for j in range(n_columns):
        v = x[j * TILE : (j + 1) * TILE]
        a = -2 * center[j]
        for i in range(TILE):
            sums[i] += v[i] * a


@njit(nogil=True)
def keep_two(sums: Floats, label: int, work: TileWork) -> None:
    """Update the two smallest values of each row of a tile; of equal values the first label is kept."""
    best, second, labels = work.best, work.second, work.labels
    c = np.int32(label)
    for i in range(TILE):
        s = sums[i]
        b = best[i]
        nearer = s < b
        second[i] = b if nearer else min(second[i], s)
        best[i] = s if nearer else b
        labels[i] = c if nearer else labels[i]


@njit(nogil=True)
def search_tile(centers: Centers, work: TileWork, n_columns: int) -> None:
    """Find the nearest two of all centers for each row of a tile."""
    k = centers.c.shape[0]
    for i in range(TILE):
        work.best[i] = np.inf
        work.second[i] = np.inf
        work.labels[i] = 0
    groups = k // GROUP * GROUP
    for first in range(0, groups, GROUP):
        for g in range(GROUP):
            for i in range(TILE):
                work.sums[g * TILE + i] = centers.norms[first + g]
        add_products(work.x, n_columns, centers.c, first, work.sums)
        for g in range(GROUP):
            keep_two(work.sums[g * TILE : (g + 1) * TILE], first + g, work)
    for c in range(groups, k):
        for i in range(TILE):
            work.sums[i] = centers.norms[c]
        add_products_of_one(work.x, n_columns, centers.c[c], work.sums[:TILE])
        keep_two(work.sums[:TILE], c, work)


@njit(nogil=True)
def gather(x: Floats, rows: Ints, n: int, tile: Floats) -> None:
    """Copy rows into a tile, column by column."""
    d = x.shape[1]
    for i in range(n):
        row = x[rows[i]]
        for j in range(d):
            tile[j * TILE + i] = row[j]


@njit(nogil=True)
def finish_tile(rows: ClusteredRows, bounds: Bounds, centers: Centers, work: TileWork, n: int, moved: Totals) -> int:
    """Search the `n` rows of a tile, set their labels and bounds, and add rows that change cluster to `moved`.

    Returns the number of rows whose label changed.
    """
    d = rows.x.shape[1]
    gather(rows.x, work.rows, n, work.x)
    search_tile(centers, work, d)
    error = centers.extremes[2]
    n_changed = 0
    for t in range(n):
        i = work.rows[t]
        near = rows.norms[i] + work.best[t] + error
        far = rows.norms[i] + work.second[t] - error
        bounds.upper[i] = np.sqrt(near) if near > 0.0 else 0.0
        bounds.lower[i] = np.sqrt(far) if far > 0.0 else 0.0
        old, new = bounds.labels[i], work.labels[t]
        if old == new:
            continue
        n_changed += 1
        bounds.labels[i] = new
        if old < 0:
            continue
        w = rows.w[i]
        moved.weights[old] -= w
        moved.weights[new] += w
        if w > 0.0:
            moved.counts[old] -= 1
            moved.counts[new] += 1
        for j in range(d):
            wx = w * rows.x[i, j]
            moved.sums[old, j] -= wx
            moved.sums[new, j] += wx
    return n_changed


@njit(nogil=True)
def assign_rows(rows: ClusteredRows, bounds: Bounds, centers: Centers, start: int, stop: int, moved: Totals) -> int:
    """Assign the rows start..stop to their nearest centers. Labels of -1 mean that nothing is known.

    Adds the rows that change cluster to `moved`, and returns their number.
    """
    work = tile_work(rows.x.shape[1])
    greatest, runner_up, error = centers.extremes[0], centers.extremes[1], centers.extremes[2]
    filled = n_changed = start - start  # for a constant 0, numba would compile `finish_tile` once more
    for i in range(start, stop):
        a = bounds.labels[i]
        if a >= 0:
            drift = centers.drift[a]
            # the slack exceeds the rounding of the two sums
            upper = (bounds.upper[i] + drift) * (1.0 + 4 * EPSILON)
            lower = (bounds.lower[i] - (runner_up if drift == greatest else greatest)) * (1.0 - 4 * EPSILON)
            bounds.lower[i] = lower
            limit = max(lower, centers.halves[a])
            if upper < limit:
                bounds.upper[i] = upper
                continue
            upper = np.sqrt(squared_distance(rows.x[i], centers.c[a]) + error)
            if upper < limit:
                bounds.upper[i] = upper
                continue
        work.rows[filled] = i
        filled += 1
        if filled == TILE:
            n_changed += finish_tile(rows, bounds, centers, work, filled, moved)
            filled = 0
    if filled:
        n_changed += finish_tile(rows, bounds, centers, work, filled, moved)
    return n_changed


@njit(nogil=True)
def add_totals(rows: ClusteredRows, labels: ClusterLabels, start: int, stop: int, totals: Totals) -> None:
    """Add the rows start..stop to the sums of their clusters."""
    d = rows.x.shape[1]
    for i in range(start, stop):
        c, w = labels[i], rows.w[i]
        totals.weights[c] += w
        if w > 0.0:
            totals.counts[c] += 1
        for j in range(d):
            totals.sums[c, j] += w * rows.x[i, j]


@njit(nogil=True)
def measure_centers(centers: Centers, largest_norm: float) -> None:
    """Compute the squared lengths and the half distances of the centers, and the rounding error of a tile.

    A squared distance |x|² + |c|² - 2xc has an error of at most about (d + 3) eps (|x| + |c|)².
    """
    k, d = centers.c.shape
    for a in range(k):
        total = 0.0
        for j in range(d):
            total += centers.c[a, j] ** 2
        centers.norms[a] = total
        largest_norm = max(largest_norm, total)
    centers.extremes[2] = 4 * (d + 4) * EPSILON * largest_norm
    for a in range(k):
        centers.halves[a] = np.inf
        for b in range(a):
            half = 0.5 * np.sqrt(squared_distance(centers.c[a], centers.c[b])) * (1.0 - (d + 4) * EPSILON)
            centers.halves[a] = min(centers.halves[a], half)
            centers.halves[b] = min(centers.halves[b], half)
