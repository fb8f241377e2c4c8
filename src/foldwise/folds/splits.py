"""Splits, frozen before anything uses them: scikit-learn's splitters or any iterable of (train, test)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.model_selection import KFold, LeaveOneOut, LeavePOut, check_cv

from foldwise.errors import InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.seeding import seeded
from foldwise.folds.stratifying import stratified_pairs


@dataclass(frozen=True)
class Split:
    """Training and test rows, by number."""

    train: Rows
    test: Rows

    def trained(self, codes: NDArray[np.int64], n_classes: int) -> NDArray[np.intp]:  # (classes,)
        """How many training rows each class has, from the codes of all rows."""
        return np.bincount(codes[self.train], minlength=n_classes)


class LeaveOneOutSplits(Sequence[Split]):
    """Leave-one-out: each of some rows is tested in turn, and all the others are learned.

    As many index arrays as rows would take 19 GB for 50,000 rows, so splits are made when they are looked at.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._counted: tuple[Any, NDArray[np.intp]] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Split: ...
    @overload
    def __getitem__(self, index: slice) -> list[Split]: ...
    def __getitem__(self, index: int | slice) -> Split | list[Split]:
        if isinstance(index, slice):
            return [LeaveOneOutSplit(self, i) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"split {index} of {len(self)}")
        return LeaveOneOutSplit(self, index % len(self))

    def among(self, rows: Rows) -> LeaveOneOutSplits:
        """The same splits where these rows are rows of a larger table: row i is its row `rows[i]`."""
        return LeaveOneOutSplits(rows[self.rows])

    def counts(self, codes: NDArray[np.int64], n_classes: int) -> NDArray[np.intp]:  # (classes,)
        """How many of all the rows each class has."""
        if self._counted is None or self._counted[0] is not codes:
            self._counted = (codes, np.bincount(codes[self.rows], minlength=n_classes))
        return self._counted[1]


class LeaveOneOutSplit(Split):
    """One split of leave-one-out; its training rows are listed anew each time they are asked for."""

    _all: LeaveOneOutSplits
    _index: int

    def __init__(self, all_splits: LeaveOneOutSplits, index: int) -> None:
        vars(self).update(_all=all_splits, _index=index)

    @property
    def train(self) -> Rows:
        return np.delete(self._all.rows, self._index)

    @property
    def test(self) -> Rows:
        return self._all.rows[self._index : self._index + 1]

    def trained(self, codes: NDArray[np.int64], n_classes: int) -> NDArray[np.intp]:  # (classes,)
        found = self._all.counts(codes, n_classes).copy()
        found[codes[self.test[0]]] -= 1
        return found


def leaves_one_out(splitter: Any, n_rows: int) -> bool:
    """Whether a splitter of scikit-learn tests every row once, by itself, in order."""
    kind = type(splitter)
    if n_rows < 2:
        return False  # the splitter says what is wrong
    if kind is KFold:
        return bool(splitter.n_splits == n_rows and not splitter.shuffle)
    return kind is LeaveOneOut or (kind is LeavePOut and splitter.p == 1)


def among(splits: Sequence[Split], rows: Rows) -> Sequence[Split]:
    """Splits of some rows as splits of the table they are rows of."""
    if isinstance(splits, LeaveOneOutSplits):
        return splits.among(rows)
    return [Split(rows[split.train], rows[split.test]) for split in splits]


def test_rows(splits: Sequence[Split]) -> Rows:
    """The test rows of all splits, one after the other."""
    return splits.rows if isinstance(splits, LeaveOneOutSplits) else np.concatenate([split.test for split in splits])


test_rows.__test__ = False  # type: ignore[attr-defined]  # no test, whatever pytest thinks of its name


