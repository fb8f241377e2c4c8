"""Distances between rows of one table: mean distances to groups of rows, and how much each column contributes.

No matrix of all pairs is kept: rows are compared in blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.neighbors.blocks import block_rows, prepare_queries, take_queries
from foldwise.neighbors.distance import DistanceSpec
from foldwise.neighbors.encoding import EncodedRows
from foldwise.neighbors.selection import measure_all
from foldwise.neighbors.space import learn_space

BLOCK = 1 << 22  # distances that are held at a time


def distance_sums(rows: EncodedRows, others: NDArray[np.intp], members: Floats, distance: str) -> Floats:
    """Sum the distances from every row to the `others`, weighted by `members` (n_others, n_groups)."""
    space = learn_space(DistanceSpec(distance), rows)
    blocks = block_rows(space, rows.take(others))
    queries = prepare_queries(space, rows, None)
    sums = np.empty((rows.n_rows, members.shape[1]))
    size = max(1, BLOCK // max(1, len(others)))
    for first in range(0, rows.n_rows, size):
        part = slice(first, min(first + size, rows.n_rows))
        sums[part] = measure_all(space.dist, blocks, take_queries(queries, part)) @ members
    return sums


def sample_rows(n_rows: int, most: int, seed: int) -> Any:
    """Return all row indices, or `most` of them drawn at random."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))


def column_gaps(row: EncodedRows, others: EncodedRows, spans: Floats) -> Floats:
    """Compare one row with others, column by column: numbers first, then categories.

    A gap is the difference divided by the span of the column, or 0 or 1 for equal or different categories. It is NaN if
    a cell is missing in either row.
    """
    numbers = np.abs(others.numbers - row.numbers) / np.where(spans > 0, spans, 1.0)
    known = (others.codes != -1) & (row.codes != -1)
    categories = np.where(known, (others.codes != row.codes) | (row.codes < 0), np.nan)
    return np.concatenate([numbers, categories], axis=1)


def column_spans(rows: EncodedRows) -> Floats:
    """Return the range of each number; 0 if it is constant or missing everywhere."""
    spans = np.zeros(rows.numbers.shape[1])
    for j in range(len(spans)):
        present = rows.numbers[:, j][~np.isnan(rows.numbers[:, j])]
        spans[j] = present.max() - present.min() if present.size else 0.0
    return spans
