"""Read a file in batches of rows, so that it may be larger than memory.

The kinds of the columns are known beforehand, so all batches are read alike. Delimited text is cut at the ends of rows,
Parquet and Feather are read in slices. Other formats, and text in unusual encodings, are read as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from foldwise.data.reading.declarations import (
    STORED,
    UnreadableCellError,
    apply_declarations,
    base_kind,
    parse_kinds,
)
from foldwise.data.reading.delimited import TextFormat, cells_of, detect_text_format, nth_line, read_delimited
from foldwise.data.reading.delimiters import DelimiterIndex
from foldwise.data.reading.expansion import in_words
from foldwise.data.reading.layout import without_footnotes
from foldwise.data.reading.missing import ALL_COLUMNS, everywhere, with_column_tokens, with_missing
from foldwise.data.reading.numbers import missing_among_numbers
from foldwise.data.reading.protocol import CUT_OFF, ReadOptions, header_rows, read_errors, token_strings
from foldwise.data.reading.repairs import repaired, without_escapes
from foldwise.data.reading.source_file import SourceFile, identify, opened, read_bytes, read_rest
from foldwise.data.reading.tables import check_keywords, read_table
from foldwise.data.reading.text_encoding import as_utf8, encoding_of, first_undecodable
from foldwise.errors import InputError

BLOCK = 1 << 25  # bytes of a batch
LONGEST_ROW = 1 << 28  # bytes: a batch holds at least one row
TAIL = 1 << 16  # bytes at the end that are never a batch of their own, so that footnotes can be recognized
SCANS: dict[str, Callable[[Path], pl.LazyFrame]] = {"parquet": pl.scan_parquet, "feather": pl.scan_ipc}
SINGLE_BYTE = ("cp1252", "latin-1")


def read_batches(
    path: str | Path,
    kinds: Mapping[str, str],
    block: int = BLOCK,
    keywords: Mapping[str, Any] | None = None,
    strict: bool = True,
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file in order, batch by batch. Columns of the file that are in `kinds` are read as declared.

    `keywords` are other arguments of `read_table`. Columns that they name need not be in the file. Unless `strict`, a
    column with cells that do not fit its kind stays text.

    Examples
    --------
    >>> [batch.shape for batch in read_batches("examples/weather.csv", {"humidity": "numeric"})]
    [(14, 5)]
    """
    path, given = Path(path), dict(keywords or {})
    format, packed = identify(path)
    missing = given.pop("missing_values", None)
    by_column = missing if isinstance(missing, Mapping) else {}
    given = {name: value for name, value in given.items() if name not in ("index", "drop", "kinds")}
    tokens = None if isinstance(missing, Mapping) else token_strings(missing)
    options = ReadOptions(missing_values=tokens, more_missing=everywhere(missing), **with_header(given))
    known = KnownColumns(kinds, by_column, options, path.name, strict)
    if format == "text":
        yield from text_batches(path, packed, known, block)
    elif format in SCANS and not packed and "names" not in given:
        check_keywords(path.name, format, options)
        yield from (known.applied(with_missing(frame, tokens)[0], 0) for frame in slices(path, format, block))
    else:
        whole = read_table(path, index=False, missing_values=missing if tokens else None, **given).X
        yield known.applied(whole, 0)


@dataclass(frozen=True)
class KnownColumns:
    """What is known about the columns of a file before it is read: their kinds, and what means "missing" in each."""

    kinds: Mapping[str, str]
    missing: Mapping[str, Any]
    options: ReadOptions
    name: str  # of the file
    strict: bool = True

    def applied(self, frame: pl.DataFrame, at: int, decimal: str = ".") -> pl.DataFrame:
        """Convert the columns of a batch that starts at row `at` of the file."""
        there = {*frame.columns, ALL_COLUMNS}
        tokens = {name: given for name, given in self.missing.items() if name in there}
        frame = with_column_tokens(frame, tokens, self.options, decimal)[0]
        kinds = {name: kind for name, kind in self.kinds.items() if name in there}
        if not self.strict:
            return self._applied_where_readable(frame, kinds)
        try:
            return apply_declarations(frame, parse_kinds(kinds))
        except InputError as error:
            if not at:
                raise
            message = f"{after_row(self.name, at)}: {error.message}"
            if isinstance(error, UnreadableCellError):
                found = (error.column, error.cell, at + error.row)
                raise UnreadableCellError(message, error.hint, *found) from error
            raise InputError(message, error.hint) from error

    def _applied_where_readable(self, frame: pl.DataFrame, kinds: Mapping[str, str]) -> pl.DataFrame:
        for name, kind in kinds.items():
            try:
                frame = apply_declarations(frame, parse_kinds({name: kind}))
            except UnreadableCellError:
                column = frame[name]
                is_text = column.dtype == pl.String and self.options.missing_values is None
                if is_text and STORED[base_kind(kind)] == "numeric":
                    frame = frame.with_columns(column.set(missing_among_numbers(column.str.strip_chars()), None))
        return frame


