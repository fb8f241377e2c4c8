"""`foldwise refit`: fit the model of a run again on new rows, and write it to a new folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foldwise.app.cli.fit import run_folder_for
from foldwise.app.cli.output import ProgressLine, print_json
from foldwise.app.cli.paths import check_table
from foldwise.app.cli.table_options import TableOptions
from foldwise.app.run_folder import MODEL, REPORT, check_exists


@dataclass(frozen=True)
class RefitRequest:
    """What `foldwise refit` is asked for."""

    run: Path
    table: Path
    reading: TableOptions
    old: Path | None
    update: bool
    forget: Path | None
    out: Path | None
    seed: int
    force: bool


def refit(request: RefitRequest, *, as_json: bool, quiet: bool) -> None:
    """Fit, write the folder, and print the comparison."""
    check_exists(request.run, by="fit or refit")
    check_table(request.table, request.old, request.forget)
    folder = run_folder_for(request.out, request.table, request.force, "refit")
    from foldwise.app.refitting.refit import refit

    with ProgressLine(not quiet, always=False) as progress:
        found = refit(
            request.run,
            request.table,
            old=request.old,
            update=request.update,
            forget=request.forget,
            reading=request.reading.keywords(),
            seed=request.seed,
            watch=lambda words: progress.show(words, words),
        )
        found.save(folder, force=request.force)
    if as_json:
        print_json({**found.to_dict(), "run": str(folder), "model": str(folder / MODEL)})
    elif not quiet:
        print(found)
        print(f"\nreport  {folder / REPORT}\nmodel   {folder / MODEL}")
