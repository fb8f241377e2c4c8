"""The report in a real browser: no error, no request, and a nomogram that answers as the model does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_wine

from foldwise import NaiveBayes
from foldwise.app.exploring.run import run_explore
from foldwise.app.workers.executors import InProcessExecutor
from foldwise.bayes.nomogram import nomogram
from foldwise.report import render
from tests.report.hostile import hostile
from tests.report.made import WEATHER, cancer_facts, weather_facts, wine_facts
from tests.slow import slow

playwright = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ("quic", "background-networking", "component-update", "sync")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", *(f"--disable-{name}" for name in QUIET)]

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium is installed: apt-get install chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield running
        running.close()


class Opened:
    """A page that was opened from a file, and all that went wrong or left it."""

    def __init__(self, browser: Any, text: str, folder: Path, **options: Any) -> None:
        path = folder / "report.html"
        path.write_text(text, encoding="utf-8")
        self.page = browser.new_page(**options)
        self.page.set_default_timeout(30_000)
        self.troubles: list[str] = []
        self.page.on("console", lambda message: self.troubles.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.troubles.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self._asked(request.url, path.as_uri()))
        self.page.goto(path.as_uri())

    def _asked(self, url: str, own: str) -> None:
        if url != own:
            self.troubles.append(f"request: {url}")

    def probabilities(self) -> list[float]:
        rows = self.page.locator(".posterior-row").all()
        return [float(row.get_attribute("data-probability")) for row in rows]


@pytest.mark.parametrize(
    ("facts", "scheme"),
    [
        (cancer_facts, "dark"),
        *slow(
            (wine_facts, "light"),
            (wine_facts, "dark"),
            (cancer_facts, "light"),
            (weather_facts, "light"),
            (weather_facts, "dark"),
        ),
    ],
)
def test_the_report_opens_without_a_word_of_complaint(browser: Any, tmp_path: Path, facts: Any, scheme: str) -> None:
    opened = Opened(browser, render(facts()), tmp_path, color_scheme=scheme)
    assert opened.page.locator("section").count() >= 8
    assert opened.page.locator("#nomogram-room .axis-row").count() > 1
    opened.page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    opened.page.wait_for_timeout(50)
    assert opened.troubles == []
    opened.page.close()


@pytest.mark.parametrize("facts", [wine_facts, *slow(weather_facts)])
def test_hostile_names_do_nothing(browser: Any, tmp_path: Path, facts: Any) -> None:
    opened = Opened(browser, render(hostile(facts())), tmp_path)
    opened.page.locator(".axis-row").nth(1).locator(".level").last.click()
    opened.page.wait_for_timeout(50)
    assert opened.troubles == []
    assert opened.page.locator("img").count() == 0
    opened.page.close()


def test_empty_facts_open_too(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, render({}), tmp_path)
    assert opened.troubles == []
    opened.page.close()


@pytest.mark.parametrize("facts", [cancer_facts, *slow(wine_facts, weather_facts)])
def test_a_phone_needs_no_sideways_scrolling(browser: Any, tmp_path: Path, facts: Any) -> None:
    opened = Opened(browser, render(facts()), tmp_path, viewport={"width": 360, "height": 740})
    opened.page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    opened.page.close()


def test_a_table_says_that_it_scrolls_only_where_it_does(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, render(cancer_facts()), tmp_path, viewport={"width": 390, "height": 740})
    opened.page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
    opened.page.wait_for_timeout(100)
    overflows = (
        "(wides) => wides.map((wide) => [wide.classList.contains('scrolls'), wide.scrollWidth > wide.clientWidth + 1])"
    )
    found = opened.page.locator(".wide").evaluate_all(overflows)
    assert {tuple(one) for one in found} == {(True, True), (False, False)}
    assert opened.troubles == []
    opened.page.close()


def test_what_is_folded_is_printed(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, render(wine_facts()), tmp_path)
    count = "window.opened = document.querySelectorAll('details[open]').length"
    opened.page.evaluate(f"window.addEventListener('beforeprint', () => {{ {count} }})")
    opened.page.pdf(path=tmp_path / "report.pdf")
    assert opened.page.evaluate("window.opened") == opened.page.locator("details").count() > 3
    assert opened.page.locator("details[open]").count() == 0
    opened.page.close()


def test_the_nomogram_answers_clicks_and_keys_as_the_model_does(browser: Any, tmp_path: Path) -> None:
    frame = pl.read_csv(WEATHER)
    X, y = frame.drop("play"), frame["play"].to_numpy().astype(str)
    model = NaiveBayes(families={"temperature": "kde", "humidity": "binned"}).fit(X, y)
    facts = nomogram(model, X)
    cells = {column["name"]: column["cells"] for column in facts["columns"]}
    row: dict[str, Any] = {
        column["name"]: None if column["start"] is None else column["cells"][column["start"]]
        for column in facts["columns"]
    }
    opened = Opened(browser, render({"format": 1, "bayes": facts}), tmp_path)
    page = opened.page

    def line(name: str) -> Any:
        return page.locator(f'.axis-row[data-column="{name}"]')

    def agrees() -> list[float]:
        asked = {
            name: pl.Series(
                name, [None if row[name] is None else row[name] == "True" if kind == pl.Boolean else row[name]]
            ).cast(pl.Float64 if kind.is_numeric() else kind)
            for name, kind in X.schema.items()
        }
        said = opened.probabilities()
        np.testing.assert_allclose(said, model.predict_proba(pl.DataFrame(asked))[0], atol=1e-9)
        return said

    before = agrees()
    line("outlook").locator('.level[data-cell="0"]').click()  # the dot of overcast
    row["outlook"] = cells["outlook"][0]
    after = agrees()
    assert abs(after[0] - before[0]) > 0.01

    line("windy").locator("select").select_option(label="True")
    row["windy"] = "True"
    agrees()

    slider = line("humidity").locator("input[type=range]")
    slider.focus()
    place = cells["humidity"].index(row["humidity"])
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    row["humidity"] = cells["humidity"][place + 2]
    agrees()

    line("temperature").locator("input[type=checkbox]").check()
    row["temperature"] = None
    agrees()
    line("temperature").locator("input[type=checkbox]").uncheck()

    page.get_by_role("button", name="all unknown").click()
    row = dict.fromkeys(row)
    np.testing.assert_allclose(agrees(), [5 / 14, 9 / 14])
    assert opened.troubles == []
    page.close()


@pytest.mark.slow
def test_the_nomogram_shows_calibrated_probabilities(browser: Any, tmp_path: Path) -> None:
    frame = pl.read_csv(WEATHER)
    model = NaiveBayes().fit(frame.drop("play"), frame["play"].to_numpy().astype(str))
    facts = nomogram(model, frame.drop("play"))
    found = []
    for inverse in (1.0, 0.5):
        opened = Opened(browser, render({"format": 1, "bayes": {**facts, "inverse": inverse}}), tmp_path)
        found.append(np.array(opened.probabilities()))
        opened.page.close()
    softer = np.sqrt(found[0]) / np.sqrt(found[0]).sum()
    np.testing.assert_allclose(found[1], softer, atol=1e-9)


def test_the_nomogram_of_several_classes(browser: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    wine = load_wine()
    X = pl.DataFrame(wine.data, schema=list(wine.feature_names))
    model = NaiveBayes().fit(X, np.array(wine.target_names)[wine.target])
    facts = nomogram(model, X)
    opened = Opened(browser, render({"format": 1, "bayes": facts}), tmp_path)
    row = {}
    for column in facts["columns"]:
        cell = int(rng.integers(len(column["cells"])))
        slider = opened.page.locator(f'.axis-row[data-column="{column["name"]}"] input[type=range]')
        slider.evaluate("(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }", cell)
        row[column["name"]] = [column["cells"][cell]]
        expected = {name: row.get(name, [cells_at_start(facts, name)]) for name in X.columns}
        asked = model.predict_proba(pl.DataFrame(expected))[0]
        np.testing.assert_allclose(opened.probabilities(), asked, atol=1e-9)

    # a class in focus turns the axes, never the answer
    before = opened.probabilities()
    words = opened.page.locator(".axis-row.head .name")
    for name in model.classes_.tolist():
        opened.page.locator(f'.posterior-row[data-class="{name}"]').click()
        assert words.inner_text() == f"odds of {name}"
        assert opened.page.locator('.posterior-row[aria-pressed="true"]').get_attribute("data-class") == name
    assert opened.probabilities() == before
    assert opened.troubles == []
    opened.page.close()


def cells_at_start(facts: dict[str, Any], name: str) -> float:
    column = next(column for column in facts["columns"] if column["name"] == name)
    return float(column["cells"][column["start"]])


def test_an_exploration_is_colored_and_shows_cells_at_the_pointer(browser, tmp_path):
    frame = pl.from_pandas(load_wine(as_frame=True).frame).rename({"hue": "<b>hue</b>"})
    found = run_explore(frame, budget=60.0, rows=True, seed=0, n_jobs=None, executor=InProcessExecutor())
    opened = Opened(browser, render(found.facts), tmp_path)
    page = opened.page
    points = page.locator("#map-picture circle")
    assert points.count() == len(frame)
    before = points.first.evaluate("point => getComputedStyle(point).fill")
    colors = page.locator("#map-color option").all_text_contents()
    assert "<b>hue</b>" in colors
    page.select_option("#map-color", label="<b>hue</b>")
    fills = {point.evaluate("point => getComputedStyle(point).fill") for point in points.all()[:40]}
    assert len(fills) > 10
    assert before is not None
    points.first.hover()
    assert page.locator("#map-tip").inner_text().startswith("row 0\nalcohol: 14.23")
    assert opened.troubles == []
