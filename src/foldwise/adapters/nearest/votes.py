"""Labels and votes by class for all numbers of neighbors, in one pass along the list of each row.

A label that depends on a tie is -1, and votes that depend on a tie are marked; scikit-learn then decides them.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.adapters.nearest.members import Int32s, Members, Ties
from foldwise.arrays import Floats, Ints

EPS = float(np.finfo(np.float64).eps)
SMALLEST = 1e-300  # for smaller d, 1/d may be infinite
FINE = 1e-11  # relative error of a result that rounding of distances may cause: a tenth of the tolerance
UNDECIDED = -1


def uniform_labels(members: Members, ties: Ties, codes: Ints, n_classes: int) -> Int32s:  # (ks, rows)
    """The class with most votes, the first of several; -1 if a tie decides. `codes` has one entry per table row."""
    labels = np.empty((len(ties.ks), len(members.count)), np.int32)
    count_labels(members.indices, ties.ks, ties.low, ties.high, codes, n_classes, labels)
    return labels


def weighted_labels(
    members: Members, ties: Ties, codes: Ints, counted: Int32s, off: Floats, slack: tuple[float, bool]
) -> Int32s:  # (ks, rows)
    """The same with votes weighted by 1/d, given the labels of unweighted votes.

    `off` (rows,) and the share in `slack` bound the error of distances; the second entry of `slack` is whether squared
    distances are compared.
    """
    labels = np.empty_like(counted)
    lists = members.indices, members.distances, members.count
    n_classes = int(codes.max()) + 1
    weigh_labels(*lists, ties.ks, ties.low, ties.high, codes, n_classes, off, *slack, counted, labels)
    return labels


def class_votes(
    members: Members,
    ties: Ties,
    codes: Ints,
    n_classes: int,
    weighted: bool,
    off: Floats,
    slack: tuple[float, bool],
) -> tuple[Floats, NDArray[np.bool_]]:  # (ks, rows, classes), (ks, rows)
    """The votes of each class, added in the order of neighbors, and whether they depend on a tie or on rounding."""
    votes = np.zeros((len(ties.ks), len(members.count), n_classes))
    unsure = np.zeros(votes.shape[:2], dtype=np.bool_)
    lists = members.indices, members.distances, members.count
    add_votes(*lists, ties.ks, ties.low, ties.high, codes, weighted, off, *slack, votes, unsure)
    return votes, unsure


@njit(nogil=True, cache=True)
def count_labels(
    indices: Int32s, ks: Ints, low: Int32s, high: Int32s, codes: Ints, n_classes: int, labels: Int32s
) -> None:
    sure, tied = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    for row in range(labels.shape[1]):
        sure[:] = 0
        best, done, from_, to = 0, 0, -1, -1
        for i in range(ks.size):
            a, b, k = low[row, i], high[row, i], ks[i]
            while done < a:
                c = codes[indices[row, done]]
                sure[c] += 1
                if sure[c] > sure[best] or (sure[c] == sure[best] and c < best):
                    best = c
                done += 1
            if a == k:
                labels[i, row] = best
                continue
            left = k - a
            label = best
            if b < 0:  # the tied rows are unknown
                for c in range(n_classes):
                    other = sure[c] + left
                    if c != best and (other > sure[best] or (other == sure[best] and c < best)):
                        label = UNDECIDED
                        break
                labels[i, row] = label
                continue
            if a != from_ or b != to:
                tied[:] = 0
                for j in range(a, b):
                    tied[codes[indices[row, j]]] += 1
                from_, to = a, b
            most = -1
            for c in range(n_classes):
                least = sure[c] + max(0, left - (b - a - tied[c]))
                if least > most:
                    most, label = least, c
            for c in range(n_classes):
                other = sure[c] + min(left, tied[c])
                if c != label and (other > most or (other == most and c < label)):
                    label = UNDECIDED
                    break
            labels[i, row] = label


@njit(nogil=True, cache=True)
def zeros_of(d: Floats, n: int, off: float) -> int:
    """The number of distances that are 0; -1 if rounding leaves this open."""
    zeros = 0
    while zeros < n and d[zeros] == 0.0:
        zeros += 1
    if zeros and off > 0.0:
        return -1
    if zeros < n and d[zeros] < SMALLEST:
        return -1
    return zeros


@njit(nogil=True, cache=True)
def off_share(d: float, off: float, share: float, squared: bool) -> float:
    """The relative difference of a distance in two searches: half the bound for the order, a quarter for d²."""
    value = d * d if squared else d
    if value <= 2.0 * off:
        return np.inf
    return (off / value + share) / (4.0 if squared else 2.0)


@njit(nogil=True, cache=True)
def weigh_labels(
    indices: Int32s,
    distances: Floats,
    count: Int32s,
    ks: Ints,
    low: Int32s,
    high: Int32s,
    codes: Ints,
    n_classes: int,
    off: Floats,
    share: float,
    squared: bool,
    counted: Int32s,
    labels: Int32s,
) -> None:
    sure, tied = np.empty(n_classes), np.empty(n_classes, np.int64)
    for row in range(labels.shape[1]):
        d, n = distances[row], count[row]
        zeros = zeros_of(d, n, off[row])
        first = UNDECIDED  # the label of the rows at distance 0
        if zeros > 0:
            tied[:] = 0
            for j in range(zeros):
                tied[codes[indices[row, j]]] += 1
            first = int(np.argmax(tied))
        sure[:] = 0.0
        done, total, doubt = 0, 0.0, 0.0
        for i in range(ks.size):
            a, b, k = low[row, i], high[row, i], ks[i]
            if zeros != 0:
                if zeros < 0 or (n < k):
                    labels[i, row] = UNDECIDED
                elif a >= zeros:
                    labels[i, row] = first
                elif a == k or 0 <= b <= zeros:
                    labels[i, row] = counted[i, row]
                else:
                    labels[i, row] = UNDECIDED
                continue
            if n < k or n == 0:
                labels[i, row] = UNDECIDED
                continue
            while done < a:
                weight = 1.0 / d[done]
                sure[codes[indices[row, done]]] += weight
                total += weight
                doubt += weight * off_share(d[done], off[row], share, squared)
                done += 1
            left = k - a
            most, label = -1.0, UNDECIDED
            if left == 0:
                for c in range(n_classes):
                    if sure[c] > most:
                        most, label = sure[c], c
                if not doubt <= FINE * total:
                    for c in range(n_classes):
                        if c != label and not most - sure[c] > 2.0 * doubt:
                            label = UNDECIDED
                            break
                labels[i, row] = label
                continue
            heavy, light = 1.0 / d[a], 0.0
            spoilt = off_share(d[a], off[row], share, squared)
            if b >= 0:
                light = 1.0 / d[b - 1]
                tied[:] = 0
                for j in range(a, b):
                    tied[codes[indices[row, j]]] += 1
            else:
                tied[:] = left
            for c in range(n_classes):
                least = sure[c]
                if b >= 0:
                    least += max(0, left - (b - a - tied[c])) * light
                if least > most:
                    most, label = least, c
            all_of = total + left * heavy
            near = 2.0 * (doubt + left * heavy * spoilt) + 4.0 * k * EPS * all_of
            for c in range(n_classes):
                if c != label and not most - (sure[c] + min(left, tied[c]) * heavy) > near:
                    label = UNDECIDED
                    break
            labels[i, row] = label


@njit(nogil=True, cache=True)
def add_votes(
    indices: Int32s,
    distances: Floats,
    count: Int32s,
    ks: Ints,
    low: Int32s,
    high: Int32s,
    codes: Ints,
    weighted: bool,
    off: Floats,
    share: float,
    squared: bool,
    votes: Floats,
    unsure: NDArray[np.bool_],
) -> None:
    n_classes = votes.shape[2]
    sure = np.empty(n_classes)
    for row in range(votes.shape[1]):
        d, n = distances[row], count[row]
        zeros = zeros_of(d, n, off[row]) if weighted else 0
        sure[:] = 0.0
        done, worst = 0, 0.0
        for i in range(ks.size):
            a, b, k = low[row, i], high[row, i], ks[i]
            if n < k or zeros < 0:
                unsure[i, row] = True
                continue
            stop = min(a, zeros) if zeros > 0 else a
            while done < stop:
                weight = 1.0
                if weighted and zeros == 0:
                    weight = 1.0 / d[done]
                    worst = max(worst, off_share(d[done], off[row], share, squared))
                sure[codes[indices[row, done]]] += weight
                done += 1
            for c in range(n_classes):
                votes[i, row, c] = sure[c]
            unsure[i, row] = worst > FINE
            if a == k or (zeros > 0 and a >= zeros):
                continue
            # tied votes make no difference if they are all for one class and have the same weight
            if b < 0 or (zeros > 0 and b > zeros):
                unsure[i, row] = True
                continue
            c = codes[indices[row, a]]
            for j in range(a + 1, b):
                if codes[indices[row, j]] != c:
                    unsure[i, row] = True
                    break
            if weighted and zeros == 0:
                if d[b - 1] - d[a] > FINE * d[a] or off_share(d[a], off[row], share, squared) > FINE:
                    unsure[i, row] = True
                for j in range(a, k):
                    votes[i, row, c] += 1.0 / d[j]
            else:
                votes[i, row, c] += k - a
