"""How much two labelings of the same rows agree: in all (Hubert and Arabie 1985) and for each cluster."""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwise.arrays import Floats
from foldwise.clusters.assignment import ClusterLabels


@njit(nogil=True, cache=True)
def sums_of(table: Floats) -> tuple[Floats, Floats]:
    """Sum the rows and the columns of a table; numba compiles loops sooner than sums along an axis."""
    rows, columns = np.zeros(table.shape[0]), np.zeros(table.shape[1])
    for c in range(table.shape[0]):
        for e in range(table.shape[1]):
            rows[c] += table[c, e]
            columns[e] += table[c, e]
    return rows, columns


@njit(nogil=True, cache=True)
def adjusted_rand(a: ClusterLabels, b: ClusterLabels, k_a: int, k_b: int) -> float:
    """Return the adjusted Rand index of labels 0..k_a-1 and 0..k_b-1: 1 if equal, 0 on average if unrelated."""
    table = np.zeros((k_a, k_b))
    for i in range(a.size):
        table[a[i], b[i]] += 1.0
    rows, columns = sums_of(table)
    both = first = second = 0.0
    for c in range(k_a):
        first += rows[c] * (rows[c] - 1.0)
        for e in range(k_b):
            both += table[c, e] * (table[c, e] - 1.0)
    for e in range(k_b):
        second += columns[e] * (columns[e] - 1.0)
    n = float(a.size)
    expected = first * second / (n * (n - 1.0)) if n > 1.0 else 0.0
    most = 0.5 * (first + second)
    return 1.0 if most == expected else (both - expected) / (most - expected)


@njit(nogil=True, cache=True)
def jaccard_by_cluster(a: ClusterLabels, b: ClusterLabels, k_a: int, k_b: int) -> Floats:  # (k_a,)
    """Return for each cluster of `a` the Jaccard index with the most similar cluster of `b` (Hennig 2007)."""
    table = np.zeros((k_a, k_b))
    for i in range(a.size):
        table[a[i], b[i]] += 1.0
    rows, columns = sums_of(table)
    best = np.zeros(k_a)
    for c in range(k_a):
        for e in range(k_b):
            union = rows[c] + columns[e] - table[c, e]
            if union > 0.0:
                best[c] = max(best[c], table[c, e] / union)
    return best
