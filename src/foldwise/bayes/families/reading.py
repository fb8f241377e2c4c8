"""How families read a table: chunk by chunk to score it, row by row to explain it; dense columns or a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from foldwise.bayes.families.protocol import AnyView, Factor
from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.cells import Cells, Chunk
from foldwise.data.view import SparseView, View
from foldwise.errors import FoldwiseTypeError
from foldwise.summaries.number_kernels import Floats

SPARSE_ROWS = 16_384


class ChunkScorer:
    """Scores chunk by chunk with one function: `add(chunk, first row, scores)`."""

    def __init__(self, cells: Cells, add: Callable[[Chunk, int, Floats], None]) -> None:
        self._cells = cells
        self._add = add

    @property
    def chunk_rows(self) -> int:
        return self._cells.chunk_rows

    def add(self, start: int, stop: int, scores: Floats) -> None:
        self._add(self._cells.chunk(start, stop), start, scores)


class SparseScorer:
    """scores += X · log_tableᵀ + of_empty_row, for sparse X."""

    chunk_rows = SPARSE_ROWS

    def __init__(self, view: SparseView, log_table: Floats, of_empty_row: Floats) -> None:
        self._matrix, self._log_table, self._of_empty_row = view.matrix, log_table, of_empty_row

    def add(self, start: int, stop: int, scores: Floats) -> None:
        scores += linear_scores(self._matrix[start:stop], self._log_table) + self._of_empty_row


def dense(view: AnyView, family: str) -> View:
    """The view of columns, where it is one."""
    if isinstance(view, SparseView):
        raise FoldwiseTypeError(
            f"Sparse data was passed, but the family {family!r} wants dense columns.",
            "pass X.toarray(), or use the family 'multinomial' or 'bernoulli'.",
        )
    return view


def factors_of_numbers(
    view: AnyView, columns: Sequence[int], factor: Callable[[int, float], Factor]
) -> list[list[Factor]]:
    """`factor(column, value)` of every cell, a list a row."""
    if isinstance(view, SparseView):
        rows = view.matrix.toarray()
    else:
        cells = view.numbers(columns)
        rows = cells.chunk(0, cells.n_rows).rows
    return [[factor(j, float(value)) for j, value in enumerate(row)] for row in rows]


def left_out(column: str, n_classes: int, why: str = "missing", value: object = None) -> Factor:
    """The factor of a cell that says nothing: 1 for every class."""
    return Factor(column, value, (0.0,) * n_classes, note=f"{why}, left out")


def log_shares(over: Floats, under: Floats) -> Floats:
    """log(over / under), -inf for a share of 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(over) - np.log(under))
