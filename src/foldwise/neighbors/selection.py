"""Compiled selection of the nearest rows, block by block, skipping rows that cannot be among them.

Rows are ordered by (distance, index). Indices increase from block to block: once k rows are held, a new row must be
strictly nearer than the k-th, and held rows stay in the order of their indices until they are sorted.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.neighbors.kernels import (
    BLOCK,
    RATIO,
    TILE,
    CompiledDistance,
    Queries,
    TrainingBlocks,
    bound_of,
    distance_of,
    sum_pair,
    tile_sums,
    workspace,
)

STRIP = 64  # sums that are compared with the bound together
GUESSES = 20  # bisection steps for a distance that about k rows do not exceed


@njit(nogil=True)
def mark_hits(is_ratio: bool, sums: Floats, weights: Floats, bound: float, n_rows: int, hits: Ints) -> int:
    """Write the indices of the sums within the bound to `hits` and return their number; one strip at a time.

    An infinite bound times a weight of 0 is NaN, which excludes no row.
    """
    n_hits = 0
    for strip in range(BLOCK // STRIP):  # constants, so that the compiler rules out negative indices and vectorizes
        n_here = 0
        if is_ratio:
            for i in range(STRIP):
                n_here += not sums[strip * STRIP + i] > bound * weights[strip * STRIP + i]
        else:
            for i in range(STRIP):
                n_here += sums[strip * STRIP + i] <= bound
        if n_here:
            for i in range(strip * STRIP, min((strip + 1) * STRIP, n_rows)):
                hits[n_hits] = i
                n_hits += not sums[i] > bound * weights[i] if is_ratio else sums[i] <= bound
    return n_hits


@njit(nogil=True)
def keep_nearest(distances: Floats, indices: Ints, n: int, k: int, most: int, limit: float) -> tuple[int, float]:
    """Keep at least the `k` and at most the `most` nearest of `n` rows, in order; return their number and a limit.

    No distance that is kept exceeds the limit. Bisection for such a limit is cheaper than an exact selection, which is
    needed only if rows tie. No distance is greater than `limit` at the start.
    """
    low, high = 0.0, limit
    if limit == np.inf:
        high = 0.0
        for i in range(n):
            high = max(high, distances[i])
    for _ in range(GUESSES):
        limit = 0.5 * (low + high)
        n_below = 0
        for i in range(n):
            n_below += distances[i] <= limit
        if n_below < k:
            low = limit
        elif n_below > most:
            high = limit
        else:
            n_below = 0
            for i in range(n):
                d = distances[i]
                distances[n_below], indices[n_below] = d, indices[i]
                n_below += d <= limit
            return n_below, limit
    limit = distances[np.argsort(distances[:n], kind="mergesort")[k - 1]]
    n_below = kept = 0
    for i in range(n):
        n_below += distances[i] < limit
    for i in range(n):
        d = distances[i]
        if d <= limit and (d < limit or n_below < k):
            n_below += d == limit  # of the rows at the limit, the first ones stay
            distances[kept], indices[kept] = d, indices[i]
            kept += 1
    return k, limit


@njit(nogil=True, cache=True)
def find_nearest(
    dist: CompiledDistance, blocks: TrainingBlocks, queries: Queries, distances: Floats, indices: Ints
) -> None:
    """Fill `distances` and `indices` (m, k) with the k nearest rows of each query; unused indices stay -1."""
    m, k = distances.shape
    room = k + max(k, 64)  # rows are collected until this many are held, then about the k nearest stay
    held_distances, held_indices = np.empty((m, room)), np.empty((m, room), dtype=np.int64)
    n_held = np.zeros(m, dtype=np.int64)
    limits, bounds = np.empty(m), np.empty(m)
    for query in range(m):
        limits[query] = bounds[query] = np.inf
    work = workspace(dist, queries)
    hits = np.empty(BLOCK + 1, dtype=np.int64)

    for b in range(blocks.gaps.shape[0]):
        start = blocks.start + b * BLOCK
        n_rows = min(BLOCK, blocks.stop - start)
        for first in range(0, m, TILE):
            sums = tile_sums(dist, blocks, b, queries, first, work)
            for t in range(min(TILE, m - first)):
                query = first + t
                left_out, held = queries.leave_out[query], n_held[query]
                limit, bound = limits[query], bounds[query]
                s, w = sums[t * BLOCK : (t + 1) * BLOCK], work.weights[t * BLOCK : (t + 1) * BLOCK]
                hd, hi = held_distances[query], held_indices[query]
                for h in range(mark_hits(dist.form == RATIO, s, w, bound, n_rows, hits)):
                    i = hits[h]
                    d = distance_of(dist, s[i], w[i])
                    if (d < limit or held < k) and start + i != left_out:
                        hd[held], hi[held] = d, start + i
                        held += 1
                        if held == room:
                            held, limit = keep_nearest(hd, hi, held, k, k + (held - k) // 4, limit)
                            bound = bound_of(dist, limit)
                n_held[query], limits[query], bounds[query] = held, limit, bound

    for query in range(m):
        held = n_held[query]
        if held > k:
            held, _ = keep_nearest(held_distances[query], held_indices[query], held, k, k, limits[query])
        order = np.argsort(held_distances[query, :held], kind="mergesort")  # stable
        for i in range(held):
            distances[query, i] = held_distances[query, order[i]]
            indices[query, i] = held_indices[query, order[i]]


@njit(nogil=True, cache=True)
def measure_all(dist: CompiledDistance, blocks: TrainingBlocks, queries: Queries) -> Floats:
    """Compute the distances (m, n) of queries to all training rows."""
    m = queries.leave_out.size
    out = np.empty((m, blocks.stop - blocks.start))
    work = workspace(dist, queries)
    for b in range(blocks.gaps.shape[0]):
        n_rows = min(BLOCK, out.shape[1] - b * BLOCK)
        for first in range(0, m, TILE):
            sums = tile_sums(dist, blocks, b, queries, first, work)
            for t in range(min(TILE, m - first)):
                for i in range(n_rows):
                    total, weight = sums[t * BLOCK + i], work.weights[t * BLOCK + i]
                    out[first + t, b * BLOCK + i] = distance_of(dist, total, weight)
    return out


@njit(nogil=True, cache=True)
def sort_candidates(dist: CompiledDistance, queries: Queries, numbers: Floats, candidates: Ints) -> Floats:
    """Sort the candidates (m, c) of each query by (distance, index), in place, and return their distances.

    A row that must not be found is at an infinite distance.
    """
    m, n_candidates = candidates.shape
    out = np.empty((m, n_candidates))
    for query in range(m):
        near, at = out[query], candidates[query]
        for c in range(n_candidates):
            row, d = at[c], np.inf
            if row != queries.leave_out[query]:
                d = distance_of(dist, sum_pair(dist, queries.numbers[query], numbers[row]), 0.0)
            j = c
            while j > 0 and (near[j - 1] > d or (near[j - 1] == d and at[j - 1] > row)):
                near[j], at[j] = near[j - 1], at[j - 1]
                j -= 1
            near[j], at[j] = d, row
    return out
