"""The protocol of readers: the options they get, the parsed file they return, and errors of the libraries they use."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from polars.exceptions import PanicException, PolarsError

from foldwise.data.arguments import whole_at_least
from foldwise.data.notes import Note
from foldwise.errors import FoldwiseTypeError, InputError

MISSING_VALUES = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL")
READ_ERRORS = (PolarsError, PanicException, OSError, UnicodeError, OverflowError)
CUT_OFF = "the file may be truncated, or in another format than its name says."


@dataclass(frozen=True)
class ReadOptions:
    """The keywords of one call; None means that the value is detected."""

    missing_values: tuple[str, ...] | None = None
    more_missing: tuple[str, ...] = ()  # besides these, or besides the usual ones
    separator: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: int | None = None  # number of rows
    names: Sequence[str] | None = None
    skip_rows: int | None = None
    sheet: str | int | None = None
    table: str | None = None
    as_text: tuple[str, ...] = ()  # columns that are not converted to numbers: 007 and 7 stay two categories

    def __post_init__(self) -> None:
        check_character("separator", self.separator)
        if self.quote != "":  # an empty string means that quotes are ordinary characters
            check_character("quote", self.quote)
        if self.decimal not in (None, ".", ","):
            raise InputError(f"decimal must be '.' or ',', got {self.decimal!r}.")
        if self.skip_rows is not None:
            whole_at_least("skip_rows", self.skip_rows, 0)
        if isinstance(self.names, str) or not all(isinstance(name, str) for name in self.names or ()):
            raise FoldwiseTypeError(f"names must be a list of strings, one per column, got {self.names!r}.")

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that mean "missing"."""
        usual = MISSING_VALUES if self.missing_values is None else self.missing_values
        return (*usual, *self.more_missing)


def check_character(name: str, value: Any) -> None:
    """Refuse anything but None or a single ASCII character that is not a line end."""
    if not isinstance(value, str | None):
        raise FoldwiseTypeError(f"{name} must be a string, got {value!r} of type {type(value).__name__}.")
    if value is not None and (len(value) != 1 or value in "\r\n" or not value.isascii()):
        raise InputError(
            f"{name} must be a single ASCII character, got {value!r}.",
            f"replace the {name} with a single character in the file first." if value else "pass one character.",
        )


def token_strings(missing_values: Sequence[Any] | str | float | None) -> tuple[str, ...] | None:
    """Return the tokens as strings; a single string is one token."""
    if missing_values is None:
        return None
    if isinstance(missing_values, str | int | float):
        return (str(missing_values),)
    return tuple(str(value) for value in missing_values)


def header_rows(header: Any) -> int | None:
    """Return the number of header rows: True is one, False is none."""
    if header is None or isinstance(header, bool):
        return None if header is None else int(header)
    if not isinstance(header, int) or header < 1:
        raise InputError(
            f"header must be True, False or the number of header rows, got {header!r}.",
            "False means no header, True means one row. Use skip_rows= for lines above the header.",
        )
    return header


@dataclass(frozen=True)
class ParsedFile:
    """The cells of a file, and what is known about them."""

    frame: pl.DataFrame
    notes: tuple[Note, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)  # of columns, as far as the file declares them
    unnamed: tuple[str, ...] = ()  # columns without a name in the file
    decimal: str = "."
    detected: Mapping[str, str] = field(default_factory=dict)  # how the file is written, by argument of `read_table`


@contextmanager
def read_errors(message: str, *others: type[Exception], hint: str = "") -> Iterator[None]:
    """Raise `InputError` if a library refuses a file: the message, then the first line of the library's message."""
    refusals: tuple[type[BaseException], ...] = (*READ_ERRORS, *others)
    try:
        yield
    except refusals as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{message}: {first_line(error)}.", hint) from error


def first_line(error: BaseException) -> str:
    """Return the first line of another library's message."""
    return str(error).strip().split("\n")[0][:300]


def import_extra(module: str, what: str, hint: str) -> Any:
    """Import a library that is an extra, or raise an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"{what}, but the package {module!r}, which reads it, is not installed.", hint) from error
