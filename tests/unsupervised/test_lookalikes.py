"""Look-alikes against distances of the `gower` package, and what differs against the cells themselves."""

from __future__ import annotations

import gower
import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest

from foldwise import similar
from foldwise.errors import FoldwiseTypeError, InputError

mpl.use("Agg")
RNG = np.random.default_rng(0)
FRAME = pl.DataFrame(
    {
        "a": RNG.normal(size=60),
        "b": RNG.poisson(4, 60).astype(float),
        "c": RNG.choice(["x", "y", "z"], 60),
        "number": np.arange(60),
    }
)


def test_similar_rows_are_those_of_the_gower_package():
    compared = FRAME.drop("number").to_pandas()
    expected = gower.gower_matrix(compared, cat_features=[False, False, True])[17]
    found = similar(FRAME, row=17, n=8)
    others = np.delete(np.arange(60), 17)
    np.testing.assert_allclose(found.distances, np.sort(expected[others])[:8], rtol=1e-5)
    np.testing.assert_allclose(found.distances, expected[found.rows], rtol=1e-5)
    assert 17 not in found.rows
    assert list(found.left_out) == ["number"]


def test_gaps_average_to_the_distance():
    found = similar(FRAME, row=3)
    np.testing.assert_allclose(np.mean(found.gaps, axis=1), found.distances)


def test_differences_name_the_cells():
    found = similar(FRAME, row=5, n=3)
    for other, differences in zip(found.rows.tolist(), found.differences, strict=True):
        named = {one.column: (one.value, one.other) for one in differences}
        expected = {c: (FRAME[c][5], FRAME[c][other]) for c in "abc" if FRAME[c][5] != FRAME[c][other]}
        assert named == expected
        assert sorted([one.gap for one in differences], reverse=True) == [one.gap for one in differences]


def test_a_row_given_as_mapping_or_frame():
    mapping = FRAME.drop("number").row(9, named=True)
    found = similar(FRAME, mapping, n=2)
    assert found.row is None
    assert found.rows[0] == 9
    assert found.distances[0] == 0.0
    assert found.differences[0] == ()
    assert similar(FRAME, FRAME[9], n=1).rows.tolist() == [9]
    assert similar(FRAME.to_pandas(), pd.DataFrame([mapping]), n=1).rows.tolist() == [9]


def test_missing_cells_count_as_different_only_if_one_is_missing():
    frame = pl.DataFrame({"a": [1.0, 2.0, None, None], "b": ["x", "x", "x", "y"]})
    found = similar(frame, row=2, n=3)
    named = {row: [one.column for one in cells] for row, cells in zip(found.rows, found.differences, strict=True)}
    assert named == {0: ["a"], 1: ["a"], 3: ["b"]}


def test_results_are_shown():
    found = similar(FRAME, row=0, n=4)
    assert str(found).startswith("The 4 rows most similar to row 0:")
    assert found.to_frame().columns == ["row", "distance", "n_different", "differences"]
    assert "<table" in found._repr_html_()
    assert len(found.plot().get_yticklabels()) == 4


def test_bad_rows_are_refused():
    with pytest.raises(InputError, match="row must be from 0 to 59"):
        similar(FRAME, row=60)
    with pytest.raises(InputError, match="which the table does not have"):
        similar(FRAME, {"d": 1})
    with pytest.raises(InputError, match="single row"):
        similar(FRAME, FRAME[:2])
    with pytest.raises(InputError, match="in column 'a'"):
        similar(FRAME, {"a": "much"})
    with pytest.raises(FoldwiseTypeError, match="row must be an index"):
        similar(FRAME, "seven")
    with pytest.raises(InputError, match="all are left out"):
        similar(np.ones((4, 2)), row=0)


def test_more_rows_than_there_are():
    assert len(similar(FRAME[:5], row=0, n=100)) == 4
