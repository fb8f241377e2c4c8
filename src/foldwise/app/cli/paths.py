"""Check paths before any library is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from foldwise.data.reading.source_file import missing_file
from foldwise.errors import InputError


def check_outputs(files: Mapping[str, Path | None]) -> None:
    """Raise if a file cannot be written, before an hour of work; files are given by the names of their options."""
    for option, path in files.items():
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise InputError(
                f"--{option} must be a file in an existing folder, got {str(path)!r}.", "choose another path."
            )


def check_table(*paths: Path | None) -> None:
    """Raise if a file does not exist."""
    for path in paths:
        if path is not None and path.is_dir():
            raise InputError(f"{str(path)!r} is a folder, not a table.", "pass a file of the folder.")
        if path is not None and not path.is_file():
            raise missing_file(path)
