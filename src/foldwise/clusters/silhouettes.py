"""Silhouettes of many clusterings of the same rows, from one blocked pass over the distances.

Rows with the same labels in all clusterings form a cell. One pass over the distances sums them by cell, and a small
matrix product adds cells to clusters of every clustering. No n × n matrix is made.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.clusters.assignment import REORDER, TILE, ClusterLabels
from foldwise.clusters.seeding import blocks_of, distances_to_trials
from foldwise.summaries.passes import windows

QUERIES = 4  # rows whose distances to a block are computed together
CHUNK = 512  # rows whose sums by cell are kept at a time
MEMORY = 1 << 22  # sums by cell that a thread keeps at a time


@njit(nogil=True, fastmath=REORDER)
def total(values: Floats) -> float:
    """Sum values."""
    found = 0.0
    for i in range(values.size):
        found += values[i]
    return found


@njit(nogil=True, cache=True)
def distances_by_cell(x: Floats, blocks: Floats, ends: Ints, start: int, stop: int, sums: Floats) -> None:
    """Sum the distances of the rows start..stop to all rows of each cell, in `sums` (stop - start, n_cells).

    Rows are sorted by cell, and `ends` says where each cell ends.
    """
    n, d = x.shape
    q, out = np.empty((QUERIES, d)), np.empty(QUERIES * TILE)
    for i in range(sums.shape[0]):
        for cell in range(sums.shape[1]):
            sums[i, cell] = 0.0
    for first in range(start, stop, QUERIES):
        for t in range(QUERIES):
            for j in range(d):
                q[t, j] = x[min(first + t, stop - 1), j]
        cell = 0
        for b in range(blocks.shape[0]):
            distances_to_trials(blocks[b], d, q, out)
            for i in range(QUERIES * TILE):
                out[i] = np.sqrt(out[i])
            i, last = b * TILE, min((b + 1) * TILE, n)
            while i < last:
                end = min(ends[cell], last)
                for t in range(min(QUERIES, stop - first)):
                    part = out[t * TILE + i - b * TILE : t * TILE + end - b * TILE]
                    sums[first - start + t, cell] += total(part)
                i = end
                if i == ends[cell]:
                    cell += 1


@njit(nogil=True, cache=True)
def silhouettes_of(sums: Floats, labels: ClusterLabels, sizes: Ints) -> Floats:  # (m, k), (m,), (k,) -> (m,)
    """Return (b - a) / max(a, b) from the sums of distances to each cluster; 0 for a cluster of one row."""
    m, k = sums.shape
    found = np.zeros(m)
    for i in range(m):
        own = labels[i]
        if sizes[own] <= 1:
            continue
        inside, other = sums[i, own] / (sizes[own] - 1), np.inf
        for c in range(k):
            if c != own and sizes[c] > 0:
                other = min(other, sums[i, c] / sizes[c])
        greater = max(inside, other)
        if greater > 0.0 and other < np.inf:
            found[i] = (other - inside) / greater
    return found


def mean_silhouettes(x: Floats, labels: ClusterLabels, ks: Ints, n_threads: int) -> Floats:
    """Return the mean silhouette (n_ks,) of each clustering (n_ks, n)."""
    n = len(x)
    order = np.lexsort(labels)
    x, labels = np.ascontiguousarray(x[order]), np.ascontiguousarray(labels[:, order])
    changes = np.flatnonzero((labels[:, 1:] != labels[:, :-1]).any(axis=0)) + 1
    starts, ends = np.r_[0, changes], np.r_[changes, n].astype(np.int64)
    sizes = [np.bincount(one, minlength=k) for one, k in zip(labels, ks, strict=True)]
    firsts = np.r_[0, np.cumsum(ks)]
    members = np.zeros((len(ends), firsts[-1]))  # which cluster of each clustering a cell belongs to
    for t, first in enumerate(firsts[:-1]):
        members[np.arange(len(ends)), first + labels[t, starts]] = 1.0
    blocks, rows = blocks_of(x), max(QUERIES, min(CHUNK, MEMORY // len(ends)))

    def part(bounds: tuple[int, int]) -> Floats:
        totals = np.zeros(len(ks))
        for a, b in windows(*bounds, rows):
            sums = np.empty((b - a, len(ends)))
            distances_by_cell(x, blocks, ends, a, b, sums)
            by_cluster = sums @ members
            for t, (first, last) in enumerate(pairwise(firsts)):
                found = silhouettes_of(np.ascontiguousarray(by_cluster[:, first:last]), labels[t, a:b], sizes[t])
                totals[t] += found.sum()
        return totals

    chunks = list(pairwise(n * t // n_threads for t in range(n_threads + 1)))
    with ThreadPoolExecutor(n_threads) as pool:
        return np.asarray(sum(pool.map(part, chunks)) / n)
