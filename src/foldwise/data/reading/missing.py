"""Cells of text that mean "missing": which tokens stand in a frame, and the frame without them.

polars can look for tokens while it reads, at half its speed. So only tokens that a number could not be read beside are
given to it; in columns of text they are found afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from foldwise.data.arguments import column_index
from foldwise.data.notes import Note
from foldwise.data.reading.numbers import convert
from foldwise.data.reading.options import ReadOptions, token_strings
from foldwise.data.schema import listing

SMALL = 1 << 13


def is_numeric(token: str) -> bool:
    """Whether a token would be read as a number, so that it must be known beforehand."""
    try:
        return float(token) == float(token)
    except ValueError:
        return False


def tokens_of(frame: pl.DataFrame, tokens: Sequence[str]) -> dict[str, list[str]]:
    """The tokens that stand in each column of text that holds any."""
    if not tokens or not frame.height:
        return {}
    if frame.height <= SMALL:  # one look at all cells of a sample costs less than a look at each column
        texts = [series.alias("") for series in frame if series.dtype == pl.String]
        if not texts or not pl.concat(texts).is_in(list(tokens)).any():
            return {}
    longest = max(len(token.encode("utf-8", "replace")) for token in tokens)
    short = pl.col(pl.String).filter(pl.col(pl.String).str.len_bytes() <= longest)
    any_found = frame.select(short.is_in(list(tokens)).any())
    names = [series.name for series in any_found if series[0]]
    found = {name: frame[name].filter(frame[name].is_in(list(tokens))).unique().to_list() for name in names}
    return {name: [token for token in tokens if token in cells] for name, cells in found.items()}


def tokens_beside_numbers(
    found: Mapping[str, Sequence[str]], types: Mapping[str, pl.DataType], tokens: Sequence[str]
) -> list[str]:
    """The tokens that polars must know to read the columns that are no text."""
    beside = {token for name, words in found.items() if types[name] != pl.String for token in words}
    return [token for token in tokens if is_numeric(token) or (token and token in beside)]


def mark_missing(frame: pl.DataFrame, tokens: Sequence[str]) -> tuple[pl.DataFrame, dict[str, list[str]]]:
    """The frame with its tokens, and NaN where that is one, as missing cells; and the tokens found, by column."""
    found = tokens_of(frame, tokens)
    changed = [frame[name].set(frame[name].is_in(words), None) for name, words in found.items()]
    if "NaN" in tokens:
        for series in frame:
            if series.dtype.is_float() and series.is_nan().any():
                changed.append(series.fill_nan(None))
                found[series.name] = ["NaN"]
    return (frame.with_columns(changed) if changed else frame), found


def with_column_tokens(
    frame: pl.DataFrame, tokens: Mapping[str, Any], options: ReadOptions, decimal: str
) -> tuple[pl.DataFrame, list[Note]]:
    """The frame with tokens that are named for single columns as missing cells."""
    notes = []
    for name, given in tokens.items():
        column_index("missing_values", str(name), frame.columns)
        column, words = frame[name], list(token_strings(given) or ())
        if column.dtype.is_numeric():
            marked = column.cast(pl.Float64).is_in([float(word) for word in words if is_numeric(word)])
        else:
            marked = column.cast(pl.String).is_in(words)
        rows = int(marked.sum() or 0)
        cleaned = convert(column.set(marked, None), options, decimal) if column.dtype == pl.String else None
        series = pl.select(pl.when(~marked).then(column)).to_series().alias(name) if cleaned is None else cleaned.series
        frame = frame.with_columns(series)
        notes += [
            Note("missing", f"{rows:,} cells of {name!r} that hold {listing(words)}, as requested.", name),
            *(cleaned.notes if cleaned is not None else ()),
        ]
    return frame, notes


def missing_notes(seen: Sequence[str], frame: pl.DataFrame) -> list[Note]:
    """How many cells are missing, and which tokens they held."""
    n_missing = sum(frame.null_count().row(0)) if frame.width else 0
    if not n_missing:
        return []
    words = ", ".join(repr(token) for token in dict.fromkeys(seen) if token)
    return [Note("missing", f"{n_missing:,} cells: empty ones{f', and those that hold {words}' if words else ''}.")]
