"""Mistakes that can be seen before any library is loaded: files that are not there."""

from __future__ import annotations

from pathlib import Path

from foldwise.errors import InputError


def check_table(*paths: Path | None) -> None:
    """Refuse a table that is not there."""
    for path in paths:
        if path is not None and not path.is_file():
            raise InputError(f"there is no file {str(path)!r}.", f"the working folder is {str(Path.cwd())!r}.")
