"""Delimited text (CSV and its relatives) by polars' reader, after its dialect and layout were found.

Types are those of all rows: they are guessed from a sample, and where a later cell does not fit, every column is read
as text and converted as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from foldwise.data.notes import Note
from foldwise.data.reading.asking import Asked
from foldwise.data.reading.decoding import as_utf8
from foldwise.data.reading.layout import Layout, footnotes, lay_out
from foldwise.data.reading.lines import (
    check_row_lengths,
    refuse_long_row,
    repaired,
    rewritten,
    settle_quotes,
    without_escapes,
)
from foldwise.data.reading.missing import missing_notes, settle, tokens_beside_numbers
from foldwise.data.reading.numbers import convert, plain_type, plain_types
from foldwise.data.reading.parsed import REFUSALS, Parsed, first_line
from foldwise.data.reading.ruling import Ruling
from foldwise.data.reading.sniffing import NO_SEPARATOR, Dialect, sample_of, sniff
from foldwise.data.reading.source import Source
from foldwise.data.schema import check_unique_names
from foldwise.errors import InputError

HINT = "pass separator=, quote=, encoding=, header= or skip_rows= where these were found wrongly."
BLOCK = 1 << 14
ORANGE_KINDS = {"d": "categorical", "discrete": "categorical", "c": "numeric", "continuous": "numeric"}


@dataclass(frozen=True)
class Manner:
    """How a text is written: what was found out from its first lines, and what was asked for."""

    dialect: Dialect
    layout: Layout
    asked: Asked
    notes: tuple[Note, ...]


def read_delimited(source: Source, asked: Asked) -> Parsed:
    """A table in delimited text."""
    data, notes = as_utf8(source.data, asked.encoding, source.name)
    manner = manner_of(data, asked, source.name)
    names, dialect = manner.layout.names, manner.dialect
    data, remarks = footnotes(data, dialect, len(names))
    data, escapes = without_escapes(repaired(data, dialect, source.name), dialect)
    ruling, doubts = settle_quotes(Ruling(data, dialect), len(names), asked)
    manner = replace(manner, dialect=ruling.dialect)
    notes += [*manner.notes, *escapes, *doubts, *manner.layout.notes, *remarks]
    frame, found = cells_of(ruling, manner, source.name)
    orange = manner.layout.orange
    kinds = {name: ORANGE_KINDS[t] for name, t in orange.items() if t in ORANGE_KINDS}
    return Parsed(frame, (*notes, *found), kinds, manner.layout.unnamed, ruling.dialect.decimal)


def manner_of(data: bytes, asked: Asked, name: str) -> Manner:
    """How a text is written, from its first lines."""
    lines = sample_of(data)
    if (
        asked.skip_rows is None
        and asked.separator is None
        and re.fullmatch(r"sep=[^\r\n]\r?\n", lines[0] if lines else "")
    ):
        asked = replace(asked, skip_rows=1, separator=lines[0][4])  # a line for Excel
    dialect, said = sniff(lines[asked.skip_rows or 0 :], asked)
    strays: list[Note] = []
    if dialect.quote and any(line.count(dialect.quote) % 2 for line in lines):
        # a quote that is never closed would swallow the lines in which names are looked for
        body = data[nth_line(data, asked.skip_rows or 0) :]
        settled, strays = settle_quotes(Ruling(body, dialect), None, asked)
        dialect = settled.dialect
    layout = lay_out(lines, dialect, asked, name)
    check_unique_names(layout.names)
    asked = replace(asked, as_text=(*asked.as_text, *(n for n, t in layout.orange.items() if t[0] in "ds")))
    return Manner(dialect, layout, asked, (*said, *strays))


def cells_of(ruling: Ruling, manner: Manner, name: str, last: bool = True) -> tuple[pl.DataFrame, list[Note]]:
    """The cells of a text in their types; `last` says whether it goes to the end of the file, where padding may be."""
    text = Text(ruling, manner.layout, manner.asked, name)
    frame = text.frame()
    dropped: list[Note] = []
    if last:
        frame, dropped = without_padding(frame, manner.layout.unnamed)
    converted = [
        convert(frame[column], manner.asked, ruling.dialect.decimal)
        for column in frame.columns
        if frame[column].dtype == pl.String
    ]
    frame = frame.with_columns([column.series for column in converted])
    notes = [*text.notes, *dropped, *(note for column in converted for note in column.notes)]
    return frame, [*notes, *missing_notes(text.seen, frame)]


class Text:
    """Text whose dialect and layout are known, on its way to a frame."""

    def __init__(self, ruling: Ruling, layout: Layout, asked: Asked, name: str) -> None:
        self.ruling, self.data, self.dialect = ruling, ruling.data, ruling.dialect
        self.layout, self.asked, self.name = layout, asked, name
        self.notes: list[Note] = []
        self.seen: list[str] = []  # tokens that became missing cells

    def frame(self) -> pl.DataFrame:
        """The cells in their types; rows that are too short or too long are refused, blank lines are no rows."""
        frame = self._typed()
        if frame is None:
            frame = self._as_text()
        if frame.width > 1 and frame[:, -1].null_count():
            width, skip = len(self.layout.names), self.layout.skip_lines
            blank = check_row_lengths(self.ruling, width, skip, self.name)
            return without_rows(frame, blank)
        return frame

    def _typed(self) -> pl.DataFrame | None:
        """Read in the types of a sample; None where a cell does not fit or the sample cannot be read alone."""
        if self.dialect.decimal == "," and b"." in self.data:
            return None  # polars would take 1.200 for 1.2
        try:
            sample = self._read(self._sample(), dict.fromkeys(self.layout.names, pl.String), skip=0)
            plain, found = settle(sample, self.asked.tokens)
            untyped = [s for s in plain if s.name not in self.asked.as_text]
            guessed = {s.name: s.dtype for s in plain_types(untyped, self.dialect.decimal)}
            types = {s.name: guessed.get(s.name, s.dtype) for s in plain}
            tokens = tokens_beside_numbers(found, types, self.asked.tokens)
            frame = self._read(self.data, types, self.layout.skip_lines, tokens)
        except REFUSALS:
            return None
        frame, found = settle(frame, self.asked.tokens)
        self.seen += [*tokens, *(token for words in found.values() for token in words)]
        return frame

    def _as_text(self) -> pl.DataFrame:
        """Every column as text, then converted where all its cells allow it."""
        types = dict.fromkeys(self.layout.names, pl.String)
        try:
            frame = self._read(self.data, types, self.layout.skip_lines)
        except REFUSALS:
            frame = self._forgiving(types)
        frame, found = settle(frame, self.asked.tokens)
        self.seen += [token for words in found.values() for token in words]
        return frame.with_columns(
            [plain_type(s, self.dialect.decimal) for s in frame if s.name not in self.asked.as_text]
        )

    def _forgiving(self, types: dict[str, Any]) -> pl.DataFrame:
        """Read once more after quotes that break the rules were rewritten, or refuse the file."""
        width, skip = len(self.layout.names), self.layout.skip_lines
        refuse_long_row(self.data, self.dialect, width, skip, self.name)
        check_row_lengths(self.ruling, width, skip, self.name)
        try:
            if not self.dialect.quote:
                frame = self._read(self.data, types, skip)
            else:
                self.data = rewritten(self.data.split(b"\n", skip)[-1] if skip else self.data, self.dialect, self.name)
                self.layout, self.ruling = replace(self.layout, skip_lines=0), Ruling(self.data, self.dialect)
                frame = self._read(self.data, types, 0)
        except REFUSALS as error:
            raise InputError(f"{self.name} cannot be read as delimited text: {first_line(error)}.", HINT) from error
        self.notes.append(Note("quotes", "some cells are quoted against the rules; they were read forgivingly."))
        return frame

    def _sample(self) -> bytes:
        """Rows from the start, and where no quoted cell can span lines also from the middle and the end."""
        start = nth_line(self.data, self.layout.skip_lines)
        data, blocks = self.data, []
        places = [start]
        if len(data) - start > 8 * BLOCK and not self.ruling.odd:
            places += [len(data) // 3, 2 * len(data) // 3, len(data) - BLOCK]
        for place in places:
            begin = place if place == start else data.find(b"\n", place) + 1
            end = data.rfind(b"\n", begin, begin + BLOCK) + 1 if begin + BLOCK < len(data) else len(data)
            if place == start and end <= begin:
                end = (data.find(b"\n", begin) + 1) or len(data)
            blocks.append(data[begin:end])
        return b"".join(block if block.endswith(b"\n") else block + b"\n" for block in blocks if block)

    def _read(self, data: bytes, types: dict[str, Any], skip: int, tokens: Sequence[str] = ()) -> pl.DataFrame:
        if not data or data.isspace() or nth_line(data, skip) >= len(data):
            return pl.DataFrame(schema=types)
        return pl.read_csv(
            data,
            has_header=False,
            skip_lines=skip,
            separator=self.dialect.separator or NO_SEPARATOR,
            quote_char=self.dialect.quote or None,
            decimal_comma=self.dialect.decimal == "," and self.dialect.separator != ",",
            null_values=list(tokens) or None,
            schema=types,
            infer_schema=False,
        )


def nth_line(data: bytes, n: int) -> int:
    """Where the line after the first n begins."""
    place = 0
    for _ in range(n):
        place = data.find(b"\n", place) + 1
        if not place:
            return len(data)
    return place


def without_rows(frame: pl.DataFrame, blank: list[int]) -> pl.DataFrame:
    """The rows without those that the reader made of blank lines, which are no rows."""
    rows = [number for number in blank if number < frame.height and all(v is None for v in frame.row(number))]
    if not rows:
        return frame
    return frame.filter(~pl.Series(range(frame.height), dtype=pl.Int64).is_in(rows))


def without_padding(frame: pl.DataFrame, unnamed: Sequence[str]) -> tuple[pl.DataFrame, list[Note]]:
    """The frame without rows of separators alone at its end, and without unnamed empty columns there."""
    notes = []
    counts = frame.null_count().row(0) if frame.height else ()
    if counts and all(counts):
        filled = pl.select(pl.any_horizontal([~s.is_null() for s in frame])).to_series()
        last = int(filled.arg_true()[-1]) + 1 if filled.any() else 0
        if last < frame.height:
            notes.append(Note("empty rows", f"{frame.height - last} at the end were left out."))
            frame = frame.head(last)
    trailing = []
    for column in reversed(frame.get_columns()):
        if column.name not in unnamed or column.null_count() < frame.height:
            break
        trailing.append(column.name)
    if trailing and len(unnamed) < frame.width:
        notes.append(Note("empty columns", f"{len(trailing)} without name at the end of each row: left out."))
        frame = frame.drop(trailing)
    return frame, notes
