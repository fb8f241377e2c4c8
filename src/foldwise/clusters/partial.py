"""k-means with missing cells by partial distances: only the cells of a row that are present are compared.

The squared distance is the sum over the present cells, scaled by columns / present cells. A center is the mean that
minimizes these distances, so every iteration lowers the inertia. Bounds are not used here: all distances are computed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwise.arrays import Floats
from foldwise.clusters.assignment import ClusterLabels


@njit(nogil=True)
def partial_square(a: Floats, b: Floats) -> float:
    """Sum the squared differences over the cells that `a` has, scaled to all columns. `b` has every cell."""
    total, present = 0.0, 0
    for j in range(a.size):
        t = a[j] - b[j]
        if t == t:
            total += t * t
            present += 1
    return total * a.size / present


@njit(nogil=True, cache=True)
def partial_distances(x: Floats, centers: Floats) -> Floats:  # (n, k)
    """Return the distance of each row to each center."""
    out = np.empty((x.shape[0], centers.shape[0]))
    for i in range(x.shape[0]):
        for c in range(centers.shape[0]):
            out[i, c] = np.sqrt(partial_square(x[i], centers[c]))
    return out


@njit(nogil=True, cache=True)
def nearest_partial(x: Floats, w: Floats, centers: Floats, labels: ClusterLabels, squares: Floats) -> float:
    """Set labels and squared distances to the nearest centers; returns the inertia."""
    inertia = 0.0
    for i in range(x.shape[0]):
        best, label = np.inf, 0
        for c in range(centers.shape[0]):
            square = partial_square(x[i], centers[c])
            if square < best:
                best, label = square, c
        labels[i] = label
        squares[i] = best
        inertia += w[i] * best
    return inertia


@njit(nogil=True, cache=True)
def partial_means(x: Floats, w: Floats, labels: ClusterLabels, squares: Floats, centers: Floats) -> None:
    """Move each center to the means of the present cells; a row counts by weight · columns / present cells.

    A cell that no row of the cluster has keeps its value. An empty cluster moves to the row farthest from its center.
    """
    k, d = centers.shape
    sums, weights = np.zeros((k, d)), np.zeros((k, d))
    counts = np.zeros(k, dtype=np.int64)
    far = squares.copy()
    for i in range(x.shape[0]):
        if w[i] == 0.0:
            far[i] = -1.0
            continue
        c, present = labels[i], 0
        counts[c] += 1
        for j in range(d):
            present += x[i, j] == x[i, j]
        v = w[i] * d / present
        for j in range(d):
            if x[i, j] == x[i, j]:
                sums[c, j] += v * x[i, j]
                weights[c, j] += v
    for c in range(k):
        i = int(np.argmax(far))
        if counts[c] == 0 and far[i] > 0.0:
            for j in range(d):
                if x[i, j] == x[i, j]:
                    centers[c, j] = x[i, j]
            far[i] = -1.0
            continue
        for j in range(d):
            if weights[c, j] > 0.0:
                centers[c, j] = sums[c, j] / weights[c, j]


@njit(nogil=True, cache=True)
def run_partial(
    x: Floats, w: Floats, start: Floats, max_iter: int, tol: float, labels: ClusterLabels
) -> tuple[Floats, float, int]:
    """Run Lloyd's algorithm on partial distances; sets `labels`, returns centers, inertia and iterations."""
    centers, squares = start.copy(), np.empty(x.shape[0])
    before = np.full(x.shape[0], -1, dtype=np.int32)
    n_iter = 0
    for step in range(max_iter):
        n_iter = step + 1
        old = centers.copy()
        nearest_partial(x, w, centers, labels, squares)
        partial_means(x, w, labels, squares, centers)
        if np.array_equal(labels, before) or ((centers - old) ** 2).sum() <= tol:
            break
        before[:] = labels
    inertia = nearest_partial(x, w, centers, labels, squares)
    return centers, inertia, n_iter
