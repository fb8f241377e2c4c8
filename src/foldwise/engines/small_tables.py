"""Small tables of this machine in the statements of an engine, which nothing is written to."""

from __future__ import annotations

import polars as pl

from foldwise.engines.asking import Asker

TEXT, WHOLE = "text", "bigint"


def values_query(asker: Asker, frame: pl.DataFrame) -> str:
    """Write a frame of text, integers and floats as a query of constants in the dialect of the engine.

    Floats are written as text, because engines may round plain digits. A frame without rows becomes a row of nulls.
    """
    from sqlglot import exp

    rows = [
        exp.Tuple(expressions=[exp.convert(repr(cell) if isinstance(cell, float) else cell) for cell in row])
        for row in (frame if frame.height else frame.clear(1)).iter_rows()
    ]
    kinds = {pl.String: TEXT, pl.Int64: WHOLE, pl.Float64: asker.kind.float_type}
    given = [exp.to_identifier(f"column{j + 1}") for j in range(frame.width)]  # SQLite calls them so
    alias = exp.TableAlias(this=exp.to_identifier("small"), columns=given if asker.kind.names_values else [])
    columns = [
        exp.cast(exp.column(column.copy()), kinds[type(kind)]).as_(name)
        for column, (name, kind) in zip(given, frame.schema.items(), strict=True)
    ]
    query = exp.select(*columns).from_(exp.Values(expressions=rows, alias=alias))
    return str(query.sql(asker.connection.dialect))