def with_header(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of `read_table` with the header as a number of rows."""
    return {**given, "header": header_rows(given["header"])} if "header" in given else dict(given)


def slices(path: Path, format: str, block: int) -> Iterator[pl.DataFrame]:
    """Yield batches of a file whose rows can be counted without reading them."""
    with read_errors(f"{path.name} cannot be read as {format.capitalize()}", hint=CUT_OFF):
        lazy = SCANS[format](path)
        n_rows = int(lazy.select(pl.len()).collect().item())
        n_columns = len(lazy.collect_schema())
        step = max(1, block // (16 * max(1, n_columns)))
        for start in range(0, max(n_rows, 1), step):
            yield lazy.slice(start, step).collect()


def text_batches(path: Path, packed: bool, known: KnownColumns, block: int) -> Iterator[pl.DataFrame]:
    """Yield batches of delimited text."""
    check_keywords(path.name, "text", known.options)
    options = replace(known.options, as_text=parse_kinds(known.kinds).as_text)
    with opened(path, packed) as file:
        head = read_bytes(file, block, path.name)
        encoding = "utf-8" if len(head) < block else stream_encoding(head, path.name, options.encoding)
        if len(head) == block and encoding is not None:
            start = head[: head.rfind(b"\n") + 1]
            text_format = detect_text_format(as_utf8(start, encoding, path.name)[0], options, path.name)
            if not text_format.dialect.wrapped:
                blocks = TextBatches(file, head, encoding, text_format, path.name, block)
                decimal = text_format.dialect.decimal
                yield from (known.applied(frame, at, decimal) for frame, at in blocks.frames())
                return
        rest = read_rest(file, path, packed, len(head))
    parsed = read_delimited(SourceFile(path, head + rest, "text", packed), options)
    yield known.applied(parsed.frame, 0, parsed.decimal)


def stream_encoding(head: bytes, name: str, given: str | None = None) -> str | None:
    """Return the encoding of text that can be cut at line ends; None if it cannot be cut."""
    end = head.rfind(b"\n") + 1
    found = given or (encoding_of(head[:end], name)[0] if end else "utf-16")
    return found if found in ("utf-8", "utf-8-sig", *SINGLE_BYTE) else None


def after_row(name: str, n_rows: int) -> str:
    """Name a file in an error whose row numbers start later in the file."""
    return f"{name} (row 0 is row {n_rows:,} of the file)" if n_rows else name


class TextBatches:
    """Text in pieces that end at the end of a row."""

    def __init__(
        self, file: IO[bytes], head: bytes, encoding: str, text_format: TextFormat, name: str, block: int
    ) -> None:
        self._file, self._head, self._encoding, self._name, self._block = file, head, encoding, name, block
        self._text_format = replace(text_format, layout=replace(text_format.layout, skip_lines=0))
        self._skip = text_format.layout.skip_lines
        quote = text_format.dialect.quote.encode()
        self._quote = quote[0] if quote else None

    def frames(self) -> Iterator[tuple[pl.DataFrame, int]]:
        """Yield the cells of each piece, and how many rows came before it."""
        n_rows = 0
        for data, last in self._pieces():
            frame = self._read(data, last, n_rows)
            if frame.height:
                yield frame, n_rows
            n_rows += frame.height

    def _pieces(self) -> Iterator[tuple[bytes, bool]]:
        """Yield pieces of whole rows as bytes; the last one goes to the end of the file."""
        kept = self._head[nth_line(self._head, self._skip) :]
        while True:
            more = read_bytes(self._file, max(self._block, TAIL), self._name)
            if len(more) < TAIL:
                yield kept + more, True
                return
            end = self._row_end(kept)
            if end:
                yield kept[:end], False
            elif len(kept) > LONGEST_ROW:
                raise InputError(
                    f"a row of {self._name} may have at most {in_words(LONGEST_ROW)}, but one has more.",
                    "check the file for a quote that is never closed.",
                )
            kept = kept[end:] + more

    def _row_end(self, data: bytes) -> int:
        """Return the end of the last whole row: after a line end that is not inside quotes."""
        marks = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(marks == 10)
        if self._quote is not None:
            ends = ends[np.searchsorted(np.flatnonzero(marks == self._quote), ends) % 2 == 0]
        return int(ends[-1]) + 1 if len(ends) else 0

    def _read(self, data: bytes, last: bool, n_rows: int) -> pl.DataFrame:
        dialect, name = self._text_format.dialect, after_row(self._name, n_rows)
        data = self._as_utf8(data, name)
        if last:
            data, _ = without_footnotes(data, dialect, len(self._text_format.layout.names))
        data, _ = without_escapes(repaired(data, dialect, name), dialect)
        return cells_of(DelimiterIndex(data, dialect), self._text_format, name, last)[0]

    def _as_utf8(self, data: bytes, name: str) -> bytes:
        if self._encoding in SINGLE_BYTE:
            return data.decode(self._encoding, "replace").encode()
        broken = first_undecodable(data, "utf-8")
        if broken is not None:
            raise InputError(
                f"{name}: byte {data[broken]:#04x} is not UTF-8, but the rows before it are.",
                "save the whole file in one encoding.",
            )
        return data
