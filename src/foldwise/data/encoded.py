"""A table held ready for many questions: numbers as float64, categories as codes; rows are taken from it cheaply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.data.cells import ChunkedCells, Reader
from foldwise.data.columns import ArrayColumn, ColumnSource, copy_reader_through
from foldwise.data.levels import sort_levels
from foldwise.data.schema import Column, Level
from foldwise.data.tokens import TextColumn
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

    def texts(self, start: int, stop: int) -> NoReturn:
        raise TypeError("an encoded category is no text")

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

    def take(self, rows: Rows) -> EncodedView:
        """The view of some rows."""
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
    """The table with these columns as categories and as words, and all others as numbers; a sparse one as it is."""
    if isinstance(view, SparseView):
        return view
    coded = few_integers(view, categorical)
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


def few_integers(view: View, categorical: Sequence[int]) -> dict[int, CodedColumn]:
    """Columns of whole numbers within a short range, encoded side by side by counting instead of sorting."""
    integers = {j: view.sources[j].integers() for j in categorical}
    chosen = [j for j, values in integers.items() if values is not None]
    if not chosen or view.n_rows == 0:
        return {}
    cells = ChunkedCells(
        [str(j) for j in chosen], view.n_rows, [values for values in integers.values() if values is not None], np.int64
    )
    rows = cells.chunk(0, view.n_rows).rows
    low, high = rows[0].copy(), rows[0].copy()
    widen(rows, low, high)
    span = high.astype(np.float64) - low  # as floats: the difference of two integers may be none
    if (span >= SHORT_RANGE).any():
        return {}
    seen = np.zeros((len(chosen), int(span.max()) + 1), dtype=np.int64)
    mark_seen(rows, low, seen)
    codes = np.empty(rows.shape, dtype=np.int64)
    recode(rows, low, np.cumsum(seen, axis=1) - 1, codes)
    found = {}
    for k, j in enumerate(chosen):
        levels = tuple((np.flatnonzero(seen[k]) + low[k]).tolist())
        found[j] = CodedColumn(view.sources[j].column, codes[:, k], levels)
    return found


@njit(nogil=True, cache=True)
def widen(rows: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
    """The least and the greatest value of each column, from those of one row."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            low[j] = min(low[j], rows[i, j])
            high[j] = max(high[j], rows[i, j])


# unsigned places are not tested for counting from the end, which takes as long as using them


@njit(nogil=True, cache=True)
def mark_seen(rows: NDArray[np.int64], low: NDArray[np.int64], seen: NDArray[np.int64]) -> None:
    """1 where a column holds the value low + k."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            seen[j, np.uintp(rows[i, j] - low[j])] = 1


@njit(nogil=True, cache=True)
def recode(rows: NDArray[np.int64], low: NDArray[np.int64], place: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
    """The place of each value among those of its column."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            codes[i, j] = place[j, np.uintp(rows[i, j] - low[j])]


def take_view(view: EncodedView | SparseView, rows: Rows) -> EncodedView | SparseView:
    """Some rows of either."""
    if isinstance(view, SparseView):
        return SparseView(view.matrix[rows], view.names)
    return view.take(rows)
