"""What each engine can do, and how it is prepared before it is asked. A new engine is one entry here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from hashlib import md5
from typing import Any

from foldwise.errors import InputError

Preparation = Callable[[Any], Any]  # an Ibis connection to a context manager


@dataclass(frozen=True)
class EngineKind:
    """One kind of engine, by its name in Ibis."""

    name: str
    label: str
    extra: str  # of Foldwise, which installs what it needs
    grouping_sets: bool  # whether one scan can count several columns
    columnar: bool  # whether scanning one column costs less than scanning all of them
    has_nan: bool = True  # SQLite stores NaN as NULL
    prepared: Preparation = lambda connection: nullcontext()


@contextmanager
def right_statistics(connection: Any) -> Iterator[None]:
    """Let DuckDB ignore the statistics of Parquet files, from which version 2.0.0 concludes that NaN does not occur."""
    name = "disabled_optimizers"
    before = connection.raw_sql(f"select current_setting('{name}')").fetchone()[0] or ""
    both = ",".join({*filter(None, before.split(",")), "statistics_propagation"})
    connection.raw_sql(f"set {name}='{both}'")
    try:
        yield
    finally:
        connection.raw_sql(f"set {name}='{before}'")


@contextmanager
def with_md5(connection: Any) -> Iterator[None]:
    """Give SQLite the function md5."""
    connection.con.create_function("md5", 1, hex_md5, deterministic=True)
    yield


def hex_md5(text: str | None) -> str | None:
    """Return the md5 of a text in hexadecimal digits."""
    return None if text is None else md5(text.encode(), usedforsecurity=False).hexdigest()


ENGINES = {
    kind.name: kind
    for kind in (
        EngineKind("duckdb", "DuckDB", "duckdb", grouping_sets=True, columnar=True, prepared=right_statistics),
        EngineKind("postgres", "PostgreSQL", "postgres", grouping_sets=True, columnar=False),
        EngineKind("pyspark", "Spark", "spark", grouping_sets=True, columnar=False),
        EngineKind("sqlite", "SQLite", "duckdb", grouping_sets=False, columnar=False, has_nan=False, prepared=with_md5),
    )
}


def kind_of(connection: Any) -> EngineKind:
    """Return the kind of an Ibis connection."""
    if connection.name not in ENGINES:
        labels = ", ".join(kind.label for kind in ENGINES.values())
        raise InputError(f"the engine must be one of {labels}; got {connection.name!r}.")
    return ENGINES[connection.name]
