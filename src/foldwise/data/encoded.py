"""A table held ready for many questions: numbers as float64, categories as codes; rows are taken from it cheaply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from foldwise.data.cells import Reader
from foldwise.data.columns import ArrayColumn, copy_reader_through
from foldwise.data.levels import sort_levels
from foldwise.data.schema import Column, Level
from foldwise.data.view import SparseView, View

Rows = NDArray[np.intp]

SHORT_RANGE = 1 << 12


class CodedColumn:
    """Categories as codes into the levels of the whole table: 0…L-1 a level, L a missing cell."""

    def __init__(self, column: Column, codes: NDArray[np.int64], levels: tuple[Level, ...]) -> None:
        self.column, self.coded, self.levels = column, codes, levels

    def numbers(self) -> NoReturn:
        raise TypeError("an encoded category is no number")

    def integers(self) -> None:
        return None

    def distinct(self, start: int, stop: int) -> set[Level]:
        seen = np.unique(self.coded[start:stop])
        return {self.levels[code] for code in seen.tolist() if code < len(self.levels)}

    def codes(self, levels: Sequence[Level]) -> Reader:
        place = {level: i for i, level in enumerate(levels)}
        slots = [place.get(level, len(levels) + 1) for level in self.levels]
        return copy_reader_through(self.coded, np.array([*slots, len(levels)], dtype=np.int64))

    def value(self, row: int) -> Any:
        code = int(self.coded[row])
        return self.levels[code] if code < len(self.levels) else None

    def described(self, column: Column) -> CodedColumn:
        """The same codes under another description, which may declare levels."""
        return CodedColumn(column, self.coded, self.levels)

    def take(self, rows: Rows) -> CodedColumn:
        return CodedColumn(self.column, self.coded[rows], self.levels)


class EncodedView(View):
    """A view whose columns are all in memory."""

    def __init__(
        self, numbers: NDArray[np.float64], coded: dict[int, CodedColumn], columns: tuple[Column, ...]
    ) -> None:
        self.number_table, self.coded_columns, self._columns = numbers, coded, columns
        number = iter(np.ascontiguousarray(numbers).T)
        sources = [coded[j] if j in coded else numeric(column, next(number)) for j, column in enumerate(columns)]
        super().__init__(sources, len(numbers))

    def take(self, rows: Rows) -> EncodedView:
        """The view of some rows."""
        coded = {j: column.take(rows) for j, column in self.coded_columns.items()}
        return EncodedView(self.number_table[rows], coded, self._columns)


def numeric(column: Column, values: NDArray[np.float64]) -> ArrayColumn:
    source = ArrayColumn(column.name, values)
    source.column = column
    return source


def encode_view(view: View | SparseView, categorical: Sequence[int]) -> EncodedView | SparseView:
    """The table with these columns as categories and all others as numbers. A sparse matrix stays as it is."""
    if isinstance(view, SparseView):
        return view
    coded = {}
    for j in categorical:
        source = view.sources[j]
        integers = source.integers()
        found = None if integers is None else few_integers(integers)
        if found is None:
            levels = sort_levels(source.distinct(0, view.n_rows))
            codes = np.empty(view.n_rows, dtype=np.int64)
            source.codes(levels)(0, view.n_rows, codes)
        else:
            codes, levels = found
        coded[j] = CodedColumn(source.column, codes, levels)
    others = [j for j in range(len(view.sources)) if j not in coded]
    numbers = np.empty((view.n_rows, len(others)))
    if others:
        cells = view.numbers(others)
        numbers[:] = cells.chunk(0, view.n_rows).rows
    return EncodedView(numbers, coded, view.columns)


def few_integers(values: NDArray[Any]) -> tuple[NDArray[np.int64], tuple[Level, ...]] | None:
    """Whole numbers of a short range as codes and their levels, by counting instead of sorting."""
    if values.size == 0:
        return None
    low, high = int(values.min()), int(values.max())
    if high - low >= SHORT_RANGE:
        return None
    offsets = values.astype(np.int64) - low
    seen = np.bincount(offsets, minlength=high - low + 1) > 0
    levels = tuple((np.flatnonzero(seen) + low).tolist())
    return (offsets if seen.all() else (np.cumsum(seen) - 1)[offsets]), levels


def take_view(view: EncodedView | SparseView, rows: Rows) -> EncodedView | SparseView:
    """Some rows of either."""
    if isinstance(view, SparseView):
        return SparseView(view.matrix[rows], view.names)
    return view.take(rows)