def freeze_splits(
    cv: Any, X: Any, y: Any, groups: Any = None, *, n_rows: int, classifier: bool = True, overlap: bool = False
) -> Sequence[Split]:
    """All splits of a splitter, a number of folds or an iterable, as index arrays, checked.

    A generator is read once, here; what is frozen serves everyone who needs the splits.
    """
    if hasattr(cv, "split") or isinstance(cv, int):
        cv = check_cv(cv, y, classifier=classifier)
        if leaves_one_out(cv, n_rows):
            return LeaveOneOutSplits(np.arange(n_rows))
    splits = []
    for number, pair in enumerate(pairs_of(cv, X, y, groups, classifier)):
        try:
            train, test = pair
        except (TypeError, ValueError):
            raise InputError(
                f"split {number} is not a pair of training and test rows, but {shorten(pair)}.",
                "a cv that is no splitter must give pairs (train, test).",
            ) from None
        if not is_sound(train, test, n_rows):  # or what is unsound is told by the checks one by one
            train, test = as_rows(train, n_rows, number, "training"), as_rows(test, n_rows, number, "test")
            if not overlap:
                check_apart(Split(train, test), n_rows, number)
        splits.append(Split(train, test))
    if not splits:
        hint = "pass at least one pair of training and test rows."
        if hasattr(cv, "__next__"):
            hint = "a generator can be read only once; pass a list of its splits."
        raise InputError("the splitter gave no split.", hint)
    return tuple(splits)


def pairs_of(cv: Any, X: Any, y: Any, groups: Any, classifier: bool) -> Iterator[Any]:
    """What a splitter splits, or an iterable holds, not looked at yet."""
    if isinstance(cv, Iterable) and not isinstance(cv, str) and not hasattr(cv, "split"):
        yield from cv
        return
    splitter = check_cv(cv, y, classifier=classifier)
    pairs = stratified_pairs(splitter, X, y, groups)
    if pairs is not None:
        yield from pairs
        return
    try:
        yield from seeded(splitter).split(X, y, groups)
    except ValueError as error:
        if groups is None and ("'groups' parameter" in str(error) or "Group" in type(splitter).__name__):
            raise InputError(
                f"{type(splitter).__name__} splits by groups, but there are none.", "pass groups=."
            ) from error
        raise


def is_sound(train: Any, test: Any, n_rows: int) -> bool:
    """Whether both are plain numbers of rows of the table, none of them in both."""
    for rows in (train, test):
        if type(rows) is not np.ndarray or rows.dtype != np.intp or rows.ndim != 1 or not rows.size:
            return False
        if not rows.flags.carray:  # a kernel is compiled for each layout
            return False
    return bool(are_apart(train, test, n_rows))


@njit(nogil=True, cache=True)
def are_apart(train: Rows, test: Rows, n_rows: int) -> bool:
    """Whether all rows lie within the table, and no test row is a training row."""
    trained = np.zeros(n_rows, dtype=np.bool_)
    for i in train:
        if not 0 <= i < n_rows:
            return False
        trained[i] = True
    sound = True
    for i in test:
        sound = sound and 0 <= i < n_rows and not trained[i]
    return sound


def as_rows(rows: Any, n_rows: int, number: int, what: str) -> Rows:
    """Row numbers; a mask of truth values is turned into them."""
    array = np.asarray(rows)
    if array.ndim != 1:
        raise InputError(f"split {number}: the {what} rows must be a list of numbers, but came as {shorten(rows)}.")
    if array.dtype == bool:
        if len(array) != n_rows:
            raise InputError(f"split {number}: the mask of {what} rows has {len(array)} entries for {n_rows} rows.")
        array = np.flatnonzero(array)
    if array.size == 0:
        raise InputError(f"split {number} has no {what} rows.", "use fewer folds, or check the splitter.")
    if array.dtype.kind not in "iu":
        raise InputError(
            f"split {number}: {what} rows must be whole numbers or a mask, but came as {array.dtype}, "
            f"such as {array.tolist()[0]!r}.",
            "rows are named by their place in the table, from 0.",
        )
    low, high = int(array.min()), int(array.max())
    if low < -n_rows or high >= n_rows:
        culprit = low if low < -n_rows else high
        raise InputError(f"split {number} names row {culprit}, but the table has {n_rows} rows.")
    array = array.astype(np.intp, copy=False)
    return array if low >= 0 else np.where(array < 0, array + n_rows, array)


def shorten(value: Any) -> str:
    """The beginning of how a value prints."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


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
