"""Maps: distortion as scikit-learn measures it, distances that are kept, colors, and clear errors."""

from __future__ import annotations

import sys

import gower
import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.preprocessing import StandardScaler

from foldwise import map_table, read_table
from foldwise.errors import InputError
from foldwise.unsupervised.maps.distances import row_distances
from foldwise.unsupervised.maps.distortion import distortion, neighbors_for
from foldwise.unsupervised.maps.layouts import fitted_positions
from foldwise.unsupervised.matrix import table_matrix

# whole numbers have equal distances, whose order is arbitrary, so the digits get a little noise
DIGITS = load_digits().data[:300] + np.random.default_rng(0).uniform(0, 1e-3, (300, 64))
DATA = {"wine": load_wine().data, "digits": DIGITS}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("k", [1, 5, 30])
def test_distortion_is_that_of_scikit_learn(name, k):
    X = DATA[name]
    points = PCA(2, random_state=0).fit_transform(X)
    found = distortion(cdist(X, X), cdist(points, points), k)
    assert found[0] == pytest.approx(trustworthiness(X, points, n_neighbors=k), abs=1e-12)
    assert found[1] == pytest.approx(trustworthiness(points, X, n_neighbors=k), abs=1e-12)  # exchanged: continuity


def test_distortion_of_a_small_example_follows_the_definition():
    table, on_map = np.array([[0.0], [1.0], [3.0], [7.0], [15.0]]), np.array([[0.0], [9.0], [1.0], [5.0], [20.0]])
    n, k = 5, 1
    intruders = missed = 0
    for i in range(n):
        by_table = sorted((j for j in range(n) if j != i), key=lambda j: abs(table[i, 0] - table[j, 0]))
        by_map = sorted((j for j in range(n) if j != i), key=lambda j: abs(on_map[i, 0] - on_map[j, 0]))
        intruders += sum(by_table.index(j) + 1 - k for j in by_map[:k] if j not in by_table[:k])
        missed += sum(by_map.index(j) + 1 - k for j in by_table[:k] if j not in by_map[:k])
    scale = 2 / (n * k * (2 * n - 3 * k - 1))
    expected = 1 - scale * intruders, 1 - scale * missed
    assert distortion(cdist(table, table), cdist(on_map, on_map), k) == pytest.approx(expected)
    assert expected[0] < 1


def test_a_random_map_is_not_trustworthy_and_a_perfect_one_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    noise = rng.normal(size=(300, 2))
    assert distortion(cdist(X, X), cdist(X, X), 10) == (1.0, 1.0)
    np.testing.assert_allclose(distortion(cdist(X, X), cdist(noise, noise), 10), 0.5, atol=0.05)


@pytest.mark.parametrize("method", ["pca", "mds"])
def test_a_plane_is_mapped_without_distortion(method):
    rng = np.random.default_rng(0)
    plane = StandardScaler().fit_transform(rng.normal(size=(150, 2)))
    found = map_table(plane, method=method)
    assert found.trustworthiness > 0.999
    assert found.continuity > 0.999
    np.testing.assert_allclose(cdist(found.points, found.points), cdist(plane, plane), atol=0.02)


def test_rows_beyond_the_landmarks_are_placed_where_they_belong():
    plane = np.random.default_rng(0).uniform(-1, 1, (1500, 2))
    Z = StandardScaler().fit_transform(plane)
    found = map_table(plane, method="mds")
    errors = np.abs(cdist(found.points, found.points) - cdist(Z, Z))
    assert np.quantile(errors, 0.999) < 0.05


def test_placing_a_row_never_increases_the_error(monkeypatch):
    rng = np.random.default_rng(0)
    marks, distances = rng.normal(size=(20, 2)), rng.uniform(0.5, 3, (30, 20))
    last = np.inf
    for steps in (1, 2, 4, 8, 16):
        monkeypatch.setattr("foldwise.unsupervised.maps.layouts.STEPS", steps)
        errors = ((cdist(fitted_positions(distances, marks), marks) - distances) ** 2).sum(axis=1)
        assert (errors <= last + 1e-9).all()
        last = errors


def test_components_are_those_of_scikit_learn():
    X = load_wine().data
    expected = PCA(2).fit_transform(StandardScaler().fit_transform(X))
    found = map_table(X, method="pca")
    np.testing.assert_allclose(np.abs(found.points), np.abs(expected), atol=1e-8)
    assert found.axis_names[0] == "Component 1 (36% of the variance)"


def test_gowers_distances_are_those_of_the_package_gower():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"a": rng.normal(size=40), "b": rng.choice(["x", "y", "z"], 40).tolist(), "c": rng.normal(size=40)}
    )
    matrix = table_matrix(frame, "maps")
    name, distances = row_distances(frame, matrix, matrix.standardized(), "auto")
    assert name == "gower"
    rows = np.arange(40)
    expected = gower.gower_matrix(frame.to_pandas().astype({"b": object}))
    np.testing.assert_allclose(distances.between(rows, rows), expected, atol=1e-6)  # the package computes in float32


def test_the_distance_depends_on_columns_and_missing_cells():
    X = load_iris().data
    assert map_table(X, method="pca").distance == "euclidean"
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    found = map_table(gaps)
    assert found.distance == "gower"
    assert np.isfinite(found.points).all()
    assert found.trustworthiness > 0.85


def test_the_map_that_distorts_less_is_kept():
    found = map_table(read_table("examples/loans.csv"))
    assert set(found.tried) == {"pca", "mds"}
    assert found.tried[found.method] == (found.trustworthiness, found.continuity)
    assert sum(found.tried[found.method]) >= max(map(sum, found.tried.values())) - 0.011


