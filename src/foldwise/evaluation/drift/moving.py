"""Give a column its training distribution again, by the smallest change: how far predictions move is its effect.

Numbers keep their order: each becomes the training quantile of its own rank. Of a category that has become more
frequent, as many random cells as are too many are turned into categories that have become rarer. Missing cells are
treated alike.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from foldwise.evaluation.drift.profiles import ColumnProfile, counted_in, numbers_of

FEW_VALUES = 20  # a number with fewer different values is not interpolated


def moved_back(column: pl.Series, profile: ColumnProfile, rng: np.random.Generator) -> pl.Series | None:
    """Return the column with its training distribution; None if that cannot be done, as for free text.

    Examples
    --------
    >>> from foldwise.evaluation.drift.profiles import profile_column
    >>> before = profile_column(pl.Series("x", [1.0, 2.0, 3.0, 4.0]))
    >>> moved_back(pl.Series("x", [30.0, 10.0, 40.0, 20.0]), before, np.random.default_rng(0)).to_list()
    [3.0, 1.0, 4.0, 2.0]
    """
    if profile.kind == "length" or not profile.n_known:
        return None
    return moved_levels(column, profile, rng) if profile.kind == "category" else moved_numbers(column, profile, rng)


def moved_numbers(column: pl.Series, profile: ColumnProfile, rng: np.random.Generator) -> pl.Series:
    numbers = numbers_of(column)
    assert numbers is not None
    values = numbers.copy()
    missing = ~np.isfinite(values)
    share = profile.n_missing / profile.n_rows
    surplus = round(missing.sum() - share * len(values))
    filled = rng.choice(np.flatnonzero(missing), surplus, replace=False) if surplus > 0 else np.empty(0, dtype=np.intp)
    rank = np.full(len(values), np.nan)
    known = ~missing
    if known.any():
        rank[known] = (stats.rankdata(values[known]) - 0.5) / known.sum()
    rank[filled] = rng.uniform(size=len(filled))
    some = np.isfinite(rank)
    values[some] = quantile_at(profile, rank[some])
    if surplus < 0:
        values[rng.choice(np.flatnonzero(known), -surplus, replace=False)] = np.nan
    found = pl.Series(column.name, values).fill_nan(None)
    if column.dtype.is_temporal():
        return found.round().cast(pl.Int64).cast(counted_in(column.dtype)).cast(column.dtype)
    return found.round().cast(column.dtype, strict=False) if column.dtype.is_integer() else found


def quantile_at(profile: ColumnProfile, rank: NDArray[np.float64]) -> NDArray[np.float64]:
    """The training quantile of each rank."""
    share = profile.below / profile.n_known
    if len(profile.grid) >= FEW_VALUES:
        return np.asarray(np.interp(rank, share, profile.grid))
    return np.asarray(profile.grid[np.minimum(np.searchsorted(share, rank), len(profile.grid) - 1)])


def moved_levels(column: pl.Series, profile: ColumnProfile, rng: np.random.Generator) -> pl.Series:
    names: list[str | None] = [*profile.levels, None]
    index = {level: k for k, level in enumerate(profile.levels)}
    cells = column.cast(pl.String).to_list()
    unseen = len(names)
    codes = np.array([len(names) - 1 if cell is None else index.get(cell, unseen) for cell in cells])
    n = len(codes)
    total = profile.n_rows - profile.n_others
    wanted = np.append(np.append(profile.counts, profile.n_missing) * n / max(1, total), 0.0)
    if profile.n_others:  # cells of unnamed categories stay as they are
        wanted = wanted * (codes != unseen).sum() / n
        wanted[unseen] = (codes == unseen).sum()
    there = np.bincount(codes, minlength=len(names) + 1)
    too_few = np.maximum(wanted - there, 0.0)[:-1]
    if too_few.sum() > 0:
        for k in np.flatnonzero(there - wanted >= 1):
            some = rng.choice(np.flatnonzero(codes == k), int(there[k] - wanted[k]), replace=False)
            codes[some] = rng.choice(len(names), len(some), p=too_few / too_few.sum())
    kept = [cells[i] if k == unseen else names[k] for i, k in enumerate(codes.tolist())]
    found = pl.Series(column.name, kept, dtype=pl.String)
    return found == "true" if column.dtype == pl.Boolean else found
