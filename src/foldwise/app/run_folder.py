"""The run folder: what lies in it, where one may be written, and how it is opened again.

Libraries are loaded by the functions that need them: the command line checks paths before it loads any.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldwise.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from foldwise.storage import StoredModel

MODEL, FACTS, REPORT, BACKGROUND = "model.foldwise", "run.json", "report.html", "background.parquet"


def check_writable(folder: Path, force: bool) -> None:
    """Refuse to write over anything but a run, and that only when asked to."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file, not a folder for a run.", "choose another --out.")
    if folder.exists() and any(folder.iterdir()):
        if not (folder / FACTS).is_file():
            raise InputError(f"{str(folder)!r} holds other things than a run.", "choose another --out.")
        if not force:
            raise InputError(f"{str(folder)!r} holds a run already.", "choose another --out, or pass --force.")


def file_in(folder: Path, name: str) -> Path:
    """A file of a run folder, which must be there."""
    if not (folder / name).is_file():
        raise InputError(f"{str(folder)!r} is not a run folder: it holds no {name}.", "pass what fit --out wrote.")
    return folder / name


@dataclass(frozen=True)
class OpenRun:
    """A run folder, or a model file alone, whose `folder` is None."""

    model: StoredModel
    folder: Path | None

    def background(self) -> pl.DataFrame:
        """The training rows that were kept."""
        import polars as pl

        from foldwise.data.reading.parsed_file import READ_ERRORS, first_line

        path = None if self.folder is None else self.folder / BACKGROUND
        if path is None or not path.is_file():
            raise InputError(
                "no training rows were kept beside this model, and an explanation compares a row with them.",
                "pass some: --background TABLE.",
            )
        try:
            return pl.read_parquet(path)
        except READ_ERRORS as error:
            words = f"{path.name} cannot be read: {first_line(error)}."
            raise InputError(words, "pass training rows: --background TABLE.") from error


def open_run(path: str | Path) -> OpenRun:
    """Open the folder that `fit` wrote, or a model file."""
    from foldwise.storage import open_model

    path = Path(path)
    if path.is_dir():
        return OpenRun(open_model(file_in(path, MODEL)), path)
    check_exists(path)
    return OpenRun(open_model(path), None)


def check_exists(path: Path) -> None:
    """Refuse a run that is not there."""
    if not path.exists():
        raise InputError(f"there is no run {str(path)!r}.", "pass the folder that fit --out wrote, or a model file.")


def read_facts(path: str | Path) -> dict[str, Any]:
    """The facts of a run folder."""
    folder = Path(path)
    file = file_in(folder, FACTS)
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{FACTS} of {str(folder)!r} cannot be read: {error}.", "run fit again.") from error
    if not isinstance(facts, dict) or facts.get("format") != 1:
        raise InputError(f"{FACTS} of {str(folder)!r} holds no facts of format 1.", "run fit again.")
    return facts
