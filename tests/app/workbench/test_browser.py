"""The workbench in a real browser: from an upload to a result and back, without a complaint or a request elsewhere."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import foldwise
from foldwise.app.recording.status import RunStatus
from foldwise.app.workbench.queue import is_alive
from tests.app.fakes import fake_runs
from tests.app.workbench.running import FOLDWISE, RunningBench, WatchedPage, wait_for


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
        command = ["predict", str(run), str(folder / "semicolons.csv"), "--separator=;", "--out", str(folder / "p.csv")]
        subprocess.run([*FOLDWISE, *command], check=True, capture_output=True)
        assert pl.read_csv(folder / "p.csv").height == 600
        (folder / "p.csv").unlink()
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


@pytest.mark.slow
def test_a_dropped_file_is_uploaded(browser: Any, folder: Path) -> None:
    with RunningBench(folder) as bench:
        context = browser.new_context()
        watched = WatchedPage(context, bench.base)
        page = watched.page
        page.goto(bench.link)
        page.evaluate(
            """() => {
                const carried = new DataTransfer();
                carried.items.add(new File(["a,b\\n1,2\\n3,4\\n"], "dropped.csv"));
                document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer: carried }));
            }"""
        )
        page.wait_for_url("**/data/dropped.csv")
        assert (folder / "dropped.csv").read_text() == "a,b\n1,2\n3,4\n"
        assert watched.troubles == []
        context.close()


@pytest.mark.slow
def test_the_keyboard_reaches_everything(browser: Any, folder: Path) -> None:
    shutil.copy(folder.parent / "semicolons.csv", folder)
    with RunningBench(folder) as bench:
        context = browser.new_context(viewport={"width": 390, "height": 800})
        page = WatchedPage(context, bench.base).page
        page.goto(bench.link)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to content"
        page.goto(f"{bench.base}/data/semicolons.csv")
        choose(page, "#c-target", "answer")
        page.wait_for_selector("text=Start the run")
        page.evaluate("document.activeElement.blur()")
        wanted = page.evaluate(
            """() => [...document.querySelectorAll("a, button, select, input, summary")].filter((one) =>
                one.type !== "hidden" && one.checkVisibility({ visibilityProperty: true })).length"""
        )
        reached = set()
        for _ in range(wanted + 30):
            page.keyboard.press("Tab")
            reached.add(
                page.evaluate(
                    """() => [...document.querySelectorAll("a, button, select, input, summary")]
                        .indexOf(document.activeElement)"""
                )
            )
        assert len(reached - {-1}) == wanted
        context.close()


@pytest.mark.slow
def test_the_report_tab_prints_the_report(browser: Any, folder: Path) -> None:
    frame = pl.read_csv(folder.parent / "semicolons.csv", separator=";")
    with fake_runs():
        foldwise.fit(frame, target="answer", models=["naive_bayes"], budget=3, out=folder / "run")
    with RunningBench(folder) as bench:
        context = browser.new_context()
        watched = WatchedPage(context, bench.base)
        page = watched.page
        page.goto(bench.link)
        page.goto(f"{bench.base}/runs/run/report")
        assert page.locator("iframe").is_visible()
        assert not page.locator(".printed").is_visible()
        page.emulate_media(media="print")
        assert not page.locator("iframe").is_visible()
        assert not page.locator(".top").is_visible()
        headings = page.locator(".printed h2")
        assert headings.count() > 5
        assert all(headings.nth(i).is_visible() for i in range(headings.count()))
        assert watched.troubles == []
        context.close()


@pytest.mark.slow
def test_workers_end_with_a_killed_server(folder: Path) -> None:
    bench = RunningBench(folder)
    workers = wait_for(lambda: children(bench.process.pid))
    bench.stop(signal.SIGKILL)
    wait_for(lambda: not any(is_alive(pid) for pid in workers), 20)


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(one) for one in text.split()]
