"""What an engine returns from the scan that sums numbers: counts of categories, and a sample of the rows.

DuckDB returns lists of pairs and of rows. Engines with grouping sets return the counts in rows of their own, and the
sample as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

MOST_SET_SUMS = 300  # sums per row, beyond those of the numbers, for which a scan is saved
MOST_CELLS = 45  # columns of a sample as JSON; functions of PostgreSQL have at most 100 arguments


@dataclass(frozen=True)
class ScanExtras:
    """What an engine returns from the scan that sums the numeric columns, if it can: so each key is hashed once."""

    levels: tuple[tuple[str, str], ...] = ()  # columns whose values are counted, by name and type
    share: float = 0.0  # of the rows, which are returned as a sample
    names: tuple[str, ...] = ()  # the columns of the sample


def fits_in_sets(n_numbers: int, n_categories: int) -> bool:
    """Whether a statement that counts categories may compute the sums of numbers for each of its grouping sets."""
    return 3 * n_numbers * n_categories <= MOST_SET_SUMS and n_numbers + n_categories <= MOST_CELLS


def counted_levels(answer: pl.DataFrame, beside: ScanExtras, groups: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return how often each category occurs, by the name of its column: the columns group, level and n."""
    found = {}
    for j, (name, kind) in enumerate(beside.levels):
        if f"rest{j}" in answer.columns:
            counted = answer.filter(pl.col(f"rest{j}") == 0, pl.col(f"c{j}").is_not_null())
            found[name] = counted.select(*groups, pl.col(f"c{j}").alias("level"), "n")
            continue
        cells = pl.col("pair").struct
        level = cells.field("key").cast(pl.Int64 if kind == "flag" else pl.String).alias("level")
        pairs = answer.select(*groups, pair=pl.col(f"h{j}")).explode("pair").drop_nulls("pair")
        found[name] = pairs.select(*groups, level, cells.field("value").alias("n"))
    return found


def drawn_rows(answer: pl.DataFrame, names: Sequence[str], kinds: Sequence[Any]) -> pl.DataFrame:
    """Return the rows of the sample, with columns of these names and types."""
    if answer["sample"].dtype != pl.String:
        rows = answer.select(pl.col("sample").explode()).drop_nulls()["sample"].struct
        return pl.DataFrame([rows.field(f"r{j}").alias(name) for j, name in enumerate(names)])
    lines = [row for text in answer["sample"].drop_nulls() for row in json.loads(text)]
    found = {}
    for j, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        cells = [line[f"r{j}"] for line in lines]
        if polars_type(kind) == pl.Float64:  # in JSON, a number that is not finite is a text
            cells = [None if cell is None else float(cell) for cell in cells]
        found[name] = pl.Series(cells, dtype=polars_type(kind))
    return pl.DataFrame(found)


def polars_type(kind: Any) -> Any:
    """Return the type of a column that was read from JSON."""
    if kind.is_boolean():
        return pl.Boolean
    if kind.is_integer():
        return pl.Int64
    return pl.Float64 if kind.is_numeric() else pl.String
