"""Votes and means against plain loops over the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foldwise import KNNClassifier
from foldwise.errors import InputError
from foldwise.neighbors.votes import FORMS, Neighbors, class_votes, mean_values


def plain_weights(distances, k, weights):
    """The weights of the first k of a sorted list of distances."""
    d = distances[:k]
    if callable(weights):
        return list(weights(np.array([d]))[0])
    if weights == "uniform":
        return [1.0] * k
    if weights == "distance":
        return [float(v == 0) for v in d] if d[0] == 0 else [1 / v for v in d]
    h = distances[min(k, len(distances) - 1)]
    r = [v / h if h else 0.0 for v in d]
    shapes = {
        "triangular": lambda x: 1 - x,
        "epanechnikov": lambda x: 1 - x**2,
        "biweight": lambda x: (1 - x**2) ** 2,
        "gaussian": lambda x: math.exp(-((2.5 * x) ** 2) / 2),
    }
    found = [shapes[weights](x) for x in r]
    return found if sum(found) > 0 else [1.0] * k


def plain_vote(distances, codes, k, weights, ties, n_classes):
    w = plain_weights(distances, k, weights)
    votes = [sum(w[i] for i in range(k) if codes[i] == c) for c in range(n_classes)]
    near = [sum(distances[i] for i in range(k) if codes[i] == c and w[i] > 0) for c in range(n_classes)]
    tied = [c for c in range(n_classes) if votes[c] == max(votes)]
    winner = min(tied, key=lambda c: (near[c], c)) if ties == "nearest" else tied[0]
    return winner, [v / sum(votes) for v in votes]


def lists(rng, m=40, k=12, n=60, whole=False):
    """Sorted distances, many of them equal or zero, and indices."""
    distances = np.sort(rng.integers(0, 6, (m, k)) / (1.0 if whole else 4.0), axis=1)
    return Neighbors(distances, rng.integers(0, n, (m, k)))


WEIGHTS = [*FORMS, lambda d: 1 / (1 + d)]


@pytest.mark.parametrize("ties", ["nearest", "class"])
@pytest.mark.parametrize("weights", WEIGHTS, ids=[*FORMS, "function"])
def test_votes_by_the_definition(rng, weights, ties):
    found = lists(rng)
    y = rng.integers(0, 4, 60)
    ks = [1, 2, 3, 7, 11, 12]
    votes = class_votes(found, y, 4, ks, weights, ties, shares=True)
    plain = class_votes(found, y, 4, ks, weights, ties, shares=False)
    assert plain.shares is None
    assert (plain.labels == votes.labels).all()
    for at, k in enumerate(ks):
        for q in range(len(found.distances)):
            codes = y[found.indices[q]].tolist()
            winner, shares = plain_vote(found.distances[q].tolist(), codes, k, weights, ties, 4)
            np.testing.assert_allclose(votes.shares[at, q], shares, rtol=1e-13, atol=1e-15)
            assert votes.labels[at, q] == winner


def test_a_tied_vote_goes_to_the_nearer_voters():
    found = Neighbors(np.array([[1.0, 2.0, 2.5, 3.0]]), np.array([[0, 1, 2, 3]]))
    y = np.array([1, 0, 0, 1])  # two votes each: 1 + 3 = 4 against 2 + 2.5 = 4.5
    assert class_votes(found, y, 2, [4], "uniform", "nearest", False).labels[0, 0] == 1
    assert class_votes(found, y, 2, [4], "uniform", "class", False).labels[0, 0] == 0


@pytest.mark.parametrize("weights", WEIGHTS, ids=[*FORMS, "function"])
def test_means_by_the_definition(rng, weights):
    found = lists(rng)
    y = rng.normal(size=60)
    ks = [1, 4, 12]
    means = mean_values(found, y, ks, weights)
    for at, k in enumerate(ks):
        for q in range(len(found.distances)):
            w = plain_weights(found.distances[q].tolist(), k, weights)
            values = y[found.indices[q, :k]]
            assert means[at, q] == pytest.approx(float(np.dot(w, values) / sum(w)), abs=1e-12)


def test_a_distance_too_small_to_invert():
    found = Neighbors(np.array([[5e-324, 1.0, 2.0]]), np.array([[0, 1, 2]]))
    votes = class_votes(found, np.array([1, 0, 0]), 2, [3], "distance", "class", True)
    assert votes.shares[0, 0].tolist() == [0.0, 1.0]


def test_a_function_of_distances_is_checked():
    found = Neighbors(np.array([[0.0, 1.0]]), np.array([[0, 1]]))

    def inverse(d):
        with np.errstate(divide="ignore"):
            return 1 / d

    with pytest.raises(InputError, match="weights='distance'"):
        class_votes(found, np.array([0, 1]), 2, [2], inverse, "class", False)


def test_who_has_no_vote_decides_no_tie():
    X = [[0.0], [0.0], [1.0]]
    for k in (2, 3):
        assert KNNClassifier(k, weights="distance").fit(X, ["a", "b", "a"]).predict([[0.0]]).tolist() == ["a"]


def test_infinite_distances_and_sums_have_an_answer():
    found = Neighbors(np.array([[1.0, np.inf, np.inf]]), np.array([[0, 1, 2]]))
    for weights in FORMS:
        votes = class_votes(found, np.array([1, 0, 0]), 2, [2], weights, "class", True)
        assert np.isfinite(votes.shares).all()
    tiny = Neighbors(np.array([[1e-308, 1e-308]]), np.array([[0, 1]]))
    assert mean_values(tiny, np.array([1.0, 2.0]), [2], "distance").tolist() == [[1.5]]
