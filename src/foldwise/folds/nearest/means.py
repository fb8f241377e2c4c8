"""Means of the neighbours' values for all numbers of neighbours, in the very order in which numpy adds them."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.folds.nearest.members import Floats, Ints, Members, Places, Ties
from foldwise.folds.nearest.votes import off_share, zeros_of
from foldwise.folds.sums.summation import HALVED, sum_rows

TOLERANCE = 1e-11  # what rounding of distances may move a mean by, times max(1, |mean|)


def means(
    members: Members, ties: Ties, y: Floats, weighted: bool, off: Floats, slack: tuple[float, bool, bool]
) -> tuple[Floats, NDArray[np.bool_]]:  # (ks, rows) each
    """Means, weighted by 1/d if asked, and whether they depend on a tie or on rounding. `y` by row of the table."""
    found = np.zeros((len(ties.ks), len(members.count)))
    unsure = np.zeros(found.shape, dtype=np.bool_)
    share, squared, _ = slack
    take_means(
        members.places,
        members.distances,
        members.count,
        ties.ks,
        ties.low,
        ties.high,
        y,
        weighted,
        off,
        share,
        squared,
        found,
        unsure,
    )
    return found, unsure


@njit(nogil=True, cache=True)
def prefix_sum(terms: Floats, k: int, strands: Floats, full: int) -> float:
    """Σ of the first k terms as `np.sum` adds them; `strands` holds those of the first `full` = k - k % 8 terms."""
    total = 0.0
    done = 0
    if k >= 8:
        low = (strands[0] + strands[1]) + (strands[2] + strands[3])
        total = low + ((strands[4] + strands[5]) + (strands[6] + strands[7]))
        done = full
    for j in range(done, k):
        total += terms[j]
    return total


@njit(nogil=True, cache=True)
def sums_at(terms: Floats, ks: Ints, n: int, sums: Floats) -> None:
    """The sum of the first k terms for each k that is no more than n."""
    strands = np.zeros(8)
    room, total = np.empty((8, 1)), np.empty(1)
    columns = terms.reshape(-1, 1)
    full = 0
    for i in range(ks.size):
        k = ks[i]
        if k > n:
            return
        if k > HALVED:
            sum_rows(columns, 0, k, room, total)
            sums[i] = total[0]
            continue
        while full + 8 <= k:
            for j in range(8):
                strands[j] = terms[full + j] if full == 0 else strands[j] + terms[full + j]
            full += 8
        sums[i] = prefix_sum(terms, k, strands, full)


@njit(nogil=True, cache=True)
def take_means(
    places: Places,
    distances: Floats,
    count: Places,
    ks: Ints,
    low: Places,
    high: Places,
    y: Floats,
    weighted: bool,
    off: Floats,
    share: float,
    squared: bool,
    found: Floats,
    unsure: NDArray[np.bool_],
) -> None:
    width = places.shape[1]
    terms, weights, weight_terms = np.empty(width), np.ones(width), np.empty(width)
    sums, totals = np.empty(ks.size), np.empty(ks.size)
    for row in range(count.size):
        d, n = distances[row], count[row]
        for j in range(n):
            terms[j] = y[places[row, j]]
        zeros = zeros_of(d, n, off[row]) if weighted else 0
        if weighted:
            for j in range(n):
                weights[j] = (1.0 if j < zeros else 0.0) if zeros > 0 else (1.0 / d[j] if zeros == 0 else 1.0)
                weight_terms[j] = terms[j] * weights[j]
            sums_at(weight_terms, ks, n, sums)
            sums_at(weights, ks, n, totals)
        else:
            sums_at(terms, ks, n, sums)
        checked, moment, spread, total = 0, 0.0, 0.0, 0.0
        for i in range(ks.size):
            a, b, k = low[row, i], high[row, i], ks[i]
            if n < k or zeros < 0:
                unsure[i, row] = True
                continue
            mean = sums[i] / totals[i] if weighted else sums[i] / k
            found[i, row] = mean
            if weighted and zeros == 0:
                # a weight off by a share u moves the mean by u·w·|y - mean| / Σw
                while checked < k:
                    u = off_share(d[checked], off[row], share, squared) * weights[checked]
                    moment += u * abs(terms[checked])
                    spread += u
                    total += weights[checked]
                    checked += 1
                moved = (moment + spread * abs(mean)) / total
                if not moved <= TOLERANCE * max(1.0, abs(mean)):
                    unsure[i, row] = True
            if a == k or (zeros > 0 and a >= zeros):
                continue
            if b < 0 or (zeros > 0 and b > zeros):
                unsure[i, row] = True
                continue
            for j in range(a + 1, b):
                if terms[j] != terms[a]:
                    unsure[i, row] = True
                    break
            if weighted and zeros == 0:
                loose = (d[b - 1] - d[a]) / d[a] * (k - a) * weights[a] / total
                if not loose * (abs(terms[a]) + abs(mean)) <= TOLERANCE * max(1.0, abs(mean)):
                    unsure[i, row] = True
