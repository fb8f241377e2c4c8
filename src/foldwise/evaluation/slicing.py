"""Cut the rows of a table into slices by one column: its categories, or bins of its numbers and dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.schema import choose_among
from foldwise.errors import InputError

BINS = 4
FEW_VALUES = 6  # so many different numbers are slices of their own
MOST_LEVELS = 20  # of a category; all others together are one more slice
MISSING, OTHERS = "missing", "other values"


@dataclass(frozen=True)
class TableSlice:
    """Some rows of a table that have something in common in one column."""

    column: str
    label: str
    rows: NDArray[np.intp]


def slices_of(
    frame: pl.DataFrame, names: Sequence[str], bins: int | Mapping[str, Any] = BINS
) -> tuple[list[TableSlice], dict[str, list[Any]]]:
    """Cut the rows by each of some columns.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    names : sequence of str
        The columns to cut by.
    bins : int or mapping, default 4
        Number of bins of a number or a date, or the edges between bins by the name of the column.

    Returns
    -------
    tuple
        The slices in the order of the columns, and the edges of the columns that were cut into bins.

    Examples
    --------
    >>> cut, edges = slices_of(pl.DataFrame({"age": [20, 30, 40, None, 50, 60, 70, 80, 90]}), ["age"], bins=2)
    >>> [(one.label, one.rows.tolist()) for one in cut], edges
    ([('up to 55', [0, 1, 2, 4]), ('over 55', [5, 6, 7, 8]), ('missing', [3])], {'age': [55.0]})
    """
    for name in names:
        if name not in frame.columns:
            raise InputError(f"the table has no column {name!r}, passed as slices=.", choose_among(frame.columns, name))
    found: list[TableSlice] = []
    edges: dict[str, list[Any]] = {}
    for name in names:
        column = frame[name]
        given = bins.get(name) if isinstance(bins, Mapping) else None
        is_ordered = column.dtype.is_numeric() or column.dtype.is_temporal()
        if given is not None or (is_ordered and column.drop_nulls().n_unique() > FEW_VALUES):
            parts, cuts = binned_rows(column, bins if isinstance(bins, int) else BINS, given)
            edges[name] = cuts
        else:
            parts = level_rows(column)
        found += [TableSlice(name, label, rows) for label, rows in parts.items() if len(rows)]
    return found, edges


def binned_rows(
    column: pl.Series, n_bins: int, given: Sequence[Any] | None
) -> tuple[dict[str, NDArray[np.intp]], list[Any]]:
    """Rows by bins of a number or a date: between its quantiles, or between given edges."""
    values = column.to_physical().cast(pl.Float64).to_numpy()
    known = np.isfinite(values)
    if given is None:
        shown = np.quantile(values[known], np.linspace(0, 1, n_bins + 1)[1:-1])
        cuts = np.unique([float(f"{cut:.3g}") for cut in shown] if column.dtype.is_numeric() else np.rint(shown))
    else:
        cuts = np.asarray(given, dtype=np.float64)
    cuts = cuts[(cuts >= values[known].min()) & (cuts < values[known].max())] if given is None else cuts
    codes = np.searchsorted(cuts, values[known], side="left")  # an edge belongs to the bin below it
    names = edge_labels([edge_text(cut, column.dtype) for cut in cuts])
    rows = np.flatnonzero(known)
    parts = {name: rows[codes == k] for k, name in enumerate(names)}
    return {**parts, MISSING: np.flatnonzero(~known)}, cuts.tolist()


def edge_text(cut: float, dtype: pl.DataType) -> str:
    """An edge as the column writes its values."""
    if dtype.is_temporal():
        return str(pl.Series([round(cut)]).cast(pl.Int64).cast(dtype, strict=False)[0])
    return f"{cut:,.6g}"


def edge_labels(edges: Sequence[str]) -> list[str]:
    """Names of the bins between edges."""
    if not edges:
        return ["all values"]
    inner = [f"over {low} to {high}" for low, high in pairwise(edges)]
    return [f"up to {edges[0]}", *inner, f"over {edges[-1]}"]


def level_rows(column: pl.Series) -> dict[str, NDArray[np.intp]]:
    """Rows by category, the most frequent first; numbers in their order."""
    text = column.cast(pl.String)
    counts = text.drop_nulls().value_counts(sort=True, name="rows").sort("rows", column.name, descending=[True, False])
    levels = counts[column.name].to_list()
    if column.dtype.is_numeric():
        levels = sorted(levels, key=float)
    names = levels[:MOST_LEVELS]
    index = {name: k for k, name in enumerate(names)}
    codes = text.replace_strict(index, default=len(names), return_dtype=pl.Int64).to_numpy()
    gaps = text.is_null().to_numpy()
    codes = np.where(gaps, len(names) + 1, codes)
    found: dict[str, NDArray[np.intp]] = {}
    for k, name in enumerate([*names, OTHERS, MISSING]):
        label = f"{name!r}" if k < len(names) and name in (OTHERS, MISSING) else name  # a category of that name
        found[label] = np.flatnonzero(codes == k)
    return found
