"""The folds of scikit-learn's StratifiedKFold, without its checks of a target that is known to be whole numbers.

On a thousand rows the checks cost many times the dealing, and a nested search deals its folds anew in every outer one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from foldwise.folds.protocol import Rows
from foldwise.folds.seeding import seeded


def stratified_pairs(splitter: Any, X: Any, y: Any, groups: Any) -> list[tuple[Rows, Rows]] | None:
    """The pairs that `splitter.split` would give; None where it might warn, refuse, or draw from another generator."""
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
    dealt = 0
    for k in np.argsort(first):  # by first appearance
        # all rows in the order of classes are dealt in turn; then the rows of a class are moved into blocks of folds
        mine = np.sort(np.arange(dealt, dealt + counts[k]) % n_folds)
        if splitter.shuffle:
            own.random_state.shuffle(mine)
        folds[codes == k] = mine
        dealt += counts[k]
    return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(n_folds)]
