"""Tables without outliers, and the same tables with one typing error. The benchmark of outliers uses them, too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

N_ROWS = 500


def gaussian(rng: np.random.Generator) -> pl.DataFrame:
    """Six independent normal columns, such as heights in centimeters."""
    return pl.DataFrame(rng.normal(170.0, 10.0, size=(N_ROWS, 6)).round(1), schema=list("abcdef"))


def correlated(rng: np.random.Generator) -> pl.DataFrame:
    """Six normal columns that share two factors."""
    factors, loadings = rng.normal(size=(N_ROWS, 2)), rng.normal(size=(2, 6))
    return pl.DataFrame(
        (100.0 + 10.0 * (factors @ loadings) + rng.normal(size=(N_ROWS, 6)) * 3.0), schema=list("abcdef")
    )


def heavy_tailed(rng: np.random.Generator) -> pl.DataFrame:
    """Three t-distributed columns with three degrees of freedom, and three lognormal ones."""
    t = 100.0 + 5.0 * rng.standard_t(3, size=(N_ROWS, 3))
    return pl.DataFrame(np.hstack([t, np.exp(rng.normal(4.0, 0.7, size=(N_ROWS, 3)))]), schema=list("abcdef"))


def mixed(rng: np.random.Generator) -> pl.DataFrame:
    """Numbers, counts and categories that depend on each other, with 5% missing cells."""
    group = rng.choice(3, N_ROWS, p=[0.6, 0.3, 0.1])
    frame = pl.DataFrame(
        {
            "a": rng.normal(60.0 + 10.0 * group, 8.0),
            "b": rng.gamma(4.0, 20.0, N_ROWS).round(),
            "c": rng.poisson(3.0 + group),
            "d": np.array(["red", "green", "blue"])[
                np.where(rng.random(N_ROWS) < 0.8, group, rng.integers(0, 3, N_ROWS))
            ],
            "e": rng.choice(["yes", "no"], N_ROWS, p=[0.1, 0.9]),
            "f": rng.choice(list("uvwxyz"), N_ROWS),
        }
    )
    holes = rng.random((N_ROWS, frame.width)) < 0.05
    return frame.with_columns(
        pl.when(pl.Series(~holes[:, j])).then(pl.col(name)).otherwise(None).alias(name)
        for j, name in enumerate(frame.columns)
    )


CLEAN: dict[str, Callable[[np.random.Generator], pl.DataFrame]] = {
    "Gaussian": gaussian,
    "correlated": correlated,
    "heavy-tailed": heavy_tailed,
    "mixed": mixed,
}


def planted(kind: str, seed: int, error: str = "decimal point lost") -> tuple[pl.DataFrame, int, str]:
    """Return a clean table with one typing error in a number, its row and its column."""
    rng = np.random.default_rng([11, seed])
    frame = CLEAN[kind](rng)
    column = "a" if kind == "mixed" else str(rng.choice(frame.columns))
    if kind == "heavy-tailed":
        column = str(rng.choice(["a", "b", "c"]))
    row = int(rng.choice(np.flatnonzero(frame[column].is_not_null().to_numpy())))
    value = frame[column].cast(pl.Float64)[row]
    values = frame[column].cast(pl.Float64).to_list()
    values[row] = with_error(value, error)
    return frame.with_columns(pl.Series(column, values)), row, column


def with_error(value: float, error: str) -> float:
    """Type 171.3 wrongly: as 1713 (decimal point lost), 711.3 (digits swapped) or 1171.3 (digit twice)."""
    if error == "decimal point lost":
        return value * 10.0
    text = f"{value:.1f}"
    whole = text.lstrip("-")
    if error == "digit twice":
        return float(text.replace(whole[0], whole[0] * 2, 1))
    return float(text.replace(whole[:2], whole[1] + whole[0], 1))
