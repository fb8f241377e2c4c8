"""What a reader of one format hands back, and the ways in which polars refuses a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl
from polars.exceptions import PanicException, PolarsError

from foldwise.data.notes import Note

READ_ERRORS = (PolarsError, PanicException, OSError, UnicodeError, OverflowError)


@dataclass(frozen=True)
class ParsedFile:
    """A frame, the notes on how it was read, what the file itself says its columns are (kind by name), which of them
    have no name in it, and the mark before the decimals of its numbers.
    """

    frame: pl.DataFrame
    notes: tuple[Note, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    unnamed: tuple[str, ...] = ()
    decimal: str = "."


def first_line(error: BaseException) -> str:
    """The first line of another library's message."""
    return str(error).strip().split("\n")[0][:300]
