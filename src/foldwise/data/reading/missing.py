"""Tokens that mean "missing", such as NA or ?: find them in a frame and replace them with nulls.

polars can look for tokens while it reads, but then it needs twice the time. So it gets only the tokens that would
prevent a column from being read as numbers; in text columns they are replaced afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from foldwise.data.arguments import column_index
from foldwise.data.notes import Note, counted
from foldwise.data.reading.numbers import convert
from foldwise.data.reading.protocol import ReadOptions, token_strings
from foldwise.data.schema import listing

SMALL = 1 << 13
ALL_COLUMNS = "*"


def is_numeric(token: str) -> bool:
    """Whether a token would be read as a number, so that polars must know it."""
    try:
        return float(token) == float(token)
    except ValueError:
        return False


def tokens_of(frame: pl.DataFrame, tokens: Sequence[str]) -> dict[str, list[str]]:
    """Return the tokens in each text column that contains any."""
    if not tokens or not frame.height:
        return {}
    if frame.height <= SMALL:  # in a small sample, searching all cells at once costs less than column by column
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
    """Return the tokens that polars must know to read the columns that are not text."""
    beside = {token for name, words in found.items() if types[name] != pl.String for token in words}
    return [token for token in tokens if is_numeric(token) or (token and token in beside)]


def mark_missing(frame: pl.DataFrame, tokens: Sequence[str]) -> tuple[pl.DataFrame, dict[str, list[str]]]:
    """Replace tokens, and NaN if it is one of them, with nulls. Also return the tokens found in each column."""
    found = tokens_of(frame, tokens)
    changed = [frame[name].set(frame[name].is_in(words), None) for name, words in found.items()]
    if "NaN" in tokens:
        floats = [name for name, kind in frame.schema.items() if kind.is_float()]
        any_nan = frame.select(pl.col(floats).is_nan().any()) if floats else pl.DataFrame()
        for name in (series.name for series in any_nan if series[0]):
            changed.append(frame[name].fill_nan(None))
            found[name] = ["NaN"]
    return (frame.with_columns(changed) if changed else frame), found


def cells_with(column: pl.Series, tokens: Sequence[str]) -> pl.Series:
    """Whether each cell is one of the tokens; numbers are compared as numbers."""
    if column.dtype.is_numeric():
        return column.cast(pl.Float64).is_in([float(token) for token in tokens if is_numeric(token)])
    return column.cast(pl.String).is_in(list(tokens))


def without_cells(column: pl.Series, marked: pl.Series) -> pl.Series:
    """Set the marked cells to null; levels are kept."""
    return pl.select(pl.when(~marked).then(column).alias(column.name)).to_series()


def with_missing(frame: pl.DataFrame, missing_values: Sequence[str] | None) -> tuple[pl.DataFrame, list[str]]:
    """Replace tokens with nulls in columns of text and numbers. Also return the tokens found."""
    tokens = missing_values or ()
    changed, seen = [], set()
    for column in frame if tokens else ():
        if column.dtype in (pl.String, pl.Categorical, pl.Enum) or column.dtype.is_numeric():
            marked = cells_with(column, tokens)
            if marked.any():
                seen |= {token for token in tokens if cells_with(column, [token]).any()}
                changed.append(without_cells(column, marked))
    return frame.with_columns(changed), [token for token in tokens if token in seen]


def everywhere(missing_values: Any) -> tuple[str, ...]:
    """Return the tokens that a mapping gives for all columns."""
    return token_strings(missing_values.get(ALL_COLUMNS)) or () if isinstance(missing_values, Mapping) else ()


def plain_tokens(missing_values: Any) -> dict[str, list[str]] | list[str] | None:
    """Return the argument `missing_values` as plain values that a model file can store."""
    if isinstance(missing_values, Mapping):
        return {str(name): list(token_strings(given) or ()) for name, given in missing_values.items()}
    tokens = token_strings(missing_values)
    return None if tokens is None else list(tokens)


def with_column_tokens(
    frame: pl.DataFrame, tokens: Mapping[str, Any], options: ReadOptions, decimal: str
) -> tuple[pl.DataFrame, list[Note]]:
    """Replace tokens that are given for single columns, or for all of them, with nulls."""
    frame, seen = with_missing(frame, everywhere(tokens))
    notes = [Note("missing", f"{listing(seen)} in any column was read as missing, as requested.")] if seen else []
    for name, given in tokens.items():
        if name == ALL_COLUMNS:
            continue
        column_index("missing_values", str(name), frame.columns)
        words = token_strings(given) or ()
        marked = cells_with(frame[name], words)
        column = without_cells(frame[name], marked)
        converted: list[Note] = []
        if column.dtype == pl.String:
            column, converted = convert(column, options, decimal)
        frame = frame.with_columns(column)
        n_cells = counted(int(marked.sum() or 0), "missing cell")
        note = f"found {n_cells} in {name!r} ({listing(words)}, as requested)."
        notes += [Note("missing", note, name), *converted]
    return frame, notes


def missing_notes(seen: Sequence[str], frame: pl.DataFrame) -> list[Note]:
    """Say how many cells are missing, and which tokens they held."""
    n_missing = sum(frame.null_count().row(0)) if frame.width else 0
    if not n_missing:
        return []
    words = " or ".join([*(repr(token) for token in dict.fromkeys(seen) if token), "empty"])
    return [Note("missing", f"found {counted(n_missing, 'missing cell')} ({words}).")]
