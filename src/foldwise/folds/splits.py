"""Splits as index arrays, frozen and checked before use, from a splitter or any iterable of (train, test)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn import model_selection
from sklearn.model_selection import KFold, LeaveOneOut, LeavePOut, check_cv

from foldwise.data.notes import counted
from foldwise.errors import InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.quick_splits import seeded, stratified_pairs


@dataclass(frozen=True)
class Split:
    """Indices of training and test rows.

    Attributes
    ----------
    train : array of int
        Indices of the training rows.
    test : array of int
        Indices of the test rows.

    Examples
    --------
    >>> import numpy as np
    >>> split = Split(np.array([0, 1, 2]), np.array([3]))
    >>> split.trained(np.array([0, 1, 1, 0]), n_classes=2)
    array([1, 2])
    """

    train: Rows
    test: Rows

    def trained(self, codes: NDArray[np.int64], n_classes: int) -> NDArray[np.intp]:  # (classes,)
        """Count the training rows of each class.

        Parameters
        ----------
        codes : array of int
            The class index of every row of the table.
        n_classes : int
            The number of classes.

        Returns
        -------
        array of shape (n_classes,)
            The number of training rows of each class.
        """
        return np.bincount(codes[self.train], minlength=n_classes)


class LeaveOneOutSplits(Sequence[Split]):
    """Leave-one-out: each of some rows is the test row of one split, and all others are its training rows.

    Splits are created on access: all index arrays together would take 19 GB for 50,000 rows.
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
            raise IndexError(f"split {index} is out of range: the number of splits is {len(self)}.")
        return LeaveOneOutSplit(self, index % len(self))

    def among(self, rows: Rows) -> LeaveOneOutSplits:
        """The same splits in terms of a larger table, in which row i is row `rows[i]`."""
        return LeaveOneOutSplits(rows[self.rows])

    def counts(self, codes: NDArray[np.int64], n_classes: int) -> NDArray[np.intp]:  # (classes,)
        """The number of rows of each class."""
        if self._counted is None or self._counted[0] is not codes:
            self._counted = (codes, np.bincount(codes[self.rows], minlength=n_classes))
        return self._counted[1]


class LeaveOneOutSplit(Split):
    """One split of leave-one-out; its training rows are computed on each access."""

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
    """Whether a splitter of scikit-learn is leave-one-out, in the order of rows."""
    kind = type(splitter)
    if n_rows < 2:
        return False  # the splitter raises
    if kind is KFold:
        return bool(splitter.n_splits == n_rows and not splitter.shuffle)
    return kind is LeaveOneOut or (kind is LeavePOut and splitter.p == 1)


def among(splits: Sequence[Split], rows: Rows) -> Sequence[Split]:
    """Splits of some rows of a table, in terms of the whole table."""
    if isinstance(splits, LeaveOneOutSplits):
        return splits.among(rows)
    return [Split(rows[split.train], rows[split.test]) for split in splits]


def test_rows(splits: Sequence[Split]) -> Rows:
    """The test rows of all splits, one after the other."""
    return splits.rows if isinstance(splits, LeaveOneOutSplits) else np.concatenate([split.test for split in splits])


test_rows.__test__ = False  # type: ignore[attr-defined]  # pytest takes it for a test because of its name


