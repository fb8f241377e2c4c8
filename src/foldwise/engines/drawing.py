"""Draws rows inside an engine: all of them if they fit into memory, else a stratified, seeded sample and others.

No key is needed: the md5 of all cells of a row decides, so that the same table gives the same sample whatever the order
of its rows. Copies of a row are drawn together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import polars as pl
import polars.selectors as cs

from foldwise.engines.asking import Asker, engine_errors, frame_of_arrow
from foldwise.engines.checks import check_there, decide_task
from foldwise.engines.free_names import free_name
from foldwise.engines.hashing import cut_out, md5_of, ordered, ordered_literal
from foldwise.engines.key_folds import LARGEST, WIDTH, as_digits
from foldwise.engines.spark_tables import spark_batches
from foldwise.errors import InputError

SPARE = 1.15  # how many more rows are drawn than needed, from which the strata are filled
MOST_OUTSIDE = 100_000  # rows outside of the sample: more would hardly narrow the interval of an estimate


@dataclass(frozen=True)
class DrawnRows:
    """Rows drawn from a table.

    Attributes
    ----------
    sample : DataFrame
        The sample, or all rows.
    outside : DataFrame or None
        Other rows, none of which is in the sample; None if the sample is the whole table.
    n_rows : int
        Number of rows of the table.
    kept_out : DataFrame or None
        The rows of `outside`, their copies in the table, and a few more, none of which a model may learn from.
    near, far : str
        A row is kept out if its digits are at least `near` and below `far`.
    """

    sample: pl.DataFrame
    outside: pl.DataFrame | None
    n_rows: int
    kept_out: pl.DataFrame | None = None
    near: str = ""
    far: str = ""


def draw(
    table: Any, target: str, most: int, seed: int = 0, task: str | None = None, size: int | None = None
) -> DrawnRows:
    """Draw at most about `most` rows, and some outside of them, with the class frequencies of the table.

    Outside of the sample, half as many rows are drawn, but at most 100,000.

    Parameters
    ----------
    table : ibis.Table
        A table expression.
    target : str
        Name of the target.
    most : int
        Most rows of the sample. A table that is not larger is returned as it is.
    seed : int, default 0
        Another seed draws other rows.
    task : {"classification", "regression"}, optional
        By default inferred from the target.
    size : int, optional
        Rows of the sample of a larger table, if these should be fewer than `most`.

    Returns
    -------
    DrawnRows
        The sample and rows outside of it.

    Examples
    --------
    >>> from foldwise.engines import table_of
    >>> drawn = draw(table_of("examples/loans.csv"), "repaid", 100)
    >>> drawn.sample.height, drawn.outside is None
    (100, False)
    """
    asker = Asker(table)
    check_there([target], table.columns)
    with asker.prepared():
        n_rows = int(asker.ask(table.count().name("n").as_table())["n"][0])
        if not n_rows:
            raise InputError("the table must have at least one row, but has none.")
        if n_rows <= most:
            return DrawnRows(plain_types(asker.ask(readable(asker, table))), None, n_rows)
        strata = None if decide_task(asker, target, task) == "regression" else target
        size = most if size is None else min(size, most)
        share, other = size / n_rows, min(size / 2, MOST_OUTSIDE) / n_rows
        near = min(0.6, SPARE * share + 100 / n_rows)  # of the digits; rows outside have the next ones
        ends = near, min(1.0, near + SPARE * other + 100 / n_rows)
        first, last = (as_digits(min(int(end * LARGEST), LARGEST - 1)) for end in ends)
        digits, name = row_digits(asker, seed), free_name("(digits)", table.columns)
        drawn = ordered(asker, digits) < ordered_literal(asker, last)
        rows = asker.ask(readable(asker, table.mutate(**{name: cut_out(asker, digits, 0, WIDTH)}).filter(drawn)))
        counts = None if strata is None else class_counts(asker, strata)
    kept_out = rows.filter(pl.col(name) >= first)
    return DrawnRows(
        filled(rows.filter(pl.col(name) < first), name, strata, counts, share),
        filled(kept_out, name, strata, counts, other),
        n_rows,
        plain_types(kept_out.drop(name)),
        first,
        last,
    )


def rows_to_learn_from(table: Any, drawn: DrawnRows, seed: int, most: int) -> Any:
    """Select about `most` rows that are not kept out, the sample among them, if it is not larger.

    Parameters
    ----------
    table : ibis.Table
        The table that was drawn from.
    drawn : DrawnRows
        What was drawn.
    seed : int
        The seed it was drawn with.
    most : int
        About how many rows are wanted.

    Returns
    -------
    ibis.Table
        The rows. Which ones depends only on the seed and their cells.
    """
    asker = Asker(table)
    digits = ordered(asker, row_digits(asker, seed))

    def limit(text: str) -> Any:
        return ordered_literal(asker, text)

    near, far = int(drawn.near, 16), int(drawn.far, 16)
    n_left = drawn.n_rows - (0 if drawn.kept_out is None else drawn.kept_out.height)
    outside = (digits < limit(drawn.near)) | (digits >= limit(drawn.far))
    if most >= n_left:
        return table.filter(outside)
    wanted = int(most / n_left * (LARGEST - (far - near)))
    if wanted <= near:
        return table.filter(digits < limit(as_digits(wanted)))
    end = as_digits(min(far + wanted - near, LARGEST - 1))
    return table.filter(outside & (digits < limit(end)))


def class_counts(asker: Asker, target: str) -> dict[Any, int]:
    """Count the rows of each class."""
    counted = asker.table.select(label=asker.table[target])
    found = asker.ask(counted.group_by("label").aggregate(counted.count().name("n")))
    return dict(found.iter_rows())


def filled(
    rows: pl.DataFrame, digits: str, target: str | None, counts: dict[Any, int] | None, share: float
) -> pl.DataFrame:
    """Keep the share of each class, by the order of a column of digits; at least one row of each class among them."""
    rows = rows.sort(digits)
    if target is None or counts is None:
        return plain_types(rows.drop(digits))
    name = free_name("(most rows of the class)", rows.columns)
    most = pl.DataFrame(
        {target: list(counts), name: [max(1, round(n * share)) for n in counts.values()]},
        schema_overrides={target: rows.schema[target]},
    )
    wide = rows.join(most, on=target, how="left", nulls_equal=True, maintain_order="left")
    kept = wide.filter(pl.int_range(pl.len()).over(target) < pl.col(name))
    return plain_types(kept.drop(digits, name))


def row_digits(asker: Asker, seed: int) -> Any:
    """Return the digits of the md5 of all cells of a row."""
    table = asker.table
    cells = [table[name].cast("string").fill_null("(missing)") for name in table.columns]
    parts = [asker.ibis.literal(f"{seed}"), *[asker.ibis.literal("|") + one for one in cells]]
    return md5_of(asker, reduce(add, parts))


def row_batches(table: Any, size: int) -> Iterator[pl.DataFrame]:
    """Yield all rows of a table, batch by batch."""
    asker = Asker(table)
    table = readable(asker, table)
    with asker.prepared(), engine_errors(f"{asker.kind.label} could not run a statement"):
        if asker.kind.name == "duckdb":  # ibis 12 calls a method that DuckDB 2 no longer has
            batches = asker.connection.con.sql(asker.compile(table)).to_arrow_reader(size)
        elif asker.kind.name == "pyspark":
            batches = spark_batches(asker.connection, table)
        elif asker.kind.name == "postgres":
            batches = postgres_batches(asker, table, size)
        else:
            batches = asker.connection.to_pyarrow_batches(table, chunk_size=size)
        with closing(batches):  # also if the caller stops early: DuckDB runs no other statement before
            for batch in batches:
                if batch.num_rows:
                    yield plain_types(frame_of_arrow(batch))


def readable(asker: Asker, table: Any) -> Any:
    """Convert columns that Arrow or polars cannot read: among others, a decimal of PostgreSQL may be NaN."""
    found = {}
    for name, kind in table.schema().items():
        is_span = kind.is_interval() and asker.kind.name == "duckdb"
        if kind.is_uuid() or kind.is_inet() or kind.is_macaddr() or is_span:
            found[name] = table[name].cast("string")
        elif kind.is_decimal() and asker.kind.decimals_have_nan:
            found[name] = table[name].cast("float64")
    return table.mutate(**found) if found else table


def postgres_batches(asker: Asker, table: Any, size: int) -> Iterator[Any]:
    """Yield the rows of a table of PostgreSQL as batches of Arrow, from a cursor in the server.

    Ibis does the same, but its cursor stays open if the caller stops early, until the transaction has ended.
    """
    import pyarrow as pa

    kind = table.schema().as_struct().to_pyarrow()
    with asker.connection.con.cursor(name="foldwise_rows") as cursor:
        cursor.execute(asker.compile(table))
        while rows := cursor.fetchmany(size):
            yield pa.RecordBatch.from_struct_array(pa.array(rows, type=kind))


def plain_types(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert decimals to floats, and enumerations to text."""
    return frame.with_columns(cs.decimal().cast(pl.Float64), cs.by_dtype(pl.Categorical).cast(pl.String))
