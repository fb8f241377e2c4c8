"""A table encoded once and used many times: numbers as float64, categories as codes, and cheap subsets of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Indices
from foldwise.data.cells import Reader
from foldwise.data.columns import ArrayColumn, ColumnSource, copy_reader_through
from foldwise.data.levels import sort_levels
from foldwise.data.schema import Column, Level
from foldwise.data.target import encode_range
from foldwise.data.tokens import TextColumn
from foldwise.data.view import SparseView, View

BLOCK_ROWS = 1 << 12  # transposed at a time, so that they stay in the cache


class CodedColumn(ColumnSource):
    """Categories as codes into the levels of the whole table: 0 to L-1 for levels, L for a missing cell."""

    def __init__(self, column: Column, codes: NDArray[np.int64], levels: tuple[Level, ...]) -> None:
        self.column, self.coded, self.levels = column, codes, levels

    def values(self, start: int, stop: int) -> list[Any]:
        levels = [*self.levels, None]
        return [levels[code] for code in self.coded[start:stop].tolist()]

    def distinct(self, start: int, stop: int) -> set[Level]:
        seen = np.unique(self.coded[start:stop])
        return {self.levels[code] for code in seen.tolist() if code < len(self.levels)}

    def codes(self, levels: Sequence[Level]) -> Reader:
        index = {level: i for i, level in enumerate(levels)}
        slots = [index.get(level, len(levels) + 1) for level in self.levels]
        return copy_reader_through(self.coded, np.array([*slots, len(levels)], dtype=np.int64))

    def described(self, column: Column) -> CodedColumn:
        """Return the same codes with another description, which may declare levels."""
        return CodedColumn(column, self.coded, self.levels)

    def take(self, rows: Indices) -> CodedColumn:
        return CodedColumn(self.column, self.coded[rows], self.levels)


class EncodedView(View):
    """A view whose columns are all encoded in memory."""

    def __init__(
        self,
        numbers: NDArray[np.float64],
        coded: dict[int, CodedColumn],
        texts: dict[int, TextColumn],
        columns: tuple[Column, ...],
    ) -> None:
        self.number_table, self.coded_columns, self.text_columns, self._columns = numbers, coded, texts, columns
        number = iter(np.ascontiguousarray(numbers).T)
        ready: dict[int, ColumnSource] = {**coded, **texts}
        sources = [ready[j] if j in ready else numeric(column, next(number)) for j, column in enumerate(columns)]
        super().__init__(sources, len(numbers))

    def take(self, rows: Indices) -> EncodedView:
        """Return the view of some rows."""
        coded = {j: column.take(rows) for j, column in self.coded_columns.items()}
        texts = {j: column.take(rows) for j, column in self.text_columns.items()}
        return EncodedView(self.number_table[rows], coded, texts, self._columns)


def numeric(column: Column, values: NDArray[np.float64]) -> ArrayColumn:
    source = ArrayColumn(column.name, values)
    source.column = column
    return source


def encode_view(
    view: View | SparseView, categorical: Sequence[int], text: Sequence[int] = ()
) -> EncodedView | SparseView:
    """Encode some columns as categories, some as words and all others as numbers; a sparse table stays as it is."""
    if isinstance(view, SparseView):
        return view
    coded = encode_whole_numbers(view, categorical)
    for j in categorical:
        if j not in coded:
            source = view.sources[j]
            levels = sort_levels(source.distinct(0, view.n_rows))
            codes = np.empty(view.n_rows, dtype=np.int64)
            source.codes(levels)(0, view.n_rows, codes)
            coded[j] = CodedColumn(source.column, codes, levels)
    sources = {j: view.sources[j] for j in text}
    texts = {j: TextColumn(source.column, source.texts(0, view.n_rows)) for j, source in sources.items()}
    others = [j for j in range(len(view.sources)) if j not in coded and j not in texts]
    numbers = np.empty((view.n_rows, len(others)))
    if others:
        cells = view.numbers(others)
        numbers[:] = cells.chunk(0, view.n_rows).rows
    return EncodedView(numbers, coded, texts, view.columns)


def encode_whole_numbers(view: View, columns: Sequence[int]) -> dict[int, CodedColumn]:
    """Encode those of the columns that contain only integers, none of them missing."""
    chosen = [j for j in columns if view.sources[j].integers() is not None]
    cells = view.integers(chosen)
    if not chosen or cells is None or view.n_rows == 0:
        return {}
    values = np.empty((len(chosen), view.n_rows), dtype=np.int64)
    for start in range(0, view.n_rows, BLOCK_ROWS):
        chunk = cells.chunk(start, min(start + BLOCK_ROWS, view.n_rows))
        values[:, start : start + BLOCK_ROWS] = chunk.columns
    found = {}
    bounds = values.min(axis=1).tolist(), values.max(axis=1).tolist()
    for j, column, low, high in zip(chosen, values, *bounds, strict=True):
        encoded = encode_range(column, low, high)
        found[j] = CodedColumn(view.sources[j].column, encoded.codes, tuple(encoded.classes.tolist()))
    return found


def take_view(view: EncodedView | SparseView, rows: Indices) -> EncodedView | SparseView:
    """Return some rows of an encoded or a sparse table."""
    if isinstance(view, SparseView):
        return SparseView(view.matrix[rows], view.names)
    return view.take(rows)
