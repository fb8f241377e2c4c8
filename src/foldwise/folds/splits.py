"""Splits, frozen before anything uses them: scikit-learn's splitters or any iterable of (train, test)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from foldwise.errors import InputError
from foldwise.folds.protocol import Rows


@dataclass(frozen=True)
class Split:
    """Training and test rows, by number."""

    train: Rows
    test: Rows


def freeze_splits(
    cv: Any, X: Any, y: Any, groups: Any = None, *, n_rows: int, classifier: bool = True, overlap: bool = False
) -> tuple[Split, ...]:
    """All splits of a splitter, a number of folds or an iterable, as index arrays, checked."""
    splitter = check_cv(cv, y, classifier=classifier)
    splits = []
    for number, (train, test) in enumerate(splitter.split(X, y, groups)):
        split = Split(as_rows(train, n_rows, number, "training"), as_rows(test, n_rows, number, "test"))
        if not overlap:
            check_apart(split, n_rows, number)
        splits.append(split)
    if not splits:
        raise InputError("the splitter gave no split.", "pass at least one pair of training and test rows.")
    return tuple(splits)


def as_rows(rows: Any, n_rows: int, number: int, what: str) -> Rows:
    """Row numbers; a mask of truth values is turned into them."""
    array = np.asarray(rows)
    if array.dtype == bool:
        if len(array) != n_rows:
            raise InputError(f"split {number}: the mask of {what} rows has {len(array)} entries for {n_rows} rows.")
        array = np.flatnonzero(array)
    if array.size == 0:
        raise InputError(f"split {number} has no {what} rows.", "use fewer folds, or check the splitter.")
    array = array.astype(np.intp, copy=False)
    if array.min() < -n_rows or array.max() >= n_rows:
        raise InputError(f"split {number} names row {int(array.max())}, but the table has {n_rows} rows.")
    return np.where(array < 0, array + n_rows, array)


def check_apart(split: Split, n_rows: int, number: int) -> None:
    """Refuse a split that tests on rows it trains on."""
    trained = np.zeros(n_rows, dtype=bool)
    trained[split.train] = True
    both = split.test[trained[split.test]]
    if both.size:
        raise InputError(
            f"split {number} trains and tests on {both.size} common rows, such as row {int(both[0])}.",
            "a score on rows that were learned says nothing about new ones; make the two disjoint.",
        )
