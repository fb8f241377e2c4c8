"""Check paths before any library is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from foldwise.app.engine_tables import is_database
from foldwise.app.run_folder import is_run_folder
from foldwise.data.reading.source_file import missing_file
from foldwise.errors import InputError

EXPORT = r"""psql postgresql://user@host/database -c "\copy (select * from orders) to orders.csv csv header"."""


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
        if path is not None and is_run_folder(path):
            raise InputError(f"{str(path)!r} is a run folder, not a table.", "pass the table itself.")
        if path is not None and path.is_dir():
            raise InputError(f"{str(path)!r} is a folder, not a table.", "pass a file of the folder.")
        if path is not None and not path.is_file() and is_database(path):
            raise InputError(
                "a file is needed, but the path is the address of a database.",
                "only fit and predict read databases, in the place of TABLE. Otherwise, export the rows first: "
                f"{EXPORT}",
            )
        if path is not None and not path.is_file():
            raise missing_file(path)
