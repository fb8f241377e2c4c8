"""Numeric columns with too many distinct values: the engine's quantiles cut them into bins, whose rows are counted.

PostgreSQL and SQLite return exact quantiles. Those of DuckDB and Spark are approximate, but the rows between them are
always counted exactly. A value that many rows have is a bin of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from foldwise.arrays import Floats
from foldwise.data.schema import listing
from foldwise.engines.statements import literal, number
from foldwise.engines.table_facts import Cell
from foldwise.errors import InputError
from foldwise.summaries.values import Values

if TYPE_CHECKING:
    from foldwise.engines.scans import Scan

N_BINS = 100  # 5, 10 and 20 bins of the same number of rows are unions of them
SHARES = [k / N_BINS for k in range(1, N_BINS)]


def rows_between(
    scan: Scan, names: Sequence[str], given: Mapping[str, Sequence[float]]
) -> tuple[dict[str, Floats], dict[Cell, Values]]:
    """Count the rows of columns between cut points: those that were given, or the quantiles of the engine."""
    if unknown := [name for name in given if name not in scan.numeric]:
        raise InputError(f"cuts must be those of numeric columns of the table, got {listing(unknown)}.")
    edges = {name: checked(name, given[name]) for name in given}
    edges |= {name: quantile_edges(scan, name) for name in names if name not in edges}
    answers = [bin_counts(scan, name, found) for name, found in edges.items()]
    cells = scan.value_weights(answers)
    return edges, {cell: with_edges(values, list(edges.values())) for cell, values in cells.items()}


def checked(name: str, cuts: Sequence[float]) -> Floats:
    """Return cut points as an array, and refuse others."""
    found = np.asarray(cuts, dtype=np.float64)
    if found.ndim != 1 or len(found) < 2 or not np.isfinite(found).all() or (np.diff(found) <= 0).any():
        raise InputError(f"the cuts of column {name!r} must be at least two finite numbers in increasing order.")
    return found


def with_edges(values: Values, edges: Sequence[Floats]) -> Values:
    """Let the summaries of columns know their edges."""
    pairs = zip(values.columns, edges, strict=True)
    return replace(values, columns=tuple(replace(column, edges=own) for column, own in pairs))


def quantile_edges(scan: Scan, name: str) -> Floats:
    """Ask for the least value, 99 quantiles, and the largest value of a column."""
    asker = scan.asker
    base = asker.table.select(x=number(asker, asker.table[name])).filter(lambda rows: rows.x.notnull())
    ends = [base.x.min().name("low"), base.x.max().name("high"), base.x.count().name("n")]
    if asker.kind.name == "sqlite":  # has no quantiles
        [(low, high, n)] = asker.ask(base.aggregate(ends)).iter_rows()
        ranked = base.select("x", rank=asker.ibis.row_number().over(order_by=base.x))
        wanted = sorted({int(np.ceil(share * n)) - 1 for share in SHARES})
        inner = asker.ask(ranked.filter(ranked["rank"].isin(wanted)).select("x"))["x"].to_list()
    else:
        rough = asker.kind.name in ("duckdb", "pyspark")
        quantiles = base.x.approx_quantile(SHARES) if rough else base.x.quantile(SHARES)
        [(low, high, _, inner)] = asker.ask(base.aggregate([*ends, quantiles.name("inner")])).iter_rows()
    return edges_of([low, *inner, high])


def edges_of(points: Sequence[float]) -> Floats:
    """Return edges at the quantiles; a value that is several of them gets a bin of its own.

    Examples
    --------
    >>> edges = edges_of([1.0, 2.0, 2.0, 3.0])
    >>> edges.round(6).tolist(), edges[1] < 2.0
    ([1.0, 2.0, 2.0, 3.0], np.True_)
    """
    found, counts = np.unique(np.array(points, dtype=np.float64) + 0.0, return_counts=True)
    return np.unique(np.concatenate([found, np.nextafter(found[counts > 1], -np.inf)]))


def bin_counts(scan: Scan, name: str, edges: Floats) -> pl.DataFrame:
    """Count the rows of each bin, class and fold; a bin is named by its upper edge."""
    statements, asker = scan.statements, scan.asker
    x = number(asker, asker.table[name])
    index = asker.ibis.ifelse(x.isnull(), asker.ibis.null("int64"), tree(asker, x, edges[1:-1], 0))
    base = asker.table.select(**statements.group_columns(), bin=index)
    answer = asker.ask(base.group_by([*statements.groups, "bin"]).aggregate(base.count().name("n")))
    scan.check_rows(
        answer.group_by(statements.groups).agg(pl.col("n").sum())
        if statements.groups
        else answer.select(pl.col("n").sum())
    )
    present = answer.filter(pl.col("bin").is_not_null())
    return present.with_columns(pl.Series("level", edges[1:][present["bin"].to_numpy().astype(np.intp)]))


def tree(asker: Any, x: Any, cuts: Floats, first: int) -> Any:
    """Return the bin of a number by comparing it with the middle cut point, and so on."""
    if not len(cuts):
        return asker.ibis.literal(first, "int64")
    middle = len(cuts) // 2
    below, above = tree(asker, x, cuts[:middle], first), tree(asker, x, cuts[middle + 1 :], first + middle + 1)
    return asker.ibis.ifelse(x <= literal(asker, float(cuts[middle])), below, above)
