"""Rankings of rows against plain formulas and scikit-learn's silhouettes."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import silhouette_samples
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.preprocessing import MinMaxScaler

from foldwise import rank_rows
from foldwise.errors import InputError

mpl.use("Agg")
X = np.random.default_rng(0).normal(size=(50, 4))
GOWER = manhattan_distances(MinMaxScaler().fit_transform(X)) / 4


def test_central_rows_have_the_smallest_mean_distance():
    ranking = rank_rows(X)
    np.testing.assert_allclose(ranking.distances, GOWER.sum(axis=1) / 49)
    assert ranking.most_central(3) == np.argsort(GOWER.sum(axis=1))[:3].tolist()


def test_leverage_is_the_diagonal_of_the_hat_matrix():
    design = np.column_stack([np.ones(50), X])
    hat = design @ np.linalg.inv(design.T @ design) @ design.T
    np.testing.assert_allclose(rank_rows(X).leverages, np.diag(hat))


def test_a_missing_category_adds_no_leverage():
    frame = pl.DataFrame({"color": ["red", "blue"] * 20, "size": np.arange(40.0) % 7})
    gap = frame.with_columns(pl.when(pl.int_range(40) == 7).then(None).otherwise("color").alias("color"))
    assert rank_rows(gap).leverages[7] < rank_rows(frame).leverages[7]


def test_leverage_of_categories_with_a_rare_level():
    frame = pl.DataFrame({"a": ["x"] * 9 + ["y"] * 9 + ["rare"], "b": np.arange(19.0) ** 2 % 7})
    assert rank_rows(frame).most_influential(1) == [18]
    np.testing.assert_allclose(rank_rows(frame).leverages[18], 1.0)


def test_typicality_is_the_silhouette():
    groups = np.random.default_rng(1).integers(0, 3, 50)
    ranking = rank_rows(X, groups)
    np.testing.assert_allclose(ranking.typicality, silhouette_samples(GOWER, groups, metric="precomputed"))
    best = ranking.most_typical(1)
    for group, [row] in best.items():
        assert groups[row] == group
        assert ranking.typicality[row] == ranking.typicality[groups == group].max()


def test_rows_without_a_group():
    groups = np.repeat([0, 1, -1], [20, 20, 10])
    ranking = rank_rows(X, groups)
    assert np.isnan(ranking.typicality[40:]).all()
    assert list(ranking.most_typical()) == [0, 1]


def test_a_sample_of_rows_is_close_to_all_rows():
    many = np.random.default_rng(2).normal(size=(3000, 3))
    exact, sampled = rank_rows(many), rank_rows(many, max_rows=500)
    assert np.corrcoef(exact.distances, sampled.distances)[0, 1] > 0.99


def test_results_are_shown():
    ranking = rank_rows(X, ["a"] * 25 + ["b"] * 25)
    assert "Most typical of b: rows" in str(ranking)
    assert ranking.to_frame().columns == ["row", "mean_distance", "leverage", "group", "typicality"]
    assert rank_rows(X).to_frame().width == 3
    assert "<table" in ranking._repr_html_()
    assert ranking.plot().get_ylabel() == "Leverage"


def test_odd_tables():
    assert rank_rows(np.array([[1.0], [2.0]])).distances.tolist() == [1.0, 1.0]
    assert rank_rows(np.random.default_rng(0).normal(size=(20, 500))).leverages == pytest.approx(1.0)
    with pytest.raises(InputError, match="all are left out"):
        rank_rows(np.ones((1, 3)))
    with pytest.raises(InputError, match="one value per row"):
        rank_rows(X, [1, 2])
