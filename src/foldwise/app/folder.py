"""The folder of a run: what lies in it, and where one may be written. It loads no library."""

from __future__ import annotations

from pathlib import Path

from foldwise.errors import InputError

MODEL, FACTS, REPORT, BACKGROUND = "model.foldwise", "run.json", "report.html", "background.parquet"


def check_place(place: Path, force: bool) -> None:
    """Refuse to write over anything but a run, and that only when asked to."""
    if place.exists() and not place.is_dir():
        raise InputError(f"{str(place)!r} is a file, not a folder for a run.", "choose another --out.")
    if place.exists() and any(place.iterdir()):
        if not (place / FACTS).is_file():
            raise InputError(f"{str(place)!r} holds other things than a run.", "choose another --out.")
        if not force:
            raise InputError(f"{str(place)!r} holds a run already.", "choose another --out, or pass --force.")
