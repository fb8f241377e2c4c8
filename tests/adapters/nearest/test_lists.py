"""Lists are found lazily, once, and deepened; members are what a search among the training rows finds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from foldwise.adapters.nearest import searching as module
from foldwise.adapters.nearest.distances import Distance, NumericTable
from foldwise.adapters.nearest.members import Members
from foldwise.adapters.nearest.searching import among_train, lists_by
from foldwise.folds import neighbor_lists as lists_module
from foldwise.folds.neighbor_lists import depth_for

BRUTE, TREE = Distance("minkowski", 2.0, False), Distance("minkowski", 2.0, True)


@pytest.fixture
def cells(rng):
    return NumericTable(rng.normal(size=(400, 6)))


@pytest.fixture
def counted(monkeypatch):
    """The number of rows in each search."""
    sizes = []

    def searched(search, X, rows, depth):
        sizes.append(len(rows))
        yield from plain(search, X, rows, depth)

    plain = module.searched
    monkeypatch.setattr(module, "searched", searched)
    return sizes


def test_only_what_is_asked_for_is_searched_and_only_once(cells, counted):
    lists = lists_by(BRUTE, cells)
    lists.of(5, 300, np.arange(50))
    lists.of(5, 300, np.arange(20, 50))
    lists.of(4, 310, np.arange(50))
    assert counted == [50]
    lists.of(5, 300, np.arange(100))  # a second split: the rest of a small table comes along
    lists.of(5, 300, np.arange(400))
    assert counted == [50, 350]


def test_a_large_table_is_searched_in_growing_pieces(cells, counted, monkeypatch):
    monkeypatch.setattr(lists_module, "SMALL", 100)
    lists = lists_by(BRUTE, cells)
    for start in range(0, 400, 40):
        lists.of(5, 360, np.arange(start, start + 40))
    assert counted == [40, 80, 160, 120]


def test_lists_are_deepened_when_more_neighbors_are_asked_for(cells, counted):
    lists = lists_by(BRUTE, cells)
    first = lists.of(3, 300, np.arange(50))
    second = lists.of(30, 300, np.arange(50))
    assert second.depth > first.depth >= 3
    assert counted == [50, 50]
    assert lists.of(30, 290, np.arange(50)) is second  # a little less is no reason to search again
    assert lists.of(399, 399, np.arange(50)).whole


def test_lists_that_do_not_pay_are_not_kept(cells, monkeypatch):
    assert lists_by(BRUTE, cells).of(5, 50, np.arange(50)) is None
    monkeypatch.setattr(lists_module, "MOST_BYTES", 1000)
    assert lists_by(BRUTE, cells).of(5, 300, np.arange(50)) is None


def test_threads_get_the_same_lists(cells, counted):
    lists = lists_by(TREE, cells)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: lists.of(5, 300, np.arange(i, 400)).distances[i:].sum(), range(16)))
    alone = lists_by(TREE, cells).of(5, 300, np.arange(400)).distances
    np.testing.assert_allclose(found, [alone[i:].sum() for i in range(16)])
    assert sum(counted[:-1]) == 400


@pytest.mark.parametrize("distance", [BRUTE, TREE])
def test_members_are_the_nearest_training_rows(cells, distance, rng):
    train, test = rng.integers(0, 400, 350), np.arange(80)
    times = np.bincount(train, minlength=400).astype(np.int32)
    expected, _ = NearestNeighbors(algorithm="brute").fit(cells.X[train]).kneighbors(cells.X[test], n_neighbors=10)
    found = lists_by(distance, cells).of(10, len(np.unique(train)), test)
    direct = among_train(cells, distance, 10, train, test)
    for members in (Members.of(found, test, times, 10), Members.of(direct, np.arange(80), times, 10)):
        assert (members.count >= 10).all()
        np.testing.assert_allclose(members.distances[:, :10], expected, atol=1e-6)
        assert (members.end >= members.distances[np.arange(80), members.count - 1]).all()
        assert (times[members.indices[:, :10]] > 0).all()


def test_rows_taken_very_often_do_not_make_lists_wide(cells):
    times = np.full(400, 1000, np.int32)
    found = lists_by(TREE, cells).of(10, 400, np.arange(30))
    members = Members.of(found, np.arange(30), times, 10)
    assert members.indices.shape[1] < 50
    np.testing.assert_array_equal(members.end, members.distances[:, -1])


def test_depth():
    assert depth_for(5, 100, 100) == 8
    assert depth_for(70, 80, 100) == 100
    assert 38 < depth_for(30, 800, 1000) < 65
