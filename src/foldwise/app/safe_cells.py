"""Text in CSV files that a spreadsheet would execute as a formula is made harmless."""

from __future__ import annotations

import polars as pl

FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"  # text that is a number stays one


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe in front of headers and text cells that start a formula.

    >>> without_formulas(pl.DataFrame({"=x": ["=1+1", "-5", "a"], "n": [-1, 2, 3]})).to_dict(as_series=False)
    {"'=x": ["'=1+1", '-5', 'a'], 'n': [-1, 2, 3]}
    """
    texts = [name for name, kind in frame.schema.items() if kind in (pl.String, pl.Categorical, pl.Enum)]
    headers = pl.DataFrame({"text": frame.columns}, schema={"text": pl.String}).select(escaped("text"))["text"]
    safe = frame.with_columns(escaped(name) for name in texts)
    return safe.rename(dict(zip(frame.columns, headers.to_list(), strict=True)))


def escaped(column: str) -> pl.Expr:
    """A text column with an apostrophe in front of cells that start a formula."""
    cells = pl.col(column).cast(pl.String)
    risky = cells.str.contains(FORMULA) & ~cells.str.contains(NUMBER)
    return pl.when(risky).then(pl.lit("'") + cells).otherwise(cells).alias(column)
