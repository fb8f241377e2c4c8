"""`foldwise fit`: choose the run folder, run with progress, print the summary."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldwise.app import cli
from foldwise.app.cli.output import ProgressLine, clipped, print_json, progress_text, typed_command
from foldwise.app.cli.paths import check_table
from foldwise.app.engine_tables import close_engine, is_large_csv, name_of, needs_engine, open_engine
from foldwise.app.progress import RunProgress
from foldwise.app.run_folder import MODEL, REPORT, check_exists, check_writable, is_run_folder
from foldwise.app.workers.executors import count_workers, open_executor
from foldwise.data.notes import counted
from foldwise.errors import InputError

if TYPE_CHECKING:
    from foldwise.app.recording.record import RunRecord

MOST_FOLDERS = 10_000


@dataclass(frozen=True)
class FitRequest:
    """What `foldwise fit` is asked for; `options` are fields of `FitConfig`, without those that were left out."""

    table: Path | None
    options: dict[str, Any]
    out: Path | None = None
    resume: Path | None = None
    force: bool = False
    query: str | None = None

    def check(self) -> Path:
        """Check all paths before any library is loaded. Returns the run folder."""
        given = [self.options.get(name) for name in ("test", "costs")]
        if self.resume is not None:
            if self.out is not None or self.force:
                raise InputError(
                    "--resume cannot be combined with --out or --force, because a resumed run stays in its folder.",
                    "omit them, or start a new run.",
                )
            check_exists(self.resume, or_model=False, by="fit")
            check_table(self.file, *given)
            return self.resume
        if self.table is None:
            raise InputError("TABLE is missing.", "pass the path of a table, or --resume with a run folder.")
        if is_run_folder(self.table):
            raise InputError(
                f"{str(self.table)!r} is a run folder, not a table.",
                f"pass the table, or --resume {self.table} without a table to continue the run.",
            )
        check_table(self.file, *given)
        if self.options.get("target") is None and self.file is not None:
            from foldwise.data import read_table
            from foldwise.data.schema import listing

            names = listing(read_table(self.file, **self.reading).X.columns)
            raise InputError("the column to predict was not given.", f"pass --target, one of {names}.")
        table = self.table if self.file is not None else Path(name_of(self.table, self.reading.get("table")))
        return run_folder_for(self.out, table, self.force)

    @property
    def reading(self) -> dict[str, Any]:
        """The options by which the table is read."""
        return self.options.get("reading") or {}

    @property
    def file(self) -> Path | None:
        """The table, if it is a file that is read as a whole."""
        return None if self.table is not None and self.in_engine else self.table

    @property
    def in_engine(self) -> bool:
        """Whether the table stays in a database or in files that are too large."""
        if self.query is not None:
            return True
        return self.table is not None and (needs_engine(self.table) or is_large_csv(self.table))

    def source(self) -> Any:
        """The path of the table, or its expression."""
        if self.table is None or not self.in_engine:
            return None if self.table is None else str(self.table)
        named = {"missing_values": "missing", "kinds": "kind", "skip_rows": "skip-rows"}
        others = [f"--{named.get(name, name)}" for name in self.reading if name != "table"]
        if others:
            raise InputError(
                f"{' and '.join(others)} cannot be used here, because a database or DuckDB reads the table. DuckDB "
                "reads folders, globs, and files that are too large for the memory of a run.",
                f"omit {'it' if len(others) == 1 else 'them'}, or write the table to a Parquet file first.",
            )
        return open_engine(self.table, self.reading.get("table"), self.query)

    def open(self, folder: Path) -> RunRecord:
        """Begin or resume the run in its folder."""
        from foldwise.app.config import FitConfig
        from foldwise.app.recording.record import RunRecord

        config, command = FitConfig(**self.options), typed_command()
        table = self.source()
        if self.resume is not None:
            return RunRecord.resume(folder, table, config, self.options.get("budget"), command=command)
        return RunRecord.begin(folder, table, config, force=self.force, command=command)


def fit(request: FitRequest, *, as_json: bool, quiet: bool) -> None:
    """Run, save, and print the summary."""
    folder = request.check()
    executor = open_executor(count_workers(request.options.get("n_jobs")))
    try:  # imported late: the workers load their libraries at the same time
        with request.open(folder) as record, ProgressLine(not quiet, always=not as_json) as progress:
            cli.run_folder = folder
            from foldwise.app.run import recorded
            from foldwise.app.timing import Clock, seconds_of

            try:
                run = recorded(
                    record,
                    executor=executor,
                    clock=Clock(seconds_of(record.config.budget), cli.started),
                    watch=lambda now: progress.show(line_of(now), now.phase),
                    command=record.command,
                )
            finally:
                close_engine(record.table)
    finally:
        executor.close()
    if as_json:
        facts = {name: run.facts.get(name) for name in ("title", "task", "headline", "leaderboard", "final", "made")}
        print_json({"run": str(folder), "report": str(folder / REPORT), "model": str(folder / MODEL), **facts})
    elif not quiet:
        print(run)
        print(f"\nreport  {folder / REPORT}\nmodel   {folder / MODEL}")


def run_folder_for(out: Path | None, table: Path, force: bool, ending: str = "run") -> Path:
    """Choose the folder to write. It must be new, empty, or an older run that may be replaced."""
    if out is None:
        stem = Path(table.stem).stem if table.suffix.lower() in (".gz", ".gzip") else table.stem
        base = Path(f"{stem or 'table'}-{ending}")
        numbered = (base.with_name(f"{base.name}-{number}") for number in range(2, MOST_FOLDERS))
        return writable(next(folder for folder in (base, *numbered) if not folder.exists()))
    check_writable(out, force)
    return writable(out)


def writable(folder: Path) -> Path:
    """Check that a folder can be written before the run starts, not after an hour of work."""
    parent = folder.absolute().parent
    while not parent.exists():
        parent = parent.parent
    try:
        with tempfile.TemporaryDirectory(dir=parent, prefix=".foldwise-"):
            return folder
    except OSError as error:
        raise InputError(f"the folder {str(parent)!r} is not writable.", "choose another --out.") from error


def line_of(now: RunProgress) -> str:
    """Format the progress of a run as one line."""
    done = [f"{counted(now.n_settings, 'setting')} tried"] if now.n_models else []
    if now.best:
        done.append(f"best on the first fold: {clipped(now.best, 60)}")
    return progress_text(now, done, "fitting")
