"""Detect how delimited text is written: its separator, its quotes, spaces after separators and its decimal mark.

Only the first lines are examined, with Python's csv module. polars reads the file afterwards.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from foldwise.data.notes import Note
from foldwise.data.reading.protocol import ReadOptions

CellRows = list[list[str]]

SEPARATORS = ("\t", ";", "|", ",", " ")  # cells often contain the later ones, rarely the earlier ones
SEPARATOR_NAMES = {"\t": "tabs", " ": "spaces"}
SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 100
NO_SEPARATOR = "\x1f"
THOUSANDS = r"[+-]?[1-9]\d{0,2}(\.\d{3})+"  # with points: 1.200 for 1200
NUMBER = re.compile(r"\s*[+-]?[$€£¥]?\s?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?\s?[%KMB]?\s*")


@dataclass(frozen=True)
class Dialect:
    """How cells are separated and quoted. `quote` is empty if quotes are ordinary characters."""

    separator: str
    quote: str = '"'
    padded: bool = False  # a space follows every separator
    wrapped: bool = False  # each line of data is one quoted cell that contains the cells
    decimal: str = "."


def sample_of(data: bytes) -> list[str]:
    """Return the first lines of a text with their line ends, and no partial line before the end of the text."""
    stop = len(data)
    if stop > SAMPLE_BYTES:
        stop = data.rfind(b"\n", 0, SAMPLE_BYTES) + 1
        while data.count(b"\n", 0, stop) < 20 and 0 < stop < len(data):  # long lines
            stop = (data.find(b"\n", stop) + 1) or len(data)
        stop = stop or (data.find(b"\n") + 1) or len(data)
    return lines_of(data[:stop].decode("utf-8", "replace"))


def lines_of(text: str) -> list[str]:
    """Split a text into lines with their ends, at the line ends that polars knows; splitlines has more."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def sniff(lines: Sequence[str], options: ReadOptions) -> tuple[Dialect, list[Note]]:
    """Detect the dialect of the first lines, with notes on it."""
    lines = [line for line in lines if line.strip()][:SAMPLE_ROWS]
    quoted = any('"' in line for line in lines)
    if options.separator is not None:
        separator, why = options.separator, "as requested"
    else:
        separator, why = find_separator(
            lines, (options.quote,) if options.quote is not None else ('"', "") if quoted else ("",)
        )
    wrapped = options.quote is None and is_wrapped(lines, separator)
    quote = options.quote if options.quote is not None else find_quote(lines, separator)
    by = SEPARATOR_NAMES.get(separator, repr(separator))
    note = f"cells are separated by {by} ({why})." if separator else "there is one column, because no separator fits."
    notes = [Note("separator", note)]
    if options.separator and not any(options.separator in line for line in lines):
        likely = find_separator(lines, ('"', "") if quoted else ("",))[0]
        better = f" They contain {SEPARATOR_NAMES.get(likely, repr(likely))}: leave separator= out." if likely else ""
        notes.append(Note("separator", f"{by} does not occur in the first rows.{better}"))
    if wrapped:
        notes.append(Note("quotes", "each line of data is one quoted cell; the quotes around the lines were removed."))
        lines = [lines[0], *map(unwrapped, lines[1:])]
        quote = '"'
    rows = split_rows(lines, separator, quote)
    padded = separator not in ("", " ") and is_padded(rows)
    if padded:
        notes.append(Note("spaces", "a space follows every separator; the spaces around cells were removed."))
    decimal = options.decimal or find_decimal(rows, separator)
    doubtful = doubtful_cell(rows) if options.decimal is None and decimal == "." and separator != "," else None
    if doubtful is not None:
        note = f"the point in {doubtful} is a decimal point. Pass decimal=',' if it separates thousands."
        notes.append(Note("decimal mark", note))
    if options.decimal is not None or decimal == ",":
        why = ", as requested" if options.decimal else ""
        notes.append(Note("decimal mark", f"the decimal mark is {decimal!r}{why}."))
    if quote != '"' or options.quote is not None:
        notes.append(
            Note("quotes", f"cells are quoted with {quote!r}." if quote else "quotes are ordinary characters.")
        )
    return Dialect(separator, quote, padded, wrapped, decimal), notes


def split_rows(lines: Iterable[str], separator: str, quote: str) -> CellRows:
    """Split the first rows into cells."""
    if separator == " ":
        lines = (re.sub(r" +", " ", line.strip(" \r\n")) for line in lines)
    lines = (line.replace("\r\n", "\n").replace("\r", " ") for line in lines)  # csv refuses a lone carriage return
    rows: CellRows = []
    with suppress(csv.Error):  # a cell beyond the size limit of csv: the rows before it are enough
        rows.extend(islice(csv_reader(lines, separator, quote), SAMPLE_ROWS))
    return rows


def csv_reader(lines: Iterable[str], separator: str, quote: str, skip_blanks: bool = False) -> Iterator[list[str]]:
    """Read lines of a dialect with Python's csv module."""
    rules: dict[str, Any] = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    return csv.reader(lines, delimiter=separator or NO_SEPARATOR, skipinitialspace=skip_blanks, **rules)


def agreement(rows: CellRows) -> tuple[int, float, bool]:
    """Return the most frequent number of cells, the share of rows that have it, and whether the first row does."""
    widths = Counter(len(row) for row in rows if row)
    if not widths:
        return 0, 0.0, False
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
    return width, count / sum(widths.values()), len(rows[0]) == width


