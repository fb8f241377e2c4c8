"""What a caller may say about a file instead of letting it be found out: the keywords of `read_table`, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from foldwise.data.arguments import whole_at_least
from foldwise.errors import FoldwiseTypeError, InputError

MISSING_VALUES = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL")


@dataclass(frozen=True)
class ReadOptions:
    """The keywords of one call; None is "find out"."""

    missing_values: tuple[str, ...] | None = None
    separator: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: int | None = None  # how many rows
    names: Sequence[str] | None = None
    skip_rows: int | None = None
    sheet: str | int | None = None
    table: str | None = None
    as_text: tuple[str, ...] = ()  # columns declared to be no numbers: 007 and 7 stay two categories

    def __post_init__(self) -> None:
        check_character("separator", self.separator)
        if self.quote != "":  # which gives quotes no meaning
            check_character("quote", self.quote)
        if self.decimal not in (None, ".", ","):
            raise InputError(f"decimal must be '.' or ',', got {self.decimal!r}.")
        if self.skip_rows is not None:
            whole_at_least("skip_rows", self.skip_rows, 0)
        if isinstance(self.names, str) or not all(isinstance(name, str) for name in self.names or ()):
            raise FoldwiseTypeError(f"names must be a list of strings, one per column, got {self.names!r}.")

    @property
    def tokens(self) -> tuple[str, ...]:
        """The cells of text that mean "missing"."""
        return MISSING_VALUES if self.missing_values is None else self.missing_values


def check_character(name: str, value: Any) -> None:
    """None, or a single character other than a line end."""
    if not isinstance(value, str | None):
        raise FoldwiseTypeError(f"{name} must be text, got {value!r} of type {type(value).__name__}.")
    if value is not None and (len(value) != 1 or value in "\r\n" or not value.isascii()):
        raise InputError(f"{name} must be one plain character, got {value!r}.", "replace it in the file first.")


def token_strings(missing_values: Sequence[Any] | str | float | None) -> tuple[str, ...] | None:
    """The tokens as strings; one string is one token."""
    if missing_values is None:
        return None
    if isinstance(missing_values, str | int | float):
        return (str(missing_values),)
    return tuple(str(value) for value in missing_values)


def header_rows(header: Any) -> int | None:
    """How many rows hold names: True is one, False none."""
    if header is None or isinstance(header, bool):
        return None if header is None else int(header)
    if not isinstance(header, int) or header < 1:
        raise InputError(
            f"header must be True, False or how many rows hold names, got {header!r}.",
            "False reads a file without a header, True one with a row of names; lines before it are skip_rows.",
        )
    return header
