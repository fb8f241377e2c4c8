"""Scoring of sparse rows: a product with the table of logarithms, plus what an empty row scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.bayes.scoring_kernels import linear_scores
from foldwise.data.view import SparseView
from foldwise.errors import InputError
from foldwise.summaries.number_kernels import Floats

ROWS = 16_384


class SparseScorer:
    """scores += X · log_tableᵀ + of_empty_row."""

    def __init__(self, view: SparseView, log_table: Floats, of_empty_row: Floats) -> None:
        self._matrix = view.matrix
        self._log_table = log_table
        self._of_empty_row = of_empty_row
        bad = ~np.isfinite(view.matrix.data) | (view.matrix.data < 0)
        if bad.any():
            place = int(np.flatnonzero(bad)[0])
            raise InputError(
                f"column {view.names[int(view.matrix.indices[place])]!r} holds {view.matrix.data[place]}; "
                "a count must be a finite number of at least 0."
            )

    @property
    def chunk_rows(self) -> int:
        return ROWS

    def add(self, start: int, stop: int, scores: Floats) -> None:
        scores += linear_scores(self._matrix[start:stop], self._log_table) + self._of_empty_row


def sparse_rows(view: SparseView) -> Any:
    """The rows as dense arrays: for explaining a few of them."""
    return view.matrix.toarray()
