"""Find numbers that may mean "missing": −200, 999, or a 0 far from all other values. They are reported, not changed."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

SENTINELS = (-1, -9, -99, -200, -999, -9999, -99999, 99, 999, 9999, 99999, 999999)


@dataclass(frozen=True)
class DisguisedMissing:
    """A value of a column that may mean "missing", the number of rows that hold it, and why it may."""

    column: str
    value: float
    rows: int
    reason: str


def find_disguised_missing(column: pl.Series) -> DisguisedMissing | None:
    """Return the value of a numeric column that may mean "missing"; None if there is no such value."""
    if not column.dtype.is_numeric():
        return None
    present = column.drop_nulls().cast(pl.Float64)
    present = present.filter(present.is_finite())
    if len(present) < 10:
        return None
    low, high = extremes(present)
    for value in (low, high, 0.0):
        if value not in SENTINELS and not (value == 0 and low == 0):
            continue
        others = present.filter(present != value)
        rows = len(present) - len(others)
        if rows < 2 or (others.head(1000).n_unique() < 5 and others.n_unique() < 5):
            continue
        reason = far_off(value, rows, others)
        if reason:
            return DisguisedMissing(column.name, value, rows, reason)
    return None


def extremes(values: pl.Series) -> tuple[float, float]:
    return float(values.min()), float(values.max())  # type: ignore[arg-type]


def far_off(value: float, rows: int, others: pl.Series) -> str:
    """Say why a value does not belong to the others; empty if it may belong to them."""
    low, high = extremes(others)
    said = f"all other values lie between {low:g} and {high:g}"
    if value == 0:
        if rows > len(others) or not (low >= 5 or low != round(low) or not is_whole(others)):
            return ""
        middle = float(others.median() or 0.0)  # type: ignore[arg-type]
        return said if low > 0 and low >= 0.05 * middle and low >= 2 * step(others) else ""
    if value < 0 <= low and (value <= -9 or low > 0):
        return said
    distance = max(low - value, value - high)
    return said if abs(value) > 9 and distance > high - low else ""


def is_whole(values: pl.Series) -> bool:
    return bool((values == values.round()).all())


def step(values: pl.Series) -> float:
    """Return the median distance between neighboring values."""
    gaps = values.unique().sort().diff().drop_nulls()
    return float(gaps.median() or 0.0)  # type: ignore[arg-type]
