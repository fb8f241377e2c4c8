"""Pages of the workbench: every control has its effect, results have their sections, and pictures have words."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import foldwise
from foldwise.app.workbench.choices import ASKED, TableChoices, read_choices
from foldwise.app.workbench.describing import describe
from foldwise.app.workbench.worker import WorkerPool
from foldwise.errors import InputError
from tests.app.fakes import fake_runs
from tests.app.workbench.client import BenchClient
from tests.app.workbench.test_ask import table
from tests.slow import slow

LARGEST = 1_000_000  # bytes of a page with all that it loads
DESCRIBE = "foldwise.app.workbench.describing:describe"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, a run for classes and one for a quantity."""
    path = tmp_path_factory.mktemp("pages")
    table(120).write_csv(path / "a.csv")
    shared = {"budget": 3, "seed": 0}
    with fake_runs():
        foldwise.fit(path / "a.csv", target="ill", models=["naive_bayes"], out=path / "ill", **shared)
        foldwise.fit(path / "a.csv", target="price", models=["ridge"], out=path / "price", **shared)
    return path


@pytest.fixture
def bench(folder: Path) -> Iterator[BenchClient]:
    client = BenchClient(folder)
    yield client
    client.bench._lock.close()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[BenchClient]:
    client = BenchClient(tmp_path)
    yield client
    client.bench._lock.close()


def lead(page: str) -> str:
    """The sentence that counts rows and columns."""
    found = re.search(r'<p class="lead">(.*?)</p>', page)
    assert found is not None
    return found[1]


def test_tables_of_the_folder_are_listed(bench: BenchClient) -> None:
    assert '<a href="/data/a.csv">a.csv</a>' in bench.get("/data").text


@pytest.mark.slow
def test_every_decision_of_reading_reads_again(empty: BenchClient) -> None:
    rows = "1;2,5;x\n3;-999;y\n5;1,5;x\n"
    (empty.bench.folder.path / "t.csv").write_text("a;b;c\n" + rows)
    assert lead(empty.get("/data/t.csv").text).startswith("3 rows, 3 columns")
    assert lead(empty.post("/data/t.csv", data={"separator": "|"}).text).startswith("3 rows, 1 column,")
    page = empty.post("/data/t.csv", data={"separator": ";", "header": "no"}).text
    assert lead(page).startswith("4 rows, 3 columns")
    page = empty.post("/data/t.csv", data={"header": "yes", "missing": "-999"}).text
    assert "Missing: 33.3%" in page
    page = empty.post("/data/t.csv", data={"kind:a": "categorical"}).text
    assert re.search(r'<select id="kind-0" name="kind:a">.*?<option value="categorical" selected>', page, re.DOTALL)
    page = empty.post("/data/t.csv", data={"kind:a": "drop"}).text
    assert lead(page).startswith("3 rows, 2 columns")
    assert "left out" in page
    empty.post("/data/t.csv/forget")
    assert read_choices(empty.bench.folder, "t.csv") == TableChoices()


def test_everything_that_is_asked_becomes_an_option(bench: BenchClient) -> None:
    page = bench.post("/data/a.csv", data={"target": "ill"}).text
    names = [name for name in ASKED if name != "models"]
    assert [name for name in names if f'name="{name}"' not in page] == []
    assert 'name="cost:1:0"' in page
    form = {name: f"<{name}>" for name in names}
    choices = TableChoices.of_form(form, TableChoices())
    file = bench.bench.folder.table("a.csv")
    assert file is not None
    words = choices.arguments(file, bench.bench.folder.path / "out", bench.bench.folder)
    assert [word for word in words if word.startswith("--")][:-1] == [f"--{name}=<{name}>" for name in names]


@pytest.mark.parametrize(("n_classes", "f1", "auc"), [(2, "f1", "roc_auc"), *slow((3, "f1_macro", "roc_auc_ovr"))])
def test_metrics_have_titles_and_fit_the_number_of_classes(tmp_path: Path, n_classes: int, f1: str, auc: str) -> None:
    frame = pl.DataFrame({"x": range(60), "y": ["abc"[i % n_classes] for i in range(60)]})
    frame.write_csv(tmp_path / "t.csv")
    offered = dict(describe(str(tmp_path / "t.csv"), {}, "y")["metrics"]["classification"])
    assert offered["log_loss"] == "log loss"
    assert {f1, auc} <= set(offered)
    assert len({"f1", "f1_macro", "roc_auc", "roc_auc_ovr"} & set(offered)) == 2
    for name in offered:
        foldwise.evaluation.metrics.find_metric(name)
    client = BenchClient(tmp_path)
    page = client.post("/data/t.csv", data={"target": "y"}).text
    client.bench._lock.close()
    assert "automatic: log loss" in page
    assert ">log_loss<" not in page


