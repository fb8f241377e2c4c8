"""Votes and means of one walk are those of a plain loop over every way in which ties may fall."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from foldwise.adapters.nearest import formulas
from foldwise.adapters.nearest.distances import Distance, NumericTable, Slack
from foldwise.adapters.nearest.means import means
from foldwise.adapters.nearest.members import Members, Ties
from foldwise.adapters.nearest.votes import class_votes, uniform_labels, weighted_labels
from tests.slow import slow

KS = np.array([1, 2, 3, 5, 6])
EXACT = (1e-14, False)


def choices(d, k, end):
    """Every set of k indices that may be the nearest, by distances alone; None where unknown rows may be among them."""
    kth = d[k - 1]
    if kth >= end:
        return None
    sure = [j for j in range(len(d)) if d[j] < kth]
    tied = [j for j in range(len(d)) if d[j] == kth]
    return [(*sure, *some) for some in combinations(tied, k - len(sure))]


def random_members(seed, n_rows=300, width=9):
    """Lists with many ties; behind the end of some there are more rows."""
    rng = np.random.default_rng(seed)
    d = np.sort(rng.integers(0 if seed % 2 else 1, 5, (n_rows, width)), axis=1).astype(float)
    indices = rng.integers(0, 40, (n_rows, width)).astype(np.int32)
    count = rng.integers(6, width + 1, n_rows).astype(np.int32)
    ends = d[np.arange(n_rows), count - 1] + rng.integers(0, 2, n_rows)
    end = np.where(rng.random(n_rows) < 0.5, np.inf, ends)
    return Members(indices, d, count, end)


def ties_of(members):
    nothing = np.zeros(len(members.count))
    return Ties.of(members, KS, np.arange(len(nothing)), Slack(nothing, nothing, 1e-14, False)), nothing


def possible(members, row, k):
    d = members.distances[row, : members.count[row]]
    return d, choices(d, k, members.end[row])


@pytest.mark.parametrize("seed", [0, 1, *slow(2, 3)])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_labels_are_those_of_every_choice(seed, n_classes):
    members = random_members(seed)
    codes = np.random.default_rng(seed).integers(0, n_classes, 40)
    codes[:n_classes] = np.arange(n_classes)
    ties, off = ties_of(members)
    uniform = uniform_labels(members, ties, codes, n_classes)
    weighted = weighted_labels(members, ties, codes, uniform, off, EXACT)
    open_ends = 0
    for row in range(len(members.count)):
        for i, k in enumerate(KS):
            d, ways = possible(members, row, k)
            code = codes[members.indices[row]]
            if ways is None:  # decided only where unknown rows cannot turn it
                open_ends += 1
                sure = np.bincount(code[: len(d)][d < d[k - 1]], minlength=n_classes)
                left = k - sure.sum()
                winners = {int(np.argmax(sure + left * np.eye(n_classes, dtype=int)[c])) for c in range(n_classes)}
                assert uniform[i, row] == (winners.pop() if len(winners) == 1 else -1)
                continue
            for labels, lengths in ((uniform, None), (weighted, d)):
                winners_ = {
                    int(formulas.labels(code[None, way], None if lengths is None else d[None, way], n_classes)[0])
                    for way in map(list, ways)
                }
                found = labels[i, row]
                if lengths is None or d[0] == 0 or len(ways) == 1:
                    assert found == (winners_.pop() if len(winners_) == 1 else -1) or (
                        lengths is not None and found == -1
                    )
                else:
                    assert found == -1 or winners_ == {found}
    assert open_ends
    decided = (weighted >= 0).mean()
    assert decided > 0.5


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_votes_and_means_are_those_of_every_choice(seed, weighted):
    members = random_members(seed)
    rng = np.random.default_rng(seed)
    codes, y = rng.integers(0, 3, 40), rng.integers(0, 3, 40) * 0.1
    ties, off = ties_of(members)
    votes, vague = class_votes(members, ties, codes, 3, weighted, off, EXACT)
    values, unsure = means(members, ties, y, weighted, off, EXACT, 1.0)
    for row in range(len(members.count)):
        for i, k in enumerate(KS):
            d, ways = possible(members, row, k)
            if ways is None:
                assert (vague[i, row] and unsure[i, row]) or (weighted and d[0] == 0)
                continue
            at = members.indices[row]
            lists = [list(way) for way in ways]
            by_votes = {
                tuple(formulas.votes(codes[at][None, w], d[None, w] if weighted else None, 3)[0]) for w in lists
            }
            by_means = {formulas.values(y[at][None, w], d[None, w] if weighted else None)[0] for w in lists}
            assert vague[i, row] == (len(by_votes) > 1)
            if not vague[i, row]:
                assert by_votes == {tuple(votes[i, row])}
            if not unsure[i, row]:
                assert np.ptp([*by_means, values[i, row]]) < 1e-14
            elif len(ways) > 1:
                assert len({*y[at[: len(d)]][d == d[k - 1]]}) > 1


def test_means_of_long_lists_are_those_of_numpy():
    rng = np.random.default_rng(0)
    width, ks = 300, np.array([1, 7, 8, 9, 31, 64, 127, 128, 129, 200, 300])
    d, y = np.sort(rng.random((5, width)), axis=1), rng.normal(size=width) * 1e3
    indices = np.stack([rng.permutation(width) for _ in range(5)]).astype(np.int32)
    members = Members(indices, d, np.full(5, width, np.int32), np.full(5, np.inf))
    ties = Ties(ks, *(np.tile(ks.astype(np.int32), (5, 1)) for _ in range(2)))
    for weighted in (False, True):
        found, unsure = means(members, ties, y, weighted, np.zeros(5), EXACT, float(np.std(y)))
        assert not unsure.any()
        for i, k in enumerate(ks):
            expected = formulas.values(y[indices[:, :k]], d[:, :k] if weighted else None)
            np.testing.assert_allclose(found[i], expected, rtol=1e-13, atol=1e-13 * np.std(y))


def test_a_distance_near_zero_is_left_open():
    d = np.array([[1e-9, 0.5, 1.0], [0.0, 0.5, 1.0], [1e-305, 0.5, 1.0], [0.2, 0.5, 1.0]])
    members = Members(np.tile(np.arange(3, dtype=np.int32), (4, 1)), d, np.full(4, 3, np.int32), np.full(4, np.inf))
    ks, codes = np.array([2]), np.array([0, 1, 1])
    ties = Ties(ks, *(np.full((4, 1), 2, np.int32) for _ in range(2)))
    off = np.array([1e-9, 1e-9, 0.0, 0.0])
    counted = uniform_labels(members, ties, codes, 2)
    assert weighted_labels(members, ties, codes, counted, off, (1e-14, False)).tolist() == [[-1, -1, -1, 0]]
    _, vague = class_votes(members, ties, codes, 2, True, off, (1e-14, False))
    assert vague.tolist() == [[True, True, True, False]]
    _, unsure = means(members, ties, np.array([1.0, 2.0, 3.0]), True, off, (1e-14, False), 1.0)
    assert unsure.tolist() == [[True, True, True, False]]


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_bound_covers_the_rounding_of_expanded_squares(shift, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 30)) + shift).astype(dtype)
    cells, distance = NumericTable(X), Distance("euclidean", 2.0, False)
    slack = distance.slack(cells)
    wide = X.astype(np.longdouble)
    true = ((wide[:, None] - wide[None]) ** 2).sum(axis=2)
    x = X.astype(np.float64)
    squares = (x * x).sum(axis=1)
    found = squares[:, None] + squares[None] - 2 * x @ x.T
    assert (np.abs(found - true) <= (slack.order[:, None] + slack.share * np.asarray(true, float)) / 4).all()
