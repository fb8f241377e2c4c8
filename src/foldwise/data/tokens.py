"""Split texts into words as scikit-learn's CountVectorizer does: lowercase, two or more word characters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Ints
from foldwise.data.columns import ColumnSource
from foldwise.data.schema import Column

WORD = re.compile(r"(?u)\b\w\w+\b")
ASCII_WORD = r"[0-9a-z_]{2,}"  # the same for ASCII text, in polars' regex engine


@dataclass(frozen=True)
class TokenizedText:
    """Rows of text as indices into their distinct words, which are in no particular order."""

    distinct: pl.Series  # of strings
    codes: Ints  # of all words, row by row
    starts: Ints  # (n + 1,), the index in codes at which each row begins
    missing: NDArray[np.bool_]  # (n,)

    def of_rows(self, start: int, stop: int) -> TokenizedText:
        """Return the words of rows start..stop."""
        a, b = self.starts[start], self.starts[stop]
        return TokenizedText(
            self.distinct, self.codes[a:b], self.starts[start : stop + 1] - a, self.missing[start:stop]
        )

    def take(self, rows: NDArray[np.intp]) -> TokenizedText:
        """Return the words of some rows."""
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[rows])]).astype(np.int64)
        codes = np.empty(starts[-1], dtype=np.int64)
        gather(self.codes, self.starts, np.asarray(rows, dtype=np.int64), codes)
        return TokenizedText(self.distinct, codes, starts, self.missing[rows])


@njit(nogil=True, cache=True)
def gather(codes: Ints, starts: Ints, rows: Ints, out: Ints) -> None:
    """Copy the codes of some rows, row by row."""
    at = 0
    for row in rows:
        for i in range(starts[row], starts[row + 1]):
            out[at] = codes[i]
            at += 1


def tokenize(texts: pl.Series) -> TokenizedText:
    """Split a series of texts into words; missing texts are null."""
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
    """Return a list of words per row. Rows beyond ASCII are split by Python, as scikit-learn does."""
    plain = (texts.str.len_bytes() == texts.str.len_chars()).fill_null(True)
    fast = texts.filter(plain).str.to_lowercase().str.extract_all(ASCII_WORD)
    if plain.all():
        return fast
    slow = [WORD.findall(text.lower()) for text in texts.filter(~plain).to_list()]
    order = np.argsort(np.concatenate([np.flatnonzero(plain), np.flatnonzero(~plain)]), kind="stable")
    return pl.concat([fast, pl.Series(fast.name, slow, dtype=pl.List(pl.String))]).gather(order)


class TextColumn(ColumnSource):
    """A text column of an encoded table, split into words once."""

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
