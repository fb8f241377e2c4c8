"""The sums of the nomogram's facts are what `predict_proba` says, whatever the family and however many classes."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from foldwise import NaiveBayes
from foldwise.bayes.nomogram import GRID, NUMBERS, nomogram
from foldwise.errors import InputError
from tests.conftest import mixed_columns


def posterior(facts: dict[str, Any], chosen: dict[str, int | None]) -> list[float]:
    """What the page computes, in plain Python; None chooses the missing cell."""

    def logs(values: list[float | None]) -> list[float]:
        return [-math.inf if value is None else value for value in values]

    prior = logs(facts["log_prior"])
    scores = [a + b for a, b in zip(prior, logs(facts["rest"]), strict=True)]
    for column in facts["columns"]:
        cell = chosen[column["name"]]
        said = logs(column["missing"] if cell is None else column["log"][cell])
        scores = [a + b for a, b in zip(scores, said, strict=True)]
    top = max(scores)
    if top == -math.inf:
        scores, top = prior, max(prior)
    shares = [math.exp(score - top) for score in scores]
    return [share / sum(shares) for share in shares]


def draws(facts: dict[str, Any], rng: np.random.Generator, n: int) -> list[dict[str, int | None]]:
    """Rows of cells, some of them missing."""
    return [
        {
            column["name"]: None if rng.random() < 0.2 else int(rng.integers(len(column["cells"])))
            for column in facts["columns"]
        }
        for _ in range(n)
    ]


def cells(facts: dict[str, Any], chosen: dict[str, int | None]) -> dict[str, Any]:
    return {
        column["name"]: None if chosen[column["name"]] is None else column["cells"][chosen[column["name"]]]
        for column in facts["columns"]
    }


def table(rng: np.random.Generator, n: int = 200) -> tuple[pl.DataFrame, Any]:
    X = pl.DataFrame(mixed_columns(rng, n), strict=False)
    size = X["size"].fill_null(5.0).to_numpy()
    return X, np.array(["low", "mid", "high"])[np.digitize(size + rng.normal(0, 1, n), [4, 6])]


def as_cell(value: Any, dtype: Any) -> Any:
    return value == "True" if dtype == pl.Boolean and value is not None else value


@pytest.mark.parametrize("missing", ["ignore", "category"])
@pytest.mark.parametrize("numbers", ["gaussian", "kde", "binned"])
def test_sums_are_predict_proba(rng: np.random.Generator, numbers: str, missing: str) -> None:
    X, y = table(rng)
    model = NaiveBayes(families={"size": numbers, "rings": numbers}, missing=missing, unseen="smooth").fit(X, y)
    facts = json.loads(json.dumps(nomogram(model, X), allow_nan=False))
    chosen = draws(facts, rng, 60)
    rows = [cells(facts, choice) for choice in chosen]
    made = {
        name: pl.Series(name, [as_cell(row[name], dtype) for row in rows], dtype=dtype)
        for name, dtype in X.schema.items()
    }
    expected = model.predict_proba(pl.DataFrame(made))
    np.testing.assert_allclose([posterior(facts, choice) for choice in chosen], expected, atol=1e-9, rtol=0)
    assert {column["kind"] for column in facts["columns"]} == {"category", "number"}


def test_every_category_and_a_grid_of_numbers(rng: np.random.Generator) -> None:
    X, y = table(rng)
    facts = nomogram(NaiveBayes().fit(X, y), X)
    by_name = {column["name"]: column for column in facts["columns"]}
    assert by_name["grade"]["cells"] == ["a", "b", "c", "d"]
    assert by_name["member"]["cells"] == ["False", "True"]
    assert by_name["rings"]["cells"] == [float(i) for i in range(9)]
    assert by_name["rings"]["whole"]
    grid = by_name["size"]["cells"]
    assert 40 <= len(grid) <= GRID
    assert grid == sorted(set(grid))
    assert (grid[0], grid[-1]) == pytest.approx((X["size"].min(), X["size"].max()), abs=0.01)
    for column in facts["columns"]:
        assert len(column["log"]) == len(column["cells"])


def test_the_start_is_a_typical_row() -> None:
    X = pl.DataFrame({"kind": ["a", "b", "b", "b"], "size": [1.0, 2.0, 3.0, 9.0], "rare": [None, None, None, "x"]})
    facts = nomogram(NaiveBayes().fit(X, ["n", "y", "n", "y"]), X)
    start = {column["name"]: column["start"] for column in facts["columns"]}
    assert start == {"kind": 1, "size": 1, "rare": None}


def test_the_most_telling_column_comes_first(rng: np.random.Generator) -> None:
    y = rng.integers(0, 2, 300)
    X = pl.DataFrame(
        {"noise": rng.normal(size=300), "hint": rng.normal(size=300) + y, "tells": rng.normal(size=300) + 4 * y}
    )
    facts = nomogram(NaiveBayes().fit(X, y), X)
    assert [column["name"] for column in facts["columns"]] == ["tells", "hint", "noise"]


def test_what_cannot_be_is_none_and_the_prior_answers_where_nothing_can() -> None:
    X = pl.DataFrame({"a": ["p", "p", "q", "q"], "b": ["u", "u", "v", "v"]})
    model = NaiveBayes(alpha=0.0).fit(X, ["n", "n", "y", "y"])
    facts = json.loads(json.dumps(nomogram(model, X), allow_nan=False))
    by_name = {column["name"]: column for column in facts["columns"]}
    assert by_name["a"]["log"] == [[0.0, None], [None, 0.0]]
    assert posterior(facts, {"a": 0, "b": 0}) == [1.0, 0.0]
    assert posterior(facts, {"a": 0, "b": 1}) == [0.5, 0.5]


def test_text_is_not_shown_and_counts_as_missing() -> None:
    words = ["red wine", "white wine", None, "dark beer", "pale beer", "beer"]
    X = pl.DataFrame({"words": words, "size": [1.0, 2.0, 2.5, 5.0, 6.0, 5.5]})
    model = NaiveBayes(families={"words": "text"}, missing="category").fit(X, list("aaabbb"))
    facts = nomogram(model, X)
    assert facts["not_shown"] == [{"name": "words", "why": "text columns are not shown"}]
    assert [column["name"] for column in facts["columns"]] == ["size"]
    size = facts["columns"][0]["cells"]
    row = pl.DataFrame({"words": pl.Series([None], dtype=pl.String), "size": [size[2]]})
    np.testing.assert_allclose(posterior(facts, {"size": 2}), model.predict_proba(row)[0], atol=1e-9)


def test_columns_out_of_use_are_named(rng: np.random.Generator) -> None:
    X, y = table(rng)
    facts = nomogram(NaiveBayes(columns=["size", "grade"]).fit(X, y), X)
    assert {column["name"] for column in facts["columns"]} == {"size", "grade"}
    assert {hidden["name"] for hidden in facts["not_shown"]} == {"color", "member", "rings"}


def test_a_very_wide_table_keeps_the_page_small(rng: np.random.Generator) -> None:
    X = pl.DataFrame({f"c{i}": rng.normal(size=150) for i in range(400)})
    y = rng.integers(0, 4, 150)
    model = NaiveBayes(missing="category").fit(X, y)
    facts = nomogram(model, X)
    assert sum(len(column["log"]) * 4 for column in facts["columns"]) <= NUMBERS
    assert len(facts["columns"]) + len(facts["not_shown"]) == 400
    assert len(json.dumps(facts)) < 1_500_000
    assert facts["not_shown"][0]["why"] == "it is less informative than the others"
    [choice] = draws(facts, rng, 1)
    row = {name: [None] for name in X.columns} | {name: [cell] for name, cell in cells(facts, choice).items()}
    expected = model.predict_proba(pl.DataFrame(row, schema=X.schema))[0]
    np.testing.assert_allclose(posterior(facts, choice), expected, atol=1e-9)


@pytest.mark.parametrize("shape", ["array", "pandas", "codes"])
def test_arrays_and_other_frames(rng: np.random.Generator, shape: str) -> None:
    iris = load_iris()
    X: Any = iris.data if shape == "array" else pd.DataFrame(iris.data, columns=iris.feature_names)
    families: Any = "gaussian"
    if shape == "codes":
        X, families = rng.integers(0, 3, (150, 3)), "categorical"
    model = NaiveBayes(families=families).fit(X, iris.target)
    facts = nomogram(model, X)
    for choice in draws(facts, rng, 20):
        row = cells(facts, choice)
        values = [[np.nan if row[name] is None else float(row[name]) for name in model.schema_.names]]
        asked: Any = pd.DataFrame(values, columns=X.columns) if shape == "pandas" else np.array(values)
        np.testing.assert_allclose(posterior(facts, choice), model.predict_proba(asked)[0], atol=1e-9)


def test_the_table_is_that_of_the_model() -> None:
    X = pl.DataFrame({"a": ["p", "p", "q", "q"]})
    model = NaiveBayes().fit(X, ["n", "n", "n", "y"])
    table = nomogram(model, X)["table"]
    assert table == {
        "lines": [["(class)", "prior", "3/4", "1/4"], ["a", "p", "3/5", "1/3"], ["a", "q", "2/5", "2/3"]],
        "hidden": 0,
    }


def test_a_sparse_matrix_has_no_axes() -> None:
    X = sparse.csr_matrix([[1, 0], [0, 2]])
    with pytest.raises(InputError, match="sparse"):
        nomogram(NaiveBayes().fit(X, [0, 1]), X)


def test_a_column_of_nothing_but_missing_cells() -> None:
    X = pl.DataFrame({"empty": pl.Series([None] * 4, dtype=pl.Float64), "size": [1.0, 2.0, 5.0, 6.0]})
    facts = nomogram(NaiveBayes().fit(X, [0, 0, 1, 1]), X)
    empty = next(column for column in facts["columns"] if column["name"] == "empty")
    assert (empty["cells"], empty["start"]) == ([], None)
