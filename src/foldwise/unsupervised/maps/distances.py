"""Distances between the rows of a table: Euclidean between standardized columns, or Gower's for mixed columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
from sklearn.metrics import euclidean_distances

from foldwise.arrays import Floats
from foldwise.data.view import view
from foldwise.folds.protocol import Rows
from foldwise.neighbors.blocks import block_rows, prepare_queries
from foldwise.neighbors.distance import DistanceSpec
from foldwise.neighbors.encoding import EncodedRows, column_roles
from foldwise.neighbors.selection import measure_all
from foldwise.neighbors.space import MetricSpace, learn_space
from foldwise.unsupervised.matrix import TableMatrix


class RowDistances(Protocol):
    """Distances between some rows and others of one table."""

    def between(self, a: Rows, b: Rows) -> Floats: ...  # (len(a), len(b))


@dataclass(frozen=True, eq=False)
class EuclideanRows:
    """Euclidean distances between rows of numbers."""

    values: Floats  # (n, p)

    def between(self, a: Rows, b: Rows) -> Floats:
        return np.asarray(euclidean_distances(self.values[a], self.values[b]))


@dataclass(frozen=True, eq=False)
class GowerRows:
    """Gower's distances between rows of mixed columns with missing cells."""

    space: MetricSpace
    rows: EncodedRows

    def between(self, a: Rows, b: Rows) -> Floats:
        blocks = block_rows(self.space, self.rows.take(b))
        return measure_all(self.space.dist, blocks, prepare_queries(self.space, self.rows.take(a), None))


def row_distances(frame: pl.DataFrame, matrix: TableMatrix, values: Floats, distance: str) -> tuple[str, RowDistances]:
    """Choose a distance and learn its scales from all rows.

    "auto" is Euclidean if all columns are numbers and no cell is missing. `frame` has the columns of `matrix` only.
    """
    if distance == "auto":
        is_plain = not matrix.is_category.any() and bool(matrix.known.all())
        distance = "euclidean" if is_plain else "gower"
    if distance == "euclidean":
        return distance, EuclideanRows(values)
    table = view(frame)
    rows = column_roles(table, "gower", None).encode(table)  # type: ignore[arg-type]
    return distance, GowerRows(learn_space(DistanceSpec("gower"), rows), rows)
