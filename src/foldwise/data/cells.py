"""Cells of some columns as compiled kernels need them: contiguous float64 or int64, one chunk of rows at a time.

Where the cells already lie so in memory nothing is copied; elsewhere a chunk is gathered into one reused buffer.
One `ChunkedCells` belongs to one thread; opening another over the same columns costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.transpose import transpose_into

Reader = Callable[[int, int, NDArray[Any]], None]
"""Writes the cells of rows start..stop of one column into an array."""

CHUNK_ROWS = 131_072  # of cells read where they lie: enough to hide the cost of a call
CHUNK_CELLS = 1 << 22  # and few enough to be looked at, or transposed, in bounded memory
BUFFER_ROWS = 16_384  # of cells gathered first: few enough for the cache
BUFFER_CELLS = 1 << 19


class Scratch:
    """Memory that is used again: asking the system for fresh pages costs more than filling old ones."""

    def __init__(self) -> None:
        self._memory: NDArray[Any] | None = None

    def array(self, n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> NDArray[Any]:  # (n_rows, n_columns)
        size = n_rows * n_columns
        if self._memory is None or self._memory.size < size or self._memory.dtype != dtype:
            self._memory = np.empty(size, dtype=dtype)
        return self._memory[:size].reshape(n_rows, n_columns)


@dataclass(frozen=True)
class Chunk:
    """Some rows of some columns. `cells` is (rows, columns), or (columns, rows) where `by_column`; C-order both."""

    cells: NDArray[Any]
    by_column: bool
    start: int
    stop: int
    scratch: Scratch

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    @property
    def columns(self) -> NDArray[Any]:  # (columns, rows), of any order
        return self.cells[:, self.start : self.stop] if self.by_column else self.cells[self.start : self.stop].T

    @property
    def rows(self) -> NDArray[Any]:  # (rows, columns), C-order
        if not self.by_column:
            return self.cells[self.start : self.stop]
        rows = self.scratch.array(self.n_rows, len(self.cells), self.cells.dtype)
        transpose_into(self.cells, self.start, self.stop, rows)
        return read_only(rows)


class ChunkedCells:
    """The cells of some columns of one table, read chunk by chunk."""

    def __init__(
        self,
        names: Sequence[str],
        n_rows: int,
        sources: Sequence[NDArray[Any] | Reader],
        dtype: type[np.generic],
    ) -> None:
        self.names = tuple(names)
        self.n_rows = n_rows
        self.dtype = np.dtype(dtype)
        arrays = [source for source in sources if isinstance(source, np.ndarray)]
        self._block: tuple[NDArray[Any], bool] | None = None
        if len(arrays) == len(sources):
            self._block = common_block(arrays, self.dtype)
        self._readers = [copy_reader(source) if isinstance(source, np.ndarray) else source for source in sources]
        self._gathered = Scratch()
        self._transposed = Scratch()

    @property
    def chunk_rows(self) -> int:
        """How many rows make a good chunk."""
        if self._block is None:
            most, cells = BUFFER_ROWS, BUFFER_CELLS
        else:
            by_column = self._block[1]  # which is transposed where a cell is missing
            most, cells = CHUNK_ROWS, CHUNK_CELLS // 2 if by_column else CHUNK_CELLS
        return max(64, min(most, cells // max(1, len(self.names))))

    def chunk(self, start: int, stop: int) -> Chunk:
        """The cells of rows start..stop; valid until the next call."""
        if self._block is not None:
            block, by_column = self._block
            return Chunk(block, by_column, start, stop, self._transposed)
        n_rows = stop - start
        gathered = self._gathered.array(len(self._readers), n_rows, self.dtype)
        for target, reader in zip(gathered, self._readers, strict=True):
            reader(start, stop, target)
        return Chunk(read_only(gathered), True, 0, n_rows, self._transposed)


def copy_reader(source: NDArray[Any]) -> Reader:
    """A reader that copies, and casts, from an array."""

    def read(start: int, stop: int, out: NDArray[Any]) -> None:
        out[:] = source[start:stop]

    return read


def common_block(arrays: Sequence[NDArray[Any]], dtype: np.dtype[Any]) -> tuple[NDArray[Any], bool] | None:
    """The one 2-D block that the columns are views of, with its orientation; None where they are not.

    pandas, numpy and friends keep columns of one type side by side. Looking at the addresses finds that again
    without asking the library how it stores its frames.
    """
    if not arrays or any(a.dtype != dtype or a.strides != arrays[0].strides for a in arrays):
        return None
    first, n_columns, n_rows, size = arrays[0], len(arrays), arrays[0].shape[0], dtype.itemsize
    address = first.__array_interface__["data"][0]
    if n_rows == 0 or address % size:
        return None
    if first.strides[0] == size * n_columns:
        by_column, step, shape = False, size, (n_rows, n_columns)
    elif first.strides[0] == size:
        by_column, step, shape = True, size * n_rows, (n_columns, n_rows)
    else:
        return None
    if any(a.__array_interface__["data"][0] != address + i * step for i, a in enumerate(arrays)):
        return None
    strides = (size * shape[1], size)
    return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False), by_column


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written: kernels see one type of array however the caller's was made."""
    view = array.view()
    view.flags.writeable = False
    return view
