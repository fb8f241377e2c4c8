"""What DuckDB says of a CSV file that it cannot read, in words that name the file, the line and what to do."""

from __future__ import annotations

import re
from pathlib import PurePath

LINE = re.compile(r"CSV Error on Line: (\d+)")
FILE = re.compile(r"^  file = (.+)$", re.MULTILINE)
CELLS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")
TYPE = re.compile(r"Error when converting column \"(.*?)\"\. Could not convert string \"(.*?)\" to '(\w+)'", re.DOTALL)
NUMBERS = ("BIGINT", "DOUBLE", "HUGEINT", "INTEGER")


def csv_problem(error: BaseException) -> tuple[str, str] | None:
    """Return what is wrong with the file and a hint; None if the error is not about a CSV file.

    >>> what, hint = csv_problem(ValueError('''Invalid Input Error: CSV Error on Line: 7
    ... Original Line: 5,y
    ... Expected Number of Columns: 3 Found: 2
    ...   file = folder/late.csv'''))
    >>> what
    'line 7 of late.csv has 2 cells, but the first lines have 3.'
    """
    text = str(error)
    line, file = LINE.search(text), FILE.search(text)
    if line is None or file is None:
        return None
    name = PurePath(file[1].strip()).name
    if "not utf-8 encoded" in text:  # the line is sometimes one before the byte
        return f"{name} is not UTF-8.", "convert it, for example: iconv -f latin1 -t utf-8 OLD.csv > NEW.csv"
    where = f"line {int(line[1]):,} of {name}"
    if found := CELLS.search(text):
        return f"{where} has {found[2]} cells, but the first lines have {found[1]}.", "correct this line."
    if found := TYPE.search(text):
        kind = "numbers" if found[3] in NUMBERS else f"values of the type {found[3]}"
        return (
            f"{where} has {found[2]!r} in the column {found[1]!r}, whose first cells are {kind}.",
            "correct this cell, or leave it empty if it is missing. Or convert the file to Parquet.",
        )
    if "unterminated quote" in text:
        return f"{where} has a quoted cell without an end.", "add the missing quotation mark."
    return f"{where} cannot be read.", "correct this line, or convert the file to Parquet."
