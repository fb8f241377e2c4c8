"""Rows that belong together (of one patient, one shop, one film) on both sides of a split."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.findings import short
from foldwise.data.frames import as_series
from foldwise.errors import InputError
from foldwise.evaluation.leaks.leak_input import LeakInput, codes_of, some
from foldwise.evaluation.leaks.report import Leak, rows_said

Ints = NDArray[np.int64]
LEAST_GROUPS = 20
SAME = 0.8  # likeness of labels from which on a value all but decides them
CALLED = re.compile(
    r"(?i:(^|[_\W])(id|uuid|guid|patient|subject|person|user|customer|client|household|family|participant|student)$)"
    r"|[a-z](Id|ID)$"
)


def checked_groups(groups: Any, n_rows: int) -> Ints:
    """The groups as numbers from 0 on, one a row."""
    series = as_series("groups", groups)
    if len(series) != n_rows:
        raise InputError(f"X has {n_rows} rows but groups has {len(series)} entries.", "pass one for each row.")
    units = codes_of(series)
    if (units < 0).any():
        row = int(np.argmin(units))
        raise InputError(f"groups is missing in row {row}.", "give a row that belongs to no other a group of its own.")
    return units


def broken_groups(given: LeakInput, units: Ints) -> Iterator[Leak]:
    """Groups that were given, and stand on both sides."""
    split_up = spread(given, units)
    if split_up is None:
        return
    rows, examples, broken = split_up
    text = (
        f"{rows_said(rows, given.n_tested)} belong to a group of which other rows are learned from; "
        f"{broken:,} of {int(units.max()) + 1:,} groups are broken, such as that of row {examples[0]}."
    )
    remedy = "pass groups= with cv=GroupKFold() or StratifiedGroupKFold(), to the search inside, too."
    yield Leak("groups", "leak", "", rows, rows / given.n_tested, text, some(examples), remedy)


def suspected_groups(given: LeakInput) -> Iterator[Leak]:
    """Columns whose values look like names of groups: many, each in several rows, and telling the label."""
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
            f"{column.name!r} may name groups: {len(sizes):,} values in {sizes.mean():.1f} rows each, {why}; "
            f"{rows_said(rows, given.n_tested)} have a value that is learned from, such as "
            f"{short(column[int(examples[0])])}."
        )
        remedy = (
            f"if new rows bring new values of it, pass groups=X[{column.name!r}] with cv=GroupKFold(), "
            "and leave the column out of X."
        )
        yield Leak("groups", "suspicion", column.name, rows, rows / given.n_tested, text, some(examples), remedy)


def could_name(given: LeakInput, column: pl.Series) -> bool:
    """Whether values of the type, and the look, can be names."""
    dtype = column.dtype
    if dtype.is_float():
        present = column.drop_nulls().drop_nans()
        return bool(len(present)) and bool((present == present.round()).all())
    return not (
        dtype.is_temporal() or dtype == pl.Boolean or dtype.is_nested() or given.findings[column.name].kind == "date"
    )


def suspicious(given: LeakInput, column: pl.Series, units: Ints) -> str:
    """Why a column of many values, each in several rows, is suspected; empty where it is not."""
    called = bool(CALLED.search(column.name))
    likeness = given.likeness
    if likeness is None:
        return "called like one" if called else ""
    present = np.flatnonzero(units >= 0)
    if len(present) < given.n_rows:
        return "called like one" if called else ""
    same = likeness.within(units)
    if not np.isnan(same) and same >= SAME and (called or not column.dtype.is_numeric() or unordered(given, units)):
        return f"the label nearly the same within each (likeness {same:.2f} of 1)"
    return "called like one" if called else ""


def unordered(given: LeakInput, units: Ints) -> bool:
    """Whether the label is another for the next number: of a measurement it would be much the same."""
    assert given.likeness is not None
    order = np.argsort(units, kind="stable")
    edges = np.flatnonzero(np.diff(units[order]))
    beside = given.likeness.beside(order[edges], order[edges + 1])
    return bool(beside < 0.5)


def spread(given: LeakInput, units: Ints) -> tuple[int, Ints, int] | None:
    """Test rows whose unit is learned from too, some of them, and how many units are broken; None where none is."""
    found = [split.test[shared] for split, shared in given.shared(units)]
    rows = np.concatenate(found)
    if not rows.size:
        return None
    return len(rows), np.unique(rows), len(np.unique(units[rows]))
