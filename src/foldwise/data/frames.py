"""Convert any table to polars, to describe its values. Estimators use views instead, which copy nothing."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from foldwise.data.levels import is_missing
from foldwise.data.table import Table
from foldwise.data.view import array_names, frame_of, is_frame, plain_table
from foldwise.errors import FoldwiseTypeError, InputError


def as_polars(X: Any) -> pl.DataFrame:
    """Convert a frame, an array or a `Table` to polars; the columns of an array are called x0, x1, …

    Examples
    --------
    >>> as_polars(np.eye(2)).columns
    ['x0', 'x1']
    """
    if isinstance(X, Table):
        return X.X
    X = plain_table(X.to_native() if isinstance(X, nw.DataFrame) else X)
    if is_frame(X):
        frame = frame_of(X)
        if frame.implementation.is_polars():
            native: pl.DataFrame = frame.to_native()
            objects = native.select(pl.col(pl.Object))
            if not objects.width:
                return native
            return native.with_columns(series_of_values(one.name, one.to_list()) for one in objects)
        return pl.DataFrame([series_of(str(one.name), one) for one in frame.iter_columns()])
    array = np.asarray(X)
    if array.ndim != 2:
        if isinstance(X, str | PathLike):
            raise InputError(f"Expected 2D array, got {str(X)!r}.", f"pass foldwise.read_table({str(X)!r}).")
        given = type(X).__name__ if array.ndim == 0 else f"{array.ndim}D array instead"
        raise InputError(f"Expected 2D array, got {given}.", "pass a frame, or an array with rows and columns.")
    make = numbers if array.dtype.kind in "fiub" else series_of_values
    return pl.DataFrame([make(name, part) for name, part in zip(array_names(array.shape[1]), array.T, strict=True)])


def check_kind(table: Any, hint: str = "pass one of these.", what: str = "table") -> None:
    """Raise if it cannot be a table."""
    is_pair = isinstance(table, tuple) and len(table) == 2 and hasattr(table[0], "shape")  # X and y
    if is_pair or isinstance(table, bytes | int | float | dict | None):
        raise FoldwiseTypeError(
            f"the {what} must be a path, a frame, an array or a Table, got {type(table).__name__}.", hint
        )


def library_of(X: Any) -> str:
    """Return the library of a frame that results are converted to: pandas or pyarrow, and polars for anything else.

    >>> library_of(np.eye(2))
    'polars'
    """
    X = X.to_native() if isinstance(X, nw.DataFrame) else X
    if isinstance(X, Table) or not is_frame(X):
        return "polars"
    frame = frame_of(X)
    return str(frame.implementation.value) if frame.implementation.value in ("pandas", "pyarrow") else "polars"


def frame_in(library: Any, frame: pl.DataFrame, index: Any = None) -> Any:
    """Convert a frame to pandas, with an index, or to pyarrow, or leave it a polars frame.

    Whole numbers and texts stay what they are.
    """
    if library == "polars":
        return frame
    columns = {one.name: one.to_numpy() if one.dtype.is_numeric() else one.to_list() for one in frame}
    found = nw.from_dict(columns, backend=library).to_native()
    if index is not None:
        found.index = index
    return found


def pandas_index(X: Any) -> Any:
    """Return the index of a pandas frame; None for any other table."""
    X = X.to_native() if isinstance(X, nw.DataFrame) else X
    return X.index if nw.dependencies.is_pandas_dataframe(X) else None


def position_word(index: Any) -> str:
    """Return a word that follows positions of rows, if a pandas index could be meant too; empty otherwise."""
    pandas: Any = nw.dependencies.get_pandas()
    return "" if index is None or index.equals(pandas.RangeIndex(len(index))) else " (position)"


def as_series(name: str, values: Any) -> pl.Series:
    """Convert one value per row to a polars series."""
    if isinstance(values, str):
        raise FoldwiseTypeError(
            f"{name} must have one value per row, but is the text {values!r}.", "pass the column itself, not its name."
        )
    if isinstance(values, nw.Series) or nw.dependencies.is_into_series(values):
        return series_of(name, nw.from_native(values, series_only=True))
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name} must have one value per row, but has {array.ndim} dimensions.")
    if array.dtype.kind in "fiubM":
        return numbers(name, array)
    return series_of_values(name, array)


def series_of(name: str, series: nw.Series[Any]) -> pl.Series:
    """Convert a column of any frame to polars."""
    if series.implementation.is_polars():
        native: pl.Series = series.to_native()
        return native.alias(name)
    if series.dtype in (nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    zone = getattr(series.dtype, "time_zone", None) if series.dtype == nw.Datetime else None
    if zone is not None:
        return zoned(name, series, zone)
    values = series.to_numpy()
    plain = values.dtype.kind in "fiubM" and (series.null_count() == 0 or values.dtype.kind in "fM")
    return numbers(name, values) if plain else series_of_values(name, series.to_list())


def zoned(name: str, series: nw.Series[Any], zone: str) -> pl.Series:
    """Convert timestamps with a time zone, which numpy does not know."""
    moments = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy()
    try:
        return numbers(name, moments).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    except pl.exceptions.PolarsError:  # an offset such as UTC+05:30 without a name; local time keeps all differences
        return numbers(name, series.dt.replace_time_zone(None).to_numpy())


def numbers(name: str, values: Any) -> pl.Series:
    """Convert numbers, booleans or dates of numpy to polars."""
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):
        values = values.astype(np.float64)
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] not in ("D", "ms", "us", "ns"):
        values = values.astype("datetime64[us]")
    return pl.Series(name, np.ascontiguousarray(values))


def series_of_values(name: str, values: Iterable[Any]) -> pl.Series:
    """Convert Python values to polars, missing ones to null, and values of incompatible types to text."""
    found = list(values)
    refusals = (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError)
    try:
        return known_type(pl.Series(name, found, strict=True))
    except refusals:
        present = [None if is_missing(value) else value for value in found]
    try:
        return known_type(pl.Series(name, present, strict=True))
    except refusals:
        return pl.Series(name, [None if v is None else str(v) for v in present], dtype=pl.String)


def known_type(series: pl.Series) -> pl.Series:
    """Return the series, and refuse Python objects that polars stores without a type."""
    if series.dtype == pl.Object:
        raise TypeError("polars has no type for these cells")
    return series
