"""The search finds what a double loop finds, in the order of (distance, index), whatever else is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

from foldwise.neighbors import search
from foldwise.neighbors.distance import MIXED, NUMERIC, DistanceSpec
from foldwise.neighbors.encoding import EncodedRows
from foldwise.neighbors.search import NeighborIndex
from foldwise.neighbors.space import learn_space
from tests.neighbors import plain
from tests.neighbors.tables import classes_of, mixed_table, numeric_table

N_CLASSES = 3


@pytest.fixture(autouse=True)
def _every_route(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads and trees also where they are not worth it."""
    monkeypatch.setattr(search, "SMALL", 0)
    monkeypatch.setattr(search, "LEAST_ROWS", 100)
    monkeypatch.setattr(search, "ROWS_PER_NEIGHBOR", 100)


def index_of(distance: DistanceSpec, training: EncodedRows) -> NeighborIndex:
    return NeighborIndex(learn_space(distance, training, classes_of(training.n_rows), N_CLASSES), training)


def everything(distance: DistanceSpec, training: EncodedRows, queries: EncodedRows) -> tuple[np.ndarray, np.ndarray]:
    return index_of(distance, training).nearest(queries, training.n_rows)


def assert_like_plain(distance: DistanceSpec, training: EncodedRows, queries: EncodedRows) -> None:
    """All distances agree with the double loop, and come in order."""
    distances, indices = everything(distance, training, queries)
    expected = np.array(plain.matrix(distance, training, queries, classes_of(training.n_rows).tolist(), N_CLASSES))
    assert_allclose(distances, np.take_along_axis(expected, indices, axis=1), rtol=1e-11, atol=1e-13)
    assert_in_order(distances, indices)
    assert_array_equal(np.sort(indices, axis=1), np.broadcast_to(np.arange(training.n_rows), indices.shape))


def assert_in_order(distances: np.ndarray, indices: np.ndarray) -> None:
    step = np.diff(distances, axis=1)
    assert (step >= 0).all()
    assert (np.diff(indices, axis=1)[step == 0] > 0).all()


def table_for(metric: str, n: int, seed: int, unknown: bool = False) -> EncodedRows:
    return mixed_table(n, seed, unknown=unknown) if metric in MIXED else numeric_table(n, seed)


@pytest.mark.parametrize("metric", MIXED)
@pytest.mark.parametrize(("n_numbers", "n_codes"), [(5, 10), (0, 10), (5, 0), (1, 1), (4, 9)])
def test_mixed_metrics_are_the_plain_ones(metric: str, n_numbers: int, n_codes: int) -> None:
    training = mixed_table(23, 0, n_numbers, n_codes)
    assert_like_plain(DistanceSpec(metric), training, mixed_table(9, 1, n_numbers, n_codes, unknown=True))


@pytest.mark.parametrize("metric", MIXED)
def test_column_weights_of_mixed_metrics(metric: str) -> None:
    rng = np.random.default_rng(3)
    distance = DistanceSpec(metric, number_weights=rng.random(5) * 3, code_weights=rng.random(10))
    distance.number_weights[0] = distance.code_weights[[0, 9]] = 0.0
    assert_like_plain(distance, mixed_table(23, 0), mixed_table(9, 1, unknown=True))
    nothing = DistanceSpec(metric, number_weights=np.zeros(5), code_weights=np.zeros(10))
    assert_like_plain(nothing, mixed_table(6, 0), mixed_table(3, 1))


@pytest.mark.parametrize("metric", NUMERIC)
@pytest.mark.parametrize("scale", [None, "standard", "minmax", "robust"])
@pytest.mark.parametrize("weighted", [False, True])
def test_numeric_metrics_are_the_plain_ones(metric: str, scale: str | None, weighted: bool) -> None:
    weights = np.array([0.5, 2.0, 1.0, 0.0, 1.0, 7.0]) if weighted else None
    distance = DistanceSpec(metric, p=3.5, scale=scale, number_weights=weights)
    assert_like_plain(distance, numeric_table(23, 0), numeric_table(9, 1))


@pytest.mark.parametrize("metric", [*MIXED, *NUMERIC])
def test_one_row_and_no_query(metric: str) -> None:
    one, queries = table_for(metric, 1, 0), table_for(metric, 3, 1)
    assert_like_plain(DistanceSpec(metric), one, queries)
    distances, indices = everything(DistanceSpec(metric), one, queries.take(slice(0, 0)))
    assert distances.shape == indices.shape == (0, 1)
    assert index_of(DistanceSpec(metric), one).within(queries.take(slice(0, 0)), 1.0)[2].tolist() == [0]


