"""Text columns: a multinomial distribution over words in each class and column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl
from numba import njit

from foldwise.arrays import Floats, Ints
from foldwise.bayes.families.base import SPARSE_ROWS, DistributionFamily, dense, neutral_factor
from foldwise.bayes.families.categorical import LevelTable
from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Parameter, Scorer, Setting
from foldwise.bayes.presence import presence_shares
from foldwise.data.cells import read_only
from foldwise.data.schema import Column
from foldwise.data.tokens import TokenizedText
from foldwise.summaries.passes import ThreadShare
from foldwise.summaries.word_counts import WordCounts, word_counts_of

NAMED_WORDS = 5  # words listed in a note


class Text(DistributionFamily):
    """θ_word = (N_word + alpha) / (N + alpha · words), over the words of the training rows."""

    name = "text"
    summary_type = WordCounts

    def summarize(self, view: AnyView, columns: Sequence[int], share: ThreadShare) -> WordCounts:
        return word_counts_of(readers(view, columns), share)

    def finish(
        self, summary: WordCounts, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> TextLikelihood:
        never = np.zeros(len(totals.weight))  # only a whole text can be missing, not a word
        tables = tuple(
            LevelTable.of(column.name, words.words, words.weight, never, setting)
            for column, words in zip(columns, summary.columns, strict=True)
        )
        presence = np.zeros((2, len(columns), len(never)))
        if setting.missing == "category":
            presence = presence_shares(summary.present, totals, setting).log
        return TextLikelihood(tables, presence)

    def present(self, summary: WordCounts) -> None:
        return None  # `finish` handles missing texts itself


def readers(view: AnyView, columns: Sequence[int]) -> list[Callable[[int, int], TokenizedText]]:
    """Make a function for each column that reads the words of rows start..stop."""
    table = dense(view, Text.name)
    return [partial(table.words, j) for j in columns]


def word_slots(table: LevelTable, distinct: pl.Series) -> Ints:
    """Find the slot of each distinct word; unseen words have the last slot."""
    unseen = len(table.levels) + 1
    if not table.levels or not len(distinct):
        return np.full(len(distinct), unseen, dtype=np.int64)
    known = distinct.cast(pl.Enum(cast("tuple[str, ...]", table.levels)), strict=False).to_physical()
    return known.cast(pl.Int64).fill_null(unseen).to_numpy()


@njit(nogil=True, cache=True)
def add_words(codes: Ints, starts: Ints, slots: Ints, table: Floats, scores: Floats) -> None:
    """Add the entries of `table` (slots, K) for the words of each row."""
    for i in range(scores.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            slot = slots[codes[k]]
            for c in range(scores.shape[1]):
                scores[i, c] += table[slot, c]


@dataclass(frozen=True)
class TextLikelihood:
    """The shares of words in a block of text columns."""

    tables: tuple[LevelTable, ...]
    presence: Floats  # (2, d, K): log-shares of present and missing texts; 0 if missing texts are ignored

    def scorer(self, view: AnyView, columns: Sequence[int]) -> Scorer:
        pairs = list(zip(self.tables, readers(view, columns), strict=True))

        def add(start: int, stop: int, scores: Floats) -> None:
            for j, (table, read) in enumerate(pairs):
                words = read(start, stop)
                slots = read_only(word_slots(table, words.distinct))
                add_words(read_only(words.codes), read_only(words.starts), slots, read_only(table.log), scores)
                if self.presence.any():
                    scores += self.presence[words.missing.astype(np.int64), j]

        return Scorer(SPARSE_ROWS, add)

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        n_rows = view.n_rows
        by_column = []
        for j, (column, read) in enumerate(zip(columns, readers(view, columns), strict=True)):
            words, source = read(0, n_rows), dense(view, Text.name).sources[column]
            by_column.append([self._factor(j, words.of_rows(i, i + 1), source.value(i)) for i in range(n_rows)])
        return [list(row) for row in zip(*by_column, strict=True)]

    def _factor(self, j: int, words: TokenizedText, value: Any) -> Factor:
        table, there = self.tables[j], self.presence[0, j]
        if words.missing[0]:
            gone = self.presence[1, j]
            if not gone.any():
                return neutral_factor(table.name, len(gone))
            return Factor(table.name, None, tuple(gone.tolist()), note="missing, treated as a category")
        slots, counts = np.unique(word_slots(table, words.distinct)[words.codes], return_counts=True)
        logs = counts[:, None] * table.log[slots]  # (words, K)
        log = logs.sum(axis=0) + there
        return Factor(table.name, value, tuple(log.tolist()), note=self._note(table, slots, logs))

    def _note(self, table: LevelTable, slots: Ints, logs: Floats) -> str:
        """List the words that distinguish the classes most."""
        seen = slots < len(table.levels)
        with np.errstate(invalid="ignore"):
            tells = np.nan_to_num(logs[seen].max(axis=1, initial=-np.inf) - logs[seen].min(axis=1, initial=np.inf))
        order = np.argsort(-tells, kind="stable")[:NAMED_WORDS]
        names = ", ".join(str(table.levels[slot]) for slot in slots[seen][order])
        return f"most informative words in {table.name}: {names}" if names else f"no known word in {table.name}"

    def parameters(self) -> list[Parameter]:
        rows = []
        for table, log in zip(self.tables, self.presence[1], strict=True):
            rows += table.parameters(map(str, table.levels))
            if log.any():
                rows.append(Parameter(table.name, "(missing)", tuple(np.exp(log).tolist())))
        return rows
