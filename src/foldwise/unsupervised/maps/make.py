"""`map_table`: what a table looks like."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.spatial.distance import cdist

from foldwise.arrays import Floats
from foldwise.data.arguments import one_of, whole_at_least
from foldwise.data.frames import as_polars, library_of, pandas_index
from foldwise.unsupervised.maps.distances import EuclideanRows, RowDistances, row_distances
from foldwise.unsupervised.maps.distortion import distortion, neighbors_for
from foldwise.unsupervised.maps.layouts import by_components, by_scaling, by_umap
from foldwise.unsupervised.maps.result import TableMap
from foldwise.unsupervised.matrix import findings_of, table_matrix
from foldwise.unsupervised.texts import texts_alone, word_weights

PLAIN_AXES = ("", "")
FEWEST_ROWS = 4
SIMPLER = 0.005  # the simpler map is kept unless the other one is better by this


def map_table(
    table: Any,
    *,
    method: str = "auto",
    distance: str = "auto",
    n_neighbors: int = 10,
    max_measured: int = 2000,
    random_state: int | np.random.Generator | None = 0,
) -> TableMap:
    """Draw a map of the rows of a table, and measure how much it distorts.

    Parameters
    ----------
    table : data frame, Table or array
        The rows. Identifiers, dates and constant columns do not influence the map, but may color it. Texts are compared
        by their words if there are fewer than two other columns, and are left out otherwise.
    method : {"auto", "pca", "mds", "umap"}, default "auto"
        "pca": the first two principal components of standardized columns; categories become indicators, and missing
        cells are replaced with the column mean. "mds": metric multidimensional scaling of the distances. "umap": UMAP
        from umap-learn (`pip install 'foldwise[maps]'`). "auto" tries "pca" and "mds", and keeps the one that
        distorts less.
    distance : {"auto", "euclidean", "gower"}, default "auto"
        Distance between rows. "euclidean" compares standardized columns. "gower" is for mixed columns and missing
        cells. "auto" is "euclidean" for numbers without missing cells, and "gower" otherwise.
    n_neighbors : int, default 10
        Number of neighbors for trustworthiness and continuity, and for UMAP.
    max_measured : int, default 2000
        Distortion is measured on a random sample of at most this many rows.
    random_state : int, Generator or None, default 0
        Seed of samples and of the methods.

    Returns
    -------
    TableMap
        The points, with trustworthiness and continuity.

    Notes
    -----
    Trustworthiness and continuity: Venna & Kaski, Proceedings of ICANN (2001) 485-491. Multidimensional scaling is
    scikit-learn's SMACOF on at most 500 rows; each other row is placed where its distances to these fit best.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from foldwise import map_table
    >>> found = map_table(load_wine(as_frame=True).data)
    >>> found.points.shape
    (178, 2)
    """
    one_of("method", method, ("auto", "pca", "mds", "umap"))
    one_of("distance", distance, ("auto", "euclidean", "gower"))
    whole_at_least("n_neighbors", n_neighbors, 1)
    whole_at_least("max_measured", max_measured, 4)
    rng = np.random.default_rng(random_state)
    frame = as_polars(table)
    values, name, distances, left_out = map_input(frame, distance)
    n = frame.height
    sample = np.sort(rng.permutation(n)[:max_measured])
    in_table = distances.between(sample, sample)
    k = neighbors_for(len(sample), n_neighbors)
    drawn: dict[str, tuple[Floats, tuple[str, str]]] = {}
    for one in ("pca", "mds") if method == "auto" else (method,):
        if one == "pca":
            drawn[one] = by_components(values, int(rng.integers(1 << 31)))
        elif one == "mds":
            drawn[one] = by_scaling(distances, n, rng), PLAIN_AXES
        else:
            drawn[one] = by_umap(distances, name, values, n_neighbors, int(rng.integers(1 << 31))), PLAIN_AXES
    tried = {one: distortion(in_table, cdist(points[sample], points[sample]), k) for one, (points, _) in drawn.items()}
    best = max(tried, key=lambda one: sum(tried[one]) / 2 + SIMPLER * (one == "pca"))
    points, axis_names = drawn[best]
    return TableMap(
        points=points,
        method=best,
        distance=name,
        trustworthiness=tried[best][0],
        continuity=tried[best][1],
        n_neighbors=k,
        n_measured=len(sample),
        tried=tried,
        axis_names=axis_names,
        table=frame,
        left_out=left_out,
        library=library_of(table),
        index=pandas_index(table),
    )


def map_input(frame: pl.DataFrame, distance: str) -> tuple[Floats, str, RowDistances, tuple[str, ...]]:
    """Read the numbers that are mapped, the distance and its name, and the columns that are left out.

    Texts are compared by their words if there are fewer than two columns of numbers or categories beside them.
    """
    found = findings_of(frame)
    texts = texts_alone(found) if frame.height >= FEWEST_ROWS and distance != "gower" else ()
    if texts:
        values, _ = word_weights(frame, texts, "maps")
        others = tuple(f"{one.column!r} ({one.kind})" for one in found if one.column not in texts)
        return values, "euclidean", EuclideanRows(values), others
    matrix = table_matrix(frame, "maps", least_rows=FEWEST_ROWS)
    values = matrix.standardized()
    used = frame.select([frame.columns[j] for j in np.unique(matrix.sources).tolist()])
    name, distances = row_distances(used, matrix, values, distance)
    return values, name, distances, matrix.left_out
