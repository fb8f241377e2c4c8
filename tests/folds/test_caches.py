"""Caches make an item once, keep a limited number, and start empty in another process."""

from __future__ import annotations

import pickle

import pytest

from foldwise.folds.caches import ByteBudget, IdentityCache, KeyedCache


def test_an_item_is_made_once_for_each_key_and_few_are_kept():
    made = []

    def make(i):
        made.append(i)
        return i * 10

    cache = KeyedCache(most=16)
    for i in (1, 2, 1, 2):
        assert cache.get(i, lambda i=i: make(i)) == i * 10
    assert made == [1, 2]
    for i in range(100):
        cache.get(i, lambda i=i: make(i))
    assert len(cache) <= 16
    assert cache.values()[-1] == 990


def test_an_error_is_not_kept():
    cache = KeyedCache()
    with pytest.raises(ZeroDivisionError):
        cache.get("x", lambda: 1 / 0)
    assert cache.get("x", lambda: 3) == 3


def test_copies_in_another_process_start_empty():
    cache, by_identity = KeyedCache(most=1), IdentityCache(len)
    cache.keep("x", 1)
    assert by_identity.of("abc") == 3
    copy = pickle.loads(pickle.dumps(cache))
    assert copy.find("x") is None
    assert [copy.get(i, lambda i=i: i) for i in range(3)] == [0, 1, 2]
    assert len(copy) == 1
    assert pickle.loads(pickle.dumps(by_identity)).of("ab") == 2


def test_a_budget_is_not_exceeded():
    budget = ByteBudget(10)
    assert [budget.take(6), budget.take(6), budget.take(4)] == [True, False, True]