def agreement_by_blanks(rows: CellRows) -> tuple[int, float, bool]:
    """Return the same for spaces. As text is full of them, all rows must agree, except a header without one name."""
    width, share, first = agreement(rows)
    below = [row for row in rows[1:] if row]
    if share == 1 or not rows:
        return width, share, first
    named = len(rows[0]) == width - 1 and below and all(len(row) == width for row in below)
    if named and has_numbers(below, width):
        return width, 1.0, True
    return 0, 0.0, False


def agreement_below_titles(rows: CellRows, numbers: bool) -> tuple[int, float, bool]:
    """Return the same for the rows below title lines, which have one cell; so the first row does not agree.

    With `numbers`, at least one column must contain only numbers: words below a title are text.
    """
    titles = next((number for number, row in enumerate(rows[:20]) if len(row) > 1), len(rows))
    below = rows[titles:]
    if not titles or len(below) < 3 or len(below) <= titles:
        return 0, 0.0, False
    width, share, _ = agreement(below)
    if numbers and not has_numbers([row for row in below[1:] if len(row) == width], width):
        return 0, 0.0, False
    return width, share, False


def has_numbers(rows: CellRows, width: int) -> bool:
    """Whether a column contains only numbers."""
    return any(all(NUMBER.fullmatch(row[j]) for row in rows) for j in range(width))


def find_separator(lines: Sequence[str], quotes: Sequence[str]) -> tuple[str, str]:
    """Return the separator that gives nearly every row the same number of cells, and the reason."""
    found = []
    for separator in SEPARATORS:
        if not any(separator in line for line in lines):
            continue
        best = (0, 0.0, False)
        for mark in quotes:
            rows = split_rows(lines, separator, mark)
            width, share, first = agreement(rows) if separator != " " else agreement_by_blanks(rows)
            if share < 0.9:
                width, share, first = agreement_below_titles(rows, numbers=separator == " ")
            if width > 1 and (share, first) > best[1:]:
                best = (width, share, first)
        found.append((separator, *best))
    for first_agrees in (True, False):
        for separator, width, share, first in found:
            if width > 1 and share >= 0.9 and first >= first_agrees:
                return separator, f"{share:.0%} of the first rows have {width} cells"
    for separator, *_ in found:  # no separator fits: take the one of the first line, so that the rows are refused
        if separator != " " and separator in lines[0]:
            return separator, "it splits the first line"
    return "", ""


def find_quote(lines: Sequence[str], separator: str) -> str:
    """Return the quote character: a single quote only if a whole column is wrapped in them."""
    if any('"' in line for line in lines) or not any("'" in line for line in lines):
        return '"'
    rows = split_rows(lines, separator, "")
    width = agreement(rows)[0]
    cells = [[row[j].strip() for row in rows[1:] if len(row) == width and row[j].strip()] for j in range(width)]
    whole = [bool(column) and all(is_wrapped_in(cell, "'") for cell in column) for column in cells]
    broken = any(cell.startswith("'") and not is_wrapped_in(cell, "'") for column in cells for cell in column)
    return "'" if any(whole) and not broken else '"'


def is_wrapped_in(cell: str, quote: str) -> bool:
    return len(cell) > 1 and cell.startswith(quote) and cell.endswith(quote)


def is_wrapped(lines: Sequence[str], separator: str) -> bool:
    """Whether each line after the first is one quoted cell, as some spreadsheet exports have it."""
    if len(lines) < 2 or separator in ("", " ") or separator not in lines[0]:
        return False
    width = agreement(split_rows(lines[:1], separator, '"'))[0]
    if width < 2:
        return False
    body = [line.rstrip("\r\n") for line in lines[1:]]
    if not all(is_wrapped_in(line, '"') and separator in line for line in body):
        return False
    if any(len(row) != 1 for row in split_rows(body, separator, '"')):
        return False
    return all(len(row) == width for row in split_rows(map(unwrapped, body), separator, '"'))


def unwrapped(line: str) -> str:
    """Return a line without the quotes around it."""
    body = line.rstrip("\r\n")
    return body[1:-1].replace('""', '"') + "\n" if is_wrapped_in(body, '"') else line


def is_padded(rows: CellRows) -> bool:
    """Whether a space precedes every cell but the first of a row."""
    later = [cell[0] for row in rows[1:] for cell in row[1:] if cell]
    return len(later) > 1 and later.count(" ") > 0.98 * len(later)


def find_decimal(rows: CellRows, separator: str) -> str:
    """Return a comma if cells such as 2,6 or 1.000.000 occur and none like 2.6; 1,200 and 1.200 are ambiguous."""
    if separator == ",":
        return "."
    cells = [cell.strip() for row in rows[1:] for cell in row]
    by_comma = [cell for cell in cells if re.fullmatch(r"[+-]?\d+(\.\d{3})*,\d+", cell)]
    grouped = any(re.fullmatch(r"[+-]?[1-9]\d{0,2}(\.\d{3}){2}", cell) for cell in cells)  # 1.000.000
    if all(re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+", cell) for cell in by_comma) and (by_comma or not grouped):
        return "."
    return "," if all(re.fullmatch(THOUSANDS, cell) for cell in cells_with_point(rows)) else "."


def cells_with_point(rows: CellRows) -> list[str]:
    cells = (cell.strip() for row in rows[1:] for cell in row)
    return [cell for cell in cells if re.fullmatch(r"[+-]?\d*(,\d{3})*\.\d+", cell)]


def doubtful_cell(rows: CellRows) -> str | None:
    """Return a cell such as 1.200 if every point is followed by three digits, so that it may separate thousands."""
    cells = cells_with_point(rows)
    return cells[0] if cells and all(re.fullmatch(THOUSANDS, cell) for cell in cells) else None
