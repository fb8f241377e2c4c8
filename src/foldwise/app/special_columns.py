"""Columns of a run that are not features: groups, time and weights, checked and as numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.notes import Note, counted
from foldwise.data.reading.dates import dates_of
from foldwise.data.table import Table, rows_of
from foldwise.errors import FoldwiseTypeError, InputError


def column_name(what: str, given: Any) -> str:
    """Return the name of a column, and refuse its cells, which scikit-learn would take."""
    if isinstance(given, str):
        return given
    raise FoldwiseTypeError(
        f"{what} must be the name of a column, got {type(given).__name__}.",
        f"add the values to the table as a column, and pass its name as {what}=.",
    )


def used_words(what: str, column: pl.Series) -> str:
    """Say that a column was used as groups, time or weights. Dates have parts that may be worth keeping."""
    words = f"{column.name!r} was used as {what} and left out of the features."
    if what != "time" or column.dtype.is_numeric():
        return words
    return f"{words} To use its month and weekday as features, pass a copy of the column under another name."


def grouped(column: pl.Series, name: str) -> NDArray[np.intp]:
    if column.null_count():
        raise InputError(
            f"the group column {name!r} has missing values in {counted(column.null_count(), 'row')}.",
            "fill them in, or remove these rows.",
        )
    codes = column.rank("dense").to_numpy().astype(np.intp) - 1
    if codes.max() < 1:
        raise InputError(f"all rows belong to one group of {name!r}.", "choose a column with at least two groups.")
    return np.asarray(codes)


def ordered(column: pl.Series, name: str) -> NDArray[np.intp]:
    if column.null_count():
        raise InputError(
            f"the time column {name!r} has missing values in {counted(column.null_count(), 'row')}.",
            "fill them in, or remove these rows.",
        )
    if not column.dtype.is_numeric() and not column.dtype.is_temporal():
        column = dates_of(column.cast(pl.String))  # alphabetically, 10.1. would come before 2.1.
        if column.null_count():
            raise InputError(
                f"the time column {name!r} holds text that is not a date.",
                "choose a column of dates, times or numbers.",
            )
    return np.asarray(column.rank("dense").to_numpy().astype(np.intp) - 1)


def weighted(column: pl.Series, name: str) -> NDArray[np.float64]:
    if not column.dtype.is_numeric() or column.null_count():
        gaps = f"it is missing in {counted(column.null_count(), 'row')}"
        came = gaps if column.dtype.is_numeric() else f"it contains {column.drop_nulls().first()!r}"
        raise InputError(
            f"the weight column {name!r} must hold one number per row, but {came}.", "choose another column."
        )
    found: NDArray[np.float64] = column.cast(pl.Float64).to_numpy()
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(wrong):
        raise InputError(
            f"the weight column {name!r} must hold finite numbers of at least 0, but row {wrong[0]} holds "
            f"{found[wrong[0]]:g}.",
            "weights are frequencies: 0 leaves a row out, 2 counts it twice.",
        )
    if not found.any():
        raise InputError(f"the weight column {name!r} is 0 in all rows.", "choose another column.")
    return found


def with_weight(table: Table, name: str) -> Table:
    """Return the rows with a positive weight. Rows of weight 0 are in no fold and are not counted."""
    there = weighted(table.X[name], name) > 0
    if there.all():
        return table
    n_dropped = int((~there).sum())
    text = f"{counted(n_dropped, 'row')} with weight 0 {'was' if n_dropped == 1 else 'were'} dropped."
    decided = (*table.decided, Note("weights", text, name))
    return replace(rows_of(table, there), decided=decided)
