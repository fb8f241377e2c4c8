"""One column of a table, from any library: its kind, its distinct values, its cells as numbers or as codes.

The codes of a column with L levels are 0 to L-1 for the levels, L for a missing cell and L+1 for an unknown value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.cells import Reader
from foldwise.data.levels import are_text, as_level, is_missing
from foldwise.data.schema import Column, Level
from foldwise.errors import FoldwiseTypeError, InputError

CellSource = NDArray[Any] | Reader
NUMPY_TYPES = frozenset(
    (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64)
)


class ColumnSource:
    """One column: its description, and its cells in the forms that the package needs."""

    column: Column

    def values(self, start: int, stop: int) -> list[Any]:
        """Return the cells of rows start..stop as Python values."""
        raise NotImplementedError

    def numbers(self) -> CellSource:
        """Return the cells as float64, missing ones as NaN: an array if they are stored so, else a reader."""
        raise TypeError(f"{type(self).__name__} does not hold numbers")

    def integers(self) -> NDArray[Any] | None:
        """Return the cells if they are integers and none is missing, else None."""
        return None

    def distinct(self, start: int, stop: int) -> set[Level]:
        """Return the distinct values of rows start..stop, without missing ones."""
        raise TypeError(f"{type(self).__name__} does not hold categories")

    def codes(self, levels: Sequence[Level]) -> Reader:
        """Return a reader of codes into the levels."""
        raise TypeError(f"{type(self).__name__} does not hold categories")

    def texts(self, start: int, stop: int) -> pl.Series:
        """Return the cells of rows start..stop as text, missing ones as null."""
        return text_series(self.column.name, self.values(start, stop), start)

    def value(self, row: int) -> Any:
        """Return one cell as a Python value."""
        return self.values(row, row + 1)[0]


class ArrayColumn(ColumnSource):
    """Numbers or booleans in a numpy array."""

    def __init__(self, name: str, values: NDArray[Any]) -> None:
        is_truth = values.dtype.kind == "b"
        self.column = Column(name, "binary", (False, True)) if is_truth else Column(name, "numeric")
        self._values = values

    def numbers(self) -> CellSource:
        return self._values

    def integers(self) -> NDArray[Any] | None:
        kind, size = self._values.dtype.kind, self._values.dtype.itemsize
        if kind == "i" or (kind == "u" and size < 8):
            return self._values
        return None

    def distinct(self, start: int, stop: int) -> set[Level]:
        values = np.unique(self._values[start:stop])
        if values.dtype.kind == "f":
            values = values[~np.isnan(values)]
        return {as_level(value, self.column.name) for value in values}

    def codes(self, levels: Sequence[Level]) -> Reader:
        check_comparable(self.column.name, levels, text=False)
        known, slots = sorted_levels(levels, self._values.dtype)
        n_levels, is_float = len(levels), self._values.dtype.kind == "f"

        def read(start: int, stop: int, out: NDArray[Any]) -> None:
            cells = self._values[start:stop].astype(known.dtype, copy=False)
            if is_float and np.isinf(cells).any():
                as_level(float(cells[np.isinf(cells)][0]), self.column.name)  # refuses
            if known.size == 0:
                out[:] = n_levels + 1
            else:
                index = np.minimum(np.searchsorted(known, cells), known.size - 1)
                out[:] = np.where(known[index] == cells, slots[index], n_levels + 1)
            if is_float:
                out[np.isnan(cells)] = n_levels

        return read

    def values(self, start: int, stop: int) -> list[Any]:
        return self._values[start:stop].tolist()  # type: ignore[no-any-return]


def sorted_levels(levels: Sequence[Level], dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the levels that cells of a type can equal, sorted in a type that holds them exactly, and their indices."""
    if dtype.kind == "f":
        exact = [(float(v), i) for i, v in enumerate(levels) if not isinstance(v, str) and float(v) == v]
        wide: Any = np.float64
    else:
        wide = np.uint64 if dtype.kind == "u" and dtype.itemsize == 8 else np.int64
        bounds = np.iinfo(wide)
        whole = [(v, i) for i, v in enumerate(levels) if not isinstance(v, str) and v == int(v)]
        exact = [(int(v), i) for v, i in whole if bounds.min <= v <= bounds.max]
    exact.sort()
    return np.array([v for v, _ in exact], dtype=wide), np.array([i for _, i in exact], dtype=np.int64)


