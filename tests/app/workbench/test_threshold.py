"""The threshold of a class among many, in a real browser: what the page shows is what Python counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import foldwise
from tests.app.fakes import fake_runs
from tests.app.workbench.running import RunningBench, WatchedPage

CLASSES = ("bird", "cat", "dog", "fish")
RATES = ("accuracy", "precision", "recall")
COSTS = np.array([[0.0, 1, 2, 3], [4, 0, 1, 1], [1, 7, 0, 2], [2, 1, 5, 0]])  # by decision and truth


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run for four classes that overlap, with a cost for each error."""
    path, rng = tmp_path_factory.mktemp("many"), np.random.default_rng(4)
    truth = rng.integers(0, 4, 500)
    frame = pl.DataFrame({"x": truth + rng.normal(0, 1.2, 500), "z": truth % 2 + rng.normal(0, 0.8, 500)})
    frame = frame.with_columns(animal=pl.Series([CLASSES[k] for k in truth]))
    costs = foldwise.CostMatrix(CLASSES, CLASSES, COSTS)
    with fake_runs():
        foldwise.fit(frame, target="animal", models=["naive_bayes"], costs=costs, budget=3, seed=0, out=path / "run")
    return path


def share(text: str) -> float:
    """A percentage of the page; without rows there is none."""
    return np.nan if text == "undefined" else float(text.rstrip("%")) / 100


def shown(page: Any, n: int) -> tuple[np.ndarray[Any, Any], float, list[float]]:
    """The matrix, the cost and the rates of the page."""
    cells = [[int(page.inner_text(f"#m-{i}-{k}").split()[0].replace(",", "")) for k in range(n)] for i in range(n)]
    return (
        np.array(cells),
        float(page.inner_text("#cost")),
        [share(page.inner_text(f"#{x}")) for x in RATES],
    )


def expected(
    held_out: pl.DataFrame, chosen: int, threshold: float, costs: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], float, list[float]]:
    """The same from the out-of-fold predictions."""
    proba = held_out.select(f"probability_{k}" for k in range(4)).to_numpy()
    rest = proba.copy()
    rest[:, chosen] = -1
    label = np.where(proba[:, chosen] >= threshold, chosen, rest.argmax(axis=1))
    truth = held_out["truth"].to_numpy()
    order = [chosen, *(k for k in range(4) if k != chosen)]
    matrix = np.array([[int(((truth == i) & (label == k)).sum()) for k in order] for i in order])
    n_decided = int(matrix[:, 0].sum())
    precision = matrix[0, 0] / n_decided if n_decided else np.nan
    shares = [(truth == label).mean(), precision, matrix[0, 0] / matrix[0].sum()]
    return matrix, float(costs[label, truth].mean()), shares


def check(page: Any, held_out: pl.DataFrame, chosen: int, threshold: float, costs: np.ndarray[Any, Any]) -> None:
    """Compare the page with the predictions."""
    (matrix, cost, rates), wanted = shown(page, 4), expected(held_out, chosen, threshold, costs)
    np.testing.assert_array_equal(matrix, wanted[0])
    assert cost == pytest.approx(wanted[1], rel=0.005)  # three digits are shown
    assert rates == pytest.approx(wanted[2], abs=0.00051, nan_ok=True)


@pytest.mark.slow
def test_the_slider_of_one_class_among_many(browser: Any, folder: Path) -> None:
    held_out = pl.read_parquet(folder / "run" / "held_out.parquet")
    with RunningBench(folder) as bench:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        watched = WatchedPage(context, bench.base)
        page = watched.page
        page.goto(bench.link)
        page.goto(f"{bench.base}/runs/run")
        check(page, held_out, 0, 0.5, COSTS)
        with page.expect_response("**/decisions?of=dog"):
            page.select_option("#decided-class", "dog")
        page.wait_for_function("document.querySelector('#matrix th[scope=col]')?.textContent === 'dog'")
        page.wait_for_function("document.querySelector('#m-0-0')?.textContent")
        requests: list[str] = []
        page.on("request", lambda sent: requests.append(sent.url))
        steps = int(page.get_attribute("#threshold", "max"))
        matrices = []
        for threshold in (0.1, 0.25, 0.4):
            page.locator("#threshold").evaluate(
                "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }",
                round(threshold * steps),
            )
            check(page, held_out, 2, threshold, COSTS)
            matrices.append(shown(page, 4)[0].tolist())
        assert matrices[0] != matrices[1] != matrices[2]
        page.focus("#threshold")
        page.keyboard.press("ArrowLeft")
        check(page, held_out, 2, 0.4 - 1 / steps, COSTS)
        page.click("summary:has-text('Costs of decisions')")
        page.fill("#c-0-1", "30")  # dog, if the truth is bird
        changed = COSTS.copy()
        changed[2, 0] = 30
        check(page, held_out, 2, 0.4 - 1 / steps, changed)
        page.click("#cheapest")
        at = float(page.input_value("#threshold")) / steps
        check(page, held_out, 2, at, changed)
        every = [expected(held_out, 2, k / steps, changed)[1] for k in range(1, steps)]
        assert expected(held_out, 2, at, changed)[1] <= min(every) + 1e-9
        assert requests == []  # nothing was asked of the server
        watched.check()
        context.close()
