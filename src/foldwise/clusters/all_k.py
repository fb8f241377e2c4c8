"""The clusterings of one table for many numbers of clusters at once, from shared seeds.

One draw of seeds serves every k: its first k seeds are a valid start. The distances of all rows to the seeds are
computed while they are drawn, so the first assignment for each k is an update of the one before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.clusters.assignment import ClusteredRows, ClusterLabels
from foldwise.clusters.lloyd import new_bounds, rows_of, run_lloyd
from foldwise.clusters.seeding import blocks_of, draw_seeds, n_trials

MAX_ITER = 300


class Clusterings(NamedTuple):
    """The best clustering for each k."""

    labels: ClusterLabels  # (n_ks, n)
    centers: Floats  # (n_ks, largest k, d)
    inertias: Floats  # (n_ks, n_restarts): of every restart


@njit(nogil=True, cache=True)
def cluster_from_seeds(
    rows: ClusteredRows, blocks: Floats, uniforms: Floats, ks: Ints, max_iter: int, tol: float, found: Clusterings
) -> None:
    """Run Lloyd's algorithm for each k from every draw of seeds, and keep the best run of each k in `found`."""
    n, d = rows.x.shape
    n_restarts, k_max = uniforms.shape[0], uniforms.shape[1]
    squares = np.empty((k_max, n))
    bounds = new_bounds(n)
    near, far = np.empty(n), np.empty(n)
    first = np.empty(n, dtype=np.int32)
    slack = (d + 4) * 2.0**-52
    for r in range(n_restarts):
        seeds = draw_seeds(rows.x, rows.w, blocks, uniforms[r], squares)
        for i in range(n):
            near[i] = far[i] = np.inf
        used = 0
        for t in range(ks.size):
            k = ks[t]
            for s in range(used, k):
                for i in range(n):
                    square = squares[s, i]
                    nearer = square < near[i]
                    far[i] = near[i] if nearer else min(far[i], square)
                    near[i] = square if nearer else near[i]
                    first[i] = s if nearer else first[i]
            used = k
            for i in range(n):
                bounds.labels[i] = first[i]
                bounds.upper[i] = np.sqrt(near[i]) * (1.0 + slack)
                bounds.lower[i] = np.sqrt(far[i]) * (1.0 - slack)
            start = np.empty((k, d))
            for s in range(k):
                for j in range(d):
                    start[s, j] = rows.x[seeds[s], j]
            centers, inertia, _ = run_lloyd(rows, bounds, start, max_iter, tol)
            found.inertias[t, r] = inertia
            is_best = True
            for other in range(r):
                is_best &= inertia < found.inertias[t, other]
            if is_best:
                for i in range(n):
                    found.labels[t, i] = bounds.labels[i]
                for s in range(k):
                    for j in range(d):
                        found.centers[t, s, j] = centers[s, j]


def new_clusterings(x: Floats, ks: Ints, restarts: int) -> Clusterings:
    """Make room for the best clusterings."""
    n, d = x.shape
    return Clusterings(
        np.zeros((len(ks), n), dtype=np.int32), np.zeros((len(ks), int(ks[-1]), d)), np.empty((len(ks), restarts))
    )


def cluster_all(x: Floats, w: Floats, ks: Ints, restarts: int, tol: float, rng: np.random.Generator) -> Clusterings:
    """Cluster one table for each of the ascending numbers of clusters `ks`. The columns of `x` should have mean 0.

    `tol` is relative to the mean variance of the columns, as in `KMeans`.
    """
    k_max, found = int(ks[-1]), new_clusterings(x, ks, restarts)
    total = w.sum()
    mean = w @ x / total
    variance = float(np.mean(w @ (x * x) / total - mean * mean))
    uniforms = rng.random((restarts, k_max, n_trials(k_max)))
    cluster_from_seeds(rows_of(x, w), blocks_of(x), uniforms, ks, MAX_ITER, tol * variance, found)
    return found
