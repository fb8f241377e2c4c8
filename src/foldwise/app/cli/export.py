"""`foldwise export`: write the model of a run as SQL, with a check over rows of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foldwise.app.cli.output import print_json
from foldwise.app.cli.paths import check_outputs
from foldwise.app.run_folder import check_exists, open_run
from foldwise.errors import InputError

FORMATS = ("sql",)


def export(
    run: Path,
    to: str,
    dialect: str,
    table: str,
    out: Path | None,
    *,
    keep: Sequence[str] | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the files and print their paths."""
    check_exists(run)
    if to not in FORMATS:
        raise InputError(f"--to must be {' or '.join(FORMATS)}, got {to!r}.")
    path = Path(f"{run.stem}.{to}") if out is None else out
    check_outputs({"out": path})
    from foldwise.exports import to_sql
    from foldwise.exports.sql.dialects import dialect_of

    tested = dialect_of(dialect).tested
    opened = open_run(run)
    rows = opened.background() if opened.has_background else None
    files = to_sql(opened.model, dialect=dialect, table=table.split("."), keep=keep, rows=rows).write(path)
    if as_json:
        print_json({"files": [str(file) for file in files], "dialect": dialect, "tested": tested})
    elif not quiet:
        print(f"query  {files[0]}")
        if len(files) > 1:
            print(f"check  {files[1]}")
            print("The check counts the rows that the database predicts differently. It must return 0.")
        else:
            print("There is no check, because no rows are stored with this model.")
        if not tested:
            print(f"Exports to {dialect} have never been run on a real database. Run the check first.")
