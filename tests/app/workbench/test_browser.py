"""The workbench in a real browser: from an upload to a result and back, without a complaint or a request elsewhere."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from foldwise.app.recording.status import RunStatus
from tests.app.workbench.running import BROWSER, FLAGS, FOLDWISE, RunningBench, WatchedPage, wait_for

playwright = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium is installed: apt-get install chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    x, kind = rng.normal(size=600), rng.choice(["red", "green", "<b>blue</b>"], 600)
    y = np.where(x + (kind == "red") + rng.normal(size=600) > 0.4, "yes", "no")
    frame = pl.DataFrame({"height": x.round(3), "color": kind, "answer": y})
    frame.write_csv(tmp_path / "semicolons.csv", separator=";")
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def choose(page: Any, control: str, value: str) -> None:
    """Choose a value, and wait until the table was read again."""
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.select_option(control, value)
    page.wait_for_selector(".htmx-request, .htmx-swapping, .htmx-settling", state="detached")


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.slow)])
def test_tables_and_choices(browser: Any, folder: Path, width: int) -> None:
    with RunningBench(folder) as bench:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="dark")
        watched = WatchedPage(context, bench.base)
        page = watched.page
        page.goto(bench.link)
        assert page.url == f"{bench.base}/data"
        watched.check()
        page.set_input_files("#file", folder.parent / "semicolons.csv")
        page.wait_for_url("**/data/semicolons.csv")
        assert page.locator(".column").count() == 3
        choose(page, "#c-separator", ",")
        assert page.locator(".column").count() == 1
        choose(page, "#c-separator", ";")
        assert page.locator(".column").count() == 3
        choose(page, "#c-target", "answer")
        page.wait_for_selector("text=Start the run")
        page.click("summary:has-text('Costs')")
        page.fill("#cost-0-1", "5")
        page.wait_for_timeout(50)
        watched.check()
        page.reload()
        assert page.input_value("#c-target") == "answer"
        assert watched.troubles == []
        context.close()


@pytest.mark.slow
def test_from_an_upload_to_a_result_and_back(browser: Any, folder: Path) -> None:
    with RunningBench(folder) as bench:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        watched = WatchedPage(context, bench.base)
        page = watched.page
        page.goto(bench.link)
        page.set_input_files("#file", folder.parent / "semicolons.csv")
        page.wait_for_url("**/data/semicolons.csv")
        choose(page, "#c-separator", ",")
        choose(page, "#c-separator", ";")
        choose(page, "#c-target", "answer")
        choose(page, "#c-budget", "5m")
        page.click("text=Start the run")
        page.wait_for_url("**/runs/semicolons-run")
        run = folder / "semicolons-run"
        wait_for(lambda: RunStatus.of(run).progress.get("estimate"))
        page.wait_for_selector("text=Its estimate on the other folds")
        watched.check()
        page.click("text=Stop and keep the result")
        page.wait_for_selector("#threshold")
        assert RunStatus.of(run).state == "finished"
        watched.check()
        before = RunStatus.of(run).progress["n_settings"]

        page.locator("#threshold").evaluate(
            "slider => { slider.value = 700; slider.dispatchEvent(new Event('input')); }"
        )
        held_out = pl.read_parquet(run / "held_out.parquet")
        taken, truth = held_out["probability_1"] >= 0.7, held_out["truth"] == 1
        shown = [
            int(page.inner_text(f"#{cell}").split()[0].replace(",", ""))
            for cell in ("m-0-0", "m-1-0", "m-0-1", "m-1-1")
        ]
        assert shown == [(taken & truth).sum(), (taken & ~truth).sum(), (~taken & truth).sum(), (~taken & ~truth).sum()]
        page.focus("#threshold")
        page.keyboard.press("ArrowRight")
        assert page.inner_text("#threshold-value") == "70.1%"
        with page.expect_download() as downloading:
            page.click("text=Download held-out predictions")
        saved = pl.read_csv(downloading.value.path())
        assert saved.height == held_out.height
        assert set(saved["truth"]) == {"yes", "no"}

        page.goto(f"{bench.base}/runs/semicolons-run/ask")
        page.get_by_label("height").fill("3.5")
        page.get_by_label("color").select_option("red")
        page.click("button:has-text('Predict')")
        page.wait_for_selector("#h-answer")
        assert "yes" in page.inner_text("#ask .lead b")
        watched.check()

        page.goto(f"{bench.base}/runs/semicolons-run")
        page.select_option("#more", "5m")
        page.click("text=Resume the run")
        wait_for(lambda: RunStatus.of(run).state == "running")
        page.close()  # the tab
        wait_for(lambda: RunStatus.of(run).progress.get("n_settings", 0) > before)
        watched = WatchedPage(context, bench.base)
        page = watched.page
        page.goto(f"{bench.base}/runs/semicolons-run")
        page.click("text=Stop and keep the result")
        page.wait_for_selector("#threshold")
        assert RunStatus.of(run).progress["session"] == 2
        page.goto(f"{bench.base}/runs/semicolons-run/report")
        frame = page.frame_locator("iframe")
        frame.locator("h1").wait_for()
        assert watched.troubles == []

        table, out = folder / "semicolons.csv", folder / "elsewhere"
        page.goto(f"{bench.base}/runs")
        command = [*FOLDWISE, "fit", str(table), "--target", "answer", "--budget", "5m", "--out", str(out), "-q"]
        other = subprocess.Popen(command)
        page.wait_for_selector("a:has-text('elsewhere')")
        page.click("a:has-text('elsewhere')")
        page.wait_for_selector("text=Its estimate on the other folds")
        watched.check()
        page.click("text=Stop and keep the result")
        assert other.wait(60) == 0
        page.wait_for_selector("#threshold")
        page.set_viewport_size({"width": 390, "height": 800})
        watched.check()
        context.close()
