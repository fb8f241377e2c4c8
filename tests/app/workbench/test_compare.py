"""Runs side by side: the differences are tested on the rows that both held out."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import foldwise
from foldwise.app.run_folder import read_facts
from foldwise.app.workbench.held_out_rows import read_held_out
from foldwise.app.workbench.side_by_side import compare_runs, loss_difference, row_losses
from foldwise.evaluation import corrected_t_test
from foldwise.evaluation.metrics import find_metric
from foldwise.report.facts import ReportFacts
from tests.app.fakes import fake_runs
from tests.app.workbench.client import BenchClient
from tests.app.workbench.test_ask import table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a good run, one whose only column is noise, and one with another target."""
    path = tmp_path_factory.mktemp("runs")
    frame = table(200).with_columns(noise=pl.Series(np.random.default_rng(1).normal(size=200)))
    frame.write_csv(path / "a.csv")
    shared = {"budget": 2, "seed": 0, "cv": 5}
    with fake_runs():
        foldwise.fit(frame, target="ill", models=["naive_bayes"], out=path / "good", **shared)
        foldwise.fit(frame.select("noise", "ill"), target="ill", models=["naive_bayes"], out=path / "noise", **shared)
        foldwise.fit(frame, target="price", models=["ridge"], out=path / "price", **shared)
    return path


def test_the_difference_is_that_of_the_folds(folder: Path) -> None:
    found = compare_runs([str(folder / name) for name in ("good", "noise", "price")])
    assert [one["name"] for one in found["runs"]] == ["good", "noise", "price"]
    noise, price = found["tests"]
    assert noise["verdict"] == "clearly worse"
    assert price["why"] == "The runs predict different targets."
    frames = [read_held_out(folder / name / "held_out.parquet", ["row"]) for name in ("good", "noise")]
    assert frames[0]["row"].equals(frames[1]["row"])  # the same folds, because the seed is the same
    losses = []
    for frame in frames:
        proba = frame.select("probability_0", "probability_1").to_numpy()
        losses.append(-np.log(proba[np.arange(frame.height), frame["truth"].to_numpy()]))
    fold = frames[0]["fold"].to_numpy()
    means = [float((losses[1] - losses[0])[fold == k].mean()) for k in np.unique(fold)]
    n = len(fold) / len(means)
    expected = corrected_t_test(means, n / (len(fold) - n))
    assert noise["difference"] == pytest.approx(expected.difference)
    assert noise["p"] == pytest.approx(expected.p)


def test_losses_are_those_of_the_estimate(folder: Path) -> None:
    """The mean loss of the rows is what the metric says, also where a probability is 0."""
    for name, metric in (("good", "log_loss"), ("price", "mean_squared_error")):
        facts = ReportFacts(read_facts(folder / name))
        held_out = pl.read_parquet(folder / name / "held_out.parquet")
        columns = [one for one in held_out.columns if one.startswith(("probability_", "predicted"))]
        predicted, truth = held_out.select(columns).to_numpy(), held_out["truth"].to_numpy()
        expected = find_metric(metric)(truth, predicted if metric == "log_loss" else predicted[:, 0])
        assert row_losses(folder / name, facts)["loss"].mean() == pytest.approx(expected, rel=1e-12)


def test_a_probability_of_zero_is_clipped_as_in_the_registry(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(folder / "good", run)
    certain = pl.read_parquet(run / "held_out.parquet").with_columns(
        probability_0=pl.col("truth").cast(pl.Float64), probability_1=1.0 - pl.col("truth")
    )
    certain.write_parquet(run / "held_out.parquet")  # every prediction is certain, and wrong
    losses = row_losses(run, ReportFacts(read_facts(run)))["loss"].to_numpy()
    np.testing.assert_allclose(losses, find_metric("log_loss")(np.array([0]), np.array([[0.0, 1.0]])), rtol=1e-12)


def test_a_run_is_not_better_than_itself(folder: Path) -> None:
    (same,) = compare_runs([str(folder / "good"), str(folder / "good")])["tests"]
    assert (same["difference"], same["p"], same["verdict"]) == (0.0, 1.0, "no clear difference")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"row": pl.col("row") + 1000}, "too few"),
        ({"truth": 1 - pl.col("truth")}, "their tables differ"),
        ({"fold": pl.lit(1)}, "one fold"),
    ],
)
def test_runs_that_cannot_be_compared(change: dict[str, pl.Expr], why: str) -> None:
    rows = np.arange(20)
    frame = pl.DataFrame({"row": rows, "fold": rows % 4, "truth": rows % 2, "loss": rows / 20, "target": ["y"] * 20})
    assert why in loss_difference(frame.with_columns(**change), frame)["why"]
    assert "no held-out predictions" in loss_difference(frame, None)["why"]


def test_the_page(folder: Path) -> None:
    client = BenchClient(folder)
    page = client.get("/compare?run=good&run=noise").text
    assert "clearly worse" in page
    assert client.get("/compare?run=good&run=../good").status_code == 404
    client.bench._lock.close()
