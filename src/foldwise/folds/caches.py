"""Caches of a session, kept from split to split. They are created with the session, and threads may share them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
MISSING: Any = object()


def nothing_known(key: Any) -> dict[Any, Any]:
    """An empty dict: for caches that are filled step by step."""
    return {}


class KeyedCache(Generic[Item]):
    """Items found by a key. A key may contain ids, so a copy in another process starts empty.

    Two threads may make the same item at the same time. Both items are right, and the first one is kept. If there are
    `most` items, the next one replaces them all.
    """

    def __init__(self, most: int = sys.maxsize) -> None:
        self._items: dict[Any, Item] = {}
        self._most = most

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_items": {}}

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: Any, make: Callable[[], Item]) -> Item:
        """The item of a key, made on first use; if making it raises, nothing is kept."""
        found: Item = self._items.get(key, MISSING)  # one look-up: another thread may clear the items
        if found is MISSING:
            made = make()
            if len(self._items) >= self._most:
                self._items.clear()
            found = self._items.setdefault(key, made)
        return found

    def values(self) -> list[Item]:
        """All items."""
        return list(self._items.values())

    def find(self, key: Any) -> Item | None:
        """The item of a key; None if there is none."""
        return self._items.get(key)

    def keep(self, key: Any, item: Item) -> Item:
        """Store an item, and return it."""
        self._items[key] = item
        return item


class IdentityCache(Generic[Item]):
    """Items made from objects and found by the identity of the object: every split has the same settings."""

    def __init__(self, make: Callable[[Any], Item], most: int = 1 << 14) -> None:
        self._make = make
        self._items: KeyedCache[tuple[Any, Item]] = KeyedCache(most)

    def of(self, key: Any) -> Item:
        """The item of an object, made on first use."""
        found = self._items.find(id(key))
        if found is None:  # holds the object, so that its id is not reused
            found = self._items.get(id(key), lambda: (key, self._make(key)))
        return found[1]


class ByteBudget:
    """The number of bytes that a session may still keep. A thread reserves its bytes before it computes them."""

    def __init__(self, n_bytes: int) -> None:
        self._left, self._lock = n_bytes, Lock()

    def take(self, n_bytes: int) -> bool:
        """Reserve bytes; False if too few are left."""
        with self._lock:
            if n_bytes > self._left:
                return False
            self._left -= n_bytes
            return True
