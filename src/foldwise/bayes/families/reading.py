"""How families read a table: chunk by chunk to score it, row by row to explain it; dense columns or a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from foldwise.bayes.families.protocol import AnyView, Factor
from foldwise.data.cells import Chunk, ChunkedCells
from foldwise.data.view import SparseView, View
from foldwise.errors import FoldwiseTypeError
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.sums import Check

SPARSE_ROWS = 16_384


class ChunkScorer:
    """Scores chunk by chunk with one function: `add(chunk, first row, scores)`."""

    def __init__(self, cells: ChunkedCells, add: Callable[[Chunk, int, Floats], None]) -> None:
        self._cells = cells
        self._add = add

    @property
    def chunk_rows(self) -> int:
        return self._cells.chunk_rows

    def add(self, start: int, stop: int, scores: Floats) -> None:
        self._add(self._cells.chunk(start, stop), start, scores)


class SparseScorer:
    """scores += Σ over stored cells of x·(on - off) + Σ off, for sparse X; `off` is what a cell of 0 scores.

    A logarithm of -inf makes a row impossible: an `on` that is stored, or an `off` that is not.
    """

    chunk_rows = SPARSE_ROWS

    def __init__(self, view: SparseView, on: Floats, off: Floats) -> None:
        self._matrix = view.matrix
        self._never_on, self._never_off = (np.isneginf(log).astype(np.float64) for log in (on, off))
        on, off = (np.where(np.isneginf(log), 0.0, log) for log in (on, off))
        self._slope, self._of_empty_row = on - off, off.sum(axis=1)

    def add(self, start: int, stop: int, scores: Floats) -> None:
        rows = self._matrix[start:stop]
        scores += rows @ self._slope.T + self._of_empty_row
        if self._never_on.any():
            scores[rows @ self._never_on.T > 0] = -np.inf
        if self._never_off.any():
            scores[self._never_off.sum(axis=1) - (rows != 0) @ self._never_off.T > 0.5] = -np.inf


def dense(view: AnyView, family: str) -> View:
    """The view of columns, where it is one."""
    if isinstance(view, SparseView):
        raise FoldwiseTypeError(
            f"Sparse data was passed, but the family {family!r} wants dense columns.",
            "pass X.toarray(), or use the family 'multinomial' or 'bernoulli'.",
        )
    return view


def factors_of_numbers(
    view: AnyView, columns: Sequence[int], factor: Callable[[int, float], Factor], check: Check
) -> list[list[Factor]]:
    """`factor(column, value)` of every cell, a list a row; `check` refuses what scoring refuses."""
    if isinstance(view, SparseView):
        rows, names = view.matrix.toarray(), view.names
    else:
        cells = view.numbers(columns)
        rows, names = cells.chunk(0, cells.n_rows).rows, cells.names
    check(rows, names, 0)
    return [[factor(j, float(value)) for j, value in enumerate(row)] for row in rows]


def left_out(column: str, n_classes: int, why: str = "missing", value: object = None) -> Factor:
    """The factor of a cell that says nothing: 1 for every class."""
    return Factor(column, value, (0.0,) * n_classes, note=f"{why}, left out")


def log_shares(over: Floats, under: Floats) -> Floats:
    """log(over / under), -inf for a share of 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(over) - np.log(under))
