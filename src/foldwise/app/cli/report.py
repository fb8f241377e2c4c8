"""`foldwise report`: write the report of a run again from its stored facts."""

from __future__ import annotations

from pathlib import Path

from foldwise.app.cli.output import print_json
from foldwise.app.cli.paths import check_outputs
from foldwise.app.run_folder import check_exists


def report(run: Path, out: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Write the report and print its path."""
    check_exists(run, or_model=False)
    from foldwise.app.run_folder import REPORT, read_facts, write_whole
    from foldwise.report import render

    facts = read_facts(run)
    path = run / REPORT if out is None else out
    check_outputs({"out": path})
    write_whole(path, render(facts))
    if as_json:
        print_json({"report": str(path)})
    elif not quiet:
        print(path)
