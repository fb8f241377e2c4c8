"""Read ARFF, the format of Weka, and KEEL's dialect of it. Declared levels keep their order.

This covers comments, quotes and escapes, `?`, sparse rows, string and date attributes, and KEEL's ranges, `@inputs`,
`@outputs` and `<null>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from foldwise.data.notes import Note, counted
from foldwise.data.reading.dates import fits, local_times
from foldwise.data.reading.declarations import refuse_lost
from foldwise.data.reading.protocol import ParsedFile, ReadOptions
from foldwise.data.reading.source_file import SourceFile
from foldwise.data.reading.text_encoding import as_utf8
from foldwise.data.schema import check_unique_names, listing
from foldwise.errors import InputError

ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
NUMERIC = ("numeric", "real", "integer")
QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE | re.DOTALL)
CELL = re.compile(rf"\s*({QUOTED}|[^,'\"][^,]*|)\s*(,|$)", re.DOTALL)
WORD = re.compile(rf"\s*({QUOTED}|[^\s,]+)\s*,?", re.DOTALL)
RANGE = re.compile(r"\s*\[[^\]]*\]\s*$")  # KEEL's
JAVA_DATES = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "MMM": "%b"}
MISSING = ("?", "<null>")


@dataclass(frozen=True)
class Attribute:
    """One declared column: numeric, text, a date with its format, or nominal with its levels."""

    name: str
    type: str
    levels: tuple[str, ...] = ()
    format: str = ""


def read_arff(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """Read an ARFF file."""
    data, notes = as_utf8(source.data, options.encoding, source.name)
    lines = re.split(r"\r?\n", data.decode())
    head, start, said = header_of(lines, source.name)
    rows = list(rows_of(lines, start, head, source.name))
    series = []
    for j, attribute in enumerate(head):
        found, note = as_series(attribute, [row[j] for row in rows], options, source.name)
        series.append(found)
        notes += note
    nominal = sum(attribute.type == "nominal" for attribute in head)
    declared = f"{counted(len(head), 'column')}, {nominal} of them with levels"
    notes.append(Note("format", f"the ARFF file declares {declared}."))
    frame = pl.DataFrame(series)
    n_missing = sum(frame.null_count().row(0))
    if n_missing:
        words = " or ".join(map(repr, (*MISSING, *(options.missing_values or ()), *options.more_missing)))
        notes.append(Note("missing", f"found {counted(n_missing, 'missing cell')} ({words})."))
    return ParsedFile(frame, (*notes, *said))


def header_of(lines: list[str], file: str) -> tuple[list[Attribute], int, list[Note]]:
    """Return the declared columns, the number of the first line of data, and the notes on the header."""
    attributes: list[Attribute] = []
    notes: list[Note] = []
    for number, raw in enumerate(lines):
        line = raw.strip().lstrip("\ufeff")
        word = line.split(None, 1)[0].lower() if line else ""
        if not line or line.startswith("%") or word == "@relation":
            continue
        if word.startswith("@attribute"):
            attributes.append(attribute_of(line, number, file))
        elif word in ("@input", "@inputs", "@output", "@outputs"):
            named = line.split(None, 1)[1] if " " in line else ""
            notes.append(Note("role", f"the file declares {named} as {word[1:].rstrip('s')}."))
        elif word == "@data":
            if not attributes:
                raise InputError(f"{file} declares no @attribute before @data (line {number + 1}).")
            check_unique_names(attribute.name for attribute in attributes)
            return attributes, number + 1, notes
        else:
            raise InputError(
                f"{file}, line {number + 1}: {line[:60]!r} is neither @relation, @attribute, @data nor a comment.",
                "comments begin with %.",
            )
    raise InputError(f"{file} has no @data line.", "the rows of an ARFF file follow it; the file may be truncated.")


def attribute_of(line: str, number: int, file: str) -> Attribute:
    """Return what one @attribute line declares."""
    match = ATTRIBUTE.fullmatch(line)
    if match is None:
        raise InputError(f"{file}, line {number + 1}: {line[:60]!r} must name a column and its type.")
    name, spec = unquoted(match[1]), match[2].strip()
    if not spec.startswith("{"):
        spec = spec.split("%")[0].strip()
    kind = RANGE.sub("", spec).split(None, 1)[0].lower() if RANGE.sub("", spec) else ""
    if spec.startswith("{"):
        body = spec[1:].rpartition("}")
        if not body[1] or body[2].partition("%")[0].strip():
            raise InputError(f"{file}, line {number + 1}: the levels of {name!r} must end with a closing brace.")
        levels = dict.fromkeys(unquoted(cell) for cell in split_cells(body[0], number, file))
        return Attribute(name, "nominal", tuple(level for level in levels if level))
    if kind in (*NUMERIC, "string"):
        return Attribute(name, "string" if kind == "string" else "numeric")
    if kind == "date":
        rest = spec.split(None, 1)[1] if len(spec.split(None, 1)) > 1 else "yyyy-MM-dd'T'HH:mm:ss"
        return Attribute(name, "date", format=unquoted(rest.strip()))
    raise InputError(
        f"{file}, line {number + 1}: column {name!r} has the unsupported type {spec[:40]!r}.",
        "supported types are numeric, real, integer, string, date and {levels}.",
    )


def split_cells(text: str, number: int, file: str) -> list[str]:
    """Split a line into cells, which stay quoted."""
    if "'" not in text and '"' not in text and "\\" not in text:
        return [cell.strip() for cell in text.split(",")]
    cells, start = [], 0
    while True:
        match = CELL.match(text, start)
        if match is None:
            raise InputError(
                f"{file}, line {number + 1}: a quote in {text[start : start + 30]!r} is never closed.",
                "write a quote inside quotes as \\'.",
            )
        cells.append(match[1].strip())
        if not match[2]:
            return cells
        start = match.end()


def unquoted(cell: str) -> str:
    """Return a cell without its quotes and escapes."""
    if len(cell) > 1 and cell[0] == cell[-1] and cell[0] in "'\"":
        cell = cell[1:-1]
    if "\\" not in cell:
        return cell
    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", escaped, cell, flags=re.DOTALL)


def escaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 5:
        character = chr(int(code[1:], 16))
        return "\ufffd" if "\ud800" <= character <= "\udfff" else character
    return ESCAPES.get(code, code)


def rows_of(lines: list[str], start: int, attributes: list[Attribute], file: str) -> Iterator[list[str | None]]:
    """Yield the rows: cells as text, missing ones as None."""
    width = len(attributes)
    for number in range(start, len(lines)):
        line = lines[number].strip()
        if not line or line.startswith("%"):
            continue
        if line.startswith("{"):
            yield sparse_row(line, number, attributes, file)
            continue
        raw = split_cells(line, number, file)
        if len(raw) != width and width > 1 and "," not in line:
            raw = [match[1] for match in WORD.finditer(line)]
        if len(raw) == width + 1 and not raw[-1]:
            raw.pop()  # a separator after the last cell
        if len(raw) != width:
            if raw and raw[-1].startswith("{"):
                raise InputError(
                    f"{file}, line {number + 1} ends with the weight {raw[-1]!r}; weighted rows are not supported.",
                    "store the weights in a column of their own and pass them as sample_weight.",
                )
            raise InputError(
                f"{file}, line {number + 1} has {counted(len(raw), 'cell')}, but the file declares "
                f"{counted(width, 'column')}.",
                "quote cells that contain a comma.",
            )
        yield [None if cell in MISSING else unquoted(cell) for cell in raw]


def sparse_row(line: str, number: int, attributes: list[Attribute], file: str) -> list[str | None]:
    """Return a row that lists only some cells: {index cell, …}. The others are 0, or the first declared level."""
    where = f"{file}, line {number + 1}"
    if not line.endswith("}"):
        raise InputError(f"{where}: a sparse row must end with a closing brace.", "weighted rows are not supported.")
    row: list[str | None] = [a.levels[0] if a.levels else "0" if a.type == "numeric" else "" for a in attributes]
    if not line[1:-1].strip():
        return row
    for pair in split_cells_keeping(line[1:-1], number, file):
        index, _, cell = pair.strip().partition(" ")
        if not index.isascii() or not index.isdigit() or int(index[:9]) >= len(row) or not cell.strip():
            raise InputError(
                f"{where}: {pair!r} must be the index of a column and its cell.",
                f"column indices range from 0 to {len(row) - 1}.",
            )
        value = cell.strip()
        row[int(index)] = None if value in MISSING else unquoted(value)
    return row


def split_cells_keeping(text: str, number: int, file: str) -> list[str]:
    """Split a sparse row into pairs; quotes may begin inside a pair."""
    if "'" not in text and '"' not in text:
        return text.split(",")
    pairs = re.findall(rf"(?:{QUOTED}|[^,'\"])+", text)
    if sum(map(len, pairs)) + len(pairs) - 1 != len(text):
        raise InputError(f"{file}, line {number + 1}: a quote in {text[:40]!r} is never closed.")
    return pairs


def as_series(attribute: Attribute, cells: list[Any], options: ReadOptions, file: str) -> tuple[pl.Series, list[Note]]:
    """Return a column in its declared type."""
    name = attribute.name
    text = pl.Series(name, cells, dtype=pl.String)
    tokens = (*(options.missing_values or ()), *options.more_missing)
    if tokens:
        text = text.set(text.is_in(list(tokens)), None)
    if attribute.type == "numeric":
        text = text.str.strip_chars().str.strip_prefix("+")
        for dtype in (pl.Int64, pl.Float64):
            numbers = text.cast(dtype, strict=False)
            if numbers.null_count() == text.null_count():
                return numbers, []
        refuse_lost(text, numbers, f"{file}: column {name!r} is declared numeric", "add it to missing_values.")
    if attribute.type == "nominal":
        levels = list(attribute.levels)
        codes = text.cast(pl.Enum(levels), strict=False) if levels else text.set(text.is_not_null(), None)
        problem = f"{file}: column {name!r} declares the levels {listing(levels)}"
        return refuse_lost(text, codes, problem, "declare this level too, or add it to missing_values."), []
    if attribute.type == "date":
        return as_dates(attribute, text)
    return text, []


def as_dates(attribute: Attribute, text: pl.Series) -> tuple[pl.Series, list[Note]]:
    """Return dates if the declared format is supported and fits every cell; else the text, with a note."""
    pattern = re.sub(r"y+|M+|d+|H+|m+|s+|'([^']*)'", lambda m: m[1] or JAVA_DATES.get(m[0], "\0"), attribute.format)
    if "\0" not in pattern and "%" in pattern:
        dates = local_times(text, pattern)
        if fits(text, dates):
            return dates, []
    note = f"{attribute.name!r} is read as text, because its cells could not be read as {attribute.format!r}."
    return text, [Note("dates", note, attribute.name)]
