"""Find the table within a text: lines before it, its header, the names of its columns, and footnotes after it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from foldwise.data.notes import Note, counted
from foldwise.data.reading.protocol import ReadOptions
from foldwise.data.reading.sniffing import NUMBER, SAMPLE_ROWS, CellRows, Dialect, agreement, split_rows, unwrapped
from foldwise.errors import InputError

ORANGE_TYPES = {"", "c", "continuous", "d", "discrete", "s", "string", "t", "time", "m", "meta"}
ORANGE_ROLES = {"", "class", "meta", "m", "i", "ignore", "weight", "w"}
MANY_COUNTED = 8
LEAVE_OUT, WEIGHTS = "Pass drop={!r} to leave it out.", "Pass weights={!r} to weight rows by it."
ORANGE_ADVICE = {"class": "Pass target={!r} to predict it.", "meta": LEAVE_OUT, "m": LEAVE_OUT, "i": LEAVE_OUT}
ORANGE_ADVICE |= {"ignore": LEAVE_OUT, "weight": WEIGHTS, "w": WEIGHTS}


@dataclass(frozen=True)
class TableLayout:
    """How many lines precede the first row of data, and the names of the columns."""

    skip_lines: int
    names: tuple[str, ...]
    unnamed: tuple[str, ...] = ()  # columns without a name in the file
    notes: tuple[Note, ...] = ()
    orange: dict[str, str] = field(default_factory=dict)  # type of a column by its name, as Orange declares it


def find_layout(lines: Sequence[str], dialect: Dialect, options: ReadOptions, name: str) -> TableLayout:
    """Find the layout of a text from its first lines."""
    notes: list[Note] = []
    start = options.skip_rows or 0
    if options.skip_rows:
        notes.append(Note("lines", f"skipped {counted(options.skip_rows, 'line')} at the start, as requested."))
    while start < len(lines) and not lines[start].strip():
        start += 1
    if start >= len(lines):
        if options.skip_rows and any(map(str.strip, lines)):
            after = counted(options.skip_rows, "skipped line")
            raise InputError(f"{name} contains no rows after the {after}.", "pass a smaller skip_rows=.")
        raise InputError(f"{name} contains no rows.", "pass a file with a header and rows.")
    return layout_of_rows(
        [(row, start + end) for row, end in numbered_rows(lines[start:], dialect)], notes, options, name, start
    )


def layout_of_rows(
    numbered: Sequence[tuple[list[str], int]],
    notes: list[Note],
    options: ReadOptions,
    name: str,
    start: int = 0,
    n_columns: int | None = None,
) -> TableLayout:
    """Find the layout of rows, each with the number of lines up to its end; `n_columns` if that is known."""
    rows = [row for row, _ in numbered]
    width = agreement(rows)[0]
    first = 0 if options.skip_rows is not None else lines_before(rows, width)
    if options.skip_rows is None and options.header is None:
        first += remarks_before(rows[first:], width)
    if first and options.header is None and options.names is None:
        refuse_partial_names(rows, first, width, name)
    if first:
        left_out = "; ".join(repr(", ".join(map(str.strip, row))[:60]) for row in rows[:first])
        notes.append(Note("lines", f"skipped {counted(first, 'line')} before the table: {left_out}."))
    rows, ends = rows[first:], [start, *(end for _, end in numbered)][first:]  # ends[k]: lines before row k
    if n_columns is not None:
        width, rows = n_columns, [row + [""] * (n_columns - len(row)) for row in rows]
    count, why = header_of(rows, width, options)
    names, types = names_of(rows, count, width, notes)
    if options.header is not None:
        why = "as requested"
    elif types:
        why = "names, types and roles as in Orange"
    what = ("the table has no header", "the first row is the header", f"the first {count} rows are the header")
    notes.append(Note("header", f"{what[min(count, 2)]} ({why})."))
    if options.names is not None:
        names = given_names(options.names, len(names), name)
    unnamed = [j for j, cell in enumerate(names) if not cell.strip()]
    names, renamed = clean_names(names)
    notes += renamed
    if not count and options.names is None:
        notes.append(Note("names", f"columns are called {names[0]!r} to {names[-1]!r}. Pass names= for better names."))
    orange = {names[j]: value for j, value in types.items()}
    return TableLayout(ends[count], tuple(names), tuple(names[j] for j in unnamed), tuple(notes), orange)


def numbered_rows(lines: Sequence[str], dialect: Dialect) -> list[tuple[list[str], int]]:
    """Return the rows of the sample that are not blank, each with the number of lines up to its end."""
    if not dialect.wrapped and not (dialect.quote and any(dialect.quote in line for line in lines)):
        full = [(number, line) for number, line in enumerate(lines, 1) if line.strip()][:SAMPLE_ROWS]
        rows = split_rows([line for _, line in full], dialect.separator, dialect.quote)
        if len(rows) == len(full):
            return [(row, number) for row, (number, _) in zip(rows, full, strict=True)] or [([""], len(lines))]
    found: list[tuple[list[str], int]] = []
    taken = 0
    part: list[str] = []
    for line in lines:
        if len(found) >= SAMPLE_ROWS:
            break
        taken += 1
        part.append(unwrapped(line) if dialect.wrapped and found else line)
        if dialect.quote and "".join(part).count(dialect.quote) % 2 and len(part) < 100:
            continue  # a quoted cell goes on in the next line
        text, part = part, []
        if not "".join(text).strip():
            continue
        rows = split_rows(text, dialect.separator, dialect.quote)
        if rows:
            found.append((rows[0], taken))
    if part and not found:
        raise InputError(
            f"a quote ({dialect.quote}) is opened in line 1 and never closed: {part[0].strip()[:60]!r}.",
            "close it, or pass quote='' if quotes have no special meaning in this file.",
        )
    return found or [([""], taken)]


def lines_before(rows: CellRows, width: int) -> int:
    """Count the rows before the table: those with too few cells to be its header."""
    if width < 2:
        return 0
    for number, row in enumerate(rows[:50]):
        if len(row) >= width or may_name(row, rows[number + 1 :], width):
            return number
    return 0


def may_name(row: Sequence[str], below: CellRows, width: int) -> bool:
    """Whether a row with one cell fewer than the table may be its header.

    R does not name the column of row names, and some programs end each row, but not the header, with a separator.
    """
    if len(row) != width - 1:
        return False
    numbers = numeric_columns(below[1:], width, ReadOptions())
    return (
        width > 1
        and not row[0].startswith(("#", "%"))
        and len(set(row)) == len(row)
        and all(cell.strip() and not is_number(cell) for cell in row)
        and bool(below)
        and all(len(other) == width for other in below[:5])
        and all(is_number(below[0][j]) or not below[0][j].strip() for j in numbers)  # the next row is not a header
    )


def refuse_partial_names(rows: CellRows, first: int, width: int, name: str) -> None:
    """Refuse a line that names some columns, but not all, above rows without another header."""
    row = rows[first - 1]
    texts = [cell for cell in row if cell.strip() and not is_number(cell)]
    if len(row) > 1 and len(texts) == len(row) and header_of(rows[first:], width, ReadOptions())[0] == 0:
        raise InputError(
            f"{name}: the header has {len(row)} cells, but the rows have {width}.",
            f"pass skip_rows={first} and header=False to skip that line, and names= to name all columns.",
        )


def is_number(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell))


def header_of(rows: CellRows, width: int, options: ReadOptions) -> tuple[int, str]:
    """Count the rows of the header, and say why."""
    if options.header is not None:
        if options.header > len(rows):
            raise InputError(
                f"header must be at most {len(rows)} rows, got {options.header}.",
                "pass the number of rows that contain column names.",
            )
        return options.header, "as requested"
    if is_orange(rows):
        return 3, "names, types and roles"
    first, body = rows[0], rows[1:]
    if not body:
        return 1, "it is the only row"
    if len(first) < width:
        return 1, "it has one cell fewer than the other rows"
    if len(body) > 1 and counts_columns(body[0]) and not counts_columns(first):
        numbers = numeric_columns(body[1:], width, options)
        if len(numbers) < width or width >= MANY_COUNTED:  # text below a number, or too many numbers for chance
            return 2, "the second only counts the columns"
    numeric = numeric_columns(body[1:] if len(rows) > 3 else body, width, options)
    over_numbers = text_over(numeric, first, options)
    if over_numbers:
        if len(rows) > 3 and is_second_header(first, body[0], numeric, options):
            return 2, "the second completes the first"
        return 1, f"{first[over_numbers[0]]!r} is above a column of numbers"
    if is_running(first) and not is_running(body[0]) and not comes_again(first, body):
        return 1, "its numbers count columns or years"
    if any(j < len(first) and is_number(first[j]) for j in numeric):
        return 0, "the first row has numbers in the same columns as the other rows"
    if numeric:
        return 1, "its cells above numbers are empty"
    repeated = []
    for j in range(min(width, len(first))):
        cells = [row[j].strip() for row in body if j < len(row)]
        if len(set(cells)) < len(cells):
            repeated.append(first[j].strip() in cells and first[j].strip() not in options.tokens)
    if repeated and sum(repeated) >= 0.5 * len(repeated):
        return 0, "values of the first row occur again below"
    return 1, "its values do not occur again below"


def text_over(numeric: Sequence[int], row: Sequence[str], options: ReadOptions) -> list[int]:
    """Return the numeric columns above which a row has text."""
    return [j for j in numeric if j < len(row) and row[j].strip() not in options.tokens and not is_number(row[j])]


def remarks_before(rows: CellRows, width: int) -> int:
    """Count the remarks with as many cells as the table: the header comes after them, with text above all numbers."""
    count = next((k for k, row in enumerate(rows) if not is_remark(row)), 0)
    numeric = numeric_columns(rows[count + 1 :], width, ReadOptions()) if count else []
    return count if numeric and text_over(numeric, rows[count], ReadOptions()) == numeric else 0


def is_remark(row: Sequence[str]) -> bool:
    """Whether a row begins with # and a space, or has a single cell beside empty ones, like titles in spreadsheets."""
    full = [cell for cell in row if cell.strip()]
    return len(full) <= 1 < len(row) or re.match(r"\s*#[# ]", "".join(row[:1])) is not None


