"""Encodes a table without a target: which columns are numbers, which are categories, and which are left out and why.

Columns are judged by their values. Identifiers, free text and constant columns say nothing about how alike rows are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from foldwise.arrays import Floats
from foldwise.data.column_scan import scan_columns
from foldwise.data.findings import Finding, findings, short
from foldwise.data.frames import as_polars
from foldwise.data.notes import counted
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.neighbors.encoding import MISSING, UNKNOWN, EncodedRows

SHOWN = 5  # columns that an error names


@dataclass(frozen=True)
class RowEncoder:
    """The columns of a table that can be compared, and how their cells are encoded.

    Attributes
    ----------
    numbers : tuple of str
        Columns compared as numbers. Dates and times count as numbers.
    categories : tuple of str
        Columns compared as categories.
    levels : tuple of tuple of str
        The known levels of each category column, as text.
    left_out : mapping of str to str
        The other columns, each with the reason.
    """

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    left_out: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are compared: numbers first, then categories."""
        return (*self.numbers, *self.categories)

    def encode(self, frame: pl.DataFrame) -> EncodedRows:
        """Encode rows of this or of another table with the same columns."""
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            raise InputError(f"the table has no column {listing(absent)}.", "pass rows with the same columns.")
        numbers = np.empty((frame.height, len(self.numbers)))
        for j, name in enumerate(self.numbers):
            numbers[:, j] = numbers_of_series(frame[name])
        codes = np.empty((frame.height, len(self.categories)), dtype=np.int32)
        for j, (name, levels) in enumerate(zip(self.categories, self.levels, strict=True)):
            texts = texts_of(frame[name])
            known = pl.DataFrame({"level": levels, "code": np.arange(len(levels), dtype=np.int32)})
            found = pl.DataFrame({"level": texts}).join(known, on="level", how="left", maintain_order="left")
            filled = found["code"].fill_null(UNKNOWN).to_numpy()
            codes[:, j] = np.where(texts.is_null().to_numpy(), MISSING, filled)
        return EncodedRows(numbers, codes, tuple(map(len, self.levels)))

    def cell(self, frame: pl.DataFrame, row: int, column: str) -> Any:
        """Return one cell as a plain value; None if it is missing."""
        value = frame[column][row]
        return None if isinstance(value, float) and np.isnan(value) else value


def learn_encoder(frame: pl.DataFrame) -> RowEncoder:
    """Decide by their values how the columns of a frame are compared."""
    if not frame.height or not frame.width:
        raise InputError(
            f"the table must have rows and columns, got {counted(frame.height, 'row')} and "
            f"{counted(frame.width, 'column')}."
        )
    found = findings(frame, {}, scan_columns(frame, None))
    numbers, categories, left_out = [], [], {}
    for finding in found:
        name, reason = finding.column, why_left_out(finding, frame[finding.column].dtype)
        if reason:
            left_out[name] = reason
        elif finding.kind != "binary" and (frame[name].dtype.is_numeric() or frame[name].dtype.is_temporal()):
            numbers.append(name)
        else:
            categories.append(name)
    if not numbers and not categories:
        named = [f"{name!r} ({reason})" for name, reason in list(left_out.items())[:SHOWN]]
        more = f" and {len(left_out) - SHOWN:,} more" if len(left_out) > SHOWN else ""
        raise InputError(
            f"the table must have a column that rows can be compared by, but all are left out: "
            f"{', '.join(named)}{more}.",
            "pass at least two different rows, and a column of numbers or of categories that repeat.",
        )
    levels = tuple(tuple(texts_of(frame[name]).drop_nulls().unique().sort().to_list()) for name in categories)
    return RowEncoder(tuple(numbers), tuple(categories), levels, left_out)


def encode_table(table: Any) -> tuple[pl.DataFrame, RowEncoder, EncodedRows]:
    """Convert any table to a frame, learn how to compare its columns, and encode its rows."""
    frame = as_polars(table)
    encoder = learn_encoder(frame)
    return frame, encoder, encoder.encode(frame)


def why_left_out(finding: Finding, dtype: pl.DataType) -> str:
    """Say why a column does not tell how alike rows are; empty if it does."""
    if finding.kind in ("identifier", "text", "constant"):
        return f"{finding.kind}: {finding.reason}"
    if finding.kind == "date" and not dtype.is_temporal():
        return f"dates as {finding.reason}"
    return ""


def numbers_of_series(series: pl.Series) -> Floats:
    """Return the cells of a column as float64, missing ones as NaN, and refuse infinity."""
    plain = series.to_physical() if series.dtype.is_temporal() else series
    try:
        values = plain.cast(pl.Float64).to_numpy()
    except pl.exceptions.PolarsError as error:
        raise InputError(f"column {series.name!r} must be numeric, but has the type {series.dtype}.") from error
    infinite = np.isinf(values)
    if infinite.any():
        raise InputError(
            f"column {series.name!r} contains infinity (inf) in row {int(infinite.argmax())}.",
            "replace it with a finite number or a missing value.",
        )
    return np.asarray(values, dtype=np.float64)


def texts_of(series: pl.Series) -> pl.Series:
    """Return the cells of a category column as text, so that 1, 1.0 and True of two tables have one spelling each."""
    if series.dtype.is_numeric():
        series = series.cast(pl.Float64).fill_nan(None)
    return series.cast(pl.String).alias("level")


def left_out_words(left_out: Mapping[str, str]) -> str:
    """Name the columns that were not compared, with reasons, in one sentence; empty if there are none."""
    if not left_out:
        return ""
    named = [f"{name!r} ({reason})" for name, reason in list(left_out.items())[:SHOWN]]
    more = f" and {len(left_out) - SHOWN:,} more" if len(left_out) > SHOWN else ""
    return f"Not compared: {', '.join(named)}{more}."


def cell_text(value: Any) -> str:
    """Write a cell for a sentence."""
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else short(value).strip("'")
