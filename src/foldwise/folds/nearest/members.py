"""The neighbors of test rows in one training set: lists with all other rows struck out, and where their ties lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.folds.nearest.distances import Slack
from foldwise.folds.nearest.lists import NeighborLists
from foldwise.folds.protocol import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.int32]


@dataclass(frozen=True)
class Members:
    """The nearest training rows of some test rows, a row taken twice being two."""

    places: Places  # (rows, width): rows of the table
    distances: Floats  # (rows, width), ascending
    count: Places  # (rows,): how many there are
    end: Floats  # (rows,): no training row that is not listed is nearer than this

    @classmethod
    def of(cls, found: NeighborLists, test: Rows, times: Places, k: int) -> Members:
        """At least k of each test row, and more to see ties, if its list has them.

        `times` says how often each row of the table is in the training set.
        """
        width = found.depth * max(1, int(times.max()))
        shape = (len(test), min(width, found.depth + 2 * k))  # some rows may be taken very often
        members = cls(
            np.empty(shape, np.int32), np.empty(shape), np.empty(len(test), np.int32), np.empty(len(test), np.float64)
        )
        strike_out(
            found.places,
            found.distances,
            found.at[test],
            times,
            found.whole,
            members.places,
            members.distances,
            members.count,
            members.end,
        )
        return members

    def replaced(self, rows: Rows, other: Members) -> Members:
        """The same with these rows from another."""
        width = max(self.places.shape[1], other.places.shape[1])
        places, distances = np.zeros((len(self.count), width), np.int32), np.zeros((len(self.count), width))
        places[:, : self.places.shape[1]], distances[:, : self.places.shape[1]] = self.places, self.distances
        places[rows, : other.places.shape[1]], distances[rows, : other.places.shape[1]] = other.places, other.distances
        count, end = self.count.copy(), self.end.copy()
        count[rows], end[rows] = other.count, other.end
        return Members(places, distances, count, end)


@dataclass(frozen=True)
class Ties:
    """Which members are surely among the k nearest, and which may be, for rows × numbers of neighbors.

    The first `low` are among them for sure, and the other k - low come from those before `high`. Without a tie both are
    k. `high` is -1 where the list ends within the tie.
    """

    ks: Ints  # ascending
    low: Places  # (rows, ks)
    high: Places  # (rows, ks)

    @classmethod
    def of(cls, members: Members, ks: Ints, test: Rows, slack: Slack) -> Ties:
        shape = (len(members.count), len(ks))
        ties = cls(ks, np.empty(shape, np.int32), np.empty(shape, np.int32))
        find_ties(
            members.distances,
            members.count,
            members.end,
            slack.places[test],
            slack.share,
            slack.squared,
            ks,
            ties.low,
            ties.high,
        )
        return ties


@njit(nogil=True, cache=True)
def strike_out(
    near: Places,
    distances: Floats,
    at: Ints,
    times: Places,
    whole: bool,
    places: Places,
    kept: Floats,
    count: Places,
    end: Floats,
) -> None:
    depth, width = near.shape[1], places.shape[1]
    for row in range(at.size):
        i = at[row]
        n = 0
        end[row] = np.inf if whole else distances[i, depth - 1]
        for j in range(depth):
            place = near[i, j]
            room = width - n
            for _ in range(min(times[place], room)):
                places[row, n] = place
                kept[row, n] = distances[i, j]
                n += 1
            if times[place] > room or (n == width and j < depth - 1):
                end[row] = distances[i, j]  # the rest is as good as unknown
                break
        count[row] = n


@njit(nogil=True, cache=True)
def find_ties(
    distances: Floats,
    count: Places,
    end: Floats,
    slack: Floats,
    share: float,
    squared: bool,
    ks: Ints,
    low: Places,
    high: Places,
) -> None:
    for row in range(count.size):
        d, n, off = distances[row], count[row], slack[row]
        last = end[row] * end[row] if squared else end[row]
        a, b = 0, 0
        for i in range(ks.size):
            k = ks[i]
            if n < k:  # runs short: nothing is known
                low[row, i], high[row, i] = 0, -1
                continue
            here, after = d[k - 1], last
            here = here * here if squared else here
            if n > k:
                after = d[k] * d[k] if squared else d[k]
            if after == np.inf or after - here > off + share * after:
                low[row, i], high[row, i] = k, k
                continue
            while a < k:
                value = d[a] * d[a] if squared else d[a]
                if after - value <= off + share * after:
                    break
                a += 1
            b = max(b, k)
            while b < n:
                value = d[b] * d[b] if squared else d[b]
                if value - here > off + share * value:
                    break
                b += 1
            open_end = b == n and last != np.inf and last - here <= off + share * last
            low[row, i] = a
            high[row, i] = -1 if open_end else b
