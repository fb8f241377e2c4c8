"""Turns any table into a matrix of numbers: standardized numeric columns, and indicators of categories.

The scaling is that of factor analysis of mixed data: numeric columns have variance 1, and the indicator of a category
with share p is divided by √p. So a rare category weighs more than its few rows, and no column dominates by its unit.

Reference: Pagès, Revue de statistique appliquée 52 (2004) 93-111.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.column_scan import scan_columns
from foldwise.data.findings import Finding, findings
from foldwise.data.frames import as_polars
from foldwise.errors import InputError

UNUSED = ("identifier", "text", "date", "constant", "nested")
LISTED = 4  # columns that were left out, with the reason
MOST_LEVELS = 20  # of a categorical column; rarer categories have no indicator


@dataclass(frozen=True, eq=False)
class TableMatrix:
    """A table as numbers, before centering and scaling. Indicators of one column share its index in `sources`."""

    raw: Floats  # (n, p): NaN where a cell is missing
    names: tuple[str, ...]  # (p,)
    sources: NDArray[np.int64]  # (p,): index of the column
    is_category: NDArray[np.bool_]  # (p,): an indicator
    left_out: tuple[str, ...]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Cells that are not missing."""
        return ~np.isnan(self.raw)

    def standardized(self) -> Floats:  # (n, p)
        """Center and scale the columns; a missing cell becomes 0, the mean."""
        greatest = np.nanmax(np.abs(self.raw), axis=0)
        values = self.raw / np.where(greatest > 0, greatest, 1.0)  # squares of very large numbers stay finite
        mean = np.nanmean(values, axis=0)
        scale = np.where(self.is_category, np.sqrt(mean.clip(0.0)), np.nanstd(values, axis=0))
        values -= mean
        values /= np.where(scale > 0, scale, 1.0)
        values[np.isnan(values)] = 0.0
        return values


def table_matrix(table: Any, purpose: str, least_rows: int = 2, least_columns: int = 1) -> TableMatrix:
    """Read a table as a matrix. Identifiers, texts, dates and constant columns are left out and named."""
    frame = as_polars(table)
    if frame.width and frame.height < least_rows:
        raise InputError(
            f"{purpose} need a table of at least {least_rows} rows, got {frame.height:,}.", "pass more rows."
        )
    parts: list[Floats] = []
    names: list[str] = []
    sources: list[int] = []
    is_category: list[bool] = []
    left_out = []
    for j, (column, finding) in enumerate(zip(frame.iter_columns(), findings_of(frame), strict=True)):
        if finding.kind in UNUSED:
            left_out.append(f"{column.name!r} ({finding.kind}: {finding.reason})")
            continue
        labels, values = number_cells(column) if is_numeric(column) else indicators(column)
        names += labels
        parts += values
        sources += [j] * len(labels)
        is_category += [not is_numeric(column)] * len(labels)
    n_columns = len(set(sources))
    if n_columns < least_columns:
        raise InputError(
            f"{purpose} need at least {least_columns} column{'s' * (least_columns > 1)} of numbers or categories that "
            f"vary, got {n_columns}." + (f" Left out: {listed_columns(left_out)}." if left_out else ""),
            "pass more columns of numbers, or of categories that repeat.",
        )
    raw = np.stack(parts, axis=1) if parts else np.zeros((frame.height, 0))
    flags = np.array(is_category, dtype=bool)
    return TableMatrix(raw, tuple(names), np.array(sources, dtype=np.int64), flags, tuple(left_out))


def findings_of(frame: pl.DataFrame) -> Sequence[Finding]:
    """What each column looks like; columns of lists, structures or bytes have the kind "nested"."""
    plain = [name for name, kind in zip(frame.columns, frame.dtypes, strict=True) if not is_nested(kind)]
    part = frame.select(plain)
    found = {one.column: one for one in findings(part, {}, scan_columns(part))}
    return [
        found.get(name) or Finding(name, "nested", f"cells of type {kind}")
        for name, kind in zip(frame.columns, frame.dtypes, strict=True)
    ]


def is_nested(kind: pl.DataType) -> bool:
    """Whether cells are lists, structures, bytes or Python objects."""
    return kind.is_nested() or kind in (pl.Binary, pl.Object)


def is_numeric(column: pl.Series) -> bool:
    """Whether the cells are numbers or booleans."""
    return column.dtype.is_numeric() or column.dtype == pl.Boolean


def number_cells(column: pl.Series) -> tuple[list[str], list[Floats]]:
    """The cells of a numeric column; refuse infinity."""
    values = column.cast(pl.Float64).to_numpy()
    if np.isinf(values).any():
        raise InputError(
            f"column {column.name!r} contains infinity (inf) in row {int(np.isinf(values).argmax())}.",
            "replace it with a finite number or a missing value.",
        )
    return [column.name], [values]


def indicators(column: pl.Series) -> tuple[list[str], list[Floats]]:
    """One column of zeros and ones per category, of the most frequent ones; NaN where the cell is missing."""
    text = column.cast(pl.String)
    counts = text.drop_nulls().value_counts(sort=True, name="rows")
    ordered = counts.sort(["rows", column.name], descending=[True, False])  # ties by name, so that runs agree
    levels = ordered[column.name].head(MOST_LEVELS).to_list()
    missing = text.is_null().to_numpy()
    cells = [np.where(missing, np.nan, (text == level).fill_null(False).to_numpy()) for level in levels]
    return [f"{column.name} = {level}" for level in levels], cells


def listed_columns(left_out: Sequence[str]) -> str:
    """List columns that were left out, with the reason of the first ones."""
    more = len(left_out) - LISTED
    return "; ".join(left_out[:LISTED]) + (f"; and {more:,} more" if more > 0 else "")
