"""What a reader of one format returns, and how the errors of the libraries under it become ours."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from polars.exceptions import PanicException, PolarsError

from foldwise.data.notes import Note
from foldwise.errors import InputError

READ_ERRORS = (PolarsError, PanicException, OSError, UnicodeError, OverflowError)
CUT_OFF = "the file may be cut off, or in another format than its name says."


@dataclass(frozen=True)
class ParsedFile:
    """A frame, the notes on how it was read, what the file itself says its columns are (kind by name), which of them
    have no name in it, and the decimal mark of its numbers.
    """

    frame: pl.DataFrame
    notes: tuple[Note, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    unnamed: tuple[str, ...] = ()
    decimal: str = "."


@contextmanager
def read_errors(message: str, *others: type[Exception], hint: str = "") -> Iterator[None]:
    """Raise `InputError` where a library refuses a file: the message, then the first line of the library's own."""
    refusals: tuple[type[BaseException], ...] = (*READ_ERRORS, *others)
    try:
        yield
    except refusals as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{message}: {first_line(error)}.", hint) from error


def first_line(error: BaseException) -> str:
    """The first line of another library's message."""
    return str(error).strip().split("\n")[0][:300]


def import_extra(module: str, what: str, hint: str) -> Any:
    """A library that only an extra brings; without it, an error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"{what}, and the package that reads these is not installed.", hint) from error
