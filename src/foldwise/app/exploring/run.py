"""`explore`: from a table without a target to answers, a report, and a model of its clusters."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.config import check_seed
from foldwise.app.exploring.answers import ExploredTable
from foldwise.app.exploring.asking import QuestionLoop
from foldwise.app.exploring.facts import columns_of_rows, explore_facts
from foldwise.app.exploring.result import Exploration
from foldwise.app.interrupts import finish_despite_interrupt
from foldwise.app.progress import RunProgress, Watch
from foldwise.app.timing import EXPLORE_ENDING, EXPLORE_ENDING_PER_ROW, LATEST, QUESTIONS_LEAST, Clock, seconds_of
from foldwise.app.workers.executors import Executor, count_workers, open_executor
from foldwise.data import read_table
from foldwise.data.frames import as_polars, check_kind, library_of
from foldwise.data.notes import counted
from foldwise.data.reading.table_source import TableSource
from foldwise.data.table import Table
from foldwise.data.view import view_of_frame
from foldwise.errors import InputError
from foldwise.unsupervised.matrix import is_nested

ROWS_AT_ONCE = 50_000  # assigned to clusters


def explore(
    table: Any, *, budget: float | str = 60.0, rows: bool = True, seed: int = 0, n_jobs: int | None = None
) -> Exploration:
    """Find clusters, outliers, rules, factors and central rows in a table without a target, and draw a map.

    "There are no clusters" and "no row is an outlier" are possible answers. Columns that identify rows are left
    out, and the report names them. For a large table, every question is first answered from 500 random rows, then
    from more rows as long as the budget allows.

    Parameters
    ----------
    table : path, frame or Table
        The data, with one row per example. The target of a `Table` is not used.
    budget : float or str, default=60.0
        Time limit for the whole run, in seconds or as "60s", "5m" or "1h".
    rows : bool, default=True
        Whether rows of data may appear in the report.
    seed : int, default=0
        Random seed for samples, k-means starts and resampling.
    n_jobs : int, default=None
        Number of worker processes. By default one per core.

    Returns
    -------
    Exploration
        The answers, with a report, a frame with one row per row of the table, and a model that assigns new rows to
        clusters.

    Examples
    --------
    >>> import foldwise
    >>> found = foldwise.explore("examples/weather.csv")
    >>> found.rows["row"].to_list()[-1]
    13
    """
    found = run_explore(table, budget=budget, rows=rows, seed=seed, n_jobs=n_jobs)
    return replace(found, library=library_of(table))


def run_explore(
    table: Any,
    *,
    budget: float | str,
    rows: bool,
    seed: int,
    n_jobs: int | None,
    executor: Executor | None = None,
    clock: Clock | None = None,
    watch: Watch | None = None,
    command: str | None = None,
) -> Exploration:
    """Run `explore`; the command line passes a clock that it started, a watcher, and the command."""
    seconds, seed = seconds_of(budget), check_seed(seed)
    # workers load libraries while the table is read
    executor = executor or open_executor(count_workers(n_jobs), "explore")
    try:
        clock = clock or Clock(seconds)
        clock.enter("reading")
        read = table_without_target(table)
        clock.enter("answering questions")
        frame = read.X.select([name for name, kind in read.X.schema.items() if not is_nested(kind)])
        deadline = LATEST * seconds - EXPLORE_ENDING - EXPLORE_ENDING_PER_ROW * frame.height
        check_time(seconds, clock.elapsed, deadline)
        explored = ExploredTable.of(frame, seed)
        asking = QuestionLoop(explored, executor, clock, deadline, seed, lambda: tell(clock, asking, watch))
        asking.run()
        if asking.interrupted and not asking.answered:
            raise KeyboardInterrupt
        with finish_despite_interrupt(asking.interrupted):
            clock.enter("writing the report")
            tell(clock, asking, watch)
            return exploration(read, asking, clock, made(table, budget, rows, seed, command))
    finally:
        executor.close()


def table_without_target(table: Any) -> Table:
    """Read all columns of a table."""
    if isinstance(table, str | Path | TableSource):
        read = table.read() if isinstance(table, TableSource) else read_table(table)
    elif isinstance(table, Table):
        read = table
    else:
        check_kind(table)
        frame = as_polars(table)
        read = Table(frame, None, view_of_frame(nw.from_native(frame)).schema, "table")
    if not read.X.height or not read.X.width:
        raise InputError(
            f"the table must have rows and columns, got {counted(read.X.height, 'row')} and "
            f"{counted(read.X.width, 'column')}.",
            "pass a table with data.",
        )
    if read.X.height < 2:
        raise InputError("a table must have at least two rows to be explored, got 1.", "pass more rows.")
    if all(found.kind == "constant" for found in read.findings):
        raise InputError(
            f"to be explored, a table must have a column that varies, but all {read.X.height:,} rows are the same.",
            "pass a table with different rows.",
        )
    return read


def check_time(seconds: float, elapsed: float, deadline: float) -> None:
    """Refuse a budget that leaves no time for questions, and name the smallest that does."""
    missing = elapsed + QUESTIONS_LEAST - deadline
    if missing > 0:
        smallest = math.ceil((seconds + missing) / LATEST)
        raise InputError(
            f"budget= must be at least {smallest} s for this table on this machine, got {seconds:g} s. Loading "
            f"libraries and reading the table took {elapsed:.1f} s.",
            f"pass {smallest}s or more.",
        )


def tell(clock: Clock, asking: QuestionLoop, watch: Watch | None) -> None:
    """Report progress."""
    if watch is not None:
        done = [one.name for one in asking.progress.values() if one.answer is not None]
        watch(RunProgress(clock.phase, clock.elapsed, clock.budget, len(done), 0, "", asking.asked_now))


def made(table: Any, budget: float | str, rows: bool, seed: int, command: str | None) -> dict[str, Any]:
    """How the run was called."""
    given = repr(str(table)) if isinstance(table, str | Path) else "table"
    given = table.as_code() if isinstance(table, TableSource) else given
    call = f"foldwise.explore({given}, budget={budget!r}{'' if rows else ', rows=False'}, seed={seed})"
    return {"command": command, "python": call, "seed": seed, "rows_included": rows}


def exploration(read: Table, asking: QuestionLoop, clock: Clock, call: dict[str, Any]) -> Exploration:
    """Assign all rows to clusters, and collect the facts."""
    frame, answers = asking.table.frame, asking.answered
    clusters = answers.get("clusters")
    model = None if clusters is None else clusters.model
    labels = None if model is None else assigned(model, frame)
    columns = columns_of_rows(frame.height, answers)
    if labels is not None:
        columns["cluster"] = labels
    elif clusters is not None and clusters.facts.get("k") == 1:
        columns["cluster"] = np.ones(frame.height, dtype=np.int64)
    cluster = {"cluster": columns.pop("cluster")} if "cluster" in columns else {}
    rows = pl.DataFrame({"row": np.arange(frame.height), **cluster, **columns}, strict=False)
    facts = explore_facts(read, asking, labels, clock.times(), call)
    if labels is not None and "rows" in facts["map"]:
        facts["map"]["clusters"] = labels[facts["map"]["rows"]].tolist()
    return Exploration(facts, rows, model, frame[:100])


def assigned(model: Any, frame: pl.DataFrame) -> NDArray[np.int64]:
    """The cluster of every row, some rows at a time."""
    starts = range(0, frame.height, ROWS_AT_ONCE)
    return np.concatenate([model.predict(frame[start : start + ROWS_AT_ONCE]) for start in starts])
