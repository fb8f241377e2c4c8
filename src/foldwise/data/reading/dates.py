"""Text as dates, where one way of writing them fits every cell; two that fit and disagree are refused, not guessed."""

from __future__ import annotations

from contextlib import suppress

import polars as pl

from foldwise.data.reading.parsed_file import READ_ERRORS
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
    """Dates, moments or times of day; cells that are none are missing in what comes back."""
    found = pl.Series(text.name, [None] * len(text), dtype=pl.Datetime)
    if text.str.contains(r"^\d{4}\D").any():  # else polars would guess whether days or months come first
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
    """The dates where a format fits every cell, with or without a time of day."""
    for whole in (form, *(f"{form} {clock}" for clock in CLOCKS)):
        try:
            dates = (
                text.str.to_datetime(whole, strict=False) if "%H" in whole else text.str.to_date(whole, strict=False)
            )
        except READ_ERRORS:
            continue
        if dates.null_count() == text.null_count() and plausible(dates):
            return dates
    return None


def plausible(dates: pl.Series) -> bool:
    """Whether no year is that of two digits read as four: 0006 for 06."""
    first = dates.dt.year().min()
    return first is None or int(first) >= 1000  # type: ignore[arg-type]


def refuse_doubt(text: pl.Series, one: pl.Series, other: pl.Series) -> None:
    if one.dtype == other.dtype and one.equals(other):
        return
    row = int((one.cast(pl.Datetime) != other.cast(pl.Datetime)).arg_max() or 0)
    raise InputError(
        f"column {text.name!r} is declared date, but {text[row]!r} (row {row}) may be {one[row]!s} or {other[row]!s}, "
        f"and no other row tells which.",
        "write dates as 2026-01-31, or declare it text.",
    )