class ObjectColumn(ColumnSource):
    """Python objects or fixed-width strings in a numpy array, which are categories."""

    def __init__(self, name: str, values: NDArray[Any]) -> None:
        self.column = Column(name, "categorical")
        self._values = values

    def numbers(self) -> CellSource:
        def read(start: int, stop: int, out: NDArray[Any]) -> None:
            for i, value in enumerate(self.values(start, stop)):
                out[i] = np.nan if is_missing(value) else as_number(value, self.column.name, start + i)

        return read

    def distinct(self, start: int, stop: int) -> set[Level]:
        name = self.column.name
        values: Iterable[Any] = self.values(start, stop)
        with suppress(TypeError):  # an unhashable cell, which `as_level` refuses
            values = set(values)
        return {as_level(value, name) for value in values if not is_missing(value)}

    def codes(self, levels: Sequence[Level]) -> Reader:
        return dictionary_reader(self.column.name, levels, self.values)

    def values(self, start: int, stop: int) -> list[Any]:
        return self._values[start:stop].tolist()  # type: ignore[no-any-return]


class SeriesColumn(ColumnSource):
    """A column of a frame that a numpy array cannot hold as it is: text, categories, nullable numbers, dates."""

    def __init__(self, name: str, series: nw.Series[Any]) -> None:
        self._series = series
        self.column = Column(name, *kind_of_series(series, name))

    def numbers(self) -> CellSource:
        name, dtype = self.column.name, self._series.dtype
        if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Unknown)):
            self._refuse_numbers()

        def read(start: int, stop: int, out: NDArray[Any]) -> None:
            part = self._series[start:stop]
            if dtype == nw.Unknown:  # a column without any value, in polars and pyarrow
                if part.null_count() != part.len():
                    raise FoldwiseTypeError(f"column {name!r} must be numeric, but has the type {dtype}.")
                out[:] = np.nan
            else:
                out[:] = part.cast(nw.Float64).to_numpy()

        return read

    def _refuse_numbers(self) -> None:
        name = self.column.name
        if self.column.kind == "date":
            raise InputError(
                f"column {name!r} must be numeric, but contains dates ({self._series.dtype}).",
                "convert it with foldwise.DateFeatures, or drop the column.",
            )
        present = self._series.drop_nulls()
        if len(present):
            row = int(self._series.is_null().arg_min() or 0)
            as_number(present[0], name, row)
        # text without any value may be used as numbers without any value
        self._series = self._series.cast(nw.String).cast(nw.Float64)

    def distinct(self, start: int, stop: int) -> set[Level]:
        return {
            as_level(value, self.column.name) for value in values_of(self._series[start:stop].drop_nulls().unique())
        }

    def codes(self, levels: Sequence[Level]) -> Reader:
        name, dtype = self.column.name, self._series.dtype
        if self.column.kind == "date":
            raise InputError(
                f"column {name!r} must be categorical, but contains dates ({dtype}).",
                "convert it with foldwise.DateFeatures, or drop the column.",
            )
        if dtype != nw.Unknown and self._series.null_count() < self._series.len():
            is_text = are_text(self.column.levels) if self.column.levels else dtype in (nw.String, nw.Categorical)
            check_comparable(name, levels, is_text)
        return (
            pandas_reader(self._series, levels)
            or polars_reader(self._series, levels)
            or dictionary_reader(name, levels, self.values)
        )

    def texts(self, start: int, stop: int) -> pl.Series:
        if self._series.implementation.is_polars() and self._series.dtype in (nw.String, nw.Categorical, nw.Enum):
            series: pl.Series = self._series[start:stop].cast(nw.String).to_native()
            return series
        return super().texts(start, stop)

    def values(self, start: int, stop: int) -> list[Any]:
        return values_of(self._series[start:stop])


