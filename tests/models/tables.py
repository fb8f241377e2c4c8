"""Tables for the tests of models: samples of real ones, and small nasty ones."""

from __future__ import annotations

import datetime as dt
from functools import cache

import numpy as np
import polars as pl

from foldwise import read_table
from foldwise.data.table import Table
from foldwise.data.view import view
from tests.tables import available, catalogue

# shipped: numbers; every kind with gaps; text; 14 rows
# real: numbers; categories with gaps; text; many classes; a constant and wholly missing columns; many levels
REAL = available(
    *("wine", "survey", "messages", "weather_numeric"),
    *("glass", "house_votes_84", "titanic", "soybean", "anneal", "eucalyptus", "adult"),
)


@cache
def real(name: str, rows: int = 150) -> Table:
    """Some rows of a real table, the same each time."""
    entry = catalogue()[name]
    table = read_table(entry["path"], target=entry["target"])
    chosen = np.random.default_rng(3).permutation(table.X.height)[:rows]
    return table_of(table.X[chosen], table.y[chosen], name)


def table_of(X: pl.DataFrame, y: np.ndarray, name: str = "table") -> Table:
    return Table(X, np.asarray(y), view(X).schema, name, "y")


def mixed(n: int = 90, seed: int = 0, gaps: float = 0.1) -> Table:
    """Numbers, few and many categories, truth values, words, dates; missing cells in each; the label hangs on some."""
    rng = np.random.default_rng(seed)
    color = rng.choice(["red", "green", "blue"], n)
    size = rng.normal(5, 2, n)
    city = rng.choice([f"city {i}" for i in range(25)], n)
    said = [" ".join(rng.choice(["win", "cash", "no", "yes", "lunch", "today", f"w{i}"], 6)) for i in range(n)]
    day = [dt.datetime(2020, 1, 1) + dt.timedelta(hours=int(h)) for h in rng.integers(0, 9000, n)]
    y = np.where(size + 2 * (color == "red") + rng.normal(0, 1, n) > 5.5, "up", "down")
    columns = {
        "size": size.tolist(),
        "rings": rng.integers(0, 9, n).tolist(),
        "color": color.tolist(),
        "city": city.tolist(),
        "member": rng.choice([True, False], n).tolist(),
        "said": said,
        "day": day,
    }
    for cells in columns.values():
        for i in np.flatnonzero(rng.random(n) < gaps):
            cells[i] = None
    return table_of(pl.DataFrame(columns), y, "mixed")


def nasty() -> dict[str, Table]:
    """Tables that break careless code."""
    rng = np.random.default_rng(1)
    n = 24
    y = np.array(["a", "b"] * (n // 2))
    numbers = rng.normal(0, 1, n)
    empty = pl.Series("empty", [None] * n, dtype=pl.Float64)
    return {
        "a class of one row": table_of(
            pl.DataFrame({"x": numbers, "c": ["u", "v"] * 12}), np.array(["a", "b"] * 11 + ["a", "c"])
        ),
        "a column without a cell": table_of(pl.DataFrame([pl.Series("x", numbers), empty]), y),
        "nothing but empty columns": table_of(pl.DataFrame([empty, empty.cast(pl.String).alias("text")]), y),
        "a constant column only": table_of(pl.DataFrame({"x": [1.0] * n}), y),
        "an identifier only": table_of(pl.DataFrame({"id": list(range(n))}), y),
        "infinite and huge numbers": table_of(
            pl.DataFrame({"x": [np.inf, -np.inf, 1e300, -1e300, 5.0, 0.0] * 4, "z": numbers}), y
        ),
        "one category a row": table_of(pl.DataFrame({"c": [f"k{i % 20}" for i in range(n)], "x": numbers}), y),
        "labels of truth": table_of(pl.DataFrame({"x": numbers}), y == "a"),
        "labels of numbers": table_of(pl.DataFrame({"x": numbers, "c": ["u", None] * 12}), np.array([3, 7, 11] * 8)),
        "names with odd signs": table_of(pl.DataFrame({"a__b": numbers, "[<c>] ,": ["u", "v"] * 12, "": numbers}), y),
        "texts without words": table_of(
            pl.DataFrame({"t": pl.Series(["!", "?"] * 12), "s": [f"word{i} and more of them" for i in range(n)]}), y
        ),
        "four rows": table_of(
            pl.DataFrame({"x": [1.0, 2.0, None, 4.0], "c": ["u", None, "v", "u"]}), np.array(list("abab"))
        ),
    }