def freeze_splits(
    cv: Any, X: Any, y: Any, groups: Any = None, *, n_rows: int, classifier: bool = True, overlap: bool = False
) -> Sequence[Split]:
    """Turn a splitter, a number of folds or an iterable into checked index arrays.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        As for scikit-learn; a generator is read once. Masks and negative indices are allowed.
    X, y : table and target
        Passed to the splitter.
    groups : array, optional
        One group label per row, for splitters of groups.
    n_rows : int
        The number of rows of the table.
    classifier : bool, default=True
        Whether a number of folds means stratified folds.
    overlap : bool, default=False
        Whether a test row may also be a training row.

    Returns
    -------
    sequence of Split
        All splits; those of leave-one-out are created on access.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.folds import freeze_splits
    >>> [split] = freeze_splits([([True, True, False], [-1])], np.zeros((3, 1)), None, n_rows=3)
    >>> split.train, split.test
    (array([0, 1]), array([2]))
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
                f"cv must be a splitter or yield pairs (train, test), but split {number} is {shorten(pair)}.",
                "pass a list of pairs of row indices, such as [(train, test)].",
            ) from None
        if not is_sound(train, test, n_rows):  # the checks below say what is wrong, and convert masks
            train, test = as_rows(train, n_rows, number, "training"), as_rows(test, n_rows, number, "test")
            if not overlap:
                check_apart(Split(train, test), n_rows, number)
        splits.append(Split(train, test))
    if splits and not isinstance(cv, Iterable):
        check_number(cv, X, y, groups, len(splits))
    if not splits:
        hint = "pass at least one pair of training and test rows."
        if hasattr(cv, "__next__"):
            hint = "a generator can be read only once. Pass a list of its splits."
        raise InputError("cv has no splits.", hint)
    return tuple(splits)


def check_number(cv: Any, X: Any, y: Any, groups: Any, n_splits: int) -> None:
    """Raise if a splitter that is not scikit-learn's own yields another number of splits than it says."""
    own = getattr(model_selection, type(cv).__name__, None) is type(cv)
    if own or not hasattr(cv, "get_n_splits"):
        return
    expected = cv.get_n_splits(X, y, groups)
    if expected != n_splits:
        raise InputError(
            f"cv.split and cv.get_n_splits return inconsistent results. Expected {expected} splits, got {n_splits}.",
            f"make {type(cv).__name__}.get_n_splits return the number of splits.",
        )


def pairs_of(cv: Any, X: Any, y: Any, groups: Any, classifier: bool) -> Iterator[Any]:
    """The pairs of a splitter or an iterable, not checked yet."""
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
                f"{type(splitter).__name__} needs groups, but groups is None.",
                "pass one label per row as groups.",
            ) from error
        raise


def is_sound(train: Any, test: Any, n_rows: int) -> bool:
    """Whether both are arrays of valid row indices without a common row."""
    for rows in (train, test):
        if type(rows) is not np.ndarray or rows.dtype != np.intp or rows.ndim != 1 or not rows.size:
            return False
        if not rows.flags.carray:  # a kernel is compiled for each layout
            return False
    return bool(are_apart(train, test, n_rows))


@njit(nogil=True, cache=True)
def are_apart(train: Rows, test: Rows, n_rows: int) -> bool:
    """Whether all indices are rows of the table and no test row is a training row."""
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
    """Row indices, also from a boolean mask."""
    array = np.asarray(rows)
    if array.ndim != 1:
        raise InputError(f"the {what} rows of split {number} must be a one-dimensional array, but are {shorten(rows)}.")
    if array.dtype == bool:
        if len(array) != n_rows:
            raise InputError(
                f"the mask of {what} rows of split {number} has {len(array)} entries, but the table has {n_rows} rows."
            )
        array = np.flatnonzero(array)
    if array.size == 0:
        raise InputError(f"split {number} has no {what} rows.", "use fewer folds, or check cv.")
    if array.dtype.kind not in "iu":
        raise InputError(
            f"the {what} rows of split {number} must be integers or a boolean mask, but have dtype {array.dtype}, "
            f"such as {array.tolist()[0]!r}.",
            "pass row indices, counted from 0.",
        )
    low, high = int(array.min()), int(array.max())
    if low < -n_rows or high >= n_rows:
        culprit = low if low < -n_rows else high
        raise InputError(f"split {number} contains row {culprit}, but the table has {n_rows} rows.")
    array = array.astype(np.intp, copy=False)
    return array if low >= 0 else np.where(array < 0, array + n_rows, array)


def shorten(value: Any) -> str:
    """The repr of a value, at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_apart(split: Split, n_rows: int, number: int) -> None:
    """Raise if a test row is also a training row."""
    trained = np.zeros(n_rows, dtype=bool)
    trained[split.train] = True
    both = split.test[trained[split.test]]
    if both.size:
        raise InputError(
            f"split {number} has {counted(both.size, 'row')} in both train and test, for example row {int(both[0])}.",
            "make them disjoint: scores on training rows are too optimistic.",
        )
