"""Tables of a run that stay in a database or in many files: rows for the run are drawn inside the engine."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from foldwise.app.timing import SAMPLE_ROWS_PER_SECOND
from foldwise.data.reading.expansion import in_words
from foldwise.errors import InputError

if TYPE_CHECKING:
    from foldwise.app.enlarging.table_state import TableState
    from foldwise.engines.drawing import DrawnRows

MEMORY_SHARE = 1 / 20  # of the memory of the machine, which the rows of a run may take
CELL_BYTES = 16
FIRST_BYTES = 1 << 20  # of a CSV file, from which the number of its rows is estimated
ADDRESSES = ("postgresql:/", "postgres:/")


def memory_bytes() -> int:
    """Return the memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def most_rows(n_columns: int) -> int:
    """Return how many rows of a table a run may read."""
    return max(1000, memory_share() // (CELL_BYTES * max(1, n_columns)))


def is_engine_table(table: Any) -> bool:
    """Whether a table is an expression of Ibis."""
    return type(table).__module__.startswith("ibis.")


def is_database(path: str | Path) -> bool:
    """Whether a path is the address of a database."""
    return str(path).lower().startswith(ADDRESSES)


def needs_engine(path: str | Path) -> bool:
    """Whether a path is an address, a folder, a glob, or a Parquet file that is too large for memory."""
    text, given = str(path), Path(path)
    if is_database(text) or given.is_dir():
        return True
    if not given.exists():
        return any(mark in text for mark in "*?[")
    if given.suffix.lower() != ".parquet":
        return False
    try:
        rows = pl.scan_parquet(given)
        n_columns = len(rows.collect_schema())
        return int(rows.select(pl.len()).collect().item()) > most_rows(n_columns)
    except (pl.exceptions.PolarsError, OSError):
        return False  # the reader says what is wrong


def is_large_csv(path: Path) -> bool:
    """Whether a path is a CSV file with too many cells for memory, judged by its size and its first megabyte."""
    if path.suffix.lower() not in (".csv", ".tsv"):
        return False
    try:
        n_bytes = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(FIRST_BYTES)
    except OSError:
        return False  # the reader says what is wrong
    lines = start.count(b"\n")
    if not lines:
        return False
    head = start[: start.index(b"\n")]
    n_columns = 1 + max(head.count(one) for one in b",;\t|")
    return n_bytes / (start.rindex(b"\n") + 1) * lines > most_rows(n_columns)


def open_engine(path: str | Path, table: str | None = None, query: str | None = None) -> Any:
    """Open the table behind a path or an address."""
    from foldwise.engines import table_of

    return table_of(address_of(path), table=table, query=query)


def close_engine(table: Any) -> None:
    """Close the connection of a table that `open_engine` opened; anything else is left alone."""
    if is_engine_table(table):
        table.get_backend().disconnect()


def address_of(path: str | Path) -> str | Path:
    """Return an address as drivers read it, in lower case: a path merges the two slashes. Files stay as they are."""
    if not is_database(path):
        return path
    scheme, _, rest = str(path).partition(":/")
    return f"{scheme.lower()}://{rest.removeprefix('/')}"


def name_of(path: Path, table: str | None) -> str:
    """Name a run after the table, or after the folder of its files."""
    if is_database(path):
        return table or "query"
    return path.parent.name if any(mark in path.name for mark in "*?[") else path.stem


@dataclass(frozen=True)
class LargeTable:
    """A table in an engine that is too large for a run, and what was drawn from it."""

    table: Any  # an expression of Ibis
    target: str
    seed: int
    drawn: DrawnRows
    seconds: float  # that drawing took
    state: TableState  # before anything was drawn

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return self.drawn.n_rows

    @property
    def words(self) -> str:
        """Say in two sentences why models were compared on a sample."""
        return (
            f"The table has {self.n_rows:,} rows, which need more than the {in_words(memory_share())} of memory that a "
            f"run may use. Models were compared on a random sample of {self.drawn.sample.height:,} rows."
        )


def memory_share() -> int:
    """Return how many bytes the rows of a run may take."""
    return int(MEMORY_SHARE * memory_bytes())


def draw_tables(
    table: Any, target: str | None, seed: int, task: str | None, budget: float | None = None
) -> tuple[pl.DataFrame, pl.DataFrame | None, LargeTable | None]:
    """Draw the rows of a run, rows outside of them, and say what was drawn if these are not all rows."""
    from foldwise.app.enlarging.table_state import TableState
    from foldwise.engines.drawing import draw

    if target is None:
        raise InputError("the column to predict was not given.", "pass target='column', the column to predict.")
    state = TableState.of(table, target, task)
    start = time.monotonic()
    size = None if budget is None else int(SAMPLE_ROWS_PER_SECOND * budget)
    drawn = draw(table, target, most_rows(len(table.columns)), seed, task, size)
    large = None if drawn.outside is None else LargeTable(table, target, seed, drawn, time.monotonic() - start, state)
    return drawn.sample, drawn.outside, large
