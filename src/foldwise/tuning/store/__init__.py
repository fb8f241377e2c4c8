"""The trial store: searches that are resumed, shared between processes and machines, and read while they run."""

from foldwise.tuning.store.connection import StoreError, TrialStore
from foldwise.tuning.store.reading import StoredSearch, StoredTrial, open_search

__all__ = ["StoreError", "StoredSearch", "StoredTrial", "TrialStore", "open_search"]
