"""Cells in the form that compiled kernels need: contiguous float64 or int64, one chunk of rows at a time.

Cells that already lie so in memory are not copied; others are gathered chunk by chunk into one reused buffer.
Each thread uses a `ChunkedCells` of its own; opening another one over the same columns is cheap.
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

CHUNK_ROWS = 131_072  # for cells read in place: enough to hide the cost of a call
CHUNK_CELLS = 1 << 22  # bounds the memory for checking or transposing a chunk
BUFFER_ROWS = 16_384  # for gathered cells: few enough for the cache
BUFFER_CELLS = 1 << 19


class Scratch:
    """Memory that is reused: getting fresh pages from the system costs more than filling old ones."""

    def __init__(self) -> None:
        self._memory: NDArray[Any] | None = None

    def array(self, n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> NDArray[Any]:  # (n_rows, n_columns)
        size = n_rows * n_columns
        if self._memory is None or self._memory.size < size or self._memory.dtype != dtype:
            self._memory = np.empty(size, dtype=dtype)
        return self._memory[:size].reshape(n_rows, n_columns)


@dataclass(frozen=True)
class Chunk:
    """Some rows of some columns. `cells` is (rows, columns), or (columns, rows) if `by_column`; both in C order."""

    cells: NDArray[Any]
    by_column: bool
    start: int
    stop: int
    scratch: Scratch

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    @property
    def columns(self) -> NDArray[Any]:  # (columns, rows), in C or Fortran order
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
            by_column = self._block[1]  # such a chunk is transposed if a cell is missing
            most, cells = CHUNK_ROWS, CHUNK_CELLS // 2 if by_column else CHUNK_CELLS
        return max(64, min(most, cells // max(1, len(self.names))))

    def chunk(self, start: int, stop: int) -> Chunk:
        """Return the cells of rows start..stop, which are valid until the next call."""
        if self._block is not None:
            block, by_column = self._block
            return Chunk(block, by_column, start, stop, self._transposed)
        n_rows = stop - start
        gathered = self._gathered.array(len(self._readers), n_rows, self.dtype)
        for target, reader in zip(gathered, self._readers, strict=True):
            reader(start, stop, target)
        return Chunk(read_only(gathered), True, 0, n_rows, self._transposed)


def copy_reader(source: NDArray[Any]) -> Reader:
    """Return a reader that copies and casts from an array."""

    def read(start: int, stop: int, out: NDArray[Any]) -> None:
        out[:] = source[start:stop]

    return read


def common_block(arrays: Sequence[NDArray[Any]], dtype: np.dtype[Any]) -> tuple[NDArray[Any], bool] | None:
    """Return the 2-D block of which the columns are views, and whether it is stored by column; None if there is none.

    pandas and numpy keep columns of one type side by side. The addresses show that without any private API.
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
    """Return a read-only view, so that kernels are compiled for one type of array only."""
    view = array.view()
    view.flags.writeable = False
    return view
