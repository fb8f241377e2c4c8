"""The neighbors of test rows in one training set: lists without the other rows, and the ties in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.adapters.nearest.distances import Slack
from foldwise.arrays import Floats, Ints
from foldwise.folds.neighbor_lists import NeighborLists
from foldwise.folds.protocol import Rows

Int32s = NDArray[np.int32]


@dataclass(frozen=True)
class Members:
    """The nearest training rows of some test rows; a row that is in the training set twice is listed twice."""

    indices: Int32s  # (rows, width): rows of the table
    distances: Floats  # (rows, width), ascending
    count: Int32s  # (rows,): the length of each list
    end: Floats  # (rows,): a lower bound of the distances of training rows that are not listed

    @classmethod
    def of(cls, found: NeighborLists, test: Rows, times: Int32s, k: int) -> Members:
        """At least k neighbors of each test row, and more to detect ties, if its list has them.

        `times` is how often each row of the table occurs in the training set.
        """
        width = found.depth * max(1, int(times.max()))
        shape = (len(test), min(width, found.depth + 2 * k))  # some rows may occur very often
        members = cls(
            np.empty(shape, np.int32), np.empty(shape), np.empty(len(test), np.int32), np.empty(len(test), np.float64)
        )
        strike_out(
            found.indices,
            found.distances,
            found.at[test],
            times,
            found.whole,
            members.indices,
            members.distances,
            members.count,
            members.end,
        )
        return members

    def replaced(self, rows: Rows, other: Members) -> Members:
        """The same lists, with those of some rows replaced."""
        width = max(self.indices.shape[1], other.indices.shape[1])
        indices, distances = np.zeros((len(self.count), width), np.int32), np.zeros((len(self.count), width))
        indices[:, : self.indices.shape[1]], distances[:, : self.indices.shape[1]] = self.indices, self.distances
        indices[rows, : other.indices.shape[1]], distances[rows, : other.indices.shape[1]] = (
            other.indices,
            other.distances,
        )
        count, end = self.count.copy(), self.end.copy()
        count[rows], end[rows] = other.count, other.end
        return Members(indices, distances, count, end)


@dataclass(frozen=True)
class Ties:
    """The members that are, or may be, among the k nearest, for rows × numbers of neighbors.

    The first `low` members are certainly among them, and the other k - low are some of those between `low` and `high`.
    Without a tie both are k. `high` is -1 if the list ends within the tie.
    """

    ks: Ints  # ascending
    low: Int32s  # (rows, ks)
    high: Int32s  # (rows, ks)

    @classmethod
    def of(cls, members: Members, ks: Ints, test: Rows, slack: Slack) -> Ties:
        shape = (len(members.count), len(ks))
        ties = cls(ks, np.empty(shape, np.int32), np.empty(shape, np.int32))
        find_ties(
            members.distances,
            members.count,
            members.end,
            slack.order[test],
            slack.share,
            slack.squared,
            ks,
            ties.low,
            ties.high,
        )
        return ties


@njit(nogil=True, cache=True)
def strike_out(
    near: Int32s,
    distances: Floats,
    at: Ints,
    times: Int32s,
    whole: bool,
    indices: Int32s,
    kept: Floats,
    count: Int32s,
    end: Floats,
) -> None:
    depth, width = near.shape[1], indices.shape[1]
    for row in range(at.size):
        i = at[row]
        n = 0
        end[row] = np.inf if whole else distances[i, depth - 1]
        for j in range(depth):
            index = near[i, j]
            free = width - n
            for _ in range(min(times[index], free)):
                indices[row, n] = index
                kept[row, n] = distances[i, j]
                n += 1
            if times[index] > free or (n == width and j < depth - 1):
                end[row] = distances[i, j]  # the neighbors after this one are unknown
                break
        count[row] = n


@njit(nogil=True, cache=True)
def find_ties(
    distances: Floats,
    count: Int32s,
    end: Floats,
    slack: Floats,
    share: float,
    squared: bool,
    ks: Ints,
    low: Int32s,
    high: Int32s,
) -> None:
    for row in range(count.size):
        d, n, off = distances[row], count[row], slack[row]
        last = end[row] * end[row] if squared else end[row]
        a, b = 0, 0
        for i in range(ks.size):
            k = ks[i]
            if n < k:  # the list is too short
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
