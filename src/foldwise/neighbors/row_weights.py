"""Weights of training rows: a row of weight 2 counts as two neighbors, and a row of weight 0 as none.

With whole numbers, predictions are those of a table in which each row is repeated. Other weights are fractions of a
row: neighbors vote until their weights sum to k, and the last one votes with what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.target import Target, check_weights
from foldwise.errors import InputError
from foldwise.neighbors.distance import DistanceSpec
from foldwise.neighbors.encoding import EncodedRows
from foldwise.neighbors.parameters import VotingParams
from foldwise.neighbors.space import MetricSpace, learn_space
from foldwise.neighbors.votes import SPREAD, Neighbors, Weights, weights_of

NearestSearch = Callable[[int], tuple[Floats, NDArray[Any]]]  # of so many neighbors: distances and indices
MOST_REPEATED = 1 << 22  # rows from which a distance is learned


@dataclass(frozen=True)
class RowWeights:
    """The weights of the rows that count."""

    values: Floats  # above 0
    rows: NDArray[np.intp]  # their indices among all training rows

    @classmethod
    def of(cls, sample_weight: Any, n_rows: int) -> RowWeights | None:
        """Check weights; None if all rows count once."""
        weights = check_weights(sample_weight, n_rows)
        if weights is None or (weights == 1).all():
            return None
        rows = np.flatnonzero(weights > 0)
        if not rows.size:
            raise InputError("every sample weight is zero, so no row is left.", "give some rows a weight above 0.")
        return cls(np.ascontiguousarray(weights[rows]), rows)

    def learning_rows(self, distance: DistanceSpec, rows: EncodedRows) -> NDArray[np.intp] | None:
        """Return the rows from which a distance learns, each as often as it counts; None for each row once."""
        if distance.scale != "robust" and distance.components is None:
            return None
        total = self.values.sum()
        if (self.values != np.floor(self.values)).any() or total > MOST_REPEATED:
            what = "pca" if distance.components is not None else "scale='robust'"
            raise InputError(
                f"{what} is learned from weighted rows, so each sample_weight must be a whole number, and their sum "
                f"at most {MOST_REPEATED:,}.",
                "scale the columns in a pipeline, or round the weights.",
            )
        return np.repeat(np.arange(len(rows.numbers)), self.values.astype(np.int64))


@dataclass(frozen=True)
class CountedNeighbors:
    """The nearest rows of each query, and how much each of them counts: k in total."""

    found: Neighbors
    counts: Floats  # (queries, neighbors)
    bandwidths: Floats  # (queries,): distance of what follows the first k


def counted_neighbors(search: NearestSearch, weights: Floats, k: int, n_rows: int) -> CountedNeighbors:
    """Search for so many rows that their weights sum to k and a little more."""
    depth = min(n_rows, max(2, int(np.ceil(k / np.mean(weights))) + 2))
    while True:
        distances, indices = search(depth)
        sums = np.cumsum(weights[indices], axis=1)
        if depth >= n_rows or (sums[:, -1] > k).all():
            break
        depth = min(n_rows, 2 * depth)
    if not (sums[:, -1] >= k * (1 - 1e-12)).all():
        raise InputError(
            f"n_neighbors={k} must not exceed the sum of the sample weights, {float(sums[:, -1].min()):g}.",
            "reduce n_neighbors, or multiply all weights by a constant.",
        )
    before = np.column_stack([np.zeros(len(sums)), sums[:, :-1]])
    counts = np.clip(np.minimum(sums, k) - before, 0.0, None)
    beyond = sums > k
    after = np.where(beyond.any(axis=1), beyond.argmax(axis=1), distances.shape[1] - 1)
    return CountedNeighbors(Neighbors(distances, indices), counts, distances[np.arange(len(distances)), after])


def vote_weights(counted: CountedNeighbors, weights: Weights) -> Floats:  # (queries, neighbors)
    """Compute the weight of each neighbor by its distance, times how much it counts."""
    distances, counts = counted.found.distances, counted.counts
    counted_in = counts > 0
    if callable(weights):
        found = weights_of(weights, distances)
    elif weights in (None, "uniform"):
        found = np.ones_like(distances)
    elif weights == "distance":
        with np.errstate(divide="ignore", over="ignore"):
            inverse = 1.0 / distances
        touching = distances[:, :1] == 0.0
        found = np.where(touching, distances == 0.0, inverse)
    else:
        h = counted.bandwidths[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where((h > 0) & (distances < h), distances / h, np.where(h == 0, 0.0, 1.0))
        found = {
            "triangular": lambda r: 1.0 - r,
            "epanechnikov": lambda r: 1.0 - r * r,
            "biweight": lambda r: (1.0 - r * r) ** 2,
            "gaussian": lambda r: np.exp(-0.5 * (SPREAD * r) ** 2),
        }[str(weights)](ratio)
    found = np.where(counted_in, found, 0.0)
    most = found.max(axis=1, keepdims=True)
    found = np.where(np.isinf(most), np.isinf(found), found)  # 1/d overflows for a tiny d: only such neighbors count
    found = np.where(most > 0, found, counted_in)  # all weights are 0
    return np.asarray(found * counts, dtype=np.float64)


def weighted_votes(
    counted: CountedNeighbors, y: NDArray[np.int64], n_classes: int, voting: VotingParams
) -> tuple[NDArray[np.int64], Floats]:
    """Return the winner of each query, and the share of the votes of each class."""
    weights, codes = vote_weights(counted, voting.weights), y[counted.found.indices]
    near_by = np.where(weights > 0, counted.counts * counted.found.distances, 0.0)
    votes, near = (np.empty((len(codes), n_classes)) for _ in range(2))
    for c in range(n_classes):
        votes[:, c] = np.where(codes == c, weights, 0.0).sum(axis=1)
        near[:, c] = np.where(codes == c, near_by, 0.0).sum(axis=1)
    best = votes == votes.max(axis=1, keepdims=True)
    labels = best.argmax(axis=1)
    if voting.ties == "nearest":
        labels = np.where(best, near, np.inf).argmin(axis=1)
    return labels.astype(np.int64), votes / votes.sum(axis=1, keepdims=True)


def weighted_means(counted: CountedNeighbors, y: Floats, weights: Weights) -> Floats:  # (queries,)
    """Return the weighted mean of the neighbors of each query."""
    found = vote_weights(counted, weights)
    return np.asarray((found * y[counted.found.indices]).sum(axis=1) / found.sum(axis=1))


def observed_target(target: Target, rows: NDArray[np.intp]) -> Target:
    """Return the classes of some rows, without those that do not occur."""
    present, codes = np.unique(target.codes[rows], return_inverse=True)
    return Target(target.classes[present], codes.astype(np.int64))


def learned_space(
    distance: DistanceSpec, rows: EncodedRows, target: Target | None, weights: RowWeights | None
) -> MetricSpace:
    """Learn a distance from training rows, each as often as it counts."""
    some = None if weights is None else weights.learning_rows(distance, rows)
    codes, n_classes = (None, 0) if target is None else (target.codes, len(target.classes))
    if some is None:
        return learn_space(distance, rows, codes, n_classes, None if weights is None else weights.values)
    return learn_space(distance, rows.take(some), None if codes is None else codes[some], n_classes)
