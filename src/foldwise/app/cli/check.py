"""`foldwise check`: compare a table with what the model was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from foldwise.app.cli.exit_codes import CHANGED
from foldwise.app.cli.output import ProgressLine, print_json
from foldwise.app.cli.paths import check_outputs, check_table
from foldwise.app.cli.table_options import TableOptions
from foldwise.app.run_folder import check_exists
from foldwise.errors import InputError


@dataclass(frozen=True)
class CheckRequest:
    """What `foldwise check` is asked for."""

    run: Path
    table: Path
    reading: TableOptions
    labels: str | None
    slices: list[str] | None
    report: Path | None
    seed: int


def check(request: CheckRequest, *, as_json: bool, quiet: bool) -> None:
    """Check, write the page, print the result, and exit with 3 if something changed."""
    check_exists(request.run, by="fit or refit")
    check_table(request.table)
    check_outputs({"report": request.report})
    if request.report is not None and request.report.exists() and request.report.samefile(request.table):
        raise InputError("--report is the table itself.", "choose another file.")
    from foldwise.app.checking.check import check

    with ProgressLine(not quiet, always=False) as progress:
        found = check(
            request.run,
            request.table,
            request.labels,
            slices=request.slices,
            reading=request.reading.keywords(),
            seed=request.seed,
            watch=lambda words: progress.show(words, words),
        )
    if request.report is not None:
        found.report(request.report)
    if as_json:
        where = {} if request.report is None else {"report": str(request.report)}
        print_json({**found.to_dict(), **where})
    elif not quiet:
        print(found)
        if request.report is not None:
            print(f"\nreport  {request.report}")
    if found.changed:
        raise typer.Exit(CHANGED)
