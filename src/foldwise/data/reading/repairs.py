"""Check and repair delimited text line by line: rows of the wrong length, blank lines, stray quotes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from foldwise.data.notes import Note, counted
from foldwise.data.reading.delimiters import DelimiterIndex
from foldwise.data.reading.protocol import ReadOptions
from foldwise.data.reading.sniffing import NO_SEPARATOR, Dialect, csv_reader, lines_of, unwrapped
from foldwise.errors import InputError


def repaired(data: bytes, dialect: Dialect, name: str) -> bytes:
    """Return the text as polars expects it: no quotes around lines, one separator and no spaces between cells."""
    if dialect.wrapped:
        return "".join(map(unwrapped, lines_of(data.decode()))).encode()
    if dialect.separator == " ":
        data = re.sub(rb"[ ]+", b" ", data)
        return re.sub(rb"(?m)^ | (?=\r?$)", b"", data)
    if dialect.padded:
        if dialect.quote and dialect.quote.encode() in data:
            return rewritten(data, dialect, name, skip_blanks=True)
        separator = dialect.separator.encode()
        data = re.sub(b" *" + re.escape(separator) + b" +", separator, data)
        return re.sub(rb"(?m)^ +| +(?=\r?$)", b"", data)
    return data


END = b"\x1eend\x1e"


def rewritten(data: bytes, dialect: Dialect, name: str, skip_blanks: bool = False) -> bytes:
    """Return the same cells with correct quotes, as Python's tolerant csv module reads them."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=dialect.separator or NO_SEPARATOR, quotechar=dialect.quote, lineterminator="\n")
    row: list[str] = []
    for row in csv_rows(data + b"\n" + END, dialect, skip_blanks):
        if row != [END.decode()]:
            writer.writerow([cell.strip(" ") for cell in row] if skip_blanks else row)
    if row != [END.decode()]:
        raise InputError(
            f"{name}: a quote ({dialect.quote}) is opened and never closed; the cell begins with "
            f"{row[-1].removesuffix(END.decode())[:40]!r}.",
            "close it, or pass quote='' if quotes have no special meaning in this file.",
        )
    return out.getvalue().encode()


def csv_rows(data: bytes, dialect: Dialect, skip_blanks: bool = False) -> Iterator[list[str]]:
    """Read the rows with Python's csv module."""
    csv.field_size_limit(1 << 30)
    text = (re.sub(r"\r(?!\n)", " ", line) for line in lines_of(data.decode("utf-8", "replace")))
    return csv_reader(text, dialect.separator, dialect.quote, skip_blanks)


def without_escapes(data: bytes, dialect: Dialect) -> tuple[bytes, list[Note]]:
    """Double the quotes inside quoted cells if a program wrote them with a backslash."""
    quote = dialect.quote.encode()
    # searching for one byte is twenty times as fast as for two
    if not quote or b"\\" not in data or b"\\" + quote not in data:
        return data, []
    separator = re.escape((dialect.separator or NO_SEPARATOR).encode())
    inside = rb"\\" + quote + rb"(?!" + separator + rb"|\r|\n|$"  # in "C:\", the quote ends the cell
    if not re.search(inside + rb"|" + quote + rb")", data):  # \"" is a backslash and a doubled quote
        return data, []
    data, count = re.subn(inside + rb")", quote * 2, data)
    return data, [Note("quotes", "quotes inside cells are escaped with a backslash.")] if count else []


def resolve_quotes(
    delimiters: DelimiterIndex, width: int | None, options: ReadOptions
) -> tuple[DelimiterIndex, list[Note]]:
    """Treat quotes as ordinary characters if they do not pair up and every line is complete without quoting.

    A line is complete if it has `width` cells; if that is None, as many as the first line, and more than one.
    """
    if options.quote is not None or delimiters.dialect.wrapped or not delimiters.odd:
        return delimiters, []
    widths = delimiters.widths(quoted=False)[~delimiters.blank]
    width = int(widths[0]) if width is None else width
    if width > 1 and (widths == width).all():
        note = (
            f"quotes are ordinary characters: their number is odd in {counted(delimiters.odd, 'line')}, and without "
            f"quoting every line has {width} cells."
        )
        return DelimiterIndex(delimiters.data, replace(delimiters.dialect, quote="")), [Note("quotes", note)]
    return delimiters, []


def check_row_lengths(delimiters: DelimiterIndex, width: int, skip: int, name: str) -> list[int]:
    """Refuse a row that is too short, which polars would fill with missing cells. Return the blank rows."""
    if not delimiters.odd:  # each line is a row
        widths, blank = delimiters.widths(quoted=True)[skip:], delimiters.blank[skip:]
        short = np.flatnonzero((widths < width) & ~blank)
        if len(short):
            refuse_row(int(short[0]), int(widths[short[0]]), width, name)
        return [int(number) for number in np.flatnonzero(blank)]
    found = []
    data = delimiters.data.split(b"\n", skip)[-1] if skip else delimiters.data
    for number, row in enumerate(csv_rows(data, delimiters.dialect)):
        if not row:
            found.append(number)
        elif len(row) < width:
            refuse_row(number, len(row), width, name)
    return found


def refuse_long_row(data: bytes, dialect: Dialect, width: int, skip: int, name: str) -> None:
    """Refuse the first row that has too many cells, if there is one."""
    data = data.split(b"\n", skip)[-1] if skip else data
    for number, row in enumerate(csv_rows(data, dialect)):
        if len(row) > width:
            refuse_row(number, len(row), width, name)


def refuse_row(number: int, cells: int, width: int, name: str) -> None:
    hint = (
        "write an empty cell for a missing value, or pass separator= if the cells are separated by something else."
        if cells < width
        else "quote cells that contain the separator, or pass separator= and quote= if they were misdetected."
    )
    raise InputError(
        f"{name}: row {number} has {counted(cells, 'cell')}, but the header has {width}. Rows are counted from 0.", hint
    )