def numeric_columns(body: CellRows, width: int, options: ReadOptions) -> list[int]:
    """Return the columns of numbers; some cells may be missing and a few may be text."""
    found = []
    missing = {*options.tokens, "-"}
    for j in range(width):
        cells = [row[j].strip() for row in body if j < len(row)]
        present = Counter(cell for cell in cells if cell not in missing)
        if present and not exceeds(present, 0.2):
            found.append(j)
    return found


def exceeds(cells: Counter[str], share: float) -> bool:
    """Whether more than a share of the cells are not numbers; a column of words shows that after a few cells."""
    allowed, others = share * cells.total() + 1e-9, 0
    for cell, count in cells.items():
        others += 0 if is_number(cell) else count
        if others > allowed:
            return True
    return False


def is_second_header(first: Sequence[str], second: Sequence[str], numeric: Sequence[int], options: ReadOptions) -> bool:
    """Whether the second row belongs to the header: text above all numbers (units), or below gaps and above some."""
    cells = list(zip(first, second, strict=False))
    gaps = any(not above.strip() and below.strip() for above, below in cells)
    over_numbers = [j < len(second) and second[j].strip() not in options.tokens for j in numeric]
    units = len(over_numbers) > 1 and all(over_numbers)
    return (units or (gaps and any(over_numbers))) and not any(is_number(below) for _, below in cells)


