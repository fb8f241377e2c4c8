"""`foldwise predict`: predict the rows of a file, and print notes and a summary."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from foldwise.app.cli.exit_codes import say
from foldwise.app.cli.output import ProgressLine, print_json
from foldwise.app.cli.paths import check_table
from foldwise.app.cli.table_options import TableOptions
from foldwise.app.engine_tables import address_of, close_engine, is_database, needs_engine, open_engine
from foldwise.app.run_folder import check_exists, is_run_folder
from foldwise.errors import InputError


def predict(
    run: Path, table: Path, reading: TableOptions, out: str, options: dict[str, Any], *, as_json: bool, quiet: bool
) -> None:
    """Predict, and print notes and a summary. `options` are arguments of `predict_file`."""
    check_exists(run)
    keywords, query, to_table = reading.keywords(), options.pop("query"), options.pop("to_table")
    if is_run_folder(table):
        raise InputError(f"{str(table)!r} is a run folder, not a table.", "pass the run first, then the table.")
    in_engine = query is not None or needs_engine(table)
    check_table(None if in_engine else table, options["costs"])
    database = database_to_write(table, out, to_table)
    if out == "-" and as_json and to_table is None:
        raise InputError(
            "--json needs an output file, because predictions are written to standard output otherwise.",
            "pass -o predictions.csv.",
        )
    from foldwise.app.file_predictions import predict_file
    from foldwise.data.notes import counted
    from foldwise.evaluation.tables import number

    source: Any = open_engine(table, keywords.pop("table", None), query) if in_engine else table
    target: Any = out
    if database is not None:
        from foldwise.app.database_predictions import DatabaseWriter

        target, out = DatabaseWriter(database, to_table), to_table
    try:
        with ProgressLine(not quiet, always=False) as progress:
            done = predict_file(
                run,
                source,
                target,
                **options,
                reading=keywords,
                watch=lambda n_rows: progress.show(f"{counted(n_rows, 'row')} predicted"),
            )
    finally:
        close_engine(source)
    if not quiet:
        for note in done.notes:
            say(f"note: {note.text}")
    if as_json:
        notes = [note.text for note in done.notes]
        decided = {"decisions": done.decisions, "expected_cost": done.mean_cost}
        decided = {"clusters": done.decisions} if done.are_clusters else decided
        if done.predicted is not None:
            decided = {"predicted": dict(zip(("low", "mean", "high"), done.predicted, strict=True))}
        print_json({"out": out, "rows": done.n_rows, **decided, "notes": notes})
    elif not quiet:
        counts = ", ".join(f"{name}: {n:,}" for name, n in sorted(done.decisions.items(), key=lambda one: -one[1])[:8])
        where = sys.stderr if out == "-" else sys.stdout
        expected = (
            f"expected cost per row: {number(done.mean_cost)}"
            if done.costs_given
            else f"expected error rate: {done.mean_cost:.1%}"
        )
        rows = counted(done.n_rows, "row")
        words = f"{rows} predicted ({counts}), {expected}"
        if done.are_clusters:
            words = f"{rows} assigned to clusters ({counts})"
        if done.predicted is not None:
            low, mean, high = done.predicted
            words = f"{rows} predicted ({number(low)} to {number(high)}, mean {number(mean)})"
        print(words if out == "-" else f"{words}\n{out}", file=where)


def database_to_write(table: Path, out: str, to_table: str | None) -> str | None:
    """Return the address of the database with the new table: --out, or else TABLE. None if a file is written."""
    if to_table is None:
        if is_database(out):
            raise InputError(
                "--out is the address of a database, so the new table needs a name.", "pass --to-table too."
            )
        return None
    source = str(table) if out == "-" else out
    if is_database(source):
        return str(address_of(source))
    if out == "-":
        raise InputError(
            "--to-table needs a PostgreSQL database, but TABLE is not the address of one.",
            "pass the address of the database to write to as --out postgresql://user@host/database.",
        )
    raise InputError(
        f"with --to-table, --out must be the address of a PostgreSQL database, got {out!r}.",
        "pass --out postgresql://user@host/database, or leave --to-table out to write a file.",
    )