def text_series(name: str, cells: list[Any], first: int) -> pl.Series:
    """Return cells as text, and refuse a cell that is not text. `first` is the number of the first row."""
    try:
        return pl.Series(name, cells, dtype=pl.String, strict=True)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        pass
    texts = [None if is_missing(value) else value for value in cells]
    for i, value in enumerate(texts):
        if value is not None and not isinstance(value, str):
            raise InputError(
                f"column {name!r} is declared text, but row {first + i} contains {value!r} of type "
                f"{type(value).__name__}.",
                "convert the cells to strings, or choose another distribution family for this column.",
            )
    return pl.Series(name, [None if value is None else str(value) for value in texts], dtype=pl.String)


def kind_of_series(series: nw.Series[Any], name: str) -> tuple[Any, tuple[Level, ...] | None]:
    """Return the kind and the declared levels of a series by its type, without looking at its values."""
    dtype: Any = series.dtype
    if dtype == nw.Unknown:  # in narwhals a column without any value, or one of an exotic type
        native = series.to_native()
        dtype = str(getattr(native, "dtype", getattr(native, "type", dtype)))
        if dtype.lower() in ("null", "unknown"):
            return "numeric", None
    elif dtype == nw.Boolean:
        return "binary", (False, True)
    elif dtype.is_numeric():
        return "numeric", None
    elif dtype.is_temporal():
        return "date", None
    elif series.implementation.is_pandas_like() and dtype in (nw.Categorical, nw.Enum):
        return "categorical", tuple(as_level(v, name) for v in series.to_native().cat.categories.tolist())
    elif isinstance(dtype, nw.Enum):
        return "categorical", tuple(dtype.categories)
    elif dtype in (nw.String, nw.Categorical):
        return "categorical", None
    raise FoldwiseTypeError(
        f"column {name!r} must be numeric, text, categorical or a date, but has the type {dtype}.",
        "convert or drop the column.",
    )


def values_of(series: nw.Series[Any]) -> list[Any]:
    """Return the cells as Python values; dictionary types of Arrow become strings."""
    if series.dtype == nw.Categorical and not series.implementation.is_pandas_like():
        series = series.cast(nw.String)
    return series.to_list()


def dictionary_reader(name: str, levels: Sequence[Level], cells: Callable[[int, int], list[Any]]) -> Reader:
    """Return a reader that looks up each cell, for what no library encodes faster."""
    slots: dict[Any, int] = {level: i for i, level in enumerate(levels)}
    missing, unseen = len(levels), len(levels) + 1
    expects_text = are_text(levels)

    def read(start: int, stop: int, out: NDArray[Any]) -> None:
        for i, value in enumerate(cells(start, stop)):
            if is_missing(value):
                out[i] = missing
                continue
            level = as_level(value, name)
            if expects_text is not None and isinstance(level, str) is not expects_text:
                check_comparable(name, levels, not expects_text)
            out[i] = slots.get(level, unseen)

    return read


def pandas_reader(series: nw.Series[Any], levels: Sequence[Level]) -> Reader | None:
    """Return a reader that uses pandas' index; None if the series is not from pandas."""
    if not series.implementation.is_pandas():
        return None
    import pandas as pd

    native, n_levels = series.to_native(), len(levels)
    slots = {level: i for i, level in enumerate(levels)}
    if isinstance(native.dtype, pd.CategoricalDtype):
        physical = native.cat.codes.to_numpy()  # -1 is missing and takes the last entry of the map
        name = str(series.name)
        known = [slots.get(as_level(v, name), n_levels + 1) for v in native.cat.categories.tolist()]
        return copy_reader_through(physical, np.array([*known, n_levels], dtype=np.int64))
    if series.dtype != nw.String or not levels:
        return None
    index = pd.Index(list(levels), dtype=native.dtype)

    def read(start: int, stop: int, out: NDArray[Any]) -> None:
        part = native.iloc[start:stop]
        out[:] = index.get_indexer(part)
        out[out < 0] = n_levels + 1
        out[part.isna().to_numpy()] = n_levels

    return read