def test_the_same_seed_gives_the_same_map():
    table = read_table("examples/loans.csv")
    one, other = (map_table(table, method="mds", random_state=3) for _ in range(2))
    np.testing.assert_allclose(one.points, other.points)


@pytest.mark.parametrize("color", [None, "species", "mass", "year", "note", "flag"])
def test_a_map_is_colored_by_any_column(color):
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "species": rng.choice([*"abcdefghijklmn", None], 200).tolist(),
            "mass": np.where(rng.random(200) < 0.2, np.nan, rng.normal(size=200)),
            "year": rng.integers(2007, 2010, 200),
            "note": [f"row {i} has a long text of its own" for i in range(200)],
            "flag": rng.random(200) < 0.5,
        }
    )
    ax = map_table(table, method="pca").plot(color=color)
    assert sum(len(part.get_offsets()) for part in ax.collections) == 200
    assert ("trustworthiness" in ax.get_title()) is True
    if color == "species":
        assert len(ax.get_legend().get_texts()) == 11  # ten categories and the rest
    if color == "mass":
        assert len(ax.figure.axes) == 2  # a colorbar


def test_a_map_is_colored_by_values_of_the_caller():
    found = map_table(load_iris().data, method="pca")
    labels = [text.get_text() for text in found.plot(color=load_iris().target).get_legend().get_texts()]
    assert labels == ["0", "1", "2"]
    with pytest.raises(InputError, match="one value per row, that is 150, got 3"):
        found.plot(color=[1, 2, 3])
    with pytest.raises(InputError, match="color='x' is not a column"):
        found.plot(color="x")


def test_results_are_words_and_frames():
    found = map_table(read_table("examples/loans.csv"))
    assert found.to_frame().columns == ["row", "x", "y"]
    assert found.to_frame().height == len(found.points)
    assert f"(trustworthiness {found.trustworthiness:.2f})" in repr(found)
    assert "Also tried:" in repr(found)
    assert "<table" in found._repr_html_()
    noise = map_table(np.random.default_rng(0).normal(size=(300, 100)))
    assert "often not close" in noise.summary


BAD = {
    "one row": (pl.DataFrame({"a": [1], "b": [2]}), "maps need a table of at least 4 rows, got 1"),
    "all constant": (pl.DataFrame({"a": ["x"] * 30, "b": [1] * 30}), "at least 1 column .* got 0"),
    "all missing": (pl.DataFrame({"a": [None] * 30, "b": [None] * 30}), "at least 1 column .* got 0"),
    "different texts": (
        pl.DataFrame({"a": [f"w{i}a w{i}b w{i}c w{i}d w{i}e w{i}f" for i in range(50)]}),
        "maps of texts need words that occur in several rows",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused_in_a_sentence(name):
    table, message = BAD[name]
    with pytest.raises(InputError, match=message):
        map_table(table)


def test_texts_are_mapped_by_their_words():
    rng = np.random.default_rng(0)
    topics = [["goal", "match", "team", "player", "league"], ["oven", "flour", "butter", "sugar", "recipe"]]
    texts = [" ".join([*rng.choice(topics[i % 2], 5), f"number{i % 40}", "word of a text"]) for i in range(300)]
    found = map_table(pl.DataFrame({"note": texts, "kind": ["sport", "food"] * 150}))
    sides = np.array(["sport", "food"] * 150)
    centers = np.array([found.points[sides == side].mean(axis=0) for side in ("sport", "food")])
    right = np.array(["sport", "food"])[cdist(found.points, centers).argmin(axis=1)] == sides
    assert right.mean() > 0.95
    assert found.left_out == ("'kind' (binary)",)


def test_unusual_tables_have_maps():
    rng = np.random.default_rng(0)
    one_column = map_table(rng.normal(size=(50, 1)))
    assert one_column.trustworthiness > 0.99
    assert map_table(pl.DataFrame({"a": ["x", "y"] * 20})).points.shape == (40, 2)
    assert map_table(rng.normal(size=(4, 2))).n_neighbors == 1
    wide = map_table(rng.normal(size=(50, 5000)))
    assert np.isfinite(wide.points).all()
    repeated = np.repeat(rng.normal(size=(3, 4)), 20, axis=0)  # many rows are equal
    assert np.isfinite(map_table(repeated).points).all()
    empty_row = pl.DataFrame({"a": [None, 1.5, 2.0, 3.0, 9.0], "b": [None, "x", "y", "x", "y"]})
    assert np.isfinite(map_table(empty_row).points).all()


def test_the_number_of_neighbors_is_below_half_of_the_rows():
    assert [neighbors_for(n, 10) for n in (4, 5, 11, 21, 22, 500)] == [1, 2, 5, 10, 10, 10]


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ImportError, match=r"needs umap-learn.*foldwise\[maps\]"):
        map_table(load_iris().data, method="umap")


@pytest.mark.slow
def test_umap_of_digits_keeps_neighbors():
    pytest.importorskip("umap", reason="umap-learn is in the extra maps")
    X, y = load_digits(return_X_y=True)
    found = map_table(X[:600], method="umap")
    assert found.trustworthiness > 0.9
    assert found.trustworthiness == pytest.approx(
        trustworthiness(table_matrix(X[:600], "maps").standardized(), found.points, n_neighbors=10), abs=1e-3
    )
    mixed = pl.DataFrame({"x": X[:200, 20], "y": X[:200, 30], "digit": y[:200].astype(str)})
    assert map_table(mixed, method="umap").distance == "gower"
