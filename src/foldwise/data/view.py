"""A view of an array, a frame or a sparse matrix as columns of cells. Nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from foldwise.data.cells import ChunkedCells
from foldwise.data.columns import ArrayColumn, CellSource, ColumnSource, ObjectColumn, sources_of_frame
from foldwise.data.levels import are_text
from foldwise.data.schema import Column, Level, Schema, check_unique_names
from foldwise.data.tokens import TextColumn, TokenizedText, tokenize
from foldwise.errors import FoldwiseTypeError, InputError


class View:
    """The rows and columns of a table that is stored by columns."""

    def __init__(self, sources: Sequence[ColumnSource], n_rows: int) -> None:
        self.sources = tuple(sources)
        self.n_rows = n_rows

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(source.column for source in self.sources)

    @property
    def n_columns(self) -> int:
        return len(self.sources)

    @property
    def schema(self) -> Schema:
        return Schema(self.columns)

    def numbers(self, columns: Sequence[int]) -> ChunkedCells:
        """Return the cells of these columns as float64, missing ones as NaN."""
        return self._cells(columns, [self.sources[j].numbers() for j in columns], np.float64)

    def integers(self, columns: Sequence[int]) -> ChunkedCells | None:
        """Return the cells of these columns as int64 if all are integers and none is missing, else None."""
        values = [array for j in columns if (array := self.sources[j].integers()) is not None]
        return self._cells(columns, values, np.int64) if len(values) == len(columns) else None

    def codes(self, columns: Sequence[int], levels: Sequence[Sequence[Level]]) -> ChunkedCells:
        """Return the cells of these columns as codes into the levels of each."""
        readers = [self.sources[j].codes(known) for j, known in zip(columns, levels, strict=True)]
        return self._cells(columns, readers, np.int64)

    def _cells(self, columns: Sequence[int], cells: Sequence[CellSource], dtype: type[np.generic]) -> ChunkedCells:
        return ChunkedCells([self.sources[j].column.name for j in columns], self.n_rows, cells, dtype)

    def words(self, column: int, start: int, stop: int) -> TokenizedText:
        """Return the words of rows start..stop of a text column."""
        source = self.sources[column]
        return source.words(start, stop) if isinstance(source, TextColumn) else tokenize(source.texts(start, stop))


@dataclass(frozen=True)
class SparseView:
    """A sparse matrix of counts or indicators, where a cell that is not stored is 0."""

    matrix: Any  # scipy.sparse.csr_array
    names: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(name, "numeric") for name in self.names)

    @property
    def n_columns(self) -> int:
        return len(self.names)


def plain_table(X: Any) -> Any:
    """Convert masked arrays, Arrow record batches and lists with None for missing numbers to plain tables."""
    if isinstance(X, np.ma.MaskedArray):
        if X.dtype.kind in "fiub":
            return np.ma.filled(X.astype(np.float64), np.nan)
        cells = np.array(X, dtype=object)
        cells[np.ma.getmaskarray(X)] = None
        return cells
    if type(X).__name__ == "RecordBatch" and type(X).__module__.startswith("pyarrow"):
        import pyarrow as pa

        return pa.Table.from_batches([X])
    if nw.dependencies.is_polars_lazyframe(X) or isinstance(X, nw.LazyFrame):
        raise FoldwiseTypeError("X must be an eager frame, but is a lazy one.", "call X.collect() first.")
    if isinstance(X, list | tuple):
        array = np.asarray(X)
        if array.dtype.kind in "US":
            return np.asarray(X, dtype=object)  # else numbers beside text would become text
        if array.dtype.kind == "O" and array.ndim == 2 and not any(isinstance(v, str) for row in X for v in row):
            try:
                return array.astype(np.float64)
            except (TypeError, ValueError):
                return array
    return X


def is_frame(X: Any) -> bool:
    """Whether X is a frame of any library that narwhals knows."""
    return bool(nw.dependencies.is_into_dataframe(X)) or isinstance(X, nw.DataFrame)


def view(X: Any) -> View | SparseView:
    """Return the view of a frame, a 2-D array or a sparse matrix."""
    X = plain_table(X)
    if is_frame(X):
        return view_of_frame(frame_of(X))
    if sp.issparse(X):
        matrix: Any = X  # scipy's type is an abstract base
        matrix = matrix.tocsr()
        if not matrix.has_canonical_format:  # a cell that is stored twice stands for the sum
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return SparseView(matrix, array_names(matrix.shape[1]))
    return view_of_array(np.asarray(X))


def view_of_array(array: np.ndarray[Any, Any]) -> View:
    """Return the view of a 2-D array: numbers and booleans as they are, anything else as categories."""
    if array.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {array.ndim}D array instead.",
            "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row.",
        )
    make = ArrayColumn if array.dtype.kind in "fiub" else ObjectColumn
    names = array_names(array.shape[1])
    return View([make(name, column) for name, column in zip(names, array.T, strict=True)], array.shape[0])


def frame_of(X: Any) -> nw.DataFrame[Any]:
    """Wrap a frame of any library, and refuse duplicate names."""
    if nw.dependencies.is_pandas_dataframe(X):
        check_unique_names(str(name) for name in X.columns)
    return nw.from_native(X, eager_only=True)


def view_of_frame(frame: nw.DataFrame[Any]) -> View:
    """Return the view of a frame."""
    names = [str(name) for name in frame.columns]
    check_unique_names(names)
    return View(sources_of_frame(frame, names), frame.shape[0])


def mixes_text_and_numbers(table: View | SparseView) -> bool:
    """Whether an object column contains both text and numbers."""
    if not isinstance(table, View):
        return False
    objects = [source for source in table.sources if isinstance(source, ObjectColumn)]
    found = [source.distinct(0, table.n_rows) for source in objects]
    return any(levels and are_text(levels) is None for levels in found)


def array_names(n_columns: int) -> tuple[str, ...]:
    """Return names for columns without any, as scikit-learn does: x0, x1, …"""
    return tuple(f"x{j}" for j in range(n_columns))
