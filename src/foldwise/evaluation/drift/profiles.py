"""`ColumnProfile`: a small summary of a training column, and counts of new cells on the same grid.

A number, or a date, is described by a grid of its quantiles and by how many training cells are at most as large as
each. A category is described by its levels with their counts. Nothing else of the training rows is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from foldwise.arrays import Floats, Ints
from foldwise.errors import InputError

ProfileKind = Literal["number", "category", "length"]

GRID = 100  # quantiles of a number
MOST_LEVEL_TEXT = 100  # characters of a level
MOST_NUMBERS = 200_000  # in all profiles of a table
LEAST_GRID = 10
UNIQUE_SHARE = 0.5  # a text column with more different cells is described by the length of its texts
FEW_ROWS = 20
LEAST_PRIVATE = 5  # cells of a level that may be named if rows of data must not be stored


@dataclass(frozen=True)
class ColumnProfile:
    """A summary of one training column.

    Attributes
    ----------
    name : str
        The column.
    kind : {"number", "category", "length"}
        How its cells are described; "length" is the number of characters of a free text.
    n_rows, n_missing : int
        Training rows, and missing cells among them.
    grid : ndarray
        Quantiles of a number, each once; empty for a category.
    below : ndarray of int
        How many training cells are at most as large as each quantile.
    levels : tuple of str
        The categories, the most frequent first.
    counts : ndarray of int
        The number of training cells of each category.
    n_others : int
        Cells of further categories, which are not named.
    """

    name: str
    kind: ProfileKind
    n_rows: int
    n_missing: int
    grid: Floats
    below: Ints
    levels: tuple[str, ...] = ()
    counts: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_others: int = 0

    @property
    def n_known(self) -> int:
        """Training cells that are not missing."""
        return self.n_rows - self.n_missing

    @property
    def bins(self) -> Ints:
        """Training cells of each bin of the grid, or of each category and of all others together."""
        if self.kind == "category":
            return np.append(self.counts, self.n_others)
        return np.diff(self.below, prepend=0, append=self.n_known)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a model file."""
        about = {"name": self.name, "kind": self.kind, "rows": self.n_rows, "missing": self.n_missing}
        if self.kind == "category":
            return {**about, "levels": list(self.levels), "counts": self.counts.tolist(), "others": self.n_others}
        return {**about, "grid": self.grid.tolist(), "below": self.below.tolist()}

    @classmethod
    def of_dict(cls, given: Any) -> ColumnProfile:
        """Read a profile from a model file. Raise if it is not one."""
        try:
            about = (str(given["name"]), given["kind"], int(given["rows"]), int(given["missing"]))
            empty: Any = (np.empty(0), np.empty(0, dtype=np.int64))
            if about[1] == "category":
                levels, counts = tuple(map(str, given["levels"])), np.array(given["counts"], dtype=np.int64)
                found = cls(*about, empty[0], empty[1], levels, counts, int(given["others"]))
                ok = counts.shape == (len(levels),) and bool((found.bins >= 0).all())
                ok = ok and int(found.bins.sum()) == found.n_known
            else:
                grid = np.array(given["grid"], dtype=np.float64)
                found = cls(*about, grid, np.array(given["below"], dtype=np.int64))
                ok = found.below.shape == grid.shape and bool((found.bins >= 0).all() and (np.diff(grid) > 0).all())
                ok = ok and about[1] in ("number", "length")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise damaged_profile() from error
        if not ok or not 0 <= found.n_missing <= found.n_rows:
            raise damaged_profile()
        return found


def damaged_profile() -> InputError:
    return InputError("the summaries of training columns in the model file are damaged.", "fit the model again.")


