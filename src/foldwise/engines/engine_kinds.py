"""What each engine can do, and how it is prepared before it is asked. A new engine is one entry here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from hashlib import md5
from pathlib import Path
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from foldwise.engines.spark_tables import FileState, spark_files
from foldwise.errors import EngineError, InputError

Preparation = Callable[[Any, Any], Any]  # an Ibis connection, and a table of it, to a context manager


@dataclass(frozen=True)
class EngineKind:
    """One kind of engine, by its name in Ibis."""

    name: str
    label: str
    extra: str  # of Foldwise, which installs what it needs
    grouping_sets: bool  # whether one scan can count several columns
    columnar: bool  # whether scanning one column costs less than scanning all of them
    one_scan: bool = False  # whether one scan can return sums, counts of categories and a sample
    shares_terms: bool = False  # whether an expression that occurs twice in a statement is computed once
    orders_by_language: bool = False  # whether texts are compared by the rules of a language
    float_type: str = "double"  # the name of float64
    names_values: bool = True  # whether the columns of a list of values can be named
    collected: str = ""  # SQL of rows of named cells as JSON, where one scan can return them beside grouping sets
    fence: str = ""  # ends a subquery whose columns are not to be computed again for each use
    has_nan: bool = True  # SQLite stores NaN as NULL
    decimals_have_nan: bool = False
    prepared: Preparation = lambda connection, table: nullcontext()
    files: Callable[[Any, Any], tuple[FileState, ...]] = lambda connection, table: ()  # behind a table of a connection


@contextmanager
def duckdb_snapshot(connection: Any, table: Any) -> Iterator[None]:
    """Let all statements see the same rows: by a transaction, and by looking whether files changed.

    DuckDB also has to ignore the statistics of Parquet files, from which version 2.0.0 concludes that there is no NaN.
    It must not add up below joins, for which version 2.0.0 copies expressions: the scores of 64 columns and 10 classes
    would take 14 s instead of 1 s. And it has to compare texts byte by byte: by the rules of a language, rows would be
    in other folds.
    """
    import duckdb

    raw, optimizers = connection.con, "disabled_optimizers"
    names = (optimizers, "default_collation")
    before = {name: raw.execute(f"select current_setting('{name}')").fetchone()[0] or "" for name in names}
    known = {name for (name,) in raw.execute("from duckdb_optimizers()").fetchall()}
    disabled = {*before[optimizers].split(","), "statistics_propagation", "partial_aggregate_pushdown"} & known
    is_first = not in_transaction(raw)
    raw.execute(f"set {optimizers}='{','.join(sorted(disabled))}'")
    raw.execute("set default_collation=''")
    if is_first:
        raw.execute("begin transaction")
    files = duckdb_files(connection, table)
    try:
        yield
        if duckdb_files(connection, table) != files:
            refuse_change()
    finally:
        with suppress(duckdb.ConnectionException):  # a closed connection has nothing to restore
            if is_first:
                raw.execute("rollback")
            if is_first or in_transaction(raw):
                for name, value in before.items():
                    raw.execute(f"set {name}='{value}'")


def in_transaction(raw: Any) -> bool:
    """Whether a connection of DuckDB is in a transaction: otherwise every statement has a number of its own.

    A transaction that an error has aborted counts as none: nothing can be asked in it.
    """
    import duckdb

    try:
        first, second = (raw.execute("select txid_current()").fetchone() for _ in range(2))
    except duckdb.Error:
        return False
    return bool(first == second)


FILES_READ: WeakKeyDictionary[Any, tuple[Path, ...]] = WeakKeyDictionary()  # by connection of DuckDB


def duckdb_files(connection: Any, table: Any) -> tuple[FileState, ...]:
    """Return what tells whether the files behind a connection changed: inode, size and time of the last change."""
    found = [path.stat() for path in FILES_READ.get(connection, ()) if path.exists()]
    return tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in found)


@contextmanager
def postgres_snapshot(connection: Any, table: Any) -> Iterator[None]:
    """Let all statements see the rows of one moment, unless the caller is in a transaction of their own."""
    raw = connection.con
    if raw.info.transaction_status.name != "IDLE":
        yield
        return
    raw.execute("begin transaction isolation level repeatable read read only")
    try:
        yield
    finally:
        if not raw.closed and not raw.broken:
            raw.execute("rollback")


@contextmanager
def sqlite_snapshot(connection: Any, table: Any) -> Iterator[None]:
    """Give SQLite the function md5, and let all statements see the same rows: others cannot write meanwhile."""
    raw = connection.con
    raw.create_function("md5", 1, hex_md5, deterministic=True)
    is_first = not raw.in_transaction
    if is_first:
        raw.execute("begin")
    try:
        yield
    finally:
        if is_first and raw.in_transaction:
            raw.rollback()


@contextmanager
def spark_snapshot(connection: Any, table: Any) -> Iterator[None]:
    """Look whether files changed, because Spark has no snapshot of a table. Then a statement may also have failed."""
    files = spark_files(connection, table)
    try:
        yield
    except EngineError:
        if files and spark_files(connection, table) != files:
            refuse_change()
        raise
    if files and spark_files(connection, table) != files:
        refuse_change()


def refuse_change() -> NoReturn:
    """Raise because two statements saw different rows."""
    raise EngineError(
        "the table changed while it was read: two statements saw different rows.",
        "repeat the call when nobody writes to the table, or pass a snapshot of the table.",
    )


def hex_md5(text: str | None) -> str | None:
    """Return the md5 of a text in hexadecimal digits."""
    return None if text is None else md5(text.encode(), usedforsecurity=False).hexdigest()


ENGINES = {
    kind.name: kind
    for kind in (
        EngineKind(
            "duckdb",
            "DuckDB",
            "duckdb",
            grouping_sets=True,
            columnar=True,
            one_scan=True,
            shares_terms=True,
            prepared=duckdb_snapshot,
            files=duckdb_files,
        ),
        EngineKind(
            "postgres",
            "PostgreSQL",
            "postgres",
            grouping_sets=True,
            columnar=False,
            float_type="double precision",
            fence="OFFSET 0",
            orders_by_language=True,
            decimals_have_nan=True,
            collected="CAST(json_agg(json_build_object({cells})) FILTER (WHERE drawn) AS text)",
            prepared=postgres_snapshot,
        ),
        EngineKind(
            "pyspark",
            "Spark",
            "spark",
            grouping_sets=True,
            columnar=False,
            collected="to_json(collect_list(named_struct({cells})) FILTER (WHERE drawn),"
            " map('ignoreNullFields', 'false'))",
            prepared=spark_snapshot,
            files=spark_files,
        ),
        EngineKind(
            "sqlite",
            "SQLite",
            "duckdb",
            grouping_sets=False,
            columnar=False,
            has_nan=False,
            float_type="real",
            fence="LIMIT -1 OFFSET 0",
            names_values=False,
            prepared=sqlite_snapshot,
        ),
    )
}


def kind_of(connection: Any) -> EngineKind:
    """Return the kind of an Ibis connection."""
    if connection.name not in ENGINES:
        labels = ", ".join(kind.label for kind in ENGINES.values())
        raise InputError(f"the engine must be one of {labels}, got {connection.name!r}.")
    return ENGINES[connection.name]
