"""Leases of blocks that this process computes are extended by one thread, however many searches it runs.

A thread per search would cost more than many a search.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from foldwise.tuning.store.connection import StoreError, TrialStore
from foldwise.tuning.store.study import LEASE, Claim, extend

EVERY = LEASE / 3  # seconds between extensions


class LeaseKeeper:
    """Extends leases as long as their blocks are being computed."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[TrialStore, dict[int, Claim]]] = {}
        self._thread = threading.Thread(target=self._run, name="foldwise leases", daemon=True)
        self._thread.start()

    @contextmanager
    def keeping(self, store: TrialStore, claims: dict[int, Claim]) -> Iterator[None]:
        """Keep extending the leases of claims, which are removed from the dictionary when they are done."""
        self._held[id(claims)] = (store, claims)
        try:
            yield
        finally:
            del self._held[id(claims)]

    def _run(self) -> None:
        while True:
            time.sleep(EVERY)
            self.extend_all()

    def extend_all(self) -> None:
        """Extend the leases of all blocks that are being computed."""
        for store, claims in list(self._held.values()):
            try:
                extend(store, list(claims.values()))
            except StoreError:  # what computes the blocks finds out itself when it records them
                continue


_keepers: dict[int, LeaseKeeper] = {}  # by process: a forked process has no threads of its parent


def lease_keeper() -> LeaseKeeper:
    """The keeper of this process."""
    process = os.getpid()
    if process not in _keepers:
        _keepers.clear()
        _keepers[process] = LeaseKeeper()
    return _keepers[process]
