"""Check paths before any library is loaded."""

from __future__ import annotations

from pathlib import Path

from foldwise.errors import InputError


def check_table(*paths: Path | None) -> None:
    """Raise if a file does not exist."""
    for path in paths:
        if path is not None and not path.is_file():
            raise InputError(
                f"file {str(path)!r} does not exist.", f"check the path. The current folder is {str(Path.cwd())!r}."
            )
