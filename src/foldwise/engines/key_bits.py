"""The folds of an integer key as bits, for DuckDB: so each key is hashed in one scan, and looked up in later ones."""

from __future__ import annotations

from contextlib import suppress
from functools import reduce
from operator import add
from typing import Any

import polars as pl

from foldwise.engines.asking import Asker, engine_errors
from foldwise.engines.checks import MOST_BITS, range_of_key
from foldwise.engines.connecting import table_names
from foldwise.engines.free_names import free_name
from foldwise.engines.hashing import ordered_literal
from foldwise.engines.key_folds import INNER, OUTER, KeyFolds, as_digits, bounds
from foldwise.engines.statements import is_sampled, key_digits

BITS = "(foldwise key bits)"  # a temporary table
SHIFT = 16
BLOCK = 1 << SHIFT  # keys per row of that table: DuckDB copies a string of millions of bits for every 2,048 rows


def know_folds(asker: Asker, folds: KeyFolds, answer: pl.DataFrame, share: float) -> bool:
    """Check that an integer key is unique, and add columns to the table with the folds and the sample.

    There is one bit per possible value of the key for each limit between two folds, and one for the sample. They are
    stored in blocks, which are joined.

    Parameters
    ----------
    asker : Asker
        Its table gets the columns.
    folds : KeyFolds
        The folds.
    answer : DataFrame
        The least and the largest value of the key in each class, and how many there are.
    share : float
        Share of the rows in the sample.

    Returns
    -------
    bool
        False if too many bits would be needed, or if the key is not unique. Then the table has not changed.
    """
    ends = range_of_key(answer)
    if ends is None:
        return False
    marks = {f"b{part}_{i}": limit for part, n in enumerate(folds.sizes) for i, limit in enumerate(limits(asker, n))}
    low, high = ends
    if (high - low + 1) * (len(marks) + 2) > MOST_BITS:
        return False
    flags = {name: key_digits(asker, folds, int(name[1])) >= limit for name, limit in marks.items()}
    flags["drawn"] = is_sampled(asker, folds, share)
    base = asker.compile(asker.table.select(key=asker.table[folds.key].cast("int64") - low, **flags))
    bits = f"bitstring_agg(key & {BLOCK - 1}, 0, {BLOCK - 1})"
    parts = [f"{bits} FILTER (WHERE {name}) AS {name}" for name in flags]
    wanted = ", ".join([f"key >> {SHIFT} AS block", f"bit_count({bits}) AS n", *parts])
    with engine_errors(f"{asker.kind.label} could not run a statement"):
        stored = free_name(BITS, table_names(asker.connection))
        text = f'CREATE TEMP TABLE "{stored}" AS SELECT {wanted} FROM ({base}) AS base GROUP BY block'
        asker.statements.append(text)
        asker.temporary = stored
        asker.connection.con.execute(text)
    schema = {"block": "int64", "n": "int64", **dict.fromkeys(flags, "string")}  # Ibis does not know the type BIT
    found = asker.connection.sql(f'SELECT * FROM temp."{stored}"', schema=asker.ibis.schema(schema))
    if int(asker.ask(found.aggregate(n=found.n.sum().cast("int64")))["n"][0]) != int(answer["n"].sum()):
        return False
    add_folds(asker, found, folds, low)
    return True


def limits(asker: Asker, n: int) -> list[Any]:
    """Return the least digits of every fold but the first."""
    return [ordered_literal(asker, as_digits(bound)) for bound in bounds(n).tolist()]


def add_folds(asker: Asker, bits: Any, folds: KeyFolds, low: int) -> None:
    """Look the bits of each row up, and add columns with its folds to the table."""
    ibis, table = asker.ibis, asker.table
    own = {name: free_name(name, table.columns) for name in bits.columns if name != "n"}
    bits = bits.select(**{new: bits[name] for name, new in own.items()})

    @ibis.udf.scalar.builtin(signature=(("string", "int32"), "int32"))  # type: ignore[untyped-decorator]
    def get_bit(bits: Any, index: Any) -> Any: ...

    key = table[folds.key].cast("int64") - low
    joined = table.inner_join(bits, key >> SHIFT == bits[own["block"]])
    index = ((joined[folds.key].cast("int64") - low) & (BLOCK - 1)).cast("int32")

    def bit(name: str) -> Any:  # no bits at all if no row is beyond the limit
        return ibis.coalesce(get_bit(joined[own[name]], index), 0).cast("int64")

    found: dict[int | None, Any] = {None: bit("drawn") == 1}
    for part, n in enumerate(folds.sizes):
        bits_of_part = [bit(f"b{part}_{i}") for i in range(n - 1)]
        found[(OUTER, INNER)[part]] = reduce(add, bits_of_part)
    wanted = {part: "(drawn)" if part is None else f"(index of fold {part})" for part in found}
    asker.known = {part: free_name(name, table.columns) for part, name in wanted.items()}
    asker.table = joined.select(*table.columns, **{asker.known[part]: one for part, one in found.items()})


def forget_folds(asker: Asker) -> None:
    """Drop the bits, if there are some, because the transaction in which they were made may go on."""
    if asker.temporary is None:
        return
    import duckdb

    with suppress(duckdb.Error):  # an error has aborted the transaction, and so removed them
        asker.connection.con.execute(f'DROP TABLE IF EXISTS temp."{asker.temporary}"')
