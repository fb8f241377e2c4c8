"""Held-out predictions of a run: they give its honest estimate again, and the mistakes are the worst rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import foldwise
from foldwise.app.result import Run
from tests.app.fakes import fake_fit

SIZE = 120


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    x = rng.normal(size=SIZE)
    return pl.DataFrame({"x": x, "y": np.where(x + rng.normal(size=SIZE) > 0, "yes", "no"), "z": 2 * x + 0.1})


def test_classes(table: pl.DataFrame) -> None:
    run = fake_fit(table.drop("z"), target="y", models=("naive_bayes",), cv=4, rows=True)
    frame = run.held_out
    classes = run.facts["task"]["classes"]
    truth = np.asarray(classes)[frame["truth"].to_numpy()]
    assert truth.tolist() == table["y"].to_numpy()[frame["row"].to_numpy()].tolist()
    proba = frame.select("probability_0", "probability_1").to_numpy()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-6)
    of_truth = proba[np.arange(frame.height), frame["truth"].to_numpy()]
    right = np.mean(proba.argmax(axis=1) == frame["truth"].to_numpy())
    matrix = np.asarray(run.facts["predictions"]["confusion"]["counts"])
    assert right == pytest.approx(np.trace(matrix) / matrix.sum())
    worst = run.facts["largest_mistakes"]
    assert worst[0]["of_truth"] == pytest.approx(of_truth.min(), abs=1e-6)
    assert all(one["truth"] != one["predicted"] for one in worst)
    assert worst[0]["cells"] == {"x": str(table["x"][worst[0]["row"]])}


def test_quantities(table: pl.DataFrame) -> None:
    run = fake_fit(table.drop("y"), target="z", models=("knn",), cv=4)
    frame = run.held_out
    np.testing.assert_allclose(frame["truth"], table["z"].to_numpy()[frame["row"].to_numpy()])
    assert run.facts["largest_mistakes"] == []


@pytest.mark.parametrize(
    "options",
    [
        {"drop_unlabeled": True},
        {"weights": "w"},
        {"cv": "holdout:0.3"},
        {"drop_unlabeled": True, "weights": "w", "guarantee": True, "coverage": 0.5},
    ],
)
@pytest.mark.parametrize("target", ["y", "z"])
def test_rows_keep_the_numbers_of_the_table_if_some_are_left_out(
    table: pl.DataFrame, target: str, options: dict[str, object]
) -> None:
    rng = np.random.default_rng(0)
    given = pl.DataFrame({"x": table["x"], target: table[target], "w": np.where(rng.random(SIZE) < 0.2, 0.0, 1.0)})
    if "drop_unlabeled" in options:
        left = [None if k % 7 == 0 else cell for k, cell in enumerate(given[target])]
        given = given.with_columns(pl.Series(target, left))
    if "weights" not in options:
        given = given.drop("w")
    run = fake_fit(
        given,
        target=target,
        models=("knn",),
        rows=True,
        **{"cv": 4, **options},  # type: ignore[arg-type]
    )
    numbers = run.held_out["row"].to_numpy()
    truth = run.held_out["truth"]
    names = run.facts["task"]["classes"]
    found = [names[one] for one in truth] if names else truth.to_list()
    assert max(numbers) >= len(numbers)
    assert found == given[target].gather(numbers).to_list()
    shown = [*run.facts["examples"], *run.facts["largest_mistakes"]]
    assert shown
    for one in shown:
        assert given[target][one["row"]] == pytest.approx(one["truth"])
        for cell in one["cells"] if isinstance(one.get("cells"), list) else []:
            assert cell["cell"] == str(given[cell["column"]][one["row"]])
    if target == "z":
        for one in run.facts["predictions"]["largest"]:
            assert given["z"][one["row"]] == pytest.approx(one["observed"])


MAKE = {"pandas": pd.DataFrame, "pyarrow": pa.table, "polars": pl.DataFrame}


@pytest.mark.parametrize("library", MAKE)
@pytest.mark.parametrize("apart", [True, False])
def test_the_library_is_that_of_the_table(
    table: pl.DataFrame, library: str, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pl.DataFrame({"row": [0, 1], "truth": [1, 0], "probability_0": [0.2, 0.7], "probability_1": [0.8, 0.3]})
    monkeypatch.setattr(
        "foldwise.app.run.run_fit",
        lambda *given: Run(*[None] * 2, {}, None, predicted_rows=rows),  # type: ignore[arg-type]
    )
    X, whole = (MAKE[library](one.to_dict(as_series=False)) for one in (table.select("x"), table.select("x", "y")))
    found = (foldwise.fit(X, table["y"].to_numpy()) if apart else foldwise.fit(whole, target="y")).held_out
    assert type(found) is type(whole)
    assert pl.DataFrame(found).equals(rows)
    assert type(foldwise.fit("table.csv", target="y").held_out) is pl.DataFrame
    assert type(foldwise.fit(table.select("x").to_numpy(), table["y"].to_list()).held_out) is pl.DataFrame


@pytest.mark.slow
def test_a_real_run_returns_and_stores_the_same_rows(table: pl.DataFrame, tmp_path: Path) -> None:
    frame = pd.DataFrame(table.drop("z").to_dict(as_series=False))
    run = foldwise.fit(frame, target="y", budget=4, models=["naive_bayes"], cv=4, n_jobs=1, out=tmp_path / "run")
    assert isinstance(run.held_out, pd.DataFrame)
    sizes = run.held_out.groupby("fold").size().to_list()
    assert set(sizes) == {SIZE // 4}  # a slow machine may not finish all folds, but no row of a fold is missing
    assert run.held_out["row"].is_unique
    assert pl.DataFrame(run.held_out).equals(pl.read_parquet(tmp_path / "run" / "held_out.parquet"))
