"""Columns of text: the words of a cell as draws from one distribution of words a class and column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numba import njit

from foldwise.bayes.families.protocol import AnyView, ClassTotals, Factor, Fraction, Parameter, Setting
from foldwise.bayes.families.reading import SPARSE_ROWS, dense, left_out, log_shares
from foldwise.bayes.presence import presence_logs
from foldwise.data.cells import read_only
from foldwise.data.schema import Column
from foldwise.data.tokens import TokenizedText
from foldwise.summaries.number_kernels import Floats, Ints
from foldwise.summaries.passes import Share
from foldwise.summaries.word_counts import ColumnWords, WordCounts, word_counts_of

TOLD = 5  # words that a note names


class Text:
    """θ_word = (N_word + alpha) / (N + alpha · words); words are those of the rows that were learned."""

    name = "text"

    def summarize(self, view: AnyView, columns: Sequence[int], share: Share) -> WordCounts:
        return word_counts_of(readers(view, columns), share)

    def finish(
        self, summary: WordCounts, columns: Sequence[Column], totals: ClassTotals, setting: Setting
    ) -> TextLikelihood:
        tables = tuple(
            finish_words(column.name, words, setting) for column, words in zip(columns, summary.columns, strict=True)
        )
        n_classes, d = len(totals.weight), len(columns)
        presence = np.zeros((2, n_classes, d))
        if setting.missing == "category":
            _, _, presence = presence_logs(summary.present, totals, setting)
        return TextLikelihood(tables, presence)

    def present(self, summary: WordCounts) -> None:
        return None  # cells of text are no numbers, so the evidence of presence is had here

    def summary_from_dict(self, facts: dict[str, Any], n_classes: int, n_columns: int) -> WordCounts:
        return WordCounts.from_dict(facts, n_classes, n_columns)


def readers(view: AnyView, columns: Sequence[int]) -> list[Callable[[int, int], TokenizedText]]:
    """For each column a function that reads the words of rows start..stop."""
    table = dense(view, Text.name)
    return [partial(table.words, j) for j in columns]


@dataclass(frozen=True)
class WordTable:
    """The finished shares of one column's words, and behind them that of a word never seen."""

    name: str
    words: tuple[str, ...]
    over: Floats  # (V + 1, K)
    under: Floats  # (K,)
    log: Floats  # (V + 1, K); 0 for an unseen word that is left out

    def slots(self, distinct: pl.Series) -> Ints:
        """The slot of each of some distinct words."""
        unseen = len(self.words)
        if not unseen or not len(distinct):
            return np.full(len(distinct), unseen, dtype=np.int64)
        known = distinct.cast(pl.Enum(self.words), strict=False).to_physical()
        return known.cast(pl.Int64).fill_null(unseen).to_numpy()


def finish_words(name: str, words: ColumnWords, setting: Setting) -> WordTable:
    """Smooth the counts of one column."""
    n_classes = words.weight.shape[1]
    smooth = setting.unseen == "smooth"
    n_slots = len(words.words) + smooth
    over = np.vstack([words.weight, np.zeros((1, n_classes))]) + setting.alpha
    under = words.weight.sum(axis=0) + setting.alpha * n_slots
    # alpha 0 and no word in a class: the limit for alpha -> 0 is one share for every word
    over, under = np.where(under == 0, 1.0, over), np.where(under == 0, float(max(n_slots, 1)), under)
    log = log_shares(over, under)
    if not smooth:
        log[-1] = 0.0
    return WordTable(name, words.words, over, under, log)


@njit(nogil=True, cache=True)
def add_words(codes: Ints, starts: Ints, slots: Ints, table: Floats, scores: Floats) -> None:
    """Add the entries of `table` (V + 1, K) for the words of each row."""
    for i in range(scores.shape[0]):
        for k in range(starts[i], starts[i + 1]):
            slot = slots[codes[k]]
            for c in range(scores.shape[1]):
                scores[i, c] += table[slot, c]


class WordScorer:
    """Adds the log-probabilities of the words of rows."""

    chunk_rows = SPARSE_ROWS

    def __init__(self, likelihood: TextLikelihood, read: Sequence[Callable[[int, int], TokenizedText]]) -> None:
        self._likelihood, self._read = likelihood, read

    def add(self, start: int, stop: int, scores: Floats) -> None:
        likelihood = self._likelihood
        for j, (table, read) in enumerate(zip(likelihood.tables, self._read, strict=True)):
            words = read(start, stop)
            slots = read_only(table.slots(words.distinct))
            add_words(read_only(words.codes), read_only(words.starts), slots, read_only(table.log), scores)
            if likelihood.presence.any():
                scores += likelihood.presence[words.missing.astype(np.int64), :, j]


@dataclass(frozen=True)
class TextLikelihood:
    """The finished tables of a block of columns of text."""

    tables: tuple[WordTable, ...]
    presence: Floats  # (2, K, d): of a cell that is there, of a missing one; 0 where that is no evidence

    def scorer(self, view: AnyView, columns: Sequence[int]) -> WordScorer:
        return WordScorer(self, readers(view, columns))

    def factors(self, view: AnyView, columns: Sequence[int]) -> list[list[Factor]]:
        n_rows = view.n_rows
        by_column = []
        for j, (place, read) in enumerate(zip(columns, readers(view, columns), strict=True)):
            words, source = read(0, n_rows), dense(view, Text.name).sources[place]
            by_column.append([self._factor(j, words.of_rows(i, i + 1), source.value(i)) for i in range(n_rows)])
        return [list(row) for row in zip(*by_column, strict=True)]

    def _factor(self, j: int, words: TokenizedText, value: Any) -> Factor:
        table, there = self.tables[j], self.presence[0, :, j]
        if words.missing[0]:
            gone = self.presence[1, :, j]
            if not gone.any():
                return left_out(table.name, len(gone))
            return Factor(table.name, None, tuple(gone.tolist()), note="missing, as evidence")
        slots, counts = np.unique(table.slots(words.distinct)[words.codes], return_counts=True)
        logs = counts[:, None] * table.log[slots]  # (words, K)
        log = logs.sum(axis=0) + there
        return Factor(table.name, value, tuple(log.tolist()), note=self._note(table, slots, logs))

    def _note(self, table: WordTable, slots: Ints, logs: Floats) -> str:
        """The words that tell the classes apart most, and how many were never seen."""
        seen = slots < len(table.words)
        with np.errstate(invalid="ignore"):
            tells = np.nan_to_num(logs[seen].max(axis=1, initial=-np.inf) - logs[seen].min(axis=1, initial=np.inf))
        order = np.argsort(-tells, kind="stable")[:TOLD]
        names = ", ".join(table.words[slot] for slot in slots[seen][order])
        return f"in {table.name}, these words tell most: {names}" if names else f"{table.name} holds no known word"

    def parameters(self) -> list[Parameter]:
        lines = []
        for j, table in enumerate(self.tables):
            n_lines = len(table.words) + bool(table.log[-1].any())
            for slot in range(n_lines):
                name = table.words[slot] if slot < len(table.words) else "(unseen)"
                values = tuple(np.exp(table.log[slot]).tolist())
                lines.append(Parameter(table.name, name, values, Fraction.each(table.over[slot], table.under)))
            if self.presence[1, :, j].any():
                lines.append(Parameter(table.name, "(missing)", tuple(np.exp(self.presence[1, :, j]).tolist())))
        return lines
