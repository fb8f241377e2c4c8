"""A finished run, opened again: its model, the training rows kept for explanations, its facts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.app.folder import BACKGROUND, FACTS, MODEL
from foldwise.data.reading.parsed_file import READ_ERRORS, first_line
from foldwise.errors import InputError
from foldwise.storage import StoredModel, open_model


@dataclass(frozen=True)
class OpenRun:
    """A run folder, or a model file alone, whose `folder` is None."""

    model: StoredModel
    folder: Path | None

    def background(self) -> pl.DataFrame:
        """The training rows that were kept."""
        path = None if self.folder is None else self.folder / BACKGROUND
        if path is None or not path.is_file():
            raise InputError(
                "no training rows were kept beside this model, and an explanation compares a row with them.",
                "pass some: --background TABLE.",
            )
        try:
            return pl.read_parquet(path)
        except READ_ERRORS as error:
            raise InputError(
                f"{path.name} cannot be read: {first_line(error)}.", "pass training rows: --background TABLE."
            ) from error


def open_run(path: str | Path) -> OpenRun:
    """The run of a folder that `fit` wrote, or of a model file."""
    path = Path(path)
    if path.is_dir():
        if not (path / MODEL).is_file():
            raise InputError(f"{str(path)!r} is no run folder: it holds no {MODEL}.", "pass what fit --out wrote.")
        return OpenRun(open_model(path / MODEL), path)
    if not path.exists():
        raise InputError(f"there is no run {str(path)!r}.", "pass the folder that fit --out wrote, or a model file.")
    return OpenRun(open_model(path), None)


def read_facts(path: str | Path) -> dict[str, Any]:
    """The facts of a run folder."""
    folder = Path(path)
    if not (folder / FACTS).is_file():
        raise InputError(f"{str(folder)!r} is no run folder: it holds no {FACTS}.", "pass what fit --out wrote.")
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{FACTS} of {str(folder)!r} cannot be read: {error}.", "run fit again.") from error
    if not isinstance(facts, dict) or facts.get("format") != 1:
        raise InputError(f"{FACTS} of {str(folder)!r} holds no facts of format 1.", "run fit again.")
    return facts
