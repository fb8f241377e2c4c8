"""Groups of rows (of one patient, one shop, one film) that occur in both training and test rows of a split."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from foldwise.arrays import Ints
from foldwise.data.findings import short
from foldwise.data.frames import as_series
from foldwise.data.suspicions import GROUP_NAME
from foldwise.data.suspicions import suspected_groups as suspected_groups_of_table
from foldwise.errors import InputError
from foldwise.evaluation.leaks.leak_input import LeakInput, codes_of, some
from foldwise.evaluation.leaks.report import Leak, rows_text

LEAST_GROUPS = 20
SIMILAR = 0.1  # likeness of labels below which a regular column tells too little about them
SAME = 0.8  # likeness of labels from which on a value almost determines them


def checked_groups(groups: Any, n_rows: int) -> Ints:
    """Return the groups as numbers from 0, one per row."""
    series = as_series("groups", groups)
    if len(series) != n_rows:
        raise InputError(f"groups must have one value per row of X ({n_rows}), got {len(series)}.", "pass one per row.")
    units = codes_of(series)
    if (units < 0).any():
        row = int(np.argmin(units))
        raise InputError(f"groups must be complete, but row {row} has none.", "give each ungrouped row its own group.")
    return units


def broken_groups(given: LeakInput, units: Ints) -> Iterator[Leak]:
    """Report given groups that occur in both training and test rows."""
    split_up = spread(given, units)
    if split_up is None:
        return
    rows, examples, broken = split_up
    text = (
        f"{rows_text(rows, given.n_tested)} belong to a group that also has training rows. {broken:,} of "
        f"{int(units.max()) + 1:,} groups are split, for example that of row {examples[0]}."
    )
    remedy = "pass groups= with cv=GroupKFold() or StratifiedGroupKFold(). A search inside needs such a cv too."
    yield Leak("groups", "leak", "", rows, rows / given.n_tested, text, some(examples), remedy)


def suspected_groups(given: LeakInput) -> Iterator[Leak]:
    """Report columns that look like group names: many values, each in several rows, that determine the label."""
    for column in given.frame:
        if not could_name(given, column):
            continue
        units = given.codes(column.name)
        sizes = np.bincount(units[units >= 0])
        several = sizes >= 2
        if several.sum() < LEAST_GROUPS or sizes[several].sum() < 0.5 * given.n_rows or sizes.mean() < 2:
            continue
        why = suspicious(given, column, units)
        split_up = spread(given, units) if why else None
        if split_up is None:
            continue
        rows, examples, _ = split_up
        text = (
            f"column {column.name!r} may name groups: it has {len(sizes):,} values in {sizes.mean():.1f} rows each, "
            f"and {why}. {rows_text(rows, given.n_tested)} have a value that also occurs in training rows, such as "
            f"{short(column[int(examples[0])])}."
        )
        remedy = (
            f"if new data will have new values of it, pass groups=X[{column.name!r}] with cv=GroupKFold(), "
            "and remove the column from X."
        )
        yield Leak("groups", "suspicion", column.name, rows, rows / given.n_tested, text, some(examples), remedy)


def could_name(given: LeakInput, column: pl.Series) -> bool:
    """Whether a column of this type can hold group names."""
    dtype = column.dtype
    if dtype.is_float():
        present = column.drop_nulls().drop_nans()
        return bool(len(present)) and bool((present == present.round()).all())
    return not (
        dtype.is_temporal() or dtype == pl.Boolean or dtype.is_nested() or given.findings[column.name].kind == "date"
    )


def suspicious(given: LeakInput, column: pl.Series, units: Ints) -> str:
    """Return why a column is suspected to name groups; empty if it is not."""
    usual = bool(suspected_groups_of_table(column, given.findings[column.name]))
    called = usual and GROUP_NAME.search(column.name) is not None
    same = np.nan
    if given.likeness is not None and (units >= 0).all():
        same = given.likeness.within(units)
        if same >= SAME and (called or not column.dtype.is_numeric() or unordered(given, units)):
            return f"rows with the same value mostly have the same label (agreement {same:.2f} of 1)"
    if called:
        return "its name suggests it"
    # labels that do not agree within a value are predicted no better by it
    return "the number of rows is nearly the same for all of them" if usual and not same < SIMILAR else ""


def unordered(given: LeakInput, units: Ints) -> bool:
    """Whether labels of neighboring values differ; those of a measurement would be similar."""
    assert given.likeness is not None
    order = np.argsort(units, kind="stable")
    edges = np.flatnonzero(np.diff(units[order]))
    beside = given.likeness.beside(order[edges], order[edges + 1])
    return bool(beside < 0.5)


def spread(given: LeakInput, units: Ints) -> tuple[int, Ints, int] | None:
    """Return the number of test rows whose unit has training rows, these rows, and the number of split units."""
    found = [split.test[shared] for split, shared in given.shared(units)]
    rows = np.concatenate(found)
    if not rows.size:
        return None
    return len(rows), np.unique(rows), len(np.unique(units[rows]))
