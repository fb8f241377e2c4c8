"""Held-out predictions of a run: they give its honest estimate again, and the mistakes are the worst rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

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
