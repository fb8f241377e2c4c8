"""Test rows that are earlier than training rows, and rows in an order in which neighbors have similar labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.arrays import Ints
from foldwise.data.findings import Finding, find
from foldwise.data.frames import as_series
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.evaluation.leaks.leak_input import LeakInput, codes_of, some
from foldwise.evaluation.leaks.report import Leak, rows_text

LEAST_ROWS = 50
INTERLEAVED = 0.2
LASTING = 0.2  # likeness of neighboring labels
SMOOTH = 0.5  # correlation of neighboring ranks
IN_ORDER = "sort the rows by time and pass cv=TimeSeriesSplit()."


def broken_time(given: LeakInput, time: Any) -> Iterator[Leak]:
    """Report test rows that are earlier than training rows, by a given time."""
    name = time if isinstance(time, str) else "time"
    series = times_of(given, time)
    found = earlier(given, series)
    if found is None:
        return
    rows, splits = found
    first = int(rows[0])
    text = (
        f"{rows_text(len(rows), given.n_tested)} are earlier than some training rows, in {splits} of "
        f"{len(given.splits)} splits. For example, row {first} has the time {series[first]}."
    )
    column = name if isinstance(time, str) else ""
    yield Leak("time", "leak", column, len(rows), len(rows) / given.n_tested, text, some(np.unique(rows)), IN_ORDER)


def times_of(given: LeakInput, time: Any) -> pl.Series:
    """Return the time of each row: a column, or given values."""
    if isinstance(time, str):
        if time not in given.frame.columns:
            raise InputError(
                f"X has no column {time!r}, passed as time.", f"choose among {listing(given.frame.columns)}."
            )
        series = given.frame[time]
    else:
        series = as_series("time", time)
    if len(series) != given.n_rows:
        raise InputError(
            f"time must have one value per row of X ({given.n_rows}), got {len(series)}.", "pass one per row."
        )
    if series.dtype == pl.String:
        series = dates_of_text(series)
    if series.null_count() or (series.dtype.is_float() and series.is_nan().any()):
        raise InputError("time must be complete, but some values are missing.", "remove these rows, or fill in times.")
    if not (series.dtype.is_numeric() or series.dtype.is_temporal()):
        raise InputError(f"time must be dates or numbers, got {series.dtype}.", "convert it to dates or numbers.")
    return series


def dates_of_text(series: pl.Series) -> pl.Series:
    """Convert text of the form year-month-day, which sorts by time; other text is an error."""
    finding = find(series)
    if finding.kind == "date" and "year-month-day" in finding.reason and len(set(series.str.len_chars())) == 1:
        return pl.Series(series.name, codes_of_sorted(series))
    raise InputError(
        f"time must be dates or numbers, got text ({finding.reason}), whose alphabetical order is not chronological.",
        "convert it to dates first, for example by read_table(path, kinds={'day': 'date'}).",
    )


def codes_of_sorted(series: pl.Series) -> Ints:
    return np.asarray(series.rank("dense").cast(pl.Int64).to_numpy())


def suspected_dates(given: LeakInput) -> Iterator[Leak]:
    """Report columns of dates by which test rows are earlier than training rows."""
    for column in given.frame:
        if column.null_count() or not is_date(column, given.findings[column.name]):
            continue
        series = column if column.dtype.is_temporal() else dates_of_text(column)
        if series.n_unique() < 3:
            continue
        found = earlier(given, series)
        if found is None:
            continue
        rows, splits = found
        text = (
            f"column {column.name!r} contains dates, and {rows_text(len(rows), given.n_tested)} are earlier than some "
            f"training rows, in {splits} of {len(given.splits)} splits."
        )
        remedy = f"if the model will predict later rows, {IN_ORDER}"
        share = len(rows) / given.n_tested
        yield Leak("time", "suspicion", column.name, len(rows), share, text, some(np.unique(rows)), remedy)


def is_date(column: pl.Series, finding: Finding) -> bool:
    """Whether a column contains dates, or text that sorts like dates."""
    if column.dtype.is_temporal():
        return column.dtype != pl.Time and not isinstance(column.dtype, pl.Duration)
    if column.dtype != pl.String:
        return False
    return finding.kind == "date" and "year-month-day" in finding.reason and column.str.len_chars().n_unique() == 1


def earlier(given: LeakInput, times: pl.Series) -> tuple[Ints, int] | None:
    """Return the test rows before the last training row of their split, and the number of such splits."""
    codes = codes_of(times)
    found = [split.test[codes[split.test] < codes[split.train].max()] for split in given.splits]
    rows = np.concatenate(found)
    return (rows, sum(1 for part in found if part.size)) if rows.size else None


def suspected_order(given: LeakInput) -> Iterator[Leak]:
    """Report labels and columns that change slowly from row to row, if splits separate neighboring rows."""
    likeness = given.likeness
    if likeness is None or given.n_rows < LEAST_ROWS or not given.frame.width:
        return
    parted = [split.test[between_training_rows(split.train, split.test, given.n_rows)] for split in given.splits]
    rows = np.concatenate(parted)
    if len(rows) < INTERLEAVED * given.n_tested or is_sorted(given, likeness.labels):
        return
    first, second = neighbors(given)
    lasting = likeness.beside(first, second)
    noise = 1 / np.sqrt(max(1, len(first)))
    if not (lasting >= LASTING and lasting >= 6 * noise):
        return
    smooth = list(slow_columns(given, first, second))
    if not smooth:
        return
    text = (
        f"neighboring rows tend to have the same label (agreement {lasting:.2f} of 1) and similar values of "
        f"{listing(smooth)}, and {rows_text(len(rows), given.n_tested)} lie between two training rows. If the rows are "
        "ordered by time or location, a model can recognize test rows by their neighbors."
    )
    remedy = "for time, pass cv=TimeSeriesSplit(); for locations, pass groups= of regions with cv=GroupKFold()."
    share = len(rows) / given.n_tested
    yield Leak("time", "suspicion", "", len(rows), share, text, some(np.unique(rows)), remedy)


def between_training_rows(train: Any, test: Any, n_rows: int) -> NDArray[np.bool_]:
    """Return which test rows have a training row just before and just after them."""
    trained = np.zeros(n_rows + 2, dtype=bool)
    trained[np.asarray(train) + 1] = True
    return np.asarray(trained[test] & trained[test + 2])


def is_sorted(given: LeakInput, labels: NDArray[Any]) -> bool:
    """Whether the rows are sorted by label."""
    steps = np.diff(labels)
    if given.quantity:
        return bool(max(np.mean(steps >= 0), np.mean(steps <= 0)) > 0.95)
    return int(np.count_nonzero(steps)) < 3 * (int(labels.max()) + 1)


def neighbors(given: LeakInput) -> tuple[Ints, Ints]:
    """Return pairs of neighboring rows, without those at the borders of blocks by which the table is sorted."""
    first = np.arange(given.n_rows - 1)
    for column in given.frame:
        changes = np.flatnonzero(column[1:].ne_missing(column[:-1]).to_numpy())
        if 0 < len(changes) <= 0.02 * given.n_rows and len(changes) < 3 * column.n_unique():
            first = np.setdiff1d(first, changes)
    return first, first + 1


def slow_columns(given: LeakInput, first: Ints, second: Ints) -> Iterator[str]:
    """Yield columns of numbers or dates whose neighboring values have similar ranks."""
    for column in given.frame:
        if not (column.dtype.is_numeric() or column.dtype.is_temporal()):
            continue
        ranks = column.rank().fill_null(strategy="mean").to_numpy()
        if len(np.unique(ranks)) < 10:
            continue
        a, b = ranks[first], ranks[second]
        if np.ptp(a) and np.ptp(b) and np.corrcoef(a, b)[0, 1] >= SMOOTH:
            yield column.name
