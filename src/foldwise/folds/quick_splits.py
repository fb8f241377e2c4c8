"""Faster equivalents of scikit-learn's splitters, for searches that split thousands of times.

A splitter with a seed creates a RandomState whenever it splits, which takes longer than shuffling a thousand rows.
Each thread keeps one RandomState and seeds it again, which gives the same numbers. StratifiedKFold also checks its
target, which takes longer than assigning the folds; integer targets need no such check.
"""

from __future__ import annotations

import copy
from threading import local
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from foldwise.folds.protocol import Rows

ONE_GENERATOR = frozenset({KFold, StratifiedKFold, ShuffleSplit, StratifiedShuffleSplit})  # they create one per split

_OWN = local()


def seeded(cv: Any) -> Any:
    """A splitter equal to `cv`, to be used before this thread calls the function again; or `cv` itself."""
    seed = getattr(cv, "random_state", None)
    if type(cv) not in ONE_GENERATOR or type(seed) is not int or not 0 <= seed < 1 << 32:
        return cv
    if not hasattr(_OWN, "generator"):
        _OWN.generator = np.random.RandomState()
    _OWN.generator.seed(seed)
    twin = copy.copy(cv)
    twin.random_state = _OWN.generator
    return twin


def stratified_pairs(splitter: Any, X: Any, y: Any, groups: Any) -> list[tuple[Rows, Rows]] | None:
    """The pairs of `splitter.split`; None if it might warn, raise, or draw from another generator."""
    if type(splitter) is not StratifiedKFold or groups is not None or type(y) is not np.ndarray:
        return None
    if y.ndim != 1 or y.dtype.kind not in "iu" or type(X) is not np.ndarray or len(X) != len(y):
        return None
    n_folds, own = splitter.n_splits, seeded(splitter)
    if splitter.shuffle and own is splitter:
        return None
    _, first, codes, counts = np.unique(y, return_index=True, return_inverse=True, return_counts=True)
    if not len(y) or counts.min() < n_folds:
        return None
    folds = np.empty(len(y), dtype=np.intp)
    start = 0
    for k in np.argsort(first):  # classes by first appearance
        # folds are assigned in turn to all rows, ordered by class; within a class, equal folds become one block
        mine = np.sort(np.arange(start, start + counts[k]) % n_folds)
        if splitter.shuffle:
            own.random_state.shuffle(mine)
        folds[codes == k] = mine
        start += counts[k]
    return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(n_folds)]
