"""Scores of whole rows: the distance to the k-th nearest row, and the isolation forest. Higher is more unusual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest

from foldwise.arrays import Floats, Indices
from foldwise.neighbors.distance import DistanceSpec
from foldwise.neighbors.encoding import EncodedRows
from foldwise.neighbors.search import NeighborIndex
from foldwise.neighbors.space import learn_space

N_TREES = 100


@dataclass(frozen=True, eq=False)
class NeighborScores:
    """Rows to compare with, ready to be searched. `chosen` are their indices in the table."""

    index: NeighborIndex
    chosen: Indices
    k: int
    threads: int

    def own(self, rows: EncodedRows) -> tuple[Floats, Indices]:
        """Return distances to the k-th other row, and the nearest rows (n, k), of the rows the index was made from."""
        position = np.full(rows.n_rows, -1, dtype=np.intp)
        position[self.chosen] = np.arange(len(self.chosen))
        distances, found = self.index.nearest(rows, self.k, position, self.threads)
        return distances[:, -1], self.chosen[found]

    def of(self, rows: EncodedRows) -> tuple[Floats, Indices]:
        """Return distances to the k-th nearest row, and the nearest rows (n, k), of new rows."""
        distances, found = self.index.nearest(rows, self.k, None, self.threads)
        return distances[:, -1], self.chosen[found]


def fit_neighbors(
    rows: EncodedRows, distance: str, k: int, max_rows: int, rng: np.random.Generator, threads: int
) -> NeighborScores:
    """Prepare the search among at most `max_rows` rows, which are drawn at random if there are more."""
    chosen: Any = np.arange(rows.n_rows)
    if rows.n_rows > max_rows:
        chosen = np.sort(rng.choice(rows.n_rows, max_rows, replace=False))
    space = learn_space(DistanceSpec(distance), rows)
    k = min(k, len(chosen) - 1)
    return NeighborScores(NeighborIndex(space, rows.take(chosen)), chosen, k, threads)


@dataclass(frozen=True, eq=False)
class ForestScores:
    """An isolation forest on numbers and on the frequencies of categories."""

    forest: IsolationForest
    medians: Floats
    frequencies: tuple[Floats, ...]  # per category column: log-frequency of each level, of unknown and of missing

    def of(self, rows: EncodedRows) -> Floats:
        """Return the anomaly score of rows, between 0 and 1."""
        return np.asarray(-self.forest.score_samples(forest_columns(rows, self.medians, self.frequencies)))


def fit_forest(rows: EncodedRows, seed: int) -> ForestScores:
    """Grow an isolation forest of 100 trees on at most 256 rows each."""
    medians = np.zeros(rows.numbers.shape[1])
    for j in range(len(medians)):
        present = rows.numbers[:, j][~np.isnan(rows.numbers[:, j])]
        medians[j] = np.median(present) if present.size else 0.0
    frequencies = []
    for j, n_levels in enumerate(rows.n_levels):
        codes = rows.codes[:, j]
        counts = np.bincount(codes[codes >= 0], minlength=n_levels).tolist()
        counts += [0, int((codes == -1).sum())]  # codes -2 (unknown) and -1 (missing) count from the end
        frequencies.append(np.log1p(np.array(counts, dtype=np.float64)))
    forest = IsolationForest(n_estimators=N_TREES, max_samples=min(256, rows.n_rows), random_state=seed)
    forest.fit(forest_columns(rows, medians, tuple(frequencies)))
    return ForestScores(forest, medians, tuple(frequencies))


def forest_columns(rows: EncodedRows, medians: Floats, frequencies: tuple[Floats, ...]) -> Floats:
    """Return numbers, medians where missing, beside the log-frequency of each category."""
    numbers = np.where(np.isnan(rows.numbers), medians, rows.numbers)
    parts = [numbers, *(logs[rows.codes[:, [j]]] for j, logs in enumerate(frequencies))]
    # trees compare in float32, where numbers beyond 3e38 would be infinite
    return np.asarray(np.clip(np.concatenate(parts, axis=1), -3e38, 3e38))


def held_out_forest(rows: EncodedRows, folds: list[Indices], seed: int) -> Floats:
    """Score each fold by a forest grown on the other rows."""
    scores = np.empty(rows.n_rows)
    for fold in folds:
        others = np.setdiff1d(np.arange(rows.n_rows), fold)
        scores[fold] = fit_forest(rows.take(others), seed).of(rows.take(fold))
    return scores
