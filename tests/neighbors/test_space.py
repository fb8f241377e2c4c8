"""What a space learns, what its points are, and when two spaces measure alike."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from foldwise.neighbors.distance import MIXED, NUMERIC, DistanceSpec
from foldwise.neighbors.encoding import EncodedRows
from foldwise.neighbors.search import NeighborIndex
from foldwise.neighbors.space import bytes_per_code, exact_weights, learn_space
from tests.neighbors.tables import mixed_table, numeric_table


@pytest.mark.parametrize(
    ("scale", "scaler"), [("standard", StandardScaler), ("minmax", MinMaxScaler), ("robust", RobustScaler)]
)
def test_scales_are_those_of_scikit_learn(scale: str, scaler: type) -> None:
    training, queries = numeric_table(40, 0), numeric_table(10, 1)
    points = learn_space(DistanceSpec("euclidean", scale=scale), training).points(queries)
    assert_allclose(points.numbers, scaler().fit(training.numbers).transform(queries.numbers), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("components", [2, 0.8])
def test_components_are_those_of_scikit_learn(components: float) -> None:
    training, queries = numeric_table(40, 0), numeric_table(10, 1)
    space = learn_space(DistanceSpec("manhattan", scale="standard", components=components), training)
    scaler = StandardScaler().fit(training.numbers)
    pca = PCA(components, svd_solver="full").fit(scaler.transform(training.numbers))
    expected = pca.transform(scaler.transform(queries.numbers))
    assert_allclose(space.points(queries).numbers, expected, rtol=1e-10, atol=1e-12)
    one_by_one = [space.points(queries.take(slice(i, i + 1))).numbers[0] for i in range(10)]
    assert_array_equal(space.points(queries).numbers, one_by_one)


def test_all_components_keep_weighted_distances() -> None:
    cells = numeric_table(30, 0)
    weights = np.array([0.5, 2.0, 1.0, 0.0, 1.0, 7.0])
    turned = DistanceSpec("euclidean", number_weights=weights, components=5)
    straight = DistanceSpec("euclidean", number_weights=weights)
    distances = [NeighborIndex(learn_space(d, cells), cells).nearest(cells, 30)[0] for d in (turned, straight)]
    assert_allclose(distances[0], distances[1], rtol=1e-9, atol=1e-7)


def test_what_learns() -> None:
    assert all(DistanceSpec(metric).learns for metric in MIXED)
    assert not any(DistanceSpec(metric).learns for metric in NUMERIC)
    assert DistanceSpec("euclidean", scale="minmax").learns
    assert DistanceSpec("cosine", components=2).learns


def test_hvdm_needs_classes() -> None:
    with pytest.raises(ValueError, match="hvdm learns from classes"):
        learn_space(DistanceSpec("hvdm"), mixed_table(10, 0))


def test_weights_must_fit_the_table() -> None:
    with pytest.raises(ValueError, match="weights are for 10 categorical and 2 numeric columns"):
        learn_space(DistanceSpec("gower", number_weights=np.ones(2)), mixed_table(10, 0))


def test_exact_weights_have_one_sum() -> None:
    rng = np.random.default_rng(0)
    weights = rng.random(60) ** 20
    exact = exact_weights(weights)
    assert_allclose(exact, weights, atol=1e-15 * weights.sum())
    sums = {float(sum(rng.permutation(exact).tolist())) for _ in range(50)}
    assert len(sums) == 1
    assert_array_equal(exact_weights(np.ones(7)), np.ones(7))
    assert_array_equal(exact_weights(np.zeros(3)), np.zeros(3))


def test_codes_need_bytes_for_their_levels_and_two_more() -> None:
    assert [bytes_per_code(n) for n in (0, 1, 254, 255, 65_534, 65_535)] == [1, 1, 1, 2, 2, 3]


def test_cells_say_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="2 rows but codes has 3"):
        EncodedRows(np.zeros((2, 1)), np.zeros((3, 0), dtype=np.int32), ())
    with pytest.raises(ValueError, match="1 columns but n_levels names 0"):
        EncodedRows(np.zeros((2, 1)), np.zeros((2, 1), dtype=np.int32), ())
    cells = mixed_table(6, 0).take(np.array([4, 1]))
    assert cells.n_rows == 2
    assert_array_equal(cells.codes[1], mixed_table(6, 0).codes[1])
