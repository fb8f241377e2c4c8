"""Greedy k-means++: seeds that are far from each other, drawn at random (Arthur and Vassilvitskii 2007).

Each new seed is the best of a few rows drawn with probability proportional to weight times squared distance to the
nearest seed. With a fixed number of trials the first k seeds of a longer draw are a valid start for k clusters.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.clusters.assignment import REORDER, TILE

TRIALS = 4  # rows compared at a time


@njit(nogil=True, cache=True)
def blocks_of(x: Floats) -> Floats:  # (n, d) -> (n_blocks, d * TILE)
    """Store rows in blocks of TILE rows, column by column within a block; the last block is padded with zeros."""
    n, d = x.shape
    blocks = np.zeros((-(-n // TILE), d * TILE))
    for i in range(n):
        block, row = blocks[i // TILE], i % TILE
        for j in range(d):
            block[j * TILE + row] = x[i, j]
    return blocks


@njit(nogil=True, fastmath=REORDER)
def distances_to_trials(block: Floats, n_columns: int, trials: Floats, sums: Floats) -> None:
    """Compute the squared distances (TRIALS * TILE,) of a block to TRIALS rows, from differences."""
    for i in range(TRIALS * TILE):
        sums[i] = 0.0
    for j in range(n_columns):
        v = block[j * TILE : (j + 1) * TILE]
        a, b, c, e = trials[0, j], trials[1, j], trials[2, j], trials[3, j]
        for i in range(TILE):
            x = v[i]
            s, t, p, q = x - a, x - b, x - c, x - e
            sums[i] += s * s
            sums[i + TILE] += t * t
            sums[i + 2 * TILE] += p * p
            sums[i + 3 * TILE] += q * q


@njit(nogil=True, fastmath=REORDER)
def potential_part(closest: Floats, w: Floats, sums: Floats) -> float:
    """Sum weight times squared distance to the nearest seed, if a trial with squared distances `sums` is added."""
    total = 0.0
    for i in range(closest.size):
        total += w[i] * min(closest[i], sums[i])
    return total


@njit(nogil=True)
def draw_row(mass: Floats, closest: Floats, w: Floats, target: float) -> int:
    """Find the row at which the cumulated weight times squared distance passes `target`; `mass` has it per block."""
    b = 0
    while b < mass.size - 1 and target >= mass[b]:
        target -= mass[b]
        b += 1
    last = -1
    for i in range(b * TILE, min((b + 1) * TILE, w.size)):
        step = w[i] * closest[i]
        if step > 0.0:
            last = i
            if target < step:
                return i
        target -= step
    if last >= 0:
        return last
    farthest = 0  # only through rounding, or when every row equals a seed
    for i in range(w.size):
        if w[i] > 0.0 and (closest[i] > closest[farthest] or w[farthest] <= 0.0):
            farthest = i
    return farthest


@njit(nogil=True, cache=True)
def draw_seeds(x: Floats, w: Floats, blocks: Floats, uniforms: Floats, kept: Floats) -> Ints:
    """Draw the indices of k seeds, one per row of `uniforms` (k, n_trials), which are random numbers in [0, 1).

    Fills `kept` (k, n), if it has rows, with the squared distances of all rows to each seed.
    """
    n, d = x.shape
    k, n_trials = uniforms.shape
    rounds = -(-n_trials // TRIALS)
    closest, mass = np.ones(n), np.zeros(blocks.shape[0])
    for i in range(n):
        mass[i // TILE] += w[i]
    seeds = np.empty(k, dtype=np.int64)
    drawn = np.empty(rounds * TRIALS, dtype=np.int64)
    trials, sums = np.empty((TRIALS, d)), np.empty((rounds, TRIALS * TILE))
    potentials = np.empty(rounds * TRIALS)
    distances = np.empty((rounds * TRIALS, n))
    for s in range(k):
        total = 0.0
        for b in range(blocks.shape[0]):
            total += mass[b]
        n_drawn = n_trials if s else 1
        n_rounds = -(-n_drawn // TRIALS)
        for t in range(n_drawn):
            drawn[t] = draw_row(mass, closest, w, uniforms[s, t] * total)
        for t in range(n_drawn, drawn.size):
            drawn[t] = drawn[0]
        if s == 0:
            for i in range(n):
                closest[i] = np.inf
        for t in range(potentials.size):
            potentials[t] = 0.0
        for r in range(n_rounds):
            for t in range(TRIALS):
                for j in range(d):
                    trials[t, j] = x[drawn[r * TRIALS + t], j]
            for b in range(blocks.shape[0]):
                first, last = b * TILE, min((b + 1) * TILE, n)
                distances_to_trials(blocks[b], d, trials, sums[r])
                for t in range(min(TRIALS, n_drawn - r * TRIALS)):
                    part = sums[r, t * TILE : t * TILE + last - first]
                    for i in range(first, last):
                        distances[r * TRIALS + t, i] = part[i - first]
                    potentials[r * TRIALS + t] += potential_part(closest[first:last], w[first:last], part)
        best = 0
        for t in range(n_drawn):
            if potentials[t] < potentials[best]:
                best = t
        seeds[s] = drawn[best]
        if kept.shape[0]:
            for i in range(n):
                kept[s, i] = distances[best, i]
        for b in range(blocks.shape[0]):
            total = 0.0
            for i in range(b * TILE, min((b + 1) * TILE, n)):
                closest[i] = min(closest[i], distances[best, i])
                total += w[i] * closest[i]
            mass[b] = total
    return seeds


def n_trials(k: int) -> int:
    """Return the number of rows that compete for each seed: 2 + ⌊ln k⌋, as in scikit-learn."""
    return 2 + int(np.log(k))
