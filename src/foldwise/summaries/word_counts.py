"""`WordCounts`: how often each word occurs in text columns, by class; `+` and `-` are exact.

The words are those of rows with a weight above 0, sorted, so they do not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Floats, Ints
from foldwise.data.levels import sort_levels
from foldwise.data.tokens import TokenizedText
from foldwise.errors import InputError
from foldwise.summaries.alignment import rows_left, spread, stored_array, weight_kept
from foldwise.summaries.counts import CategoryCounts
from foldwise.summaries.passes import ThreadShare
from foldwise.summaries.per_column import PerColumn

TEXT_ROWS = 65_536  # split into words at a time
PRESENT = ("present_weight", "present_rows")


@dataclass(frozen=True)
class ColumnWords:
    """The words of one column by class: their weighted counts and rows, and the rows that are not missing."""

    counts: CategoryCounts  # its levels are the sorted words
    present_weight: Floats  # (K,), of the rows that are not missing
    present_rows: Floats  # (K,)

    @property
    def words(self) -> tuple[str, ...]:
        return self.counts.levels  # type: ignore[return-value]

    @property
    def weight(self) -> Floats:  # (V, K)
        return self.counts.weight

    @property
    def rows(self) -> Floats:  # (V, K)
        return self.counts.rows

    def __add__(self, other: ColumnWords) -> ColumnWords:
        weight, rows = self.present_weight + other.present_weight, self.present_rows + other.present_rows
        return ColumnWords(self.counts + other.counts, weight, rows)

    def __sub__(self, other: ColumnWords) -> ColumnWords:
        counts = self.counts - other.counts
        rows = rows_left(self.present_rows, other.present_rows)
        return ColumnWords(counts, weight_kept(self.present_weight, other.present_weight, rows), rows)

    def expand(self, indices: NDArray[np.int64], n_classes: int) -> ColumnWords:
        """Return the same summary for `n_classes` classes; class i moves to `indices[i]`."""
        weight, rows = (spread(array, indices, n_classes) for array in (self.present_weight, self.present_rows))
        return ColumnWords(self.counts.expand(indices, n_classes), weight, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON values."""
        return {**self.counts.to_dict(), **{name: getattr(self, name).tolist() for name in PRESENT}}

    @classmethod
    def from_dict(cls, facts: dict[str, Any], n_classes: int) -> ColumnWords:
        """Check and return the summary that `to_dict` wrote."""
        counts = CategoryCounts.from_dict(facts, n_classes)
        if any(not isinstance(word, str) for word in counts.levels) or counts.levels != sort_levels(counts.levels):
            raise InputError("the stored words must be sorted strings.", "write the model again with to_json.")
        weight, rows = (stored_array(facts, name, (n_classes,), 0.0) for name in PRESENT)
        return cls(counts, weight, rows)


@dataclass(frozen=True)
class WordCounts(PerColumn[ColumnWords]):
    """The words of several columns."""

    COLUMN = ColumnWords

    @property
    def present(self) -> tuple[Floats, Floats]:  # (K, d) both
        """Weight and rows of the cells that are not missing."""
        weight, rows = (np.array([getattr(c, name) for c in self.columns]).T for name in PRESENT)
        return weight, rows


@njit(nogil=True, cache=True)
def count_words(codes: Ints, starts: Ints, y: Ints, w: Floats, weight: Floats, rows: Floats) -> None:
    """Count the words of rows into `weight` and `rows` (V, K)."""
    last = np.full(weight.shape[0], -1, np.int64)  # the last row that contained each word
    for i in range(y.size):
        if w[i] > 0:
            for k in range(starts[i], starts[i + 1]):
                word = codes[k]
                weight[word, y[i]] += w[i]
                if last[word] != i:
                    last[word] = i
                    rows[word, y[i]] += 1.0


def word_counts_of(read: Sequence[Callable[[int, int], TokenizedText]], share: ThreadShare) -> WordCounts:
    """Summarize a share of the rows in one pass; `read[j](start, stop)` returns the words of a column."""
    return WordCounts(tuple(count_column(words, share) for words in read))


def count_column(read: Callable[[int, int], TokenizedText], share: ThreadShare) -> ColumnWords:
    zeros = np.zeros(share.n_classes)
    total = ColumnWords(CategoryCounts((), *np.zeros((2, 0, share.n_classes))), zeros, zeros)
    for window in share.windows(TEXT_ROWS):
        words = read(window.start, window.stop)
        weight, rows = np.zeros((2, len(words.distinct), share.n_classes))
        count_words(words.codes, words.starts, window.y, window.w, weight, rows)
        there = ~words.missing & (window.w > 0)
        y = window.y[there]
        order = words.distinct.arg_sort().to_numpy()
        held: NDArray[np.bool_] = np.any(rows, axis=1)
        order = order[held[order]]
        found = ColumnWords(
            CategoryCounts(tuple(words.distinct.gather(order).to_list()), weight[order], rows[order]),
            np.bincount(y, window.w[there], share.n_classes).astype(np.float64),
            np.bincount(y, minlength=share.n_classes).astype(np.float64),
        )
        total = found if window.start == share.start else total + found
    return total
