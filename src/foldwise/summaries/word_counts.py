"""How often each word occurs in columns of text, by class: one pass, `+` and `-`, both exact.

The words are those that rows of a weight above 0 hold, in order: nothing about how they were met is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.data.tokens import TokenizedText
from foldwise.errors import ForgetError, InputError
from foldwise.summaries.alignment import rows_left, spread, stored_array, weight_kept
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import Share
from foldwise.summaries.per_column import PerColumn

TEXT_ROWS = 65_536  # split into words at a time
TABLES = ("weight", "rows")
TOTALS = ("present_weight", "present_rows")


@dataclass(frozen=True)
class ColumnWords:
    """Per word of one column and class: its weighted count and the rows that hold it; the rows that hold text."""

    words: tuple[str, ...]
    weight: Floats  # (V, K)
    rows: Floats  # (V, K)
    present_weight: Floats  # (K,)
    present_rows: Floats  # (K,)

    def __add__(self, other: ColumnWords) -> ColumnWords:
        totals = (getattr(self, name) + getattr(other, name) for name in TOTALS)
        if self.words == other.words:
            return ColumnWords(self.words, self.weight + other.weight, self.rows + other.rows, *totals)
        words = tuple(sorted({*self.words, *other.words}))
        (w, r), (v, s) = self.on(words), other.on(words)
        return ColumnWords(words, w + v, r + s, *totals)

    def __sub__(self, other: ColumnWords) -> ColumnWords:
        unknown = set(other.words).difference(self.words)
        if unknown:
            raise ForgetError(f"the word {min(unknown)!r} was taken away, but had not been learned.")
        gone_weight, gone_rows = other.on(self.words)
        rows = rows_left(self.rows, gone_rows)
        present = rows_left(self.present_rows[:, None], other.present_rows[:, None])[:, 0]
        weight = weight_kept(self.present_weight, other.present_weight, present)
        return ColumnWords(
            self.words, weight_kept(self.weight, gone_weight, rows), rows, weight, present
        ).of_those_held()

    def on(self, words: Sequence[str]) -> tuple[Floats, Floats]:
        """Weights and rows in the order of other words, among which must be all of ours."""
        place = {word: i for i, word in enumerate(words)}
        places = np.array([place[word] for word in self.words], dtype=np.int64)
        return spread(self.weight, places, len(words)), spread(self.rows, places, len(words))

    def of_those_held(self) -> ColumnWords:
        """Without words that no row holds."""
        held: NDArray[np.bool_] = np.any(self.rows, axis=1)
        if held.all():
            return self
        words = tuple(word for word, kept in zip(self.words, held.tolist(), strict=True) if kept)
        return replace(self, words=words, weight=self.weight[held], rows=self.rows[held])

    def expand(self, places: NDArray[np.int64], n_classes: int) -> ColumnWords:
        """The same facts with class i at `places[i]` among `n_classes`."""
        tables = (spread(getattr(self, name).T, places, n_classes).T for name in TABLES)
        return ColumnWords(self.words, *tables, *(spread(getattr(self, name), places, n_classes) for name in TOTALS))


@dataclass(frozen=True)
class WordCounts(PerColumn[ColumnWords]):
    """The words of several columns."""

    @property
    def present(self) -> tuple[Floats, Floats]:  # (K, d) both
        """Weight and rows of the present cells."""
        weight, rows = (np.array([getattr(c, name) for c in self.columns]).T for name in TOTALS)
        return weight, rows

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain JSON values."""
        return {
            "columns": [
                {"words": list(c.words), **{name: getattr(c, name).tolist() for name in (*TABLES, *TOTALS)}}
                for c in self.columns
            ]
        }

    @classmethod
    def from_dict(cls, facts: dict[str, Any], n_classes: int, n_columns: int) -> WordCounts:
        """The facts that `to_dict` wrote, checked."""
        if len(facts["columns"]) != n_columns:
            raise InputError(f"the stored facts are of {len(facts['columns'])} columns, not of {n_columns}.")
        columns = []
        for c in facts["columns"]:
            words = tuple(str(word) for word in c["words"])
            if list(words) != sorted(set(words)):
                raise InputError("the stored words are not in order, each once.", "write the model again with to_json.")
            tables = (stored_array(c, name, (len(words), n_classes), 0.0) for name in TABLES)
            columns.append(ColumnWords(words, *tables, *(stored_array(c, name, (n_classes,), 0.0) for name in TOTALS)))
        return cls(tuple(columns))


@njit(nogil=True, cache=True)
def count_words(codes: Ints, starts: Ints, y: Ints, w: Floats, weight: Floats, rows: Floats) -> None:
    """Count the words of rows into `weight` and `rows` (V, K)."""
    last = np.full(weight.shape[0], -1, np.int64)  # the row in which a word was met last
    for i in range(y.size):
        if w[i] > 0:
            for k in range(starts[i], starts[i + 1]):
                word = codes[k]
                weight[word, y[i]] += w[i]
                if last[word] != i:
                    last[word] = i
                    rows[word, y[i]] += 1.0


def word_counts_of(read: Sequence[Callable[[int, int], TokenizedText]], share: Share) -> WordCounts:
    """One pass over a share of the rows; `read[j](start, stop)` gives the words of a column."""
    return WordCounts(tuple(count_column(words, share) for words in read))


def count_column(read: Callable[[int, int], TokenizedText], share: Share) -> ColumnWords:
    zeros = np.zeros(share.n_classes)
    total = ColumnWords((), np.zeros((0, share.n_classes)), np.zeros((0, share.n_classes)), zeros, zeros)
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
            tuple(words.distinct.gather(order).to_list()),
            weight[order],
            rows[order],
            np.bincount(y, window.w[there], share.n_classes).astype(np.float64),
            np.bincount(y, minlength=share.n_classes).astype(np.float64),
        )
        total = found if window.start == share.start else total + found
    return total
