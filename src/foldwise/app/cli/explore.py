"""`foldwise explore`: choose the folder, ask with progress, print the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foldwise.app import cli
from foldwise.app.cli.fit import run_folder_for
from foldwise.app.cli.output import ProgressLine, print_json, progress_text, typed_command
from foldwise.app.cli.paths import check_table
from foldwise.app.cli.table_options import TableOptions
from foldwise.app.interrupts import finish_despite_interrupt
from foldwise.app.progress import RunProgress
from foldwise.app.run_folder import MODEL, REPORT, ROWS
from foldwise.app.workers.executors import count_workers, open_executor


def explore(
    table: Path,
    reading: TableOptions,
    out: Path | None,
    options: dict[str, Any],
    *,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Explore, save, and print the answers. `options` are arguments of `foldwise.explore`."""
    check_table(table)
    reading.keywords()  # refuses what cannot be read, before libraries are loaded
    folder = run_folder_for(out, table, force, "explore")
    executor = open_executor(count_workers(options.get("n_jobs")), "explore")
    try:  # imported late: the workers load their libraries at the same time
        from foldwise.app.exploring.run import run_explore
        from foldwise.app.timing import Clock, seconds_of

        with ProgressLine(not quiet, always=not as_json) as progress:
            found = run_explore(
                reading.source(table),
                **options,
                executor=executor,
                clock=Clock(seconds_of(options["budget"]), cli.started),
                watch=lambda now: progress.show(line_of(now), now.phase),
                command=typed_command(),
            )
    finally:
        executor.close()
    with finish_despite_interrupt():
        found.save(folder, force=force)
    files = {"report": folder / REPORT, "rows": folder / ROWS}
    if found.model is not None:
        files["model"] = folder / MODEL
    if as_json:
        names = ("title", "table", "headline", "clusters", "outliers", "associations", "factors", "made")
        facts = {name: found.facts[name] for name in names}
        print_json({"run": str(folder), **{name: str(path) for name, path in files.items()}, **facts})
    elif not quiet:
        print(found)
        print("\n" + "\n".join(f"{name:<7} {path}" for name, path in files.items()))


def line_of(now: RunProgress) -> str:
    """Format the progress of a run as one line."""
    return progress_text(now, [f"{now.n_models} answered"] if now.n_models else [], "working on")