def is_running(row: Sequence[str]) -> bool:
    """Whether the numbers of a row are consecutive integers: numbers of columns, or years."""
    numbers = [cell.strip() for cell in row if is_number(cell)]
    if len(numbers) < 2 or not all(re.fullmatch(r"\d{1,9}", cell) for cell in numbers):
        return False
    values = [int(cell) for cell in numbers]
    return all(b - a == 1 for a, b in pairwise(values))


def counts_columns(row: Sequence[str]) -> bool:
    """Whether a row has the number of each column in its cell: 1, 2, 3, …, or from 0 on."""
    cells = [cell.strip() for cell in row]
    return len(cells) > 2 and any(cells == [str(j + start) for j in range(len(cells))] for start in (0, 1))


def comes_again(first: Sequence[str], body: CellRows) -> bool:
    """Whether two or three consecutive numbers are an ordinary row, because most of them occur again below.

    Longer runs do not occur by chance.
    """
    numbers = [j for j, cell in enumerate(first) if is_number(cell)]
    again = sum(any(j < len(row) and row[j].strip() == first[j].strip() for row in body) for j in numbers)
    return len(numbers) < 4 and 2 * again >= len(numbers)


def is_orange(rows: CellRows) -> bool:
    """Whether the second and third rows are the types and roles of Orange's .tab files."""
    if len(rows) < 4 or len(rows[0]) < 2:
        return False
    types, roles = ([cell.strip() for cell in row] for row in rows[1:3])
    if not all(map(is_role, roles)) or not any(kind and kind.lower() in ORANGE_TYPES for kind in types):
        return False
    for j, kind in enumerate(types):  # a column of categories may list its values instead of a type
        values = {row[j].strip() for row in rows[3:] if j < len(row)} - {"", "?"}
        if kind.lower() not in ORANGE_TYPES and not (len(kind.split()) > 1 and values <= {*kind.split()}):
            return False
    return True


def is_role(cell: str) -> bool:
    """Whether a cell of Orange's third header row is a role, or attributes such as key=value."""
    words = cell.lower().split()
    return not words or all(word in ORANGE_ROLES or "=" in word for word in words)


def orange_type(cell: str) -> str:
    """Return the type of a column in Orange's words; a list of values means categories."""
    return cell.lower() if cell.lower() in ORANGE_TYPES else "discrete"


