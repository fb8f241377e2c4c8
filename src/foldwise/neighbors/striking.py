"""Neighbours among some rows, from lists of neighbours among all of them: the other rows are struck out."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.folds.nearest.lists import NeighborLists
from foldwise.neighbors.votes import Floats, Neighbours


def strike_out(
    found: NeighborLists, rows: NDArray[np.intp], position: NDArray[np.int32], k: int
) -> tuple[Neighbours, NDArray[np.intp]]:
    """The k nearest of those with a position, as positions; and which rows have lists that do not say so much.

    `position` of every row of the table is its place in the training set, or -1. Order is by (distance, position).
    """
    shape = (len(rows), k)
    kept = Neighbours(np.empty(shape), np.empty(shape, dtype=np.int64))
    short = np.empty(len(rows), dtype=np.bool_)
    at = found.at[rows]
    take(found.places, found.distances, at, position, found.whole, kept.distances, kept.places, short)
    return kept, np.flatnonzero(short)


@njit(nogil=True, cache=True)
def take(
    near: NDArray[np.int32],  # (lists, depth)
    far: Floats,  # (lists, depth)
    at: NDArray[np.int64],
    position: NDArray[np.int32],
    whole: bool,
    distances: Floats,  # (rows, k)
    places: NDArray[np.int64],  # (rows, k)
    short: NDArray[np.bool_],
) -> None:
    """Walks each list until the k-th distance is passed: rows that tie for the last place may stand in any order."""
    depth, k = near.shape[1], distances.shape[1]
    d, p = np.empty(depth), np.empty(depth, dtype=np.int64)
    for row in range(at.size):
        i, n, passed = at[row], 0, whole
        for j in range(depth):
            if n >= k and far[i, j] > d[k - 1]:
                passed = True
                break
            place = position[near[i, j]]
            if place >= 0:
                t = n
                while t > 0 and d[t - 1] == far[i, j] and p[t - 1] > place:
                    d[t], p[t] = d[t - 1], p[t - 1]
                    t -= 1
                d[t], p[t] = far[i, j], place
                n += 1
        short[row] = n < k or not passed
        for j in range(min(n, k)):
            distances[row, j], places[row, j] = d[j], p[j]