def test_the_result_has_the_content_of_the_report(bench: BenchClient) -> None:
    page = bench.get("/runs/ill").text
    for name in ("decisions", "leaderboard", "curves", "largest-mistakes"):
        assert f'<section id="{name}"' in page, name
    for words in ("ROC", "Calibration", "Confusion matrix at this threshold", "Mean cost per row", "naive Bayes"):
        assert words in page, words
    page = bench.get("/runs/price").text
    assert "Observed against predicted" in page
    assert '<section id="largest-mistakes"' in page
    assert 'id="threshold"' not in page


@pytest.mark.parametrize(
    "path",
    [
        "/data/a.csv",
        "/runs/ill",
        "/runs/price",
        "/runs/ill/report",
        *slow("/runs/ill/check?table=a.csv", "/runs/ill/ask"),
    ],
)
def test_every_picture_has_words(bench: BenchClient, path: str) -> None:
    page = bench.get(path).text if not path.endswith("/ask") else bench.post(path, data={"cell:size": "9"}).text
    pictures = re.findall(r"<svg\b.*?</svg>", page, re.DOTALL)
    assert pictures
    for one in pictures:
        start = one[: one.index(">")]
        has_words = "aria-label=" in start or re.search(r"<title[^>]*>[^<]+</title>", one)
        assert 'aria-hidden="true"' in start or ('role="img"' in start and has_words), start


@pytest.mark.parametrize(
    "path", ["/runs/ill", "/runs/ill/report", "/data/a.csv", "/runs", "/compare", *slow("/runs/ill/ask")]
)
def test_a_page_with_all_that_it_loads_is_small(bench: BenchClient, path: str) -> None:
    page = bench.get(path).text
    loads = re.findall(r'<(?:script|link|iframe|img)\b[^>]*?(?:src|href)="([^"]+)"', page)
    assert loads
    assert all(one.startswith("/") and not one.startswith("//") for one in loads)
    answers = [bench.get(one) for one in loads]
    assert {one.status_code for one in answers} == {200}
    assert len(page.encode()) + sum(len(one.content) for one in answers) < LARGEST


def test_reports_are_in_a_sandbox(bench: BenchClient) -> None:
    page = bench.get("/runs/ill/report").text
    assert '<iframe class="report" sandbox="allow-scripts" src="/runs/ill/report.html"' in page
    policy = bench.get("/runs/ill/report.html").headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts;")
    assert "allow-same-origin" not in policy + page


@pytest.mark.parametrize(
    "path", ["/runs/ill/report.html?download", "/runs/ill/held-out.csv", *slow("/runs/ill/predictions?table=a.csv")]
)
def test_downloads_are_attachments(bench: BenchClient, path: str) -> None:
    answered = bench.get(path)
    assert answered.status_code == 200
    assert answered.headers["content-disposition"].startswith("attachment; filename=")


def test_the_print_of_the_report_has_all_its_sections(bench: BenchClient) -> None:
    report = bench.get("/runs/ill/report.html").text
    printed = bench.get("/runs/ill/report").text.partition('<div class="printed">')[2]
    titles = re.findall(r"<h2[^>]*>([^<]+)</h2>", report)
    assert len(titles) > 5
    assert [one for one in titles if not re.search(rf"<h2[^>]*>{re.escape(one)}</h2>", printed)] == []


def test_a_worker_that_takes_too_long_is_killed(folder: Path) -> None:
    async def ask() -> list[int | None]:
        pool, started = WorkerPool(1), []
        take = pool._take

        async def watched() -> asyncio.subprocess.Process:
            started.append(await take())
            return started[-1]

        pool._take = watched  # type: ignore[method-assign]
        with pytest.raises(InputError, match="took longer than"):
            await pool(DESCRIBE, 0.01, path=str(folder / "a.csv"), options={})
        codes = [one.returncode for one in started]
        assert (await pool(DESCRIBE, path=str(folder / "a.csv"), options={}))["n_rows"] == 120  # another worker
        await pool.close()
        return codes

    assert asyncio.run(ask()) == [-9]


def test_the_server_itself_opens_no_model() -> None:
    code = "import sys, foldwise.app.workbench.server\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "foldwise.app.workbench.server" in loaded
    assert {"foldwise.storage", "foldwise.models", "joblib", "sklearn"} & set(loaded) == set()