def test_no_column_at_all() -> None:
    empty = EncodedRows(np.empty((5, 0)), np.empty((5, 0), dtype=np.int32), ())
    for metric in (*MIXED, *NUMERIC):
        distances, indices = everything(DistanceSpec(metric), empty, empty)
        assert_array_equal(distances, np.full((5, 5), float(metric in ("gower", "cosine"))))
        assert_array_equal(indices, np.broadcast_to(np.arange(5), (5, 5)))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "minkowski", "chebyshev", "cosine"])
def test_scikit_learn_agrees(metric: str) -> None:
    training, queries = numeric_table(300, 0), numeric_table(40, 1)
    options = {"p": 3.0} if metric == "minkowski" else {}
    peer = NearestNeighbors(n_neighbors=7, algorithm="brute", metric=metric, **options).fit(training.numbers)
    distances, _ = index_of(DistanceSpec(metric, p=3.0), training).nearest(queries, 7)
    assert_allclose(distances, peer.kneighbors(queries.numbers)[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", [*MIXED, *NUMERIC])
@pytest.mark.parametrize("k", [1, 5, 80, 900])
def test_few_neighbors_are_the_first_of_all(metric: str, k: int) -> None:
    """Many blocks, many ties; any threads, any share of the queries, any memory."""
    training, queries = table_for(metric, 900, 0), table_for(metric, 37, 1, unknown=True)
    training = replace(training, numbers=np.round(training.numbers), codes=np.minimum(training.codes, 1))
    index = index_of(DistanceSpec(metric), training)
    all_distances, all_indices = index.nearest(queries, 900)
    assert_in_order(all_distances, all_indices)
    for threads in (1, 2, 5):
        distances, indices = index.nearest(queries, k, threads=threads)
        assert_array_equal(distances, all_distances[:, :k])
        assert_array_equal(indices, all_indices[:, :k])
    for some in (slice(0, 1), slice(3, 6), np.array([36, 2, 2])):
        distances, indices = index.nearest(queries.take(some), k)
        assert_array_equal(distances, all_distances[some, :k])
        assert_array_equal(indices, all_indices[some, :k])


@pytest.mark.parametrize("metric", [*MIXED, *NUMERIC])
def test_few_queries_share_out_the_training_rows(metric: str) -> None:
    training, queries = table_for(metric, 5000, 0), table_for(metric, 3, 1)
    index = index_of(DistanceSpec(metric), training)
    alone, shared = index.nearest(queries, 70, threads=1), index.nearest(queries, 70, threads=3)
    assert_array_equal(alone[0], shared[0])
    assert_array_equal(alone[1], shared[1])


@pytest.mark.parametrize("metric", [*MIXED, *NUMERIC])
def test_lists_filtered_by_membership_are_a_search_in_the_subset(metric: str) -> None:
    """Where two spaces measure alike, gaps and indices of the subset do not touch a bit of a distance."""
    everyone = table_for(metric, 600, 0)
    weights = np.random.default_rng(0).random(everyone.codes.shape[1])
    for code_weights in (None, weights):
        space = learn_space(DistanceSpec(metric, code_weights=code_weights), everyone, classes_of(600), N_CLASSES)
        member = np.random.default_rng(1).random(600) < 0.5
        member &= ~np.isnan(everyone.numbers[:, 0])  # the first column has gaps outside the subset only
        rows = np.flatnonzero(member)
        distances, indices = NeighborIndex(space, everyone).nearest(everyone, 600)
        keep = member[indices]
        subset = NeighborIndex(space, everyone.take(rows)).nearest(everyone, rows.size)
        assert_array_equal(distances[keep].reshape(600, -1), subset[0])
        assert_array_equal(indices[keep].reshape(600, -1), rows[subset[1]])


@pytest.mark.parametrize("metric", [*MIXED, *NUMERIC])
def test_a_row_that_is_left_out(metric: str) -> None:
    cells = table_for(metric, 700, 0)
    index = index_of(DistanceSpec(metric), cells)
    distances, indices = index.nearest(cells, 700)
    own = np.arange(700)
    own[5] = -1
    keep = indices != own[:, None]
    keep[5, -1] = False
    for threads in (1, 2):
        some = index.nearest(cells, 699, leave_out=own, threads=threads)
        assert_array_equal(some[0], distances[keep].reshape(700, 699))
        assert_array_equal(some[1], indices[keep].reshape(700, 699))
    with pytest.raises(ValueError, match="k must be from 1 to 699"):
        index.nearest(cells, 700, leave_out=own)


@pytest.mark.parametrize("metric", [*MIXED, *NUMERIC])
def test_within_a_radius(metric: str) -> None:
    cells = table_for(metric, 300, 0)
    index = index_of(DistanceSpec(metric), cells)
    distances, indices = index.nearest(cells, 300)
    leave_out = np.where(np.arange(300) % 2, np.arange(300), -1)
    for radius in (float(distances[7, 20]), 0.0, -1.0, np.inf):
        for left in (None, leave_out):
            keep = distances <= radius
            if left is not None:
                keep &= indices != left[:, None]
            for threads in (1, 2):
                found, at, offsets = index.within(cells, radius, leave_out=left, threads=threads)
                assert_array_equal(np.diff(offsets), keep.sum(axis=1))
                assert_array_equal(found, distances[keep])
                assert_array_equal(at, indices[keep])


@pytest.mark.parametrize("metric", search.TREE_METRICS)
@pytest.mark.parametrize("rounded", [False, True])
def test_a_tree_finds_the_same_rows(metric: str, rounded: bool) -> None:
    """Few columns and many queries go by way of a tree, few queries do not; where rows tie its lists are not used."""
    numbers = np.random.default_rng(0).normal(size=(1500, 3))
    numbers[:100] = numbers[400:500]
    numbers = np.round(numbers, 1) if rounded else numbers
    cells = EncodedRows(numbers, np.zeros((1500, 0), dtype=np.int32), ())
    index, straight = index_of(DistanceSpec(metric, p=3.0), cells), index_of(DistanceSpec(metric, p=3.0), cells)
    some, own = cells.take(slice(300, 600)), np.arange(300, 600)
    for leave_out in (None, own):
        distances, indices = index.nearest(some, 7, leave_out=leave_out, threads=2)
        for part in (slice(0, 200), slice(200, 300)):
            here = straight.nearest(some.take(part), 7, leave_out=None if leave_out is None else own[part])
            assert_allclose(distances[part], here[0], rtol=1e-12)
            assert_array_equal(indices[part], here[1])
    assert index._tree is not None
    assert straight._tree is None


@pytest.mark.parametrize("metric", ["euclidean", "gower", "minkowski"])
def test_many_columns_are_summed_in_panels(metric: str) -> None:
    training, queries = numeric_table(23, 0, n_numbers=150), numeric_table(9, 1, n_numbers=150)
    assert_like_plain(DistanceSpec(metric), training, queries)
    index = index_of(DistanceSpec(metric), training)
    assert_array_equal(index.nearest(queries, 5)[0][8], index.nearest(queries.take(slice(8, 9)), 5)[0][0])


def test_equal_steps_are_equal_distances() -> None:
    """Rows one apart are one apart anywhere in the column: ties are ties, and the earlier place wins."""
    column = np.arange(50.0)[:, None]
    cells = EncodedRows(column / 8 + 1e3, np.zeros((50, 0), dtype=np.int32), ())
    for metric in ("gower", "heom", "hvdm", "euclidean", "manhattan"):
        weights = np.array([0.3])
        _, indices = index_of(DistanceSpec(metric, number_weights=weights), cells).nearest(cells, 3)
        assert_array_equal(indices[1:-1], np.stack((np.arange(1, 49), np.arange(48), np.arange(2, 50)), axis=1))


@pytest.mark.parametrize("metric", ["gower", "heom", "hvdm", "euclidean"])
@pytest.mark.parametrize("unit", [1e-200, 1e200, 5e-324])
def test_tiny_and_huge_cells(metric: str, unit: float) -> None:
    numbers = np.array([[0.0], [1.0], [3.0], [4.0]]) * unit
    cells = EncodedRows(numbers, np.zeros((4, 0), dtype=np.int32), ())
    distances, indices = everything(DistanceSpec(metric), cells, cells)
    assert not np.isnan(distances).any()
    if metric in MIXED:
        assert_array_equal(indices[0], [0, 1, 2, 3])
        ratio = distances[0] / distances[0, 3]
        assert_allclose(ratio, [0, 0.25, 0.75, 1])


def test_a_missing_number_is_refused_by_numeric_metrics() -> None:
    cells = EncodedRows(np.array([[1.0], [np.nan]]), np.zeros((2, 0), dtype=np.int32), ())
    with pytest.raises(ValueError, match="finite values"):
        everything(DistanceSpec("euclidean"), cells, cells)
