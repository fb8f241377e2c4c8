"""What neighbours say together: votes of classes and means of values, for every number of neighbours in one walk.

Neighbours come sorted by distance. A weight depends on the distance d and, for the kernels, on the bandwidth h, the
distance of the first neighbour that does not vote (Hechenbichler & Schliep 2004):

- uniform: 1
- distance: 1/d; where some distance is 0, only those neighbours vote, alike
- triangular: 1 - d/h; epanechnikov: 1 - (d/h)²; biweight: (1 - (d/h)²)²; gaussian: exp(-(2.5·d/h)²/2), the normal
  density with h at 2.5 standard deviations

Where h is 0, or no neighbour has a weight above 0, all vote alike. Where every training row votes, h is the distance
of the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.errors import InputError

Floats = NDArray[np.float64]

FORMS = {"uniform": 0, "distance": 1, "triangular": 2, "epanechnikov": 3, "biweight": 4, "gaussian": 5}
UNIFORM, DISTANCE, TRIANGULAR, EPANECHNIKOV, BIWEIGHT, GAUSSIAN = range(6)
GIVEN = 6  # the weights come with the neighbours
SPREAD = 2.5  # standard deviations of the gaussian kernel in a bandwidth


@dataclass(frozen=True)
class Neighbours:
    """The nearest rows of some queries, sorted by distance: those that vote, and one more where there is one."""

    distances: Floats  # (queries, neighbours)
    places: NDArray[Any]  # (queries, neighbours)


@dataclass(frozen=True)
class Votes:
    """What voters say of some queries under several numbers of neighbours."""

    labels: NDArray[np.int64]  # (ks, queries)
    shares: Floats | None  # (ks, queries, classes)


def weights_of(weights: str | Callable[[Floats], Floats], distances: Floats) -> Floats:
    """The weights that a function gives to neighbours at these distances."""
    found = np.asarray(weights(distances), dtype=np.float64)  # type: ignore[operator]
    if found.shape != distances.shape or not np.isfinite(found).all() or (found < 0).any():
        raise InputError(
            f"the function given as weights must return finite numbers of at least 0, one a distance; it returned "
            f"shape {found.shape} for distances of shape {distances.shape}"
            + ("." if found.shape != distances.shape else f", with values such as {float(found.min())!r}."),
            "a weight of 1/d is infinite at distance 0: weights='distance' knows what to do there.",
        )
    return found


def class_votes(
    found: Neighbours,
    y: NDArray[np.int64],
    n_classes: int,
    ks: Sequence[int],
    weights: str | Callable[[Floats], Floats] | None,
    ties: str,
    shares: bool,
) -> Votes:
    """The votes of the first k neighbours, for each of ascending `ks`."""
    labels = np.empty((len(ks), len(found.distances)), dtype=np.int64)
    parts = np.empty((len(ks), len(found.distances), n_classes)) if shares else np.empty((0, 0, 0))
    codes = y[found.places]
    if callable(weights):
        for i, k in enumerate(ks):
            given = weights_of(weights, found.distances[:, :k])
            part = parts[i : i + 1]
            vote(found.distances, codes, given, np.array([k]), GIVEN, ties == "nearest", n_classes, labels[i:], part)
    else:
        form = FORMS[weights or "uniform"]
        none = np.empty((0, 0))
        vote(found.distances, codes, none, np.array(ks), form, ties == "nearest", n_classes, labels, parts)
    return Votes(labels, parts if shares else None)


def mean_values(
    found: Neighbours, y: Floats, ks: Sequence[int], weights: str | Callable[[Floats], Floats] | None
) -> Floats:  # (ks, queries)
    """The (weighted) mean of the first k neighbours, for each of ascending `ks`."""
    means = np.empty((len(ks), len(found.distances)))
    values = y[found.places]
    if callable(weights):
        for i, k in enumerate(ks):
            given = weights_of(weights, found.distances[:, :k])
            average(found.distances, values, given, np.array([k]), GIVEN, means[i:])
    else:
        none = np.empty((0, 0))
        average(found.distances, values, none, np.array(ks), FORMS[weights or "uniform"], means)
    return means


@njit(nogil=True, cache=True)
def weigh(distances: Floats, given: Floats, k: int, form: int, out: Floats) -> None:
    """The weights of the first k neighbours of one query."""
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
            r = distances[i] / h if h > 0.0 else 0.0
            if form == TRIANGULAR:
                out[i] = 1.0 - r
            elif form == EPANECHNIKOV:
                out[i] = 1.0 - r * r
            elif form == BIWEIGHT:
                out[i] = (1.0 - r * r) ** 2
            else:
                out[i] = np.exp(-0.5 * (SPREAD * r) ** 2)
    total = 0.0
    for i in range(k):
        total += out[i]
    if not 0.0 < total < np.inf:  # nobody has a weight: all alike; or 1/d of a tiny d is infinite: only those count
        for i in range(k):
            out[i] = 1.0 if total == 0.0 or out[i] == np.inf else 0.0


@njit(nogil=True, cache=True)
def vote(
    distances: Floats,  # (queries, neighbours)
    codes: NDArray[np.int64],  # (queries, neighbours)
    given: Floats,  # (queries, k) where the form is GIVEN
    ks: NDArray[np.int64],
    form: int,
    nearest: bool,
    n_classes: int,
    labels: NDArray[np.int64],  # (ks, queries)
    shares: Floats,  # (ks, queries, classes), or empty
) -> None:
    """Each query's winner, and the shares of the classes where there is room for them."""
    votes, near = np.empty(n_classes), np.empty(n_classes)
    weights = np.empty(distances.shape[1])
    grows = form in (UNIFORM, DISTANCE)  # a neighbour's weight is the same for every k
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
                for c in range(n_classes):  # over classes, as scikit-learn adds them up
                    total += votes[c]
                for c in range(n_classes):
                    shares[at, q, c] = votes[c] / total


@njit(nogil=True, cache=True)
def average(
    distances: Floats, values: Floats, given: Floats, ks: NDArray[np.int64], form: int, means: Floats
) -> None:  # means (ks, queries)
    """Each query's weighted mean of its neighbours' values."""
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
