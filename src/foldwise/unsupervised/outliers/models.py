"""P-values of rows under a model of normal rows: three kinds of scores with fitted tails, combined into one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldwise.arrays import Floats, Indices
from foldwise.folds.progress import Progress
from foldwise.neighbors.encoding import EncodedRows
from foldwise.unsupervised.outliers.cells import CellModel, deviations, fit_cells
from foldwise.unsupervised.outliers.row_scores import (
    ForestScores,
    NeighborScores,
    fit_forest,
    fit_neighbors,
    held_out_forest,
)
from foldwise.unsupervised.outliers.tails import ScoreTail, fit_tail

METHODS = ("cells", "neighbors", "forest")
# shares of the level: most errors are in single cells, where the correction for columns costs power
SHARES = {"cells": 0.7, "neighbors": 0.15, "forest": 0.15}


@dataclass(frozen=True)
class OutlierOptions:
    """What `find_outliers` was asked for, already checked."""

    methods: tuple[str, ...] = METHODS
    distance: str = "gower"
    n_neighbors: int = 10
    max_rows: int = 20_000
    seed: int = 0
    threads: int = 1


@dataclass(frozen=True, eq=False)
class RowEvidence:
    """What speaks against each row.

    Attributes
    ----------
    p_values : dict of str to ndarray
        One p-value per row for each method. They are not limited to 1, so that they also rank usual rows.
    cells : ndarray of shape (n_rows, n_columns)
        One p-value per cell; 1 if the method "cells" was not used.
    nearest : ndarray of shape (n_rows, k) or None
        The nearest training rows.
    """

    p_values: dict[str, Floats]
    cells: Floats
    nearest: Indices | None

    @property
    def combined(self) -> Floats:
        """The smallest p-value of the methods, each divided by the share of the level that it has."""
        total = sum(SHARES[method] for method in self.p_values)
        return np.asarray(np.min([p * total / SHARES[method] for method, p in self.p_values.items()], axis=0))


@dataclass(frozen=True, eq=False)
class OutlierModel:
    """Scores with fitted tails. Attributes of methods that were not asked for are None."""

    n_categories: int
    cells: CellModel | None
    neighbors: NeighborScores | None
    neighbor_tail: ScoreTail | None
    forest: ForestScores | None
    forest_tail: ScoreTail | None

    def evidence(self, rows: EncodedRows) -> RowEvidence:
        """Compute the p-values of new rows."""
        found: dict[str, Floats] = {}
        cells, nearest = np.ones((rows.n_rows, rows.numbers.shape[1] + rows.codes.shape[1])), None
        if self.cells is not None:
            far = deviations(self.cells.scales, rows, self.cells.predictor)
            cells = self.cells.p_values(far, self.n_categories)
            found["cells"] = cells.shape[1] * cells.min(axis=1)
        if self.neighbors is not None and self.neighbor_tail is not None:
            scores, nearest = self.neighbors.of(rows)
            found["neighbors"] = self.neighbor_tail.p_values(scores)
        if self.forest is not None and self.forest_tail is not None:
            found["forest"] = self.forest_tail.p_values(self.forest.of(rows))
        return RowEvidence(found, cells, nearest)


def fit_outlier_model(
    rows: EncodedRows, options: OutlierOptions, new_rows: bool, progress: Progress
) -> tuple[OutlierModel, RowEvidence]:
    """Fit the model, and compute the p-values of its own rows from scores that were held out.

    Without `new_rows` the forest of all rows, which only new rows need, is not grown.
    """
    rng = np.random.default_rng(options.seed)
    order = rng.permutation(rows.n_rows)
    folds = [np.sort(order[::2]), np.sort(order[1::2])]
    cell_model = neighbors = neighbor_tail = forest = forest_tail = nearest = None
    found: dict[str, Floats] = {}
    cells = np.ones((rows.n_rows, rows.numbers.shape[1] + rows.codes.shape[1]))
    progress.expect(len(options.methods))
    if "cells" in options.methods:
        cell_model = fit_cells(rows, folds)
        cells = cell_model.p_values(cell_model.own_deviations, rows.codes.shape[1])
        found["cells"] = cells.shape[1] * cells.min(axis=1)
        progress.advance(1)
    if "neighbors" in options.methods:
        neighbors = fit_neighbors(rows, options.distance, options.n_neighbors, options.max_rows, rng, options.threads)
        scores, nearest = neighbors.own(rows)
        neighbor_tail = fit_tail(scores)
        found["neighbors"] = neighbor_tail.p_values(scores)
        progress.advance(1)
    if "forest" in options.methods:
        forest = fit_forest(rows, options.seed) if new_rows else None
        scores = held_out_forest(rows, folds, options.seed)
        forest_tail = fit_tail(scores)
        found["forest"] = forest_tail.p_values(scores)
        progress.advance(1)
    model = OutlierModel(rows.codes.shape[1], cell_model, neighbors, neighbor_tail, forest, forest_tail)
    return model, RowEvidence(found, cells, nearest)
