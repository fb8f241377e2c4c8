"""Places rows in the plane: principal components, metric multidimensional scaling, UMAP."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.manifold import MDS

from foldwise.arrays import Floats
from foldwise.errors import FoldwiseError
from foldwise.unsupervised.maps.distances import RowDistances

LANDMARKS = 500  # rows placed by scaling; the others are placed among them
NEAREST_LANDMARKS = 200  # scaled rows to which the distances of each other row are fitted
CHUNK = 2000
STEPS = 50
STILL = 1e-4  # of the size of the map: a step that moves no row farther ends the placement
FEW_ROWS = 2000  # up to so many, UMAP reads all distances; with more, it reads the standardized columns


class MapError(FoldwiseError, ImportError):
    """A map needs a library that is not installed."""


def by_components(values: Floats, seed: int) -> tuple[Floats, tuple[str, str]]:
    """The first two principal components of standardized columns, and their names."""
    k = min(2, *values.shape)
    model = PCA(k, random_state=seed)
    points = np.zeros((len(values), 2))
    points[:, :k] = model.fit_transform(values)
    shares = [*model.explained_variance_ratio_.tolist(), 0.0][:2]
    first, second = (f"Component {i + 1} ({share:.0%} of the variance)" for i, share in enumerate(shares))
    return points, (first, second)


def by_scaling(distances: RowDistances, n: int, rng: np.random.Generator) -> Floats:
    """Metric multidimensional scaling: distances on the map are as close as possible to those in the table.

    Above `LANDMARKS` rows, a random sample is scaled, and each other row is placed where its distances to the sample
    fit best.
    """
    order = rng.permutation(n)
    marks, others = np.sort(order[:LANDMARKS]), np.sort(order[LANDMARKS:])
    between = distances.between(marks, marks)
    between = (between + between.T) / 2  # equal but for rounding, which scikit-learn refuses
    np.fill_diagonal(between, 0.0)
    scaling: Any = MDS(
        2, metric="precomputed", init="classical_mds", n_init=1, max_iter=300,
        normalized_stress=False, random_state=int(rng.integers(1 << 31)),
    )  # fmt: skip
    points = np.empty((n, 2))
    points[marks] = scaling.fit_transform(between)
    near = marks[rng.permutation(len(marks))[:NEAREST_LANDMARKS]]
    for first in range(0, len(others), CHUNK):
        some = others[first : first + CHUNK]
        points[some] = fitted_positions(distances.between(some, near), points[near])
    return points


def fitted_positions(distances: Floats, marks: Floats) -> Floats:
    """Return the positions of rows on the map that fit best to their distances (m, n_marks) from points of the map.

    Notes
    -----
    Each step is the minimum of a quadratic bound on the squared errors of one row's distances (majorization, as in
    SMACOF), so the error never grows: x ← mean(marks) + mean over marks y of d (x - y) / |x - y|.
    """
    nearest = np.argpartition(distances, min(2, distances.shape[1] - 1), axis=1)[:, :3]
    points = marks[nearest].mean(axis=1)
    size = np.ptp(marks, axis=0).max()
    points += 1e-6 * size * np.array([1.0, -1.0])  # a row exactly on a point has no direction to move
    for _ in range(STEPS):
        apart = cdist(points, marks)
        weights = np.divide(distances, apart, out=np.zeros_like(apart), where=apart > 0) / len(marks)
        moved = marks.mean(axis=0) + weights.sum(axis=1)[:, None] * points - weights @ marks
        is_still = float(np.abs(moved - points).max()) <= STILL * size
        points = moved
        if is_still:
            break
    return np.asarray(points)


def by_umap(distances: RowDistances, name: str, values: Floats, n_neighbors: int, seed: int) -> Floats:
    """UMAP of umap-learn: rows that are close in the table stay close, far distances mean little."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of TensorFlow, threads and disconnected points
        try:
            import umap
        except ImportError as error:
            raise MapError(
                "method='umap' needs umap-learn, which is not installed.",
                "run pip install 'foldwise[maps]', or use method='mds'.",
            ) from error
        n = len(values)
        options = {"n_neighbors": max(2, min(n_neighbors, n - 1)), "random_state": seed}
        if name != "gower" or n > FEW_ROWS:
            return np.asarray(umap.UMAP(**options).fit_transform(values), dtype=np.float64)
        rows = np.arange(n)
        between = distances.between(rows, rows)
        return np.asarray(umap.UMAP(metric="precomputed", **options).fit_transform(between), dtype=np.float64)