def profile_table(frame: pl.DataFrame, *, private: bool = False) -> list[ColumnProfile]:
    """Summarize all columns of a training table.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns.
    private : bool, default False
        Whether rare categories and the lowest and highest number must not be stored, because they may identify a row.

    Returns
    -------
    list of ColumnProfile
        One per column.

    Examples
    --------
    >>> (found,) = profile_table(pl.DataFrame({"color": ["red", "red", None, "blue"]}))
    >>> found.levels, found.counts.tolist(), found.n_missing
    (('red', 'blue'), [2, 1], 1)
    """
    size = int(np.clip(MOST_NUMBERS // max(1, frame.width), LEAST_GRID, GRID))
    return [profile_column(column, size, private) for column in frame.iter_columns()]


def profile_column(column: pl.Series, size: int = GRID, private: bool = False) -> ColumnProfile:
    """Summarize one column; `size` is the number of quantiles, and of categories at most twice as many."""
    n_rows, n_missing = len(column), column.null_count()
    numbers = numbers_of(column)
    if numbers is None:
        texts = column.cast(pl.String).drop_nulls()
        counts = texts.value_counts(name="n").sort("n", column.name, descending=[True, False])
        if column.dtype != pl.String or counts.height <= UNIQUE_SHARE * len(texts) or n_rows < FEW_ROWS:
            if private:
                counts = counts.filter(pl.col("n") >= LEAST_PRIVATE)
            named = counts.filter(pl.col(column.name).str.len_chars() <= MOST_LEVEL_TEXT).head(2 * size)
            levels, tallies = tuple(named[column.name].to_list()), named["n"].to_numpy().astype(np.int64)
            others = len(texts) - int(tallies.sum())
            empty = (np.empty(0), np.empty(0, dtype=np.int64))
            return ColumnProfile(column.name, "category", n_rows, n_missing, *empty, levels, tallies, others)
        kind: ProfileKind = "length"
        numbers = lengths_of(column)
    else:
        kind = "number"
    known = np.sort(numbers[np.isfinite(numbers)])
    ends = (1 / (size + 1), size / (size + 1)) if private else (0.0, 1.0)
    at = np.linspace(*ends, size)
    grid = np.unique(np.quantile(known, at, method="inverted_cdf")) if len(known) else np.empty(0)
    below = np.searchsorted(known, grid, side="right").astype(np.int64)
    return ColumnProfile(column.name, kind, n_rows, n_rows - len(known), grid, below)


def numbers_of(column: pl.Series) -> Floats | None:
    """The cells of a number or a date as numbers, NaN where they are missing; None for other columns.

    Infinite numbers count as missing wherever cells are counted.
    """
    if column.dtype.is_temporal():
        return column.cast(counted_in(column.dtype), strict=False).to_physical().cast(pl.Float64).to_numpy()
    if column.dtype.is_numeric() or column.dtype == pl.Null:
        return np.asarray(column.cast(pl.Float64).to_numpy(), dtype=np.float64)
    return None


def counted_in(dtype: pl.DataType) -> pl.DataType:
    """The type whose numbers stand for dates, times or durations: the same whatever unit a file has."""
    if dtype == pl.Time:
        return pl.Time()
    return pl.Duration("us") if dtype == pl.Duration else pl.Datetime("us")


def lengths_of(column: pl.Series) -> Floats:
    return np.asarray(column.cast(pl.String).str.len_chars().cast(pl.Float64).to_numpy(), dtype=np.float64)


class ColumnCounts:
    """Cells of a new column, counted on the grid of its profile, batch by batch."""

    def __init__(self, profile: ColumnProfile) -> None:
        self.profile = profile
        self.n_rows = self.n_missing = 0
        self.bins: Ints = np.zeros(len(profile.bins), dtype=np.int64)
        self.unseen: Counter[str] = Counter()

    def add(self, column: pl.Series) -> None:
        """Count the cells of a batch."""
        self.n_rows += len(column)
        if self.profile.kind == "category":
            self._add_levels(column)
            return
        numbers = lengths_of(column) if self.profile.kind == "length" else numbers_of(column)
        assert numbers is not None
        known = numbers if np.isfinite(numbers.sum()) else numbers[np.isfinite(numbers)]
        self.n_missing += len(numbers) - len(known)
        # side "left": a cell equal to a quantile belongs to the bin that ends there
        index = np.searchsorted(self.profile.grid, known, side="left")
        self.bins += np.bincount(index, minlength=len(self.bins))

    def _add_levels(self, column: pl.Series) -> None:
        self.n_missing += column.null_count()
        counts = column.cast(pl.String).drop_nulls().value_counts(name="n")
        index = {level: k for k, level in enumerate(self.profile.levels)}
        for level, n in counts.iter_rows():
            k = index.get(level)
            if k is None:
                self.unseen[level] += n
                self.bins[-1] += n
            else:
                self.bins[k] += n

    @property
    def n_known(self) -> int:
        return self.n_rows - self.n_missing


def profiles_of(given: Any) -> dict[str, ColumnProfile]:
    """Read the profiles of a model file, by column."""
    if not isinstance(given, Sequence) or isinstance(given, str) or not all(isinstance(one, Mapping) for one in given):
        raise damaged_profile()
    return {one.name: one for one in map(ColumnProfile.of_dict, given)}