def polars_reader(series: nw.Series[Any], levels: Sequence[Level]) -> Reader | None:
    """Return a reader that uses polars' types; None if the series is neither booleans nor text in polars."""
    if not series.implementation.is_polars() or not levels:
        return None
    native, n_levels = series.to_native(), len(levels)
    if series.dtype == nw.Boolean:
        slots = {level: i for i, level in enumerate(levels)}
        known = [slots.get(flag, n_levels + 1) for flag in (False, True)]
        flags = native.cast(pl.Int8).fill_null(2).to_numpy()
        return copy_reader_through(flags, np.array([*known, n_levels], dtype=np.int64))
    if are_text(levels) is not True:
        return None
    enumeration = pl.Enum([str(level) for level in levels])

    def read(start: int, stop: int, out: NDArray[Any]) -> None:
        part = native[start:stop].cast(pl.String)
        codes = part.cast(enumeration, strict=False).to_physical()
        out[:] = codes.cast(pl.Int64).fill_null(n_levels + 1).to_numpy()
        if part.null_count():
            out[part.is_null().to_numpy()] = n_levels

    return read


def copy_reader_through(codes: NDArray[Any], slots: NDArray[np.int64]) -> Reader:
    """Return a reader that translates small codes into slots."""

    def read(start: int, stop: int, out: NDArray[Any]) -> None:
        np.take(slots, codes[start:stop], out=out, mode="wrap")

    return read


def check_comparable(name: str, levels: Sequence[Level], text: bool | None) -> None:
    """Refuse numbers if the levels are text, and text if they are numbers, because no cell could ever match."""
    expects_text = are_text(levels)
    if text is None or expects_text is None or text is expects_text:
        return
    came, known = ("text", "numbers") if text else ("numbers", "text")
    raise InputError(
        f"column {name!r} contains {came}, but its known categories are {known} such as {levels[0]!r}.",
        f"convert the column to {known}, the type it had when the model was fitted.",
    )


def as_number(value: Any, name: str, row: int) -> float:
    """Return one cell as a number, and refuse text even if it looks like a number."""
    hint = f"mark {value!r} as missing, convert the column to numbers, or declare it categorical."
    problem = f"column {name!r} must be numeric, but row {row} contains {value!r}"
    if isinstance(value, str):
        raise InputError(f"{problem}.", hint)
    if not isinstance(value, int | float | np.number | np.bool_):
        raise FoldwiseTypeError(
            f"{problem} of type {type(value).__name__}, but every cell of the X argument must be a string or a number.",
            hint,
        )
    return float(value)


def sources_of_frame(frame: nw.DataFrame[Any], names: Sequence[str]) -> list[ColumnSource]:
    """Return the cheapest source for each column of a frame: the array behind it if there is one."""
    if frame.implementation.is_pandas_like():
        # without narwhals: wrapping each column would cost as much as a small fit
        natives = [native for _, native in frame.to_native().items()]
        return [source_of_pandas(name, native) for name, native in zip(names, natives, strict=True)]
    if frame.implementation.is_polars():
        return [source_of_polars(name, s) for name, s in zip(names, frame.to_native().get_columns(), strict=True)]
    return [SeriesColumn(name, series) for name, series in zip(names, frame.iter_columns(), strict=True)]


def source_of_pandas(name: str, native: Any) -> ColumnSource:
    """Return the source for a column of pandas or of a library with its API."""
    if isinstance(native.dtype, np.dtype):
        if native.dtype.kind in "fiub":
            return ArrayColumn(name, native.to_numpy())
        if native.dtype.kind == "O":
            return ObjectColumn(name, native.to_numpy())
    return SeriesColumn(name, nw.from_native(native, series_only=True))


def source_of_polars(name: str, native: pl.Series) -> ColumnSource:
    """Return the source for a column of polars."""
    if type(native.dtype) in NUMPY_TYPES and native.n_chunks() == 1 and native.null_count() == 0:
        return ArrayColumn(name, native.to_numpy(allow_copy=False))
    return SeriesColumn(name, nw.from_native(native, series_only=True))
