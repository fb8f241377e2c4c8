"""What a session worked out about settings, kept from split to split. Built with the session; threads may share it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


def nothing_known(key: Any) -> dict[Any, Any]:
    """For caches of what is worked out about an object bit by bit."""
    return {}


class IdentityCache(Generic[Item]):
    """Items made of objects, found again by the identity of the object: every split asks about the same settings.

    Two threads may make the same item at once. Both are right, and the last one stays.
    """

    def __init__(self, make: Callable[[Any], Item], most: int = 1 << 14) -> None:
        self._make, self._most = make, most
        self._items: dict[int, tuple[Any, Item]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without items: ids mean other things in another process."""
        return {**vars(self), "_items": {}}

    def of(self, key: Any) -> Item:
        """The item of an object, made when first asked for."""
        known = self._items.get(id(key))
        if known is None or known[0] is not key:
            known = (key, self._make(key))  # holds the object, so that its id is not used again
            if len(self._items) >= self._most:
                self._items.clear()
            self._items[id(key)] = known
        return known[1]


class KeyedCache(Generic[Item]):
    """Items found again by a key that the session makes. Another process begins with none: ids mean other things there.

    Two threads may make the same item at once. Both are right, and the first one stays.
    """

    def __init__(self) -> None:
        self._items: dict[Any, Item] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"_items": {}}

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: Any, make: Callable[[], Item]) -> Item:
        """The item of a key, made when first asked for."""
        if key not in self._items:
            self._items.setdefault(key, make())
        return self._items[key]

    def find(self, key: Any) -> Item | None:
        """The item of a key, if there is one."""
        return self._items.get(key)

    def keep(self, key: Any, item: Item) -> Item:
        """The same item, which is found from now on."""
        self._items[key] = item
        return item


class ByteBudget:
    """How many bytes a session may still keep. Threads take their share before they compute what they keep."""

    def __init__(self, n_bytes: int) -> None:
        self._left, self._lock = n_bytes, Lock()

    def take(self, n_bytes: int) -> bool:
        """Whether so many bytes were left; if so, they are taken."""
        with self._lock:
            if n_bytes > self._left:
                return False
            self._left -= n_bytes
            return True
