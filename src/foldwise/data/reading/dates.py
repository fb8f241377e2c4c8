"""Read text as dates, times or durations if one format fits every cell.

A format is a pattern of `strptime`, or one of three names: `iso` for 2026-01-31 with any time of day and zone, `time`
for a time of day, and `duration`. If two formats fit and disagree, nothing is guessed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

import polars as pl

from foldwise.data.reading.protocol import READ_ERRORS
from foldwise.errors import InputError

Shape = Literal["date", "datetime", "time", "duration"]
ISO, TIME, DURATION = "iso", "time", "duration"
ISO_DATE = "%Y-%m-%d"
YEARS = ("%Y", "%y")
FORMATS = (
    ISO_DATE,
    "%Y/%m/%d",
    *(f"%{a}{mark}%{b}{mark}{year}" for mark in "/.-" for a, b in (("d", "m"), ("m", "d")) for year in YEARS),
    *(f"%d{mark}%{month}{mark}{year}" for mark in " -" for month in "bB" for year in YEARS),
    *("%B %d, %Y", "%b %d, %Y", "%B %d %Y", "%b %d %Y"),
)
FIRST_CELLS = 200
MOST_SHAPES = 4  # ways of writing dates in one column
CLOCKS = ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
ISO_CELL = r"^(\d{4}-\d{1,2}-\d{1,2})(?:[ T](\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?\s?(Z|UTC|[+-]\d{2}(?::?\d{2})?)?$"
CLOCK_CELL = r"^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$"
ISO_DURATION = r"^-?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$"
WORD_DURATION = (
    r"(?i)^-?(?:(\d+)\s?(?:w|weeks?),?\s?)?(?:(\d+)\s?(?:d|days?),?\s?)?(?:(\d+)\s?(?:h|hrs?|hours?),?\s?)?"
    r"(?:(\d+)\s?(?:m|mins?|minutes?),?\s?)?(?:(\d+(?:\.\d+)?)\s?(?:s|secs?|seconds?))?$"
)
CLOCK_DURATION = r"(?i)^-?()(?:(\d+)\s?(?:d|days?),?\s)?\+?(\d+):(\d{2})(?::(\d{2}(?:\.\d+)?))?$"
LETTER_UNIT = r"^-?\d+(\.\d+)?\s?[A-Za-z]$"
SECONDS = (604_800, 86_400, 3_600, 60, 1)


def dates_of(text: pl.Series) -> pl.Series:
    """Return dates, timestamps or times of day; cells that cannot be read are missing in the result.

    Timestamps with zones are converted to UTC. A column that two formats read differently is refused.
    """
    forms = formats_of(text)
    if len(forms) > 1:
        refuse_doubt(text, forms)
    if forms:
        return instants(text, forms[0])
    mixed = formats_by_shape(text)
    if mixed:
        return mixed_dates(text, mixed)
    found = pl.Series(text.name, [None] * len(text), dtype=pl.Datetime("us"))
    if text.str.contains(r"^\d{4}\D").any():  # otherwise polars would guess whether days or months come first
        with suppress(*READ_ERRORS):
            found = text.str.to_datetime(strict=False)
    return found


def shapes_of_cells(text: pl.Series) -> pl.Series:
    """Return how each cell is written, whatever its numbers and words: d/d/Y for 2/18/2022."""
    words = text.str.strip_chars().str.replace_all(r"\p{L}+\.?", "a")
    return words.str.replace_all(r"\d{3,}", "Y").str.replace_all(r"\d{1,2}", "d")


def formats_by_shape(text: pl.Series) -> dict[str, str]:
    """Return the format of each way in which dates are written, if there are several; else nothing.

    Each way must have exactly one format. Times of day and durations are not mixed with dates.
    """
    if shapes_of_cells(text.head(FIRST_CELLS)).drop_nulls().n_unique() > MOST_SHAPES:
        return {}
    shapes = shapes_of_cells(text)
    ways = shapes.drop_nulls().unique().sort().to_list()
    if not 2 <= len(ways) <= MOST_SHAPES:
        return {}
    found = {}
    for way in ways:
        forms = formats_of(text.filter(shapes == way))
        if len(forms) != 1 or forms[0] in (ISO, TIME, DURATION) or has_clock(forms[0]):
            return {}
        found[way] = forms[0]
    return found


def mixed_dates(text: pl.Series, formats: dict[str, str]) -> pl.Series:
    """Read each cell by the format of its way of writing."""
    shapes = shapes_of_cells(text)
    read = [
        pl.select(pl.when(shapes == way).then(local_times(text, form))).to_series() for way, form in formats.items()
    ]
    return pl.select(pl.coalesce(read)).to_series().alias(text.name)


def formats_of(text: pl.Series) -> list[str]:
    """Return the formats that fit every cell and disagree about the dates; none if no format fits."""
    text = text.str.strip_chars()
    present = text.drop_nulls()
    if not len(present):
        return []
    if present.str.contains(ISO_CELL).all():
        with_time = present.str.contains(r"[:Z+]|[T ]").any()
        form = ISO if with_time else ISO_DATE
        return [form] if fits(text, local_times(text, form)) else []
    found: list[str] = []
    parsed: list[pl.Series] = []
    first = present.head(FIRST_CELLS)  # rule out most formats
    for form in FORMATS[1:]:
        for whole in (form, *(f"{form} {clock}" for clock in CLOCKS)):
            if not fits(first, local_times(first, whole)):
                continue
            dates = local_times(text, whole)
            if fits(text, dates) and plausible(dates):
                if not any(dates.dtype == other.dtype and dates.equals(other) for other in parsed):
                    found.append(whole)
                    parsed.append(dates)
                break
    if found:
        return found
    if present.str.contains(CLOCK_CELL).all() and fits(text, local_times(text, TIME)):
        return [TIME]
    in_doubt = present.str.contains(LETTER_UNIT).any()  # 5m may be meters
    return [DURATION] if not in_doubt and fits(text, durations(text)) else []


def shape_of(form: str) -> Shape:
    """Say what a format describes."""
    if form in (TIME, DURATION):
        return form  # type: ignore[return-value]
    return "datetime" if form == ISO or has_clock(form) else "date"


def has_clock(form: str) -> bool:
    """Whether a format has a time of day, on a clock of 24 or of 12 hours."""
    return "%H" in form or "%I" in form


def local_times(text: pl.Series, form: str) -> pl.Series:
    """Return dates, timestamps, times of day or durations as they are written; other cells are missing."""
    text = text.str.strip_chars()
    if form == DURATION:
        return durations(text)
    try:
        if form == ISO:
            clock = text.str.extract(ISO_CELL, 2)
            short = ~clock.str.contains(r":\d{2}:")
            clock = pl.select(pl.when(short).then(clock + ":00").otherwise(clock)).to_series().fill_null("00:00:00")
            whole = text.str.extract(ISO_CELL, 1) + " " + clock
            return whole.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us").alias(text.name)
        if form == TIME:
            clock = pl.select(pl.when(text.str.contains(r":\d{2}:")).then(text).otherwise(text + ":00")).to_series()
            return clock.str.to_time("%H:%M:%S%.f", strict=False).alias(text.name)
        if has_clock(form):
            return text.str.to_datetime(form, strict=False, time_unit="us")
        return text.str.to_date(form, strict=False)
    except READ_ERRORS:
        return pl.Series(text.name, [None] * len(text), dtype=pl.Date)


def instants(text: pl.Series, form: str) -> pl.Series:
    """Return the same as `local_times`, but timestamps with zones in UTC, so that they can be compared."""
    local = local_times(text, form)
    if form != ISO:
        return local
    zone = text.str.strip_chars().str.extract(ISO_CELL, 3)
    if zone.null_count() == len(zone):
        return local
    hours, minutes = (
        zone.str.extract(pattern).cast(pl.Int64).fill_null(0) for pattern in (r"^[+-](\d{2})", r"^[+-]\d{2}:?(\d{2})")
    )
    sign = pl.select(pl.when(zone.str.starts_with("-")).then(-1).otherwise(1)).to_series()
    shift = (sign * (60 * hours + minutes) * 60_000_000).cast(pl.Duration("us"))
    return (local - shift).dt.replace_time_zone("UTC").alias(text.name)


def durations(text: pl.Series) -> pl.Series:
    """Read durations such as 36:15:00, 2 days 03:00:00, 1h 30m or PT45M; other cells are missing."""
    seconds = pl.Series(text.name, [None] * len(text), dtype=pl.Float64)
    for pattern in (CLOCK_DURATION, ISO_DURATION, WORD_DURATION):
        groups = [text.str.extract(pattern, k).cast(pl.Float64, strict=False) for k in range(1, 6)]
        filled = pl.select(pl.any_horizontal([~one.is_null() for one in groups])).to_series()
        total = pl.select(
            pl.sum_horizontal([one * size for one, size in zip(groups, SECONDS, strict=True)])
        ).to_series()
        signed = total * pl.select(pl.when(text.str.starts_with("-")).then(-1.0).otherwise(1.0)).to_series()
        here = text.str.contains(pattern) & filled
        seconds = pl.select(pl.when(here).then(signed).otherwise(seconds)).to_series()
    return (seconds * 1e6).round().cast(pl.Int64, strict=False).cast(pl.Duration("us")).alias(text.name)


def fits(text: pl.Series, found: pl.Series) -> bool:
    """Whether every cell was read."""
    return found.null_count() == text.null_count()


def plausible(dates: pl.Series) -> bool:
    """Whether all years have four digits: 06 must not be read as the year 6."""
    first = dates.dt.year().min()
    return first is None or int(first) >= 1000  # type: ignore[arg-type]


def refuse_doubt(text: pl.Series, forms: list[str]) -> None:
    """Refuse a column that two formats read differently."""
    one, other = (local_times(text, form).cast(pl.Datetime("us")) for form in forms[:2])
    row = int((one != other).arg_max() or 0)
    raise InputError(
        f"column {text.name!r} is declared date, but {text[row]!r} in row {row} may mean {day(one[row])} or "
        f"{day(other[row])}, and no other row settles it.",
        f"declare how it is written, kinds={{{text.name!r}: 'date:{forms[0]}'}} or 'date:{forms[1]}'.",
    )


def day(moment: object) -> str:
    """Write a moment for a sentence, without a time of day at midnight."""
    return str(moment).removesuffix(" 00:00:00")
