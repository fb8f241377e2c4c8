"""Convert columns of text to numbers: plain ones, and those with thousands separators, percent signs or currencies.

A column is converted as a whole or not at all. A note names the cell that is not a number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from foldwise.data.notes import Note, counted
from foldwise.data.reading.protocol import ReadOptions

CONVERTED = "was converted from text to numbers"
MISSING_AMONG_NUMBERS = (
    *("-", "--", "—", "–", ".", "..", "...", "n.a.", "na", "none", "None", "NONE", "missing", "unknown"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "NULL", "nil"),
)
SIGNED = r"^\(?[+\-−]?\s?([$€£¥])?\s?[+\-−]?"
UNIT = r"\s?([%$€£¥]|[KMB]|bn|mn)?\)?$"
POINT = SIGNED + r"(\d{1,3}(,\d{3})+(\.\d*)?|\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?" + UNIT
COMMA = SIGNED + r"(\d{1,3}(\.\d{3})+(,\d*)?|\d+(,\d*)?|,\d+)([eE][+-]?\d+)?" + UNIT
SPACED = SIGNED + r"\d{1,3}([\u00a0\u202f ']\d{3})*([.,]\d+)?" + UNIT
SCALES = {"K": 1e3, "M": 1e6, "mn": 1e6, "B": 1e9, "bn": 1e9}
CODE = r"^[+-]?0\d+$|^[+-]?\d{39,}$"  # 007 is a code, not a number; so is an integer beyond 128 bits
LIKELY = re.compile(r"[(+\-−$€£¥.,\s]*\d")
PLAIN = re.compile(r"[+\-.,\d]|inf|nan|true|false", re.IGNORECASE)  # how plain numbers and truth values begin
LOOK = 50
EXAMPLES = 3


def plain_types(texts: Sequence[pl.Series], decimal: str) -> list[pl.Series]:
    """Apply `plain_type` to several short columns, searching all of them for codes at once, which is cheaper."""
    likely = [text.alias("") for text in texts if may_be_plain(text)]
    free_of_codes = not likely or not pl.concat(likely).str.contains(CODE).any()
    return [plain_type(text, decimal, free_of_codes) for text in texts]


def plain_type(text: pl.Series, decimal: str = ".", free_of_codes: bool = False) -> pl.Series:
    """Cast text to numbers or booleans if every cell that is not missing is one; else return the text."""
    if not may_be_plain(text) or (not free_of_codes and text.str.contains(CODE).any()):
        return text
    n_missing = text.null_count()
    digits = text
    if decimal == ",":
        if text.str.contains(".", literal=True).any():
            return text  # 1.200 means 1200 here, which a cast does not know
        digits = text.str.replace(",", ".", literal=True)
    for dtype in (pl.Int64, pl.Int128, pl.Float64):
        numbers = digits.cast(dtype, strict=False)
        if numbers.null_count() == n_missing:
            return numbers
    lowered = text.str.to_lowercase()
    if lowered.is_in(["true", "false"]).sum() == len(text) - n_missing:
        return lowered == "true"
    return text


def may_be_plain(text: pl.Series) -> bool:
    """Whether the first cell of a column looks like a plain number or boolean."""
    first = next((cell for cell in text.head(LOOK).to_list() if cell is not None), "0")
    return PLAIN.match(first) is not None and text.null_count() < len(text)


def convert_columns(frame: pl.DataFrame, options: ReadOptions, decimal: str) -> tuple[pl.DataFrame, list[Note]]:
    """Convert the text columns of a frame to numbers where possible."""
    texts = [name for name, kind in zip(frame.columns, frame.dtypes, strict=True) if isinstance(kind, pl.String)]
    converted = [convert(frame[name], options, decimal) for name in texts]
    changed = [column for column, _ in converted if column.dtype != pl.String]
    frame = frame.with_columns(changed) if changed else frame  # copies the list of columns, which may be long
    return frame, [note for _, notes in converted for note in notes]


def convert(text: pl.Series, options: ReadOptions, decimal: str) -> tuple[pl.Series, list[Note]]:
    """Convert a text column to numbers if it contains only numbers, with notes on what was removed from them."""
    name = text.name
    if name in options.as_text or not looks_numeric(text):
        return text, []
    plain = text.str.strip_chars()
    missing: tuple[str, ...] = ()
    if options.missing_values is None:
        marked = missing_among_numbers(plain)
        if marked.any():
            missing = tuple(sorted(plain.filter(marked).unique().drop_nulls().to_list()))
            plain = plain.set(marked, None)
    if plain.str.contains(CODE).any():
        code = plain.filter(plain.str.contains(CODE))[0]
        note = f"{name!r} contains codes such as {code!r}, which would lose digits as numbers. It is read as text."
        return text, [Note("codes", note, name)]
    notes = []
    if missing:
        n_cells = counted(int(marked.sum() or 0), "missing cell")
        said = ", ".join(map(repr, missing))
        notes.append(Note("missing", f"found {n_cells} in {name!r} ({said} among numbers).", name))
    found = plain_type(plain, decimal)
    if found.dtype != pl.String:
        return found.alias(name), notes
    bare, how = decorated(plain, decimal)
    if bare is None:
        return text, stray(plain, name, decimal)
    notes.append(Note("numbers", f"{name!r} {CONVERTED}. It has {how}.", name))
    return bare.alias(name), notes


def missing_among_numbers(text: pl.Series) -> pl.Series:
    """Mark the cells, without white space, that mean missing in a column of numbers, such as 'unknown'."""
    return text.is_in(list(MISSING_AMONG_NUMBERS))


def looks_numeric(text: pl.Series) -> bool:
    """Whether most of the first cells, or of cells of the whole column, begin like numbers; rules out most text."""
    first = [cell for cell in text.head(2 * LOOK).to_list() if cell is not None][:LOOK]
    if len(first) < LOOK:
        first = text.drop_nulls().head(LOOK).to_list()
    if mostly_numbers(first):
        return True
    spread = text.gather_every(-(-max(1, len(text)) // LOOK)).to_list()  # the first cells may be exceptions
    return mostly_numbers([cell for cell in spread if cell is not None])


def mostly_numbers(cells: Sequence[str]) -> bool:
    """Whether some cells begin like numbers, and at least half do or are missing values among numbers."""
    likely = sum(LIKELY.match(cell) is not None for cell in cells)
    return likely > 0 and likely + sum(cell.strip() in MISSING_AMONG_NUMBERS for cell in cells) >= 0.5 * len(cells)


def decorated(text: pl.Series, decimal: str) -> tuple[pl.Series | None, str]:
    """Return numbers without signs and separators, and what was removed; None if a cell is not a number."""
    present = text.drop_nulls()
    for pattern in (COMMA, POINT) if decimal == "," else (POINT, COMMA, SPACED):
        if present.str.contains(pattern).all():
            break
    else:
        return None, ""
    if pattern == COMMA and bool((present.str.count_matches(".", literal=True) == 3).all()):
        return None, ""  # addresses such as 192.168.100.200
    percent = present.str.contains("%", literal=True)
    currencies = present.str.extract(r"([$€£¥])").drop_nulls().unique()
    if (percent.any() and not percent.all()) or len(currencies) > 1:
        return None, ""
    mark = "," if pattern == COMMA else "."
    if pattern == SPACED:
        mark = "," if present.str.contains(r",\d+\D*$").any() else "."
    negative = text.str.contains(r"[-−]") & ~text.str.contains(r"^[^-−]*[eE]-") | text.str.starts_with("(")
    scale = text.str.extract(r"(K|M|B|mn|bn)\)?$").replace_strict(SCALES, default=1.0, return_dtype=pl.Float64)
    digits = text.str.replace_all(r"[$€£¥%\s\u00a0\u202f'()+]|[KMB]|mn|bn|^[-−]", "").str.replace_all(r"^[-−]", "")
    if mark == ",":
        digits = digits.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    else:
        digits = digits.str.replace_all(",", "", literal=True)
    values = digits.cast(pl.Float64, strict=False)
    if values.null_count() != text.null_count():
        return None, ""
    values = values * pl.select(pl.when(negative).then(-1.0).otherwise(1.0)).to_series() * scale
    return whole(values), decoration(present, mark, bool(percent.any()), currencies)


def whole(values: pl.Series) -> pl.Series:
    """Convert floats to integers if all of them are exact integers."""
    present = values.drop_nulls()
    is_whole = len(present) and bool(((present.round() == present) & (present.abs() < 2.0**53)).all())
    return values.cast(pl.Int64) if is_whole else values


def decoration(present: pl.Series, mark: str, percent: bool, currencies: pl.Series) -> str:
    """Say in words what was removed from the numbers."""
    thousands = r"\d[\u00a0\u202f ']\d{3}|" + (r"\d\.\d{3}" if mark == "," else r"\d,\d{3}")
    words = []
    if present.str.contains(thousands).any():
        words.append("thousands separators")
    if mark == "," and present.str.contains(",", literal=True).any():
        words.append("decimal commas")
    if percent:
        words.append("percent signs (13% becomes 13)")
    words += [f"the currency {symbol}" for symbol in currencies.to_list()]
    if present.str.contains(r"(K|M|B|mn|bn)\)?$").any():
        words.append("K, M or B for thousands, millions or billions")
    example = next((cell for cell in present.head(1000).to_list() if not re.fullmatch(r"-?[\d.]+", cell)), present[0])
    return f"{' and '.join(words) or 'signs'}, as in {example!r}"


def stray(text: pl.Series, name: str, decimal: str) -> list[Note]:
    """Note that a column of numbers stays text because of a few cells."""
    present = text.drop_nulls()
    good = present.str.contains(COMMA if decimal == "," else POINT)
    bad = present.filter(~good)
    if len(present) and not len(bad):
        note = f"{name!r} has numbers with and without percent signs, or in several currencies. It is read as text."
        return [Note("numbers", note, name)]
    if len(bad) > 0.2 * len(present):
        return []
    different = bad.unique(maintain_order=True)
    examples = ", ".join(map(repr, different.head(EXAMPLES).to_list())) + ", …" * (len(different) > EXAMPLES)
    are = "is not a number" if len(bad) == 1 else "are not numbers"
    note = (
        f"{name!r} is read as text, because {len(bad):,} of {len(present):,} cells {are} ({examples}). If such cells "
        "mean missing, pass them as missing_values."
    )
    return [Note("numbers", note, name)]
