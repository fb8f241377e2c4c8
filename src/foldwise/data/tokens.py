"""The words of a column of text, as scikit-learn's CountVectorizer finds them: lowercase, two letters or more."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from foldwise.data.columns import ColumnSource
from foldwise.data.schema import Column

WORD = re.compile(r"(?u)\b\w\w+\b")
ASCII_WORD = r"[0-9a-z_]{2,}"  # the same for text of ASCII letters only, in polars' own engine

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TokenizedText:
    """Rows of text as codes into the distinct words that occur in them, in no order."""

    distinct: pl.Series  # of strings
    codes: Ints  # of all words, row after row
    starts: Ints  # (n + 1,), where the words of each row begin
    missing: NDArray[np.bool_]  # (n,)

    def of_rows(self, start: int, stop: int) -> TokenizedText:
        """The words of rows start..stop."""
        a, b = self.starts[start], self.starts[stop]
        return TokenizedText(
            self.distinct, self.codes[a:b], self.starts[start : stop + 1] - a, self.missing[start:stop]
        )

    def take(self, rows: NDArray[np.intp]) -> TokenizedText:
        """The words of some rows."""
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[rows])]).astype(np.int64)
        codes = np.empty(starts[-1], dtype=np.int64)
        gather(self.codes, self.starts, np.asarray(rows, dtype=np.int64), codes)
        return TokenizedText(self.distinct, codes, starts, self.missing[rows])


@njit(nogil=True, cache=True)
def gather(codes: Ints, starts: Ints, rows: Ints, out: Ints) -> None:
    """The codes of some rows, one row after the other."""
    at = 0
    for row in rows:
        for i in range(starts[row], starts[row + 1]):
            out[at] = codes[i]
            at += 1


def tokenize(texts: pl.Series) -> TokenizedText:
    """The words of a series of text, null for missing."""
    lists = split_words(texts)
    lengths = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    words = lists.explode().drop_nulls()  # an empty row explodes to a null
    distinct = words.unique()
    codes = (
        words.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).to_numpy() if len(words) else np.empty(0, np.int64)
    )
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return TokenizedText(distinct, np.ascontiguousarray(codes), starts, texts.is_null().to_numpy())


def split_words(texts: pl.Series) -> pl.Series:
    """A list of words a row. What a letter is beyond ASCII is Python's to say, so such rows are its to split."""
    plain = (texts.str.len_bytes() == texts.str.len_chars()).fill_null(True)
    fast = texts.filter(plain).str.to_lowercase().str.extract_all(ASCII_WORD)
    if plain.all():
        return fast
    slow = [WORD.findall(text.lower()) for text in texts.filter(~plain).to_list()]
    order = np.argsort(np.concatenate([np.flatnonzero(plain), np.flatnonzero(~plain)]), kind="stable")
    return pl.concat([fast, pl.Series(fast.name, slow, dtype=pl.List(pl.String))]).gather(order)


class TextColumn(ColumnSource):
    """A column of text in a table held ready: split into words once."""

    def __init__(self, column: Column, texts: pl.Series, words: TokenizedText | None = None) -> None:
        self.column, self._texts = column, texts
        self._words = tokenize(texts) if words is None else words

    def words(self, start: int, stop: int) -> TokenizedText:
        return self._words.of_rows(start, stop)

    def texts(self, start: int, stop: int) -> pl.Series:
        return self._texts[start:stop]

    def values(self, start: int, stop: int) -> list[Any]:
        return self._texts[start:stop].to_list()

    def take(self, rows: NDArray[np.intp]) -> TextColumn:
        return TextColumn(self.column, self._texts.gather(rows), self._words.take(rows))
