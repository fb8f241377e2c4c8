"""Small tables of this machine in the statements of an engine, which nothing is written to."""

from __future__ import annotations

from typing import Any

import polars as pl

from foldwise.engines.asking import Asker

TYPES = {pl.String: ("text", "string"), pl.Int64: ("bigint", "int64"), pl.Float64: ("double", "float64")}


def small_table(asker: Asker, frame: pl.DataFrame) -> Any:
    """Return a frame of text, integers and floats as a table that a statement of the engine can join."""
    if asker.kind.takes_tables:
        return asker.ibis.memtable(frame.to_arrow())
    kinds = [TYPES[type(kind)] for kind in frame.dtypes]
    schema = asker.ibis.schema({name: own for name, (_, own) in zip(frame.columns, kinds, strict=True)})
    return asker.connection.sql(values_query(frame, asker.connection.dialect), schema=schema)


def values_query(frame: pl.DataFrame, dialect: Any) -> str:
    """Write a frame as a query of constants. Floats are written as text, because engines may round plain digits.

    Examples
    --------
    >>> values_query(pl.DataFrame({"log": [0.1]}), "sqlite")
    'SELECT CAST(column1 AS REAL) AS "log" FROM (VALUES (\'0.1\')) AS small'
    """
    from sqlglot import exp

    rows = [
        exp.Tuple(expressions=[exp.convert(repr(cell) if isinstance(cell, float) else cell) for cell in row])
        for row in frame.iter_rows()
    ]
    small = exp.Values(expressions=rows, alias=exp.TableAlias(this=exp.to_identifier("small")))
    columns = [
        exp.cast(exp.column(f"column{j + 1}"), TYPES[type(kind)][0]).as_(name, quoted=True)
        for j, (name, kind) in enumerate(frame.schema.items())
    ]
    return exp.select(*columns).from_(small).sql(dialect)
