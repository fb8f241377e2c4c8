"""Votes and means of the k nearest neighbors, with the formulas of scikit-learn in the same order of operations."""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import weighted_mode

from foldwise.arrays import Array


def vote_weights(distances: Array) -> Array:
    """1/d; neighbors at distance 0, if there are any, are the only ones that count."""
    with np.errstate(divide="ignore"):
        weights = 1.0 / distances
    infinite = np.isinf(weights)
    rows = infinite.any(axis=1)
    weights[rows] = infinite[rows]
    return weights


def labels(codes: Array, distances: Array | None, n_classes: int) -> Array:  # codes (rows, k) -> (rows,)
    """The class with most votes, weighted by 1/d if distances are given."""
    if distances is None:
        return np.asarray(votes(codes, None, n_classes).argmax(axis=1))
    mode, _ = weighted_mode(codes, vote_weights(distances), axis=1)
    return np.asarray(mode).ravel().astype(np.intp)


def votes(codes: Array, distances: Array | None, n_classes: int) -> Array:  # (rows, classes)
    """The votes of each class."""
    if distances is None:
        rows = np.arange(len(codes))[:, None]
        flat = np.bincount((codes + rows * n_classes).ravel(), minlength=len(codes) * n_classes)
        return flat.reshape(len(codes), n_classes).astype(np.float64)
    weights = vote_weights(distances)
    found = np.zeros((len(codes), n_classes))
    every = np.arange(len(codes))
    for i, code in enumerate(codes.T):
        found[every, code] += weights[:, i]
    return found


def shares(found: Array) -> Array:  # (…, classes)
    """Votes as probabilities; meaningless for rows that are not decided yet."""
    with np.errstate(invalid="ignore"):
        return np.asarray(found / found.sum(axis=-1, keepdims=True))


def values(y: Array, distances: Array | None) -> Array:  # y (rows, k) -> (rows,)
    """Means, weighted by 1/d if distances are given."""
    if distances is None:
        return np.asarray(np.mean(y, axis=1))
    weights = vote_weights(distances)
    return np.asarray(np.sum(y * weights, axis=1) / np.sum(weights, axis=1))
