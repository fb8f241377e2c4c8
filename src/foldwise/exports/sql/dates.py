"""SQL of `DateFeatures`: numbers from dates, timestamps and times of day.

Functions of dates differ between databases and depend on their settings, so only the text of a cell is used:
2026-01-31, 2026-01-31 12:30:00 or 12:30:00, as databases write their own types. The calendar is arithmetic. Any other
text, such as a timestamp with a time zone, stops the query with an error, as in Python.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from foldwise.data.reading.dates import DURATION, ISO, ISO_CELL, local_times
from foldwise.errors import InputError
from foldwise.exports.sql.program import Feature, Input, RawColumn, SqlProgram
from foldwise.models.date_features import CYCLES, DAY, part_names

CLOCKS = ("00:00", "00:00:00")  # of cells in which every digit is replaced by 0


def date_features(fitted: Any, inputs: Sequence[Input], program: SqlProgram) -> list[Input]:
    columns = [one for one in inputs if isinstance(one, RawColumn)]
    return [part for column in columns for part in parts_of(column, fitted, program)]


def named_date_features(fitted: Any, inputs: Sequence[RawColumn], program: SqlProgram) -> list[RawColumn]:
    """Return the numbers as columns with the names that `DateFeatures` gives them."""
    names = [str(name) for name in fitted.get_feature_names_out()]
    found = program.numbers(date_features(fitted, inputs, program))
    return [RawColumn(name, "number", one.expression) for name, one in zip(names, found, strict=True)]


def parts_of(column: RawColumn, fitted: Any, program: SqlProgram) -> list[Input]:
    """Return the numbers of one column."""
    name, shape = column.name, fitted.shapes_[column.name]
    wanted = part_names(shape, fitted.parts)
    if not fitted.seen_[name]:
        zero = Feature(program.number(0.0), nullable=False)
        return [zero for part in wanted for _ in range(1 + part.endswith(" cycle"))]
    if shape == "duration":
        raise InputError(
            f"column {name!r} contains durations, which cannot be exported to SQL.",
            "convert them to numbers before training, or train the model without the column.",
        )
    program.dates[name] = fitted.formats_.get(name)
    (text,) = program.compute([f"CAST({column.expression} AS {program.dialect.text})"])
    found = numbers_of(text, name, shape, fitted.reference_[name], program)
    features: list[Input] = []
    for part in wanted:
        base = part.removesuffix(" cycle")
        if base == part:
            features.append(Feature(found[base]))
        else:
            angle = f"{program.number(2 * math.pi)} * {found[base]} / {program.number(CYCLES[base])}"
            features += [Feature(one) for one in program.compute([f"SIN({angle})", f"COS({angle})"])]
    return features


def numbers_of(text: str, name: str, shape: str, reference: float, program: SqlProgram) -> dict[str, str]:
    """Return the columns of the parts by name, all NULL if the cell is missing."""
    number, dialect = program.number, program.dialect
    (digits,) = program.compute([with_zeros(text)])
    right = is_time(digits, 1) if shape == "time" else is_date(digits)
    what = f"column {name} must contain a {shape} without time zone, but contains "
    stopped = dialect.error.format(dialect.concatenated([dialect.literal(what), text]))
    (good,) = program.compute([f"CASE WHEN {text} IS NULL OR {right} THEN {text} ELSE {stopped} END"])
    start = 1 if shape == "time" else 12

    def whole(first: int, length: int) -> str:
        return dialect.as_double(f"SUBSTR({good}, {first}, {length})")

    def clock(first: int, length: int) -> str:  # not written is 0
        return f"CASE WHEN LENGTH({good}) < {first} THEN {number(0.0)} ELSE {whole(first, length)} END"

    clocks = [clock(start, 2), clock(start + 3, 2), clock(start + 6, 2)]
    hour, minute, second = (f"CASE WHEN {good} IS NOT NULL THEN {one} END" for one in clocks)
    if shape == "time":
        h, m, s = program.compute([hour, minute, second])
        return {"hour": program.compute([f"{h} + {m} / {number(60)} + {s} / {number(3600)}"])[0]}
    padded = dialect.concatenated([f"SUBSTR({good}, 21, 6)", "'000000'"])
    fraction = f"SUBSTR({padded}, 1, 6)"
    micro = f"CASE WHEN LENGTH({good}) < 21 THEN {number(0.0)} ELSE {dialect.as_double(fraction)} END"
    written = [whole(1, 4), whole(6, 2), whole(9, 2), hour, minute, second, micro]
    y, month, day, h, m, s, us = program.compute(written)
    days = days_since_1970(y, month, day, program)
    seconds = f"({h} * {number(3600)} + {m} * {number(60)} + {s})"
    instant = f"({days} * {number(DAY)} + ({seconds} * {number(1e6)} + {us})) / {number(DAY)}"
    shifted = f"({days} + {number(3)})"
    elapsed, weekday, hours = program.compute(
        [
            f"{instant} - {number(reference)}",
            f"{shifted} - {number(7)} * FLOOR({shifted} / {number(7)}) + {number(1)}",
            f"{h} + {m} / {number(60)} + {s} / {number(3600)}",
        ]
    )
    return {"elapsed": elapsed, "year": y, "month": month, "weekday": weekday, "hour": hours}


def days_since_1970(year: str, month: str, day: str, program: SqlProgram) -> str:
    """Return the column of the days from 1970-01-01; years begin in March, so that a leap day is the last one.

    Howard Hinnant, chrono-compatible low-level date algorithms, `days_from_civil`.
    """
    number = program.number
    (y,) = program.compute([f"CASE WHEN {month} > {number(2)} THEN {year} ELSE {year} - {number(1)} END"])
    (era,) = program.compute([f"FLOOR({y} / {number(400)})"])
    since_march = f"({month} + CASE WHEN {month} > {number(2)} THEN {number(-3)} ELSE {number(9)} END)"
    in_era, in_year = program.compute(
        [
            f"{y} - {era} * {number(400)}",
            f"FLOOR(({number(153)} * {since_march} + {number(2)}) / {number(5)}) + {day} - {number(1)}",
        ]
    )
    leap = f"FLOOR({in_era} / {number(4)}) - FLOOR({in_era} / {number(100)})"
    days = f"{era} * {number(146097)} + {in_era} * {number(365)} + {leap} + {in_year} - {number(719468)}"
    return program.compute([days])[0]


def with_zeros(text: str) -> str:
    """Replace every digit of a text by 0."""
    for digit in "123456789":
        text = f"REPLACE({text}, '{digit}', '0')"
    return text


def is_date(digits: str) -> str:
    """Test for 0000-00-00, with or without a time of day."""
    mark = f"SUBSTR({digits}, 11, 1) IN (' ', 'T')"
    clock = f"LENGTH({digits}) = 10 OR ({mark} AND {is_time(digits, 12)})"
    return f"(SUBSTR({digits}, 1, 10) = '0000-00-00' AND ({clock}))"


def is_time(digits: str, start: int) -> str:
    """Test for 00:00, 00:00:00 and 00:00:00.0, with any number of digits, from some character on."""
    rest = f"SUBSTR({digits}, {start})"
    listed = ", ".join(f"'{clock}'" for clock in CLOCKS)
    fraction = f"SUBSTR({digits}, {start}, 9) = '00:00:00.' AND REPLACE(SUBSTR({digits}, {start + 9}), '0', '') = ''"
    return f"({rest} IN ({listed}) OR ({fraction}))"


def native_dates(frame: pl.DataFrame, formats: Mapping[str, str | None]) -> pl.DataFrame:
    """Return rows with dates instead of text, as a database stores them; refuse time zones."""
    for name, form in formats.items():
        column = frame[name]
        zoned = getattr(column.dtype, "time_zone", None) is not None
        if column.dtype == pl.String and form is not None and form != DURATION:
            zoned = form == ISO and column.str.strip_chars().str.extract(ISO_CELL, 3).is_not_null().any()
            frame = frame.with_columns(local_times(column, form).alias(name))
        if zoned:
            raise InputError(
                f"column {name!r} contains timestamps with time zones, which cannot be exported to SQL.",
                "convert them to UTC without a time zone before training, or train the model without the column.",
            )
    return frame
