"""Votes and means of neighbors, for every number of neighbors k in one pass.

Neighbors are sorted by distance. A weight depends on the distance d and, for kernels, on the bandwidth h, which is the
distance of neighbor k + 1 (Hechenbichler & Schliep 2004):

- uniform: 1
- distance: 1/d; if any distance is 0, only neighbors at distance 0 vote, with equal weights
- triangular: 1 - d/h; epanechnikov: 1 - (d/h)²; biweight: (1 - (d/h)²)²; gaussian: exp(-(2.5·d/h)²/2), the normal
  density with h at 2.5 standard deviations

If h is 0, or if no neighbor has a weight above 0, all weights are equal. If every training row votes, h is the
distance of the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.errors import InputError

Weights = str | Callable[[Floats], Floats] | None

FORMS = {"uniform": 0, "distance": 1, "triangular": 2, "epanechnikov": 3, "biweight": 4, "gaussian": 5}
UNIFORM, DISTANCE, TRIANGULAR, EPANECHNIKOV, BIWEIGHT, GAUSSIAN = range(6)
GIVEN = 6  # the weights are computed by a function of the user
SPREAD = 2.5  # standard deviations of the gaussian kernel per bandwidth


@dataclass(frozen=True)
class Neighbors:
    """The nearest rows of each query, sorted by distance: those that vote and, if there is one, the next."""

    distances: Floats  # (queries, neighbors)
    indices: NDArray[Any]  # (queries, neighbors)


@dataclass(frozen=True)
class Votes:
    """The votes for each query, for several numbers of neighbors."""

    labels: NDArray[np.int64]  # (ks, queries)
    shares: Floats | None  # (ks, queries, classes)


def weights_of(weights: Callable[[Floats], Floats], distances: Floats) -> Floats:
    """Compute the weights of neighbors by a function of the user, and check them."""
    found = np.asarray(weights(distances), dtype=np.float64)
    if found.shape != distances.shape:
        raise InputError(
            f"the weights function must return one number per distance; it returned shape {found.shape} for "
            f"distances of shape {distances.shape}."
        )
    bad = ~np.isfinite(found) | (found < 0)
    if bad.any():
        raise InputError(
            "the weights function must return finite numbers of at least 0; it returned "
            f"{float(found[bad][0])!r} for the distance {float(distances[bad][0])!r}.",
            "for weights of 1/d, use weights='distance', which handles distances of 0.",
        )
    return found


def weight_batches(weights: Weights, distances: Floats, ks: Sequence[int]) -> Iterator[tuple[slice, int, Floats]]:
    """Group the numbers of neighbors by kernel call: a slice of `ks`, the form of the weights, and given weights."""
    if callable(weights):
        for i, k in enumerate(ks):
            yield slice(i, i + 1), GIVEN, weights_of(weights, distances[:, :k])
    else:
        yield slice(None), FORMS[weights or "uniform"], np.empty((0, 0))


def class_votes(
    found: Neighbors,
    y: NDArray[np.int64],
    n_classes: int,
    ks: Sequence[int],
    weights: Weights,
    ties: str,
    shares: bool,
) -> Votes:
    """Count the votes of the first k neighbors, for each of ascending `ks`."""
    labels = np.empty((len(ks), len(found.distances)), dtype=np.int64)
    parts = np.empty((len(ks), len(found.distances), n_classes)) if shares else np.empty((0, 0, 0))
    codes, counts, nearest = y[found.indices], np.array(ks), ties == "nearest"
    for at, form, given in weight_batches(weights, found.distances, ks):
        vote(found.distances, codes, given, counts[at], form, nearest, n_classes, labels[at], parts[at])
    return Votes(labels, parts if shares else None)


def with_laplace(shares: Floats, ks: Sequence[int], laplaces: Sequence[float]) -> Floats:  # (ks, queries, classes)
    """Add the pseudo-votes of each class to shares of votes."""
    if not any(laplaces):
        return shares
    k, laplace = (np.array(values, dtype=np.float64)[:, None, None] for values in (ks, laplaces))
    return np.asarray((k * shares + laplace) / (k + laplace * shares.shape[2]))


def mean_values(found: Neighbors, y: Floats, ks: Sequence[int], weights: Weights) -> Floats:  # (ks, queries)
    """Compute the (weighted) mean of the first k neighbors, for each of ascending `ks`."""
    means = np.empty((len(ks), len(found.distances)))
    values, counts = y[found.indices], np.array(ks)
    for at, form, given in weight_batches(weights, found.distances, ks):
        average(found.distances, values, given, counts[at], form, means[at])
    return means


@njit(nogil=True, cache=True)
def weigh(distances: Floats, given: Floats, k: int, form: int, out: Floats) -> None:
    """Compute the weights of the first k neighbors of one query."""
    if form == GIVEN:
        for i in range(k):
            out[i] = given[i]
    elif form == UNIFORM:
        for i in range(k):
            out[i] = 1.0
    elif form == DISTANCE:
        touching = distances[0] == 0.0
        for i in range(k):
            out[i] = 1.0 / distances[i] if not touching else (1.0 if distances[i] == 0.0 else 0.0)
    else:
        h = distances[k] if len(distances) > k else distances[k - 1]
        for i in range(k):
            r = distances[i] / h if h > 0.0 and distances[i] < h else (0.0 if h == 0.0 else 1.0)
            if form == TRIANGULAR:
                out[i] = 1.0 - r
            elif form == EPANECHNIKOV:
                out[i] = 1.0 - r * r
            elif form == BIWEIGHT:
                out[i] = (1.0 - r * r) ** 2
            else:
                out[i] = np.exp(-0.5 * (SPREAD * r) ** 2)
    total, most = 0.0, 0.0
    for i in range(k):
        total += out[i]
        most = max(most, out[i])
    if not 0.0 < total < np.inf:
        for i in range(k):
            if most == np.inf:  # 1/d overflows for a tiny d: only such neighbors count
                out[i] = 1.0 if out[i] == np.inf else 0.0
            else:  # all weights are 0, or their sum overflows
                out[i] = out[i] / most if most > 0.0 else 1.0


@njit(nogil=True, cache=True)
def vote(
    distances: Floats,  # (queries, neighbors)
    codes: NDArray[np.int64],  # (queries, neighbors)
    given: Floats,  # (queries, k) if the form is GIVEN
    ks: NDArray[np.int64],
    form: int,
    nearest: bool,
    n_classes: int,
    labels: NDArray[np.int64],  # (ks, queries)
    shares: Floats,  # (ks, queries, classes), or empty
) -> None:
    """Find the winner of each query and, unless `shares` is empty, the share of the votes of each class."""
    votes, near = np.empty(n_classes), np.empty(n_classes)
    weights = np.empty(distances.shape[1])
    grows = form in (UNIFORM, DISTANCE)  # the weight of a neighbor is the same for every k
    nothing = np.empty(0)
    for q in range(distances.shape[0]):
        own = given[q] if form == GIVEN else nothing
        done = 0
        votes[:] = 0.0
        near[:] = 0.0
        if grows:
            weigh(distances[q], own, ks[-1], form, weights)
        for at in range(len(ks)):
            k = ks[at]
            if not grows:
                weigh(distances[q], own, k, form, weights)
                done = 0
                votes[:] = 0.0
                near[:] = 0.0
            for i in range(done, k):
                c = codes[q, i]
                if weights[i] > 0.0:  # neighbors without weight do not decide ties
                    votes[c] += weights[i]
                    near[c] += distances[q, i]
            done = k
            best = 0
            for c in range(1, n_classes):
                if votes[c] > votes[best] or (nearest and votes[c] == votes[best] and near[c] < near[best]):
                    best = c
            labels[at, q] = best
            if shares.size:
                total = 0.0
                for c in range(n_classes):  # in the order of classes, as in scikit-learn
                    total += votes[c]
                for c in range(n_classes):
                    shares[at, q, c] = votes[c] / total


@njit(nogil=True, cache=True)
def average(
    distances: Floats, values: Floats, given: Floats, ks: NDArray[np.int64], form: int, means: Floats
) -> None:  # means (ks, queries)
    """Compute the weighted mean of the neighbors of each query."""
    weights = np.empty(distances.shape[1])
    nothing = np.empty(0)
    grows = form in (UNIFORM, DISTANCE)
    for q in range(distances.shape[0]):
        own = given[q] if form == GIVEN else nothing
        done, total, mass = 0, 0.0, 0.0
        if grows:
            weigh(distances[q], own, ks[-1], form, weights)
        for at in range(len(ks)):
            if not grows:
                weigh(distances[q], own, ks[at], form, weights)
                done, total, mass = 0, 0.0, 0.0
            for i in range(done, ks[at]):
                total += weights[i] * values[q, i]
                mass += weights[i]
            done = ks[at]
            means[at, q] = total / mass
