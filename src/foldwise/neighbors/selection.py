"""Compiled choice of the nearest rows: block after block, and what cannot be among them is passed over.

Rows are ordered by (distance, place). Places rise from block to block, so once k rows are held a row must be
strictly nearer than the k-th to enter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.neighbors.kernels import (
    BLOCK,
    PANEL,
    RATIO,
    TILE,
    Asked,
    Blocks,
    Floats,
    Ints,
    Law,
    add_codes,
    bound_of,
    distance_of,
    fill_look_up,
    sum_numbers,
    whole_tiles,
)

STRIP = 64  # sums held against the bound at once
GUESSES = 20  # at a distance that about k rows do not exceed
SHORT = 12  # rows that are sorted by insertion


@njit(nogil=True)
def precedes(a: float, i: int, b: float, j: int) -> bool:
    """Whether distance `a` at place `i` comes before distance `b` at place `j`."""
    return a < b or (a == b and i < j)


@njit(nogil=True)
def keep_least(distances: Floats, places: Ints, n: int, k: int) -> None:
    """Moves the `k` first of the `n` rows to the front, in any order (Hoare's selection)."""
    low, high = 0, n - 1
    while low < high:
        middle = (low + high) // 2
        # the median of three in the middle: rows that come sorted are common
        if precedes(distances[middle], places[middle], distances[low], places[low]):
            swap(distances, places, low, middle)
        if precedes(distances[high], places[high], distances[low], places[low]):
            swap(distances, places, low, high)
        if precedes(distances[high], places[high], distances[middle], places[middle]):
            swap(distances, places, middle, high)
        pivot, pivot_place = distances[middle], places[middle]
        i, j = low, high
        while i <= j:
            while precedes(distances[i], places[i], pivot, pivot_place):
                i += 1
            while precedes(pivot, pivot_place, distances[j], places[j]):
                j -= 1
            if i <= j:
                swap(distances, places, i, j)
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            return


@njit(nogil=True)
def swap(distances: Floats, places: Ints, i: int, j: int) -> None:
    distances[i], distances[j] = distances[j], distances[i]
    places[i], places[j] = places[j], places[i]


@njit(nogil=True)
def sort_rows(distances: Floats, places: Ints, spare_distances: Floats, spare_places: Ints) -> None:
    """Sorts by (distance, place): short runs by insertion, then merged; the spare arrays are as long."""
    n = distances.size
    for first in range(0, n, SHORT):
        for i in range(first + 1, min(first + SHORT, n)):
            d, place = distances[i], places[i]
            j = i - 1
            while j >= first and precedes(d, place, distances[j], places[j]):
                distances[j + 1], places[j + 1] = distances[j], places[j]
                j -= 1
            distances[j + 1], places[j + 1] = d, place
    width = SHORT
    while width < n:
        for first in range(0, n, 2 * width):
            middle, last = min(first + width, n), min(first + 2 * width, n)
            i, j = first, middle
            for t in range(first, last):
                if j >= last or (i < middle and precedes(distances[i], places[i], distances[j], places[j])):
                    spare_distances[t], spare_places[t] = distances[i], places[i]
                    i += 1
                else:
                    spare_distances[t], spare_places[t] = distances[j], places[j]
                    j += 1
        for t in range(n):
            distances[t], places[t] = spare_distances[t], spare_places[t]
        width *= 2


@njit(nogil=True)
def greatest(values: Floats, n: int) -> float:
    """The greatest of the `n` first."""
    out = values[0]
    for i in range(1, n):
        out = max(out, values[i])
    return float(out)


@njit(nogil=True)
def mark_hits(is_ratio: bool, sums: Floats, weights: Floats, bound: float, n_rows: int, hits: Ints) -> int:
    """Which of the `n_rows` sums are within the bound, in `hits`, and how many; a strip at a time, without a branch.

    An infinite bound of no weight holds nothing off.
    """
    n_hits = 0
    for strip in range(BLOCK // STRIP):  # constants, so that no index can be below 0 and the loops vectorise
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


@njit(nogil=True, cache=True)
def shrink(distances: Floats, places: Ints, n: int, k: int, limit: float) -> tuple[int, float]:
    """Lets go of rows that are not among the `k` first; how many are still held, and what others must stay below.

    A few guesses at a distance that about k rows do not exceed are cheaper than the exact one; where rows tie so
    that no guess lets enough go, the exact one follows.
    """
    low, high = 0.0, limit if limit < np.inf else greatest(distances, n)
    most = k + (n - k) // 4
    for _ in range(GUESSES):
        guess = 0.5 * (low + high)
        n_below = 0
        for i in range(n):
            n_below += distances[i] <= guess
        if n_below < k:
            low = guess
        elif n_below > most:
            high = guess
        else:
            n_kept = 0
            for i in range(n):
                d, place = distances[i], places[i]
                distances[n_kept], places[n_kept] = d, place
                n_kept += d <= guess
            return n_kept, guess
    keep_least(distances, places, n, k)
    return k, greatest(distances, k)


@njit(nogil=True, cache=True)
def find_nearest(law: Law, blocks: Blocks, asked: Asked, distances: Floats, places: Ints) -> None:
    """`distances` and `places` (m, k) of the k first rows for each query; places stay -1 where there are none."""
    m, k = distances.shape
    room = k + max(k, 64)  # rows are gathered until the room is full, then all but k go
    held_distances, held_places = np.empty((m, room)), np.empty((m, room), dtype=np.int64)
    n_held = np.zeros(m, dtype=np.int64)
    limits, bounds = np.empty(m), np.empty(m)
    limits[:], bounds[:] = np.inf, np.inf
    queries = whole_tiles(asked.numbers)
    is_wide = law.factors.size > PANEL
    all_sums, weights = np.empty((queries.shape[0] if is_wide else TILE) * BLOCK), np.empty(TILE * BLOCK)
    hits = np.empty(BLOCK + 1, dtype=np.int64)
    look_ups = np.empty((m, law.slot_weights.size))
    if asked.slots.shape[1]:
        for i in range(m):
            fill_look_up(law, asked.slots[i], look_ups[i])
    is_ratio = law.form == RATIO

    for b in range(blocks.gaps.shape[0]):
        start = blocks.start + b * BLOCK
        n_rows = min(BLOCK, blocks.stop - start)
        if is_wide:
            sum_numbers(law, queries, blocks.numbers[b], all_sums)
        for first in range(0, m, TILE):
            n = min(TILE, m - first)
            sums = all_sums[first * BLOCK : (first + TILE) * BLOCK] if is_wide else all_sums
            if not is_wide:
                sum_numbers(law, queries[first : first + TILE], blocks.numbers[b], sums)
            add_codes(law, blocks, b, asked, first, n, look_ups[first:], sums, weights)
            for t in range(n):
                query = first + t
                left_out, held = asked.leave_out[query], n_held[query]
                limit, bound = limits[query], bounds[query]
                s, w = sums[t * BLOCK : (t + 1) * BLOCK], weights[t * BLOCK : (t + 1) * BLOCK]
                hd, hp = held_distances[query], held_places[query]
                for h in range(mark_hits(is_ratio, s, w, bound, n_rows, hits)):
                    i = hits[h]
                    d = distance_of(law, s[i], w[i])
                    if (d < limit or held < k) and start + i != left_out:
                        hd[held], hp[held] = d, start + i
                        held += 1
                        if held == room:
                            held, limit = shrink(hd, hp, held, k, limit)
                            bound = bound_of(law, limit)
                n_held[query], limits[query], bounds[query] = held, limit, bound

    spare_distances, spare_places = np.empty(k), np.empty(k, dtype=np.int64)
    for query in range(m):
        held = n_held[query]
        if held > k:
            keep_least(held_distances[query], held_places[query], held, k)
            held = k
        for i in range(held):
            distances[query, i], places[query, i] = held_distances[query, i], held_places[query, i]
        sort_rows(distances[query, :held], places[query, :held], spare_distances, spare_places)


@njit(nogil=True, cache=True)
def find_within(law: Law, blocks: Blocks, asked: Asked, radius: float) -> tuple[Floats, Ints, Ints]:
    """Distances and places of all rows at most `radius` away, query after query, and where each query starts."""
    m = asked.leave_out.size
    queries = whole_tiles(asked.numbers)
    is_wide = law.factors.size > PANEL
    all_sums, weights = np.empty((queries.shape[0] if is_wide else TILE) * BLOCK), np.empty(TILE * BLOCK)
    hits = np.empty(BLOCK + 1, dtype=np.int64)
    look_ups = np.empty((m, law.slot_weights.size))
    if asked.slots.shape[1]:
        for i in range(m):
            fill_look_up(law, asked.slots[i], look_ups[i])
    is_ratio = law.form == RATIO
    bound = bound_of(law, radius)
    n_found, room = 0, 1024
    distances, places = np.empty(room), np.empty(room, dtype=np.int64)
    owners = np.empty(room, dtype=np.int64)
    starts = np.zeros(m + 1, dtype=np.int64)

    for b in range(blocks.gaps.shape[0]):
        start = blocks.start + b * BLOCK
        n_rows = min(BLOCK, blocks.stop - start)
        if is_wide:
            sum_numbers(law, queries, blocks.numbers[b], all_sums)
        for first in range(0, m, TILE):
            n = min(TILE, m - first)
            sums = all_sums[first * BLOCK : (first + TILE) * BLOCK] if is_wide else all_sums
            if not is_wide:
                sum_numbers(law, queries[first : first + TILE], blocks.numbers[b], sums)
            add_codes(law, blocks, b, asked, first, n, look_ups[first:], sums, weights)
            if n_found + n * BLOCK > room:
                room = 2 * room + n * BLOCK
                distances, places = longer(distances, room), longer(places, room)
                owners = longer(owners, room)
            for t in range(n):
                query = first + t
                s, w = sums[t * BLOCK : (t + 1) * BLOCK], weights[t * BLOCK : (t + 1) * BLOCK]
                for h in range(mark_hits(is_ratio, s, w, bound, n_rows, hits)):
                    place = start + hits[h]
                    d = distance_of(law, s[hits[h]], w[hits[h]])
                    if d <= radius and place != asked.leave_out[query]:
                        distances[n_found], places[n_found], owners[n_found] = d, place, query
                        n_found += 1
                        starts[query + 1] += 1

    for query in range(m):
        starts[query + 1] += starts[query]
    at = starts.copy()
    by_query, places_by_query = np.empty(n_found), np.empty(n_found, dtype=np.int64)
    for i in range(n_found):
        t = at[owners[i]]
        by_query[t], places_by_query[t] = distances[i], places[i]
        at[owners[i]] += 1
    for query in range(m):
        a, z = starts[query], starts[query + 1]
        sort_rows(by_query[a:z], places_by_query[a:z], distances[: z - a], places[: z - a])
    return by_query, places_by_query, starts


@njit(nogil=True)
def longer(values: NDArray[Any], size: int) -> NDArray[Any]:
    """The same values at the start of a longer array."""
    out = np.empty(size, dtype=values.dtype)
    for i in range(values.size):
        out[i] = values[i]
    return out
