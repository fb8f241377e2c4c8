"""Encodes the columns of a table for a distance: numeric columns as floats, categorical columns as integer codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import column_index
from foldwise.data.columns import ObjectColumn
from foldwise.data.levels import sort_levels
from foldwise.data.number_objects import warn_of_number_objects
from foldwise.data.schema import Level, listing
from foldwise.data.validation import validate_table
from foldwise.data.view import View, view_of_array
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.neighbors.distance import MIXED

MISSING = -1  # code of a missing value
MOST_CELLS = 1 << 27  # of a sparse matrix, 1 GB as a dense one
UNKNOWN = -2  # code of a category that is not among the known levels


@dataclass(frozen=True)
class EncodedRows:
    """Rows of a table: numeric columns as float64 (NaN where missing), categorical columns as codes.

    Codes of 0 or more are levels of the column; `MISSING` and `UNKNOWN` are negative.
    """

    numbers: NDArray[np.float64]  # (rows, n_numeric), C-contiguous
    codes: NDArray[np.int32]  # (rows, n_categorical)
    n_levels: tuple[int, ...]  # per categorical column

    def __post_init__(self) -> None:
        if len(self.numbers) != len(self.codes):
            raise ValueError(f"numbers has {len(self.numbers)} rows but codes has {len(self.codes)}.")
        if self.codes.shape[1] != len(self.n_levels):
            raise ValueError(f"codes has {self.codes.shape[1]} columns but n_levels names {len(self.n_levels)}.")

    @property
    def n_rows(self) -> int:
        return len(self.numbers)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> EncodedRows:
        """Select rows, in the given order."""
        numbers, codes = np.ascontiguousarray(self.numbers[rows]), np.ascontiguousarray(self.codes[rows])
        return EncodedRows(numbers, codes, self.n_levels)


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns are compared as numbers and which as categories (by index), and the known levels."""

    metric: str
    names: tuple[str, ...]
    numbers: tuple[int, ...]
    categories: tuple[int, ...]
    levels: tuple[tuple[Level, ...], ...]  # per categorical column

    def encode(self, table: View, p: float = 2.0) -> EncodedRows:
        """Encode the rows of a table, and raise for values that the distance is not defined for.

        `p` is the power of the Minkowski distance; it bounds how large values may be.
        """
        numbers = np.empty((table.n_rows, len(self.numbers)))
        if self.numbers:
            numbers[:] = table.numbers(self.numbers).chunk(0, table.n_rows).rows
        if not np.isfinite(numbers.sum()):
            self._check_finite(numbers)
        if self.metric not in MIXED and self.metric != "cosine" and numbers.size:
            check_range(numbers, [self.names[j] for j in self.numbers], 1e300 ** (1 / max(p, 2.0)))
        codes = np.empty((table.n_rows, len(self.categories)), dtype=np.int32)
        for k, (j, levels) in enumerate(zip(self.categories, self.levels, strict=True)):
            codes[:, k] = self._codes(table, j, levels)
        return EncodedRows(numbers, codes, tuple(len(levels) for levels in self.levels))

    def _codes(self, table: View, j: int, levels: Sequence[Level]) -> NDArray[np.int32]:
        read = np.empty(table.n_rows, dtype=np.int64)
        table.sources[j].codes(levels)(0, table.n_rows, read)
        return np.where(read < len(levels), read, len(levels) - 1 - read).astype(np.int32)  # -1 missing, -2 unknown

    def _check_finite(self, numbers: NDArray[np.float64]) -> None:
        """Raise for infinite values, and for missing values if the distance is not defined for them."""
        infinite, missing = np.isinf(numbers), np.isnan(numbers)
        for k, j in enumerate(self.numbers):
            if infinite[:, k].any():
                raise InputError(
                    f"column {self.names[j]!r} contains infinity (inf) in row {int(infinite[:, k].argmax())}.",
                    "replace it with a finite number or a missing value.",
                )
            if self.metric not in MIXED and missing[:, k].any():
                raise InputError(
                    f"the {self.metric} distance does not support missing values (NaN), but column {self.names[j]!r} "
                    f"has {int(missing[:, k].sum())} of them, the first in row {int(missing[:, k].argmax())}.",
                    "use metric='gower', 'heom' or 'hvdm', which support them, or impute them in a pipeline.",
                )


