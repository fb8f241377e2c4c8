"""Read delimited text (CSV and the like) with polars, after its dialect and layout have been detected.

Types fit all rows: they are guessed from a sample, and if a later cell does not fit, every column is read as text and
then converted as a whole.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from foldwise.data.notes import Note, counted
from foldwise.data.reading.delimiters import DelimiterIndex
from foldwise.data.reading.layout import TableLayout, find_layout, without_footnotes
from foldwise.data.reading.missing import mark_missing, missing_notes, tokens_beside_numbers
from foldwise.data.reading.numbers import convert_columns, plain_type, plain_types
from foldwise.data.reading.protocol import READ_ERRORS, ParsedFile, ReadOptions, first_line
from foldwise.data.reading.repairs import (
    check_row_lengths,
    refuse_long_row,
    repaired,
    resolve_quotes,
    rewritten,
    without_escapes,
)
from foldwise.data.reading.sniffing import NO_SEPARATOR, Dialect, sample_of, sniff
from foldwise.data.reading.source_file import SourceFile
from foldwise.data.reading.text_encoding import as_utf8
from foldwise.data.reading.wide_text import read_wide
from foldwise.data.schema import check_unique_names
from foldwise.errors import InputError

HINT = "pass separator=, quote=, encoding=, header= or skip_rows= if they were detected wrongly."
BLOCK = 1 << 14
ORANGE_KINDS = {"d": "categorical", "discrete": "categorical", "c": "numeric", "continuous": "numeric"}


@dataclass(frozen=True)
class TextFormat:
    """How a text is written: what was detected in its first lines, and what was requested."""

    dialect: Dialect
    layout: TableLayout
    options: ReadOptions
    notes: tuple[Note, ...]


def read_delimited(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """Read delimited text."""
    data, notes = as_utf8(source.data, options.encoding, source.name)
    text_format = detect_text_format(data, options, source.name)
    names, dialect = text_format.layout.names, text_format.dialect
    data, remarks = without_footnotes(data, dialect, len(names))
    data, escapes = without_escapes(repaired(data, dialect, source.name), dialect)
    delimiters, doubts = resolve_quotes(DelimiterIndex(data, dialect), len(names), options)
    text_format = replace(text_format, dialect=delimiters.dialect)
    notes += [*text_format.notes, *escapes, *doubts, *text_format.layout.notes, *remarks]
    frame, found = cells_of(delimiters, text_format, source.name)
    orange = text_format.layout.orange
    kinds = {name: ORANGE_KINDS[t] for name, t in orange.items() if t in ORANGE_KINDS}
    dialect = delimiters.dialect
    written = {"separator": dialect.separator, "decimal": dialect.decimal, "quote": dialect.quote}
    return ParsedFile(frame, (*notes, *found), kinds, text_format.layout.unnamed, dialect.decimal, written)


def detect_text_format(data: bytes, options: ReadOptions, name: str) -> TextFormat:
    """Detect how a text is written from its first lines."""
    lines = sample_of(data)
    if (
        options.skip_rows is None
        and options.separator is None
        and re.fullmatch(r"sep=[^\r\n]\r?\n", lines[0] if lines else "")
    ):
        options = replace(options, skip_rows=1, separator=lines[0][4])  # a line for Excel
    dialect, said = sniff(lines[options.skip_rows or 0 :], options)
    strays: list[Note] = []
    if dialect.quote and any(line.count(dialect.quote) % 2 for line in lines):
        # a quote that is never closed would swallow the header
        body = data[nth_line(data, options.skip_rows or 0) :]
        settled, strays = resolve_quotes(DelimiterIndex(body, dialect), None, options)
        dialect = settled.dialect
    layout = find_layout(lines, dialect, options, name)
    check_unique_names(layout.names)
    options = replace(options, as_text=(*options.as_text, *(n for n, t in layout.orange.items() if t[0] in "ds")))
    return TextFormat(dialect, layout, options, (*said, *strays))


def cells_of(
    delimiters: DelimiterIndex, text_format: TextFormat, name: str, last: bool = True
) -> tuple[pl.DataFrame, list[Note]]:
    """Return the cells of a text in their types. At the end of a file (`last`), padding is removed."""
    text = DelimitedParser(delimiters, text_format.layout, text_format.options, name)
    frame = text.frame()
    dropped: list[Note] = []
    if last:
        frame, dropped = without_padding(frame, text_format.layout.unnamed)
    missing = missing_notes(text.seen, frame)  # the notes on conversions count those among numbers
    frame, converted = convert_columns(frame, text_format.options, delimiters.dialect.decimal)
    return frame, [*text.notes, *dropped, *converted, *missing]


class DelimitedParser:
    """Parse text whose dialect and layout are known into a frame."""

    def __init__(self, delimiters: DelimiterIndex, layout: TableLayout, options: ReadOptions, name: str) -> None:
        self.delimiters, self.data, self.dialect = delimiters, delimiters.data, delimiters.dialect
        self.layout, self.options, self.name = layout, options, name
        self.notes: list[Note] = []
        self.seen: list[str] = []  # tokens that became missing cells

    def frame(self) -> pl.DataFrame:
        """Return the cells in their types. Rows that are too short or too long are refused, blank lines are skipped."""
        wide = read_wide(self.data, self.layout.skip_lines, self.layout.names, self.dialect, self.options)
        if wide is not None:
            self.seen += wide[1]
            return wide[0]
        frame = self._typed()
        if frame is None:
            frame = self._as_text()
        if frame.width > 1 and frame[:, -1].null_count():
            width, skip = len(self.layout.names), self.layout.skip_lines
            blank = check_row_lengths(self.delimiters, width, skip, self.name)
            return without_rows(frame, blank)
        return frame

    def _typed(self) -> pl.DataFrame | None:
        """Read in the types of a sample; None if a cell does not fit or the sample cannot be read."""
        if self.dialect.decimal == "," and b"." in self.data:
            return None  # polars would read 1.200 as 1.2
        try:
            sample = self._read(self._sample(), dict.fromkeys(self.layout.names, pl.String), skip=0)
            plain, found = mark_missing(sample, self.options.tokens)
            untyped = [s for s in plain if s.name not in self.options.as_text]
            guessed = {s.name: s.dtype for s in plain_types(untyped, self.dialect.decimal)}
            types = {s.name: guessed.get(s.name, s.dtype) for s in plain}
            tokens = tokens_beside_numbers(found, types, self.options.tokens)
            frame = self._read(self.data, types, self.layout.skip_lines, tokens)
        except READ_ERRORS:
            return None
        frame, found = mark_missing(frame, self.options.tokens)
        self.seen += [*tokens, *(token for words in found.values() for token in words)]
        return frame

    def _as_text(self) -> pl.DataFrame:
        """Read every column as text, then convert it if all its cells allow it."""
        types = dict.fromkeys(self.layout.names, pl.String)
        try:
            frame = self._read(self.data, types, self.layout.skip_lines)
        except READ_ERRORS:
            frame = self._forgiving(types)
        frame, found = mark_missing(frame, self.options.tokens)
        self.seen += [token for words in found.values() for token in words]
        return frame.with_columns(
            [plain_type(s, self.dialect.decimal) for s in frame if s.name not in self.options.as_text]
        )

    def _forgiving(self, types: dict[str, Any]) -> pl.DataFrame:
        """Rewrite misplaced quotes and read again, or refuse the file."""
        width, skip = len(self.layout.names), self.layout.skip_lines
        refuse_long_row(self.data, self.dialect, width, skip, self.name)
        check_row_lengths(self.delimiters, width, skip, self.name)
        try:
            if not self.dialect.quote:
                frame = self._read(self.data, types, skip)
            else:
                self.data = rewritten(self.data[nth_line(self.data, skip) :], self.dialect, self.name)
                self.layout = replace(self.layout, skip_lines=0)
                self.delimiters = DelimiterIndex(self.data, self.dialect)
                frame = self._read(self.data, types, 0)
        except READ_ERRORS as error:
            raise InputError(f"{self.name} cannot be read as delimited text: {first_line(error)}.", HINT) from error
        self.notes.append(
            Note("quotes", "some cells have misplaced quotes; they were read as Python's csv module reads them.")
        )
        return frame

    def _sample(self) -> bytes:
        """Return rows from the start and, if no quoted cell can span lines, also from the middle and the end."""
        start = nth_line(self.data, self.layout.skip_lines)
        data, blocks = self.data, []
        starts = [start]
        if len(data) - start > 8 * BLOCK and not self.delimiters.odd:
            starts += [len(data) // 3, 2 * len(data) // 3, len(data) - BLOCK]
        for position in starts:
            begin = position if position == start else data.find(b"\n", position) + 1
            end = data.rfind(b"\n", begin, begin + BLOCK) + 1 if begin + BLOCK < len(data) else len(data)
            if position == start and end <= begin:
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
    """Return the start of the line after the first n lines."""
    position = 0
    for _ in range(n):
        position = data.find(b"\n", position) + 1
        if not position:
            return len(data)
    return position


def without_rows(frame: pl.DataFrame, blank: list[int]) -> pl.DataFrame:
    """Drop the rows that polars made of blank lines."""
    rows = [number for number in blank if number < frame.height and all(v is None for v in frame.row(number))]
    if not rows:
        return frame
    return frame.filter(~pl.Series(range(frame.height), dtype=pl.Int64).is_in(rows))


def without_padding(frame: pl.DataFrame, unnamed: Sequence[str]) -> tuple[pl.DataFrame, list[Note]]:
    """Drop empty rows at the end, and empty columns without a name at the right."""
    notes = []
    counts = frame.null_count().row(0) if frame.height else ()
    if counts and all(counts):
        filled = pl.select(pl.any_horizontal([~s.is_null() for s in frame])).to_series()
        last = int(filled.arg_true()[-1]) + 1 if filled.any() else 0
        if last < frame.height:
            notes.append(Note("padding", f"dropped {counted(frame.height - last, 'empty row')} at the end."))
            frame = frame.head(last)
    trailing = []
    for name in reversed(frame.columns):
        if name not in unnamed or frame[name].null_count() < frame.height:
            break
        trailing.append(name)
    if trailing and len(unnamed) < frame.width:
        notes.append(Note("padding", f"dropped {counted(len(trailing), 'empty column')} without a name at the right."))
        frame = frame.drop(trailing)
    for before, name in itertools.pairwise(frame.columns):
        if frame.height and name in unnamed and frame[name].null_count() == frame.height:
            text = f"the column after {before!r} is empty and has no name. If there are two tables side by side, pass "
            notes.append(Note("padding", f"{text}drop= with the columns of one of them.", name))
            break
    return frame, notes
