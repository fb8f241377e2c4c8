"""`foldwise report`: the report of a run, written anew from its facts."""

from __future__ import annotations

import os
from pathlib import Path

from foldwise.app.cli.output import print_json
from foldwise.app.run_folder import check_exists
from foldwise.errors import InputError


def report(run: Path, out: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Write, and say where."""
    check_exists(run)
    from foldwise.app.run_folder import REPORT, read_facts
    from foldwise.report import render

    facts = read_facts(run)
    place = run / REPORT if out is None else out
    if place.is_dir() or not place.parent.is_dir():
        raise InputError(f"{str(place)!r} is no place for a file.", "pass -o FILE in a folder that is there.")
    write_whole(place, render(facts))
    if as_json:
        print_json({"report": str(place)})
    elif not quiet:
        print(place)


def write_whole(place: Path, text: str) -> None:
    """Write beside the place and rename, so that no half is ever there."""
    draft = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
