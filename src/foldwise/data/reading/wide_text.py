"""Read delimited text with many columns and few rows: all cells are converted at once instead of column by column.

Only text whose rows all have the same number of cells is read here, without quotes and decimal commas. Types are those
that a column gets when it is read as text and then converted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.reading.numbers import CODE, LOOK, PLAIN, plain_type
from foldwise.data.reading.protocol import READ_ERRORS, ReadOptions
from foldwise.data.reading.sniffing import NO_SEPARATOR, Dialect

FEWEST_COLUMNS = 500
MOST_CELLS = 20_000_000  # bounds the memory for cells as text
NUMBERS = (pl.Int64, pl.Int128, pl.Float64)  # the first type that fits all cells of a column is used


def read_wide(
    data: bytes, skip: int, names: Sequence[str], dialect: Dialect, options: ReadOptions
) -> tuple[pl.DataFrame, list[str]] | None:
    """Return the cells in their types, and the tokens that became missing cells; None if this text needs more care."""
    n_columns = len(names)
    if n_columns < FEWEST_COLUMNS or not dialect.separator or dialect.decimal != ".":
        return None
    if data.count(b"\n") * n_columns > MOST_CELLS or (dialect.quote and dialect.quote.encode() in data):
        return None
    cells = cells_by_column(data, skip, n_columns, dialect.separator)
    if cells is None:
        return None
    cells, seen = without_tokens(cells, n_columns, options.tokens)
    return pl.DataFrame(typed_columns(cells, names, frozenset(options.as_text))), seen


def cells_by_column(data: bytes, skip: int, n_columns: int, separator: str) -> pl.Series | None:
    """Return all cells as text, column after column; None if some row has another number of cells."""
    try:
        lines = pl.read_csv(
            data,
            has_header=False,
            skip_lines=skip,
            separator=NO_SEPARATOR,
            quote_char=None,
            schema={"line": pl.String},
            infer_schema=False,
            truncate_ragged_lines=False,
        )["line"]
    except READ_ERRORS:
        return None
    n_rows = len(lines)
    if not n_rows or lines.null_count() or (lines.str.count_matches(separator, literal=True) + 1 != n_columns).any():
        return None
    by_row = lines.str.split(separator).explode()
    order = np.arange(n_rows * n_columns, dtype=np.uint32).reshape(n_rows, n_columns).T.ravel()
    return by_row.gather(order)


def without_tokens(cells: pl.Series, n_columns: int, tokens: Sequence[str]) -> tuple[pl.Series, list[str]]:
    """Replace empty cells and tokens with nulls. Also return the tokens, in the order of their first columns."""
    every = list(dict.fromkeys(("", *tokens)))
    marked = cells.is_in(every)
    if not marked.any():
        return cells, []
    n_rows = len(cells) // n_columns
    found = pl.DataFrame({"token": cells, "column": np.arange(len(cells)) // n_rows}).filter(marked).unique()
    first = {
        token: (column, tokens.index(token))
        for token, column in found.sort("column", descending=True).rows()
        if token in tokens
    }
    return cells.set(marked, None), sorted(first, key=lambda token: first[token])


def typed_columns(cells: pl.Series, names: Sequence[str], as_text: frozenset[str]) -> list[pl.Series]:
    """Cut all cells into columns, each in its type."""
    n_columns = len(names)
    n_rows = len(cells) // n_columns
    missing = cells.is_null().to_numpy().reshape(n_columns, n_rows)
    n_missing = missing.sum(axis=1)
    open = likely_plain(cells, missing) & ~by_column(cells.str.contains(CODE), n_columns).any(axis=1)
    open &= np.array([name not in as_text for name in names])
    sources, starts = [cells], np.arange(n_columns) * n_rows
    source = np.zeros(n_columns, dtype=np.int64)
    for dtype in NUMBERS:
        if not open.any():
            break
        chosen = np.flatnonzero(open)
        part = cells if len(chosen) == n_columns else cells.filter(pl.Series(np.repeat(open, n_rows)))
        numbers = part.cast(dtype, strict=False)
        lost = by_column(numbers.is_null(), len(chosen)).sum(axis=1) != n_missing[chosen]
        fitting = chosen[~lost]
        source[fitting], starts[fitting] = len(sources), np.flatnonzero(~lost) * n_rows
        sources.append(numbers)
        open[fitting] = False
    columns = [
        sources[i].slice(start, n_rows).alias(name)
        for name, i, start in zip(names, source.tolist(), starts.tolist(), strict=True)
    ]
    for j in np.flatnonzero(open).tolist():  # truth values, or text after all
        columns[j] = plain_type(columns[j])
    return columns


def likely_plain(cells: pl.Series, missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether the first cell of each column that is not missing looks like a plain number or a truth value."""
    n_columns = len(missing)
    plain = by_column(cells.str.contains(f"(?i)^(?:{PLAIN.pattern})"), n_columns)
    first = (~missing[:, :LOOK]).argmax(axis=1)
    rows = np.arange(n_columns)
    unknown = missing[rows, first] & ~missing.all(axis=1)  # missing in all of the first rows
    found: NDArray[np.bool_] = (plain[rows, first] & ~missing[rows, first]) | unknown
    return found


def by_column(marks: pl.Series, n_columns: int) -> NDArray[np.bool_]:
    """Return marks of cells as an array of shape (n_columns, n_rows); a mark of a missing cell is false."""
    found: NDArray[np.bool_] = marks.fill_null(False).to_numpy().reshape(n_columns, -1)
    return found