def names_of(rows: CellRows, count: int, width: int, notes: list[Note]) -> tuple[list[str], dict[int, str]]:
    """Return one name per column from the header, and the types that an Orange header declares."""
    if count == 0:
        return [""] * width, {}
    body = rows[count:]
    names = list(rows[0])
    if is_orange(rows) and count == 3:
        names = [cell.strip() for cell in names]
        roles = [cell.strip() for cell in rows[2]]
        for name, role in zip(names, roles, strict=False):
            word = next((one for one in role.lower().split() if one in ORANGE_ADVICE), "")
            if role:
                hint = f" {ORANGE_ADVICE[word].format(name)}" if word else ""
                notes.append(Note("role", f"the file declares {name!r} as {role}.{hint}", name))
        types = {j: orange_type(cell.strip()) for j, cell in enumerate(rows[1][: len(names)]) if cell.strip()}
        return names, types
    if count == 2 and counts_columns(rows[1]):
        return names, {}
    if count > 1:
        names = joined(rows[:count], max(width, len(names)))
    if len(names) == width - 1 and body:
        if all(not row[-1].strip() for row in body if len(row) == width):
            names.append("")
        else:
            names.insert(0, "")
            notes.append(Note("names", "the header has one cell fewer than the rows, so the first column has no name."))
    while len(names) > width and not names[-1].strip() and body:
        names.pop()
    return names, {}


def joined(rows: CellRows, width: int) -> list[str]:
    """Join the names of several rows with slashes; a gap takes the name to its left."""
    ruled = [["" if re.fullmatch(r"\s*[-=:]+\s*", cell) else cell.strip() for cell in row] for row in rows]
    padded = [row + [""] * (width - len(row)) for row in ruled]
    for row in padded[:-1]:
        for j in range(1, width):
            row[j] = row[j] or row[j - 1]
    return [" / ".join(filter(None, cells)) for cells in zip(*padded, strict=False)]


def given_names(names: Sequence[str], width: int, file: str) -> list[str]:
    """Return the names that the caller gave, which must be one per column."""
    if len(names) != width:
        raise InputError(
            f"names must have one name for each of the {width} columns of {file}, got {len(names)}.",
            "pass one name per column.",
        )
    return list(names)


def clean_names(names: Sequence[str]) -> tuple[list[str], list[Note]]:
    """Strip the names; columns without one are called x0, x1, … as in scikit-learn."""
    cleaned = [name.strip() for name in names]
    taken = set(cleaned)
    notes = []
    made = []
    for j, name in enumerate(cleaned):
        if not name:
            new = f"x{j}"
            while new in taken:
                new += "_"
            taken.add(new)
            cleaned[j] = new
            made.append(new)
    if made and len(made) < len(names):
        more = ", …" if made[5:] else ""
        notes.append(Note("names", f"columns without a name are named after their index: {', '.join(made[:5])}{more}."))
    changed = sum(a != b and bool(b.strip()) for a, b in zip(cleaned, names, strict=True))
    if changed:
        notes.append(Note("names", f"removed spaces around {counted(changed, 'column name')}."))
    return cleaned, notes


def without_footnotes(data: bytes, dialect: Dialect, width: int) -> tuple[bytes, list[Note]]:
    """Drop the remarks after the last row, which have too few cells to be rows."""
    if width < 2 or dialect.wrapped:
        return data, []
    tail_start = max(0, len(data) - 8192)
    tail = data[tail_start:]
    lines = tail.splitlines(keepends=True)[1 if tail_start else 0 :]
    texts = [line.decode("utf-8", "replace") for line in lines]
    keep = len(texts)
    for number in range(len(texts) - 1, max(0, len(texts) - 20), -1):
        text = texts[number].strip()
        cells = split_rows([texts[number]], dialect.separator, dialect.quote) if text else []
        n_cells = len(cells[0]) if cells else 0
        if not text:
            continue
        if dialect.quote and text.count(dialect.quote) % 2:
            break  # the end of a quoted cell that spans lines
        after_gap = not texts[number - 1].strip()
        is_short = n_cells < width and any(c.isalpha() for c in text)
        if is_short and (after_gap or (n_cells == 1 and len(text.split()) > 2)):
            keep = number
        elif not (is_short and n_cells == 1):
            break
    dropped = [text.strip() for text in texts[keep:] if text.strip()]
    if not dropped:
        return data, []
    cut = sum(map(len, lines[keep:]))
    said = "; ".join(repr(text[:60]) for text in dropped)
    note = f"skipped {counted(len(dropped), 'line')} after the table: {said}."
    return data[: len(data) - cut], [Note("lines", note)]
