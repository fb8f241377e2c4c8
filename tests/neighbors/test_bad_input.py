"""What has no answer is refused in words; what is odd has the answer that the documentation says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from foldwise import KNNClassifier, KNNRegressor
from foldwise.errors import FoldwiseTypeError, FoldwiseWarning, InputError

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [4.0, 0.0], [5.0, 5.0]])
Y = np.array([0, 0, 0, 1, 1, 1])
MIXED = pl.DataFrame({"city": ["a", "b", None, "a", "c", "c"], "age": [1.0, None, 3.0, 4.0, 5.0, 9.0]})


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"n_neighbors": 0}, InputError, "at least 1"),
        ({"n_neighbors": 2.0}, FoldwiseTypeError, "integer"),
        ({"n_neighbors": True}, FoldwiseTypeError, "integer"),
        ({"weights": "near"}, InputError, "weights must be"),
        ({"metric": "gauer"}, InputError, "metric must be"),
        ({"metric": "minkowski", "p": 0.5}, InputError, "at least 1"),
        ({"metric": "minkowski", "p": 1000}, InputError, "chebyshev"),
        ({"scale": "max"}, InputError, "scale must be"),
        ({"ties": "random"}, InputError, "ties must be"),
        ({"laplace": -1}, InputError, "at least 0"),
        ({"column_weights": [1.0]}, InputError, "one number per column"),
        ({"column_weights": [0, 0]}, InputError, "every distance would be 0"),
        ({"column_weights": {"z": 1}}, InputError, "does not have"),
        ({"column_weights": [1, -1]}, InputError, "at least 0"),
        ({"pca": 3}, InputError, "more components"),
        ({"pca": 1.5}, InputError, "share of the variance"),
        ({"metric": "gower", "scale": "standard"}, InputError, "its own scaling"),
        ({"metric": "heom", "pca": 1}, InputError, "its own scaling"),
        ({"categorical": ["z"]}, InputError, "does not have"),
        ({"categorical": "x0"}, FoldwiseTypeError, "list of column names"),
        ({"categorical": [0], "metric": "euclidean"}, FoldwiseTypeError, "metric='gower'"),
        ({"n_jobs": 0}, InputError, "n_jobs"),
    ],
)
def test_parameters_are_refused_in_words(params, error, words):
    with pytest.raises(error, match=words):
        KNNClassifier(**params).fit(X, Y)


def test_more_neighbors_than_rows():
    model = KNNClassifier(n_neighbors=7).fit(X, Y)
    with pytest.raises(InputError, match="n_samples_fit = 6"):
        model.predict(X)
    model = KNNClassifier(n_neighbors=6).fit(X, Y)
    assert model.predict(X).tolist() == Y.tolist()  # three votes for each class: the nearest, the row itself, decides
    with pytest.raises(InputError, match="not its own neighbor"):
        model.predict(None)


def test_missing_cells_and_infinity():
    broken = X.copy()
    broken[2, 1] = np.nan
    with pytest.raises(InputError, match=r"'x1' has 1 of them.* metric='gower'"):
        KNNClassifier(2).fit(broken, Y)
    model = KNNClassifier(2).fit(X, Y)
    with pytest.raises(InputError, match="missing values"):
        model.predict(broken)
    assert KNNClassifier(2, metric="gower").fit(broken, Y).predict(broken).shape == (6,)
    broken[2, 1] = np.inf
    with pytest.raises(InputError, match="inf"):
        KNNClassifier(2, metric="heom").fit(broken, Y)


def test_categories_want_a_mixed_distance():
    with pytest.raises(FoldwiseTypeError, match=r"'city'.*metric='gower'"):
        KNNClassifier(metric="euclidean").fit(MIXED, Y)
    assert KNNClassifier(2).fit(MIXED, Y).effective_metric_ == "gower"
    with pytest.raises(InputError, match="contains 'a'"):
        KNNClassifier(metric="euclidean").fit(MIXED.to_pandas().astype({"city": object}), Y)


def test_numbers_of_the_type_object():
    objects = X.astype(object) + 0.5
    with pytest.warns(FoldwiseWarning, match="becomes a category"):
        assert KNNClassifier(2).fit(objects, Y).effective_metric_ == "gower"
    model = KNNClassifier(2, metric="euclidean").fit(objects, Y)
    np.testing.assert_allclose(
        model.kneighbors(objects)[0], KNNClassifier(2).fit(X + 0.5, Y).kneighbors(X + 0.5)[0], rtol=1e-10
    )


def test_dates_are_neither_numbers_nor_categories():
    dates = MIXED.with_columns(pl.lit("2024-01-01").str.to_date().alias("day"))
    with pytest.raises(InputError, match="dates"):
        KNNClassifier().fit(dates, Y)


@pytest.mark.parametrize("metric", ["gower", "heom", "hvdm"])
def test_a_column_all_missing_and_unknown_categories(metric):
    frame = MIXED.with_columns(
        pl.lit(None, dtype=pl.Float64).alias("empty"), pl.lit(None, dtype=pl.String).alias("none")
    )
    model = KNNClassifier(2, metric=metric).fit(frame, Y)
    np.testing.assert_array_equal(
        model.kneighbors(frame)[1], KNNClassifier(2, metric=metric).fit(MIXED, Y).kneighbors(MIXED)[1]
    )
    asked = frame.with_columns(pl.lit("nowhere").alias("city"), pl.lit("now").alias("none"), pl.lit(3.0).alias("empty"))
    distances, _ = model.kneighbors(asked)
    assert np.isfinite(distances).all()


def test_nothing_in_common_is_as_far_as_can_be():
    frame = pl.DataFrame({"a": [1.0, None, 3.0], "b": [None, "x", None]}, schema={"a": pl.Float64, "b": pl.String})
    model = KNNClassifier(3).fit(frame, [0, 1, 0])
    distances, indices = model.kneighbors(frame[:1])
    assert indices.tolist() == [[0, 1, 2]]
    assert distances.tolist() == [[0.0, 1.0, 1.0]]


def test_a_constant_column_under_standard_scaling():
    wide = np.c_[X, np.full(6, 9.0)]
    one, other = KNNClassifier(2, scale="standard").fit(X, Y), KNNClassifier(2, scale="standard").fit(wide, Y)
    np.testing.assert_array_equal(one.kneighbors(X)[1], other.kneighbors(wide)[1])


def test_zero_distances_with_distance_weights():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    model = KNNClassifier(5, weights="distance").fit(X, [0, 0, 1, 1, 1])
    assert model.predict_proba([[0.0]]).tolist() == [[2 / 3, 1 / 3]]
    assert KNNRegressor(5, weights="distance").fit(X, [1, 2, 6, 50, 50]).predict([[0.0]]).tolist() == [3.0]


def test_a_query_of_other_columns():
    model = KNNClassifier(2).fit(MIXED, Y)
    with pytest.raises(ValueError, match=r"feature names should match|columns are"):
        model.predict(MIXED.rename({"age": "years"}))
    with pytest.raises(ValueError, match=r"feature names should match|columns are"):
        model.predict(MIXED.select("age", "city"))
    with pytest.raises(ValueError, match="features"):
        KNNClassifier(2).fit(X, Y).predict(X[:, :1])
    with pytest.raises(InputError, match="contains numbers"):
        model.predict(MIXED.with_columns(pl.lit(3).alias("city")))


def test_hvdm_is_not_for_regression():
    with pytest.raises(InputError, match="learns from classes"):
        KNNRegressor(metric="hvdm").fit(X, Y)


def test_targets():
    with pytest.raises(InputError, match="NaN"):
        KNNRegressor(2).fit(X, [1, 2, 3, np.nan, 5, 6])
    with pytest.raises(InputError, match="inconsistent"):
        KNNRegressor(2).fit(X, [1, 2])
    with pytest.raises(InputError, match="continuous"):
        KNNClassifier(2).fit(X, [0.5, 1, 2, 3, 4, 5])


def test_numbers_too_large_for_their_powers():
    with pytest.raises(InputError, match=r"'x1' contains 1e\+160 in row 2"):
        KNNClassifier(1).fit([[0.0, 1.0], [1.0, 1.0], [2.0, 1e160]], [0, 1, 1])
    with pytest.raises(InputError, match="overflow"):
        KNNClassifier(1, metric="minkowski", p=3).fit([[0.0], [1e120]], [0, 1])
    assert KNNClassifier(1, metric="heom").fit([[0.0], [1e160]], [0, 1]).predict([[9e159]]).tolist() == [1]


def test_principal_components_that_are_not_there():
    with pytest.raises(InputError, match="pca=4"):
        KNNClassifier(1, pca=4).fit(np.eye(3, 5), [0, 1, 1])
    with pytest.raises(InputError, match="all training rows are equal"):
        KNNClassifier(1, pca=0.5).fit(np.ones((4, 2)), [0, 1, 0, 1])


def test_two_columns_of_one_name():
    with pytest.raises(InputError, match="two columns are called 'a'"):
        KNNClassifier(1).fit(pd.DataFrame(X, columns=["a", "a"]), Y)


def test_every_row_within_an_infinite_radius():
    found = KNNClassifier(1).fit(X, Y).radius_neighbors(X, np.inf, return_distance=False)
    assert [len(indices) for indices in found] == [6] * 6