def dense_table(estimator: Any, X: Any, known: tuple[str, ...] | None) -> View:
    """Return a view of X with scikit-learn's checks; a sparse matrix becomes a dense one, if there is room for it."""
    table = validate_table(estimator, X, known, sparse=True).table
    if isinstance(table, View):
        return table
    if table.n_rows * table.n_columns > MOST_CELLS:
        raise InputError(
            f"a sparse matrix is stored as a dense one, but {table.n_rows:,} rows of {table.n_columns:,} columns would "
            f"take {table.n_rows * table.n_columns * 8 / 1e9:.1f} GB.",
            "reduce the columns first, for example with scikit-learn's TruncatedSVD.",
        )
    return view_of_array(table.matrix.toarray())


def column_roles(table: View, metric: str, categorical: Sequence[Any] | None) -> ColumnRoles:
    """Decide by their types which columns are numeric and which are categorical.

    `categorical` names numeric columns whose values are category codes. "auto" becomes the Euclidean distance if all
    columns are numeric or boolean, and Gower's distance otherwise.
    """
    columns = table.columns
    names = tuple(column.name for column in columns)
    declared = categorical_columns(categorical, names)
    for column in columns:
        if column.kind == "date":
            raise InputError(
                f"column {column.name!r} contains dates or times, which distances cannot compare.",
                "convert it to numbers, for example with DateFeatures or TableEncoder, or drop it.",
            )
    named = [j for j, column in enumerate(columns) if column.kind == "categorical" or j in declared]
    if metric == "auto":
        metric = "gower" if named else "euclidean"
    if metric not in MIXED:
        # an object column may hold numbers; reading it raises if it holds text
        text = [j for j in named if j in declared or not isinstance(table.sources[j], ObjectColumn)]
        if text:
            refuse_categories(metric, [names[j] for j in text])
        return ColumnRoles(metric, names, tuple(range(len(columns))), (), ())
    as_codes = {*named, *(j for j, column in enumerate(columns) if column.kind == "binary")}
    numbers = tuple(j for j in range(len(columns)) if j not in as_codes)
    categories = tuple(sorted(as_codes))
    levels = tuple(sort_levels(table.sources[j].distinct(0, table.n_rows)) for j in categories)
    return ColumnRoles(metric, names, numbers, categories, levels)


def warn_of_objects(table: View, metric: Any, categorical: Any) -> None:
    """Warn of numbers that are categories only by the type of their column, unless `categorical` names it."""
    if metric not in ("auto", *MIXED):
        return
    declared = categorical if isinstance(categorical, list | tuple) else ()
    hint = "choose a numeric distance, such as metric='euclidean', or list it in categorical="
    warn_of_number_objects(table, hint, lambda j, name: j in declared or name in declared)


def check_range(numbers: NDArray[np.float64], names: Sequence[str], greatest: float) -> None:
    """Raise for numbers whose powers overflow: all distances would be infinite."""
    if max(-float(numbers.min()), float(numbers.max())) > greatest:
        i, j = np.unravel_index(np.abs(numbers).argmax(), numbers.shape)
        raise InputError(
            f"column {names[int(j)]!r} contains {numbers[i, j]:g} in row {i}; distances between such large numbers "
            "overflow.",
            "divide the column by a constant.",
        )


def refuse_categories(metric: str, names: Sequence[str]) -> NoReturn:
    """Raise for categorical columns that a numeric distance cannot compare."""
    raise FoldwiseTypeError(
        f"the {metric} distance supports numeric columns only, but these are categorical: {listing(names)}.",
        "use metric='gower', 'heom' or 'hvdm', which support both, or encode the columns in a pipeline.",
    )


def categorical_columns(categorical: Sequence[Any] | None, names: Sequence[str]) -> set[int]:
    """Find the indices of the columns declared categorical."""
    if categorical is None:
        return set()
    if isinstance(categorical, str) or not hasattr(categorical, "__iter__"):
        raise FoldwiseTypeError(f"categorical must be None or a list of column names or indices, got {categorical!r}.")
    return {column_index("categorical", key, names) for key in categorical}
