"""Means of the neighbors' values for all numbers of neighbors, in one pass along the list of each row."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.adapters.nearest.members import Int32s, Members, Ties
from foldwise.adapters.nearest.votes import FINE, off_share, zeros_of
from foldwise.arrays import Floats, Ints


def means(
    members: Members, ties: Ties, y: Floats, weighted: bool, off: Floats, slack: tuple[float, bool], scale: float
) -> tuple[Floats, NDArray[np.bool_]]:  # (ks, rows) each
    """Means, with or without weights 1/d, and whether they depend on a tie or on rounding.

    `y` has one value per row of the table; `scale` is the standard deviation of the training values.
    """
    found = np.zeros((len(ties.ks), len(members.count)))
    unsure = np.zeros(found.shape, dtype=np.bool_)
    lists = members.indices, members.distances, members.count
    take_means(*lists, ties.ks, ties.low, ties.high, y, weighted, off, *slack, scale, found, unsure)
    return found, unsure


@njit(nogil=True, cache=True)
def take_means(
    indices: Int32s,
    distances: Floats,
    count: Int32s,
    ks: Ints,
    low: Int32s,
    high: Int32s,
    y: Floats,
    weighted: bool,
    off: Floats,
    share: float,
    squared: bool,
    scale: float,
    found: Floats,
    unsure: NDArray[np.bool_],
) -> None:
    for row in range(count.size):
        d, n = distances[row], count[row]
        zeros = zeros_of(d, n, off[row]) if weighted else 0
        by_distance = weighted and zeros == 0
        done, total, weights, moment, spread = 0, 0.0, 0.0, 0.0, 0.0
        for i in range(ks.size):
            a, b, k = low[row, i], high[row, i], ks[i]
            if n < k or zeros < 0:
                unsure[i, row] = True
                continue
            while done < k:
                value, weight = y[indices[row, done]], 1.0
                if by_distance:
                    weight = 1.0 / d[done]
                    doubt = off_share(d[done], off[row], share, squared) * weight
                    moment += doubt * abs(value)
                    spread += doubt
                elif zeros > 0 and done >= zeros:
                    weight = 0.0
                total += weight * value
                weights += weight
                done += 1
            mean = total / weights
            found[i, row] = mean
            fine = FINE * max(abs(mean), scale)
            # a relative error u of a weight moves the mean by u·w·|y - mean| / Σw
            if by_distance and not (moment + spread * abs(mean)) / weights <= fine:
                unsure[i, row] = True
            if a == k or (zeros > 0 and a >= zeros):
                continue
            if b < 0 or (zeros > 0 and b > zeros):
                unsure[i, row] = True
                continue
            first = y[indices[row, a]]
            for j in range(a + 1, b):
                if y[indices[row, j]] != first:
                    unsure[i, row] = True
                    break
            if by_distance:
                loose = (d[b - 1] - d[a]) / d[a] * (k - a) / d[a] / weights
                if not loose * (abs(first) + abs(mean)) <= fine:
                    unsure[i, row] = True
