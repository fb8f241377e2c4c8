"""Read text as dates if one format fits every cell. If two formats fit and disagree, the column is refused."""

from __future__ import annotations

from contextlib import suppress

import polars as pl

from foldwise.data.reading.protocol import READ_ERRORS
from foldwise.errors import InputError

YEARS = ("%Y", "%y")
FORMATS = (
    "%Y/%m/%d",
    *(f"%{a}{mark}%{b}{mark}{year}" for mark in "/.-" for a, b in (("d", "m"), ("m", "d")) for year in YEARS),
    *(f"%d{mark}%{month}{mark}{year}" for mark in " -" for month in "bB" for year in YEARS),
    *("%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%b %d %Y"),
)
CLOCKS = ("%H:%M:%S", "%H:%M")


def dates_of(text: pl.Series) -> pl.Series:
    """Return dates, timestamps or times of day; cells that cannot be read are missing in the result."""
    found = pl.Series(text.name, [None] * len(text), dtype=pl.Datetime)
    if text.str.contains(r"^\d{4}\D").any():  # otherwise polars would guess whether days or months come first
        with suppress(*READ_ERRORS):
            found = text.str.to_datetime(strict=False)
        if found.null_count() == text.null_count():
            return found
    fitting = [dates for dates in (dates_by(text, form) for form in FORMATS) if dates is not None]
    if fitting:
        for other in fitting[1:]:
            refuse_doubt(text, fitting[0], other)
        return fitting[0]
    for clock in CLOCKS:
        try:
            times = text.str.to_time(clock, strict=False)
        except READ_ERRORS:
            continue
        if times.null_count() == text.null_count():
            return times
    return found


def dates_by(text: pl.Series, form: str) -> pl.Series | None:
    """Return the dates if a format fits every cell, with or without a time of day, else None."""
    for whole in (form, *(f"{form} {clock}" for clock in CLOCKS)):
        dates = parse_dates(text, whole)
        if dates is not None and plausible(dates):
            return dates
    return None


def parse_dates(text: pl.Series, pattern: str) -> pl.Series | None:
    """Return the dates if a pattern fits every cell, else None."""
    try:
        dates = (
            text.str.to_datetime(pattern, strict=False) if "%H" in pattern else text.str.to_date(pattern, strict=False)
        )
    except READ_ERRORS:
        return None
    return dates if dates.null_count() == text.null_count() else None


def plausible(dates: pl.Series) -> bool:
    """Whether all years have four digits: 06 must not be read as the year 6."""
    first = dates.dt.year().min()
    return first is None or int(first) >= 1000  # type: ignore[arg-type]


def refuse_doubt(text: pl.Series, one: pl.Series, other: pl.Series) -> None:
    """Refuse a column that two formats read differently."""
    if one.dtype == other.dtype and one.equals(other):
        return
    row = int((one.cast(pl.Datetime) != other.cast(pl.Datetime)).arg_max() or 0)
    raise InputError(
        f"column {text.name!r} is declared date, but {text[row]!r} in row {row} may mean {one[row]!s} or "
        f"{other[row]!s}, and no other row settles it.",
        "write dates as 2026-01-31, or declare the column text.",
    )
