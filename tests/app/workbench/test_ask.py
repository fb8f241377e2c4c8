"""The page that predicts one row: its form, its answer, and predictions for a whole table."""

from __future__ import annotations

import html
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import foldwise
from foldwise.app.workbench.one_row import ask_row, row_form, training_table
from foldwise.errors import InputError
from foldwise.storage import open_model
from tests.app.fakes import fake_runs
from tests.app.workbench.client import BenchClient

ROWS = 60


def table(n_rows: int = ROWS) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    size, color = rng.normal(10, 3, n_rows).round(2), rng.choice(["red", "blue", "<b>green</b>"], n_rows)
    ill = np.where(size + 2 * (color == "red") + rng.normal(0, 1, n_rows) > 11, "yes", "no")
    return pl.DataFrame({"size": size, "color": color, "ill": ill, "price": 3 * size + rng.normal(0, 1, n_rows)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, a run for classes with costs, and one for a quantity with intervals."""
    path = tmp_path_factory.mktemp("bench")
    table().write_csv(path / "a.csv")
    costs = foldwise.CostMatrix(("treat", "wait"), ("no", "yes"), np.array([[1.0, 1.0], [0.0, 5.0]]))
    shared = {"budget": 2, "seed": 0}
    with fake_runs():
        foldwise.fit(
            path / "a.csv", target="ill", models=["naive_bayes"], costs=costs, coverage=0.9, out=path / "ill", **shared
        )
        foldwise.fit(path / "a.csv", target="price", models=["ridge"], coverage=0.9, out=path / "price", **shared)
    return path


@pytest.fixture
def bench(folder: Path) -> Iterator[BenchClient]:
    client = BenchClient(folder)
    yield client
    client.bench._lock.close()


def test_the_form_has_the_columns_of_the_model(folder: Path) -> None:
    form = row_form(str(folder / "ill"))
    assert [one["name"] for one in form["fields"]] == ["size", "color", "price"]
    size, color, _ = form["fields"]
    assert 8 < float(size["typical"]) < 12
    assert color["choices"] == ["<b>green</b>", "blue", "red"]
    assert form["task"] == "classification"


def test_the_answer_is_that_of_the_model(folder: Path) -> None:
    found = ask_row(str(folder / "ill"), {"size": "9.5", "color": "red", "price": ""}, str(folder))
    row = pl.DataFrame({"size": [9.5], "color": ["red"], "price": pl.Series([None], dtype=pl.Float64)})
    model = open_model(folder / "ill" / "model.foldwise")
    proba = dict(zip(model.classes_.tolist(), model.predict_proba(row)[0], strict=True))
    assert dict(found["proba"]) == pytest.approx(proba)
    assert found["class"] == max(proba, key=lambda name: proba[name])
    assert found["decision"] == "treat"
    assert found["cost"] == pytest.approx(1.0)
    assert found["set"]
    odds = np.log(proba[found["class"]] / (1 - proba[found["class"]]))
    assert found["base"] + sum(one["contribution"] for one in found["cells"]) == pytest.approx(odds, abs=1e-6)
    (color,) = [one for one in found["curves"] if one["column"] == "color"]
    assert color["predicted"][color["at"].index("red")] == pytest.approx(proba[found["class"]])
    assert found["similar_columns"] == ["ill", "size", "color", "price"]
    assert found["similar_of"] == ROWS


def test_a_quantity_has_an_interval(folder: Path) -> None:
    found = ask_row(str(folder / "price"), {"size": "10", "color": "blue", "ill": "no"}, str(folder))
    assert found["interval"][0] < found["value"] < found["interval"][1]
    assert found["value"] == pytest.approx(30, abs=3)
    assert found["about"] == ""


@pytest.mark.parametrize("text", ["ten", "inf"])
def test_a_wrong_cell_is_named(folder: Path, text: str) -> None:
    with pytest.raises(InputError, match=f"size must be a number such as 3.5, got '{text}'"):
        ask_row(str(folder / "ill"), {"size": text}, str(folder))


def test_the_page(bench: BenchClient) -> None:
    page = bench.post("/runs/ill/ask", data={"cell:size": "ten"}).text
    assert 'role="alert"' in page
    assert 'name="cell:size"' in page  # what was entered can be corrected
    page = bench.post("/runs/ill/ask", data={"cell:size": "9.5", "cell:color": "<b>green</b>", "cell:price": "30"}).text
    for title in ("Prediction", "Reasons", "What if", "Similar training rows"):
        assert f">{title}</h2>" in page
    assert "<b>green" not in page  # cells stay text
    assert "style=" not in page


@pytest.mark.slow
def test_a_whole_table_is_downloaded(bench: BenchClient, folder: Path) -> None:
    sent = bench.get("/runs/ill/predictions?table=a.csv")
    assert sent.headers["content-disposition"] == 'attachment; filename="a-predictions.csv"'
    assert pl.read_csv(io.BytesIO(sent.content)).height == ROWS
    assert not list((folder / ".foldwise" / "downloads").iterdir())
    assert bench.get("/runs/ill/predictions?table=../a.csv").status_code == 404


def test_only_tables_of_the_folder_are_searched(folder: Path, tmp_path: Path) -> None:
    assert training_table(folder / "ill", folder) == folder / "a.csv"
    assert training_table(folder / "ill", tmp_path) is None
    shutil.copytree(folder / "ill", tmp_path / "ill")
    options = json.loads((tmp_path / "ill" / "options.json").read_text())
    for named in ("/etc/passwd", "../../etc/passwd", "no.csv", None, 7, ["a.csv"]):
        (tmp_path / "ill" / "options.json").write_text(json.dumps({**options, "table": named}))
        assert training_table(tmp_path / "ill", tmp_path) is None


def test_a_new_table_is_checked(bench: BenchClient, folder: Path) -> None:
    table(400).with_columns(pl.col("size") + 6).write_csv(folder / "new.csv")
    page = bench.get("/runs/ill/check?table=new.csv&labels=yes").text
    found = foldwise.check(folder / "ill", folder / "new.csv", "ill")
    assert "size" in found.changed_columns
    assert found.sentences()[0].split(".")[0] in html.unescape(page)
    assert bench.get("/runs/ill/check?table=../a.csv").status_code == 404
