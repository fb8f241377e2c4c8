"""Folds from the md5 of a key: the same rows are in the same fold on every engine, and on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import md5
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import whole_at_least
from foldwise.data.levels import plain
from foldwise.errors import FoldwiseTypeError, InputError

WIDTH = 8  # hexadecimal digits of the md5 that decide one number
LARGEST = 1 << (4 * WIDTH)
OUTER, INNER, SAMPLE = 0, 1, 2  # which digits decide the outer fold, the inner fold and the sample


@dataclass(frozen=True)
class KeyFolds:
    """Folds of rows that depend only on the text of a unique key.

    Attributes
    ----------
    key : str
        Name of the column that identifies a row: integers or text.
    outer : int
        Number of folds.
    inner : int or None
        Number of inner folds of each training set, for nested cross-validation.
    seed : int
        Another seed gives other folds.

    Examples
    --------
    >>> folds = KeyFolds("id", outer=3)
    >>> folds.assign([1, 2, 3, "a"]).tolist()
    [[1], [2], [2], [0]]

    Notes
    -----
    The md5 of "seed:key" has 32 hexadecimal digits. The first eight decide the outer fold, the next eight the inner
    fold, and the next eight whether a row is in a sample. Whole numbers are written without a decimal point.
    """

    key: str
    outer: int = 5
    inner: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        whole_at_least("outer", self.outer, 2, "models of a fold are trained on the other folds.")
        if self.inner is not None:
            whole_at_least("inner", self.inner, 2, "pass None if folds are not nested.")
        whole_at_least("seed", self.seed, 0)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of folds of each level."""
        return (self.outer,) if self.inner is None else (self.outer, self.inner)

    def digits(self, keys: Iterable[Any]) -> NDArray[np.uint32]:  # (rows, 3)
        """Return the numbers that decide the outer fold, the inner fold and the sample.

        Parameters
        ----------
        keys : iterable of int or str
            One key per row.

        Returns
        -------
        array of shape (rows, 3)
            Numbers below 2**32.
        """
        found = [self._numbers(key) for key in keys]
        return np.array(found, dtype=np.uint32).reshape(len(found), 3)

    def _numbers(self, key: Any) -> tuple[int, ...]:
        key = plain(key)
        if not isinstance(key, int | str) or isinstance(key, bool):
            raise FoldwiseTypeError(f"the key must be an integer or text, got {key!r}.", "cast the column to text.")
        text = md5(f"{self.seed}:{key}".encode(), usedforsecurity=False).hexdigest()
        return tuple(int(text[WIDTH * part : WIDTH * (part + 1)], 16) for part in (OUTER, INNER, SAMPLE))

    def assign(self, keys: Iterable[Any]) -> NDArray[np.intp]:  # (rows, levels)
        """Assign rows to folds by their keys.

        Parameters
        ----------
        keys : iterable of int or str
            One key per row.

        Returns
        -------
        array of shape (rows, 1) or (rows, 2)
            Index of the outer fold, and of the inner fold if there is one.
        """
        digits = self.digits(keys)
        levels = [np.searchsorted(bounds(n), digits[:, part], side="right") for part, n in enumerate(self.sizes)]
        return np.stack(levels, axis=1)

    def sampled(self, keys: Iterable[Any], share: float) -> NDArray[np.bool_]:
        """Return which rows are in a sample of this share of all rows.

        Parameters
        ----------
        keys : iterable of int or str
            One key per row.
        share : float
            Share of the rows, at most 1.

        Returns
        -------
        array of shape (rows,)
            Whether each row is in the sample.
        """
        drawn: NDArray[np.bool_] = self.digits(keys)[:, SAMPLE] < threshold(share)
        return drawn


def bounds(n: int) -> NDArray[np.uint32]:  # (n - 1,)
    """Return the smallest number of every fold but the first."""
    return np.array([-(-i * LARGEST // n) for i in range(1, n)], dtype=np.uint32)


def threshold(share: float) -> int:
    """Return the number below which a row is in the sample."""
    return min(int(share * LARGEST), LARGEST - 1)


def as_digits(number: int) -> str:
    """Write a number as the md5 does; such texts have the order of the numbers."""
    return f"{number:0{WIDTH}x}"


def check_key(name: str, is_text: bool, is_integer: bool, kind: str) -> None:
    """Refuse a key whose text may differ between engines."""
    if not (is_text or is_integer):
        raise InputError(
            f"the key must contain integers or text, but column {name!r} has the type {kind}.",
            "choose another column, or cast it to text.",
        )
