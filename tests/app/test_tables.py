"""Every real table, and every raw file, through the command line: a model, a report, predictions, within the budget.

A few with a small budget in the slow suite; all of them, with twenty seconds and the clock held to it, by `make tables`
on a quiet machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from foldwise import read_table
from foldwise.errors import InputError
from tests import tables
from tests.tables import catalogue

BUDGET = 20.0
OVERRUN = 1.05
SAMPLE = ("survey", "messages", "weather_numeric")
RAW_SAMPLE = ("penguins.arff", "penguins_decimal_comma.csv")


def catalogued() -> dict[str, tuple[Path, str]]:
    rows = [row for row in catalogue().values() if row["task"] in ("classification", "text")]
    return {row["name"]: (Path(row["path"]), row["target"]) for row in rows}


def raw_files() -> dict[str, Path]:
    return {path.name: path for path in tables.raw_files()}


def command(*words: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "foldwise.app.cli", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=600)


def runs(path: Path, target: str, place: Path, budget: float) -> float:
    """Fit a table and predict it again; the seconds that the fit took."""
    start = time.monotonic()
    done = command("fit", path, "--target", target, "--budget", f"{budget}s", "--out", place / "run", "--json")
    seconds = time.monotonic() - start
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["headline"]["estimate"]["value"] is not None
    report = (place / "run" / "report.html").read_text()
    assert "<html" in report
    assert len(report) < 3_000_000
    said = command("predict", place / "run", path, "-o", place / "said.csv")
    assert said.returncode == 0, said.stderr
    assert pl.read_csv(place / "said.csv").height == read_table(path).X.height
    return seconds


def explores(path: Path, place: Path, budget: float) -> float:
    """Explore a table, and assign its rows to the clusters again if there are any; the seconds it took."""
    start = time.monotonic()
    done = command("explore", path, "--budget", f"{budget}s", "--out", place / "out", "--json")
    seconds = time.monotonic() - start
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["headline"]["words"]
    assert len((place / "out" / "report.html").read_text()) < 3_000_000
    rows = pl.read_csv(place / "out" / "rows.csv")
    if "model" in told:
        said = command("predict", place / "out", path, "-o", place / "said.csv")
        assert said.returncode == 0, said.stderr
        assert pl.read_csv(place / "said.csv")["predicted_cluster"].to_list() == rows["cluster"].to_list()
    return seconds


def a_target(path: Path) -> str | None:
    """A column that classes could be: the last without a gap that has two to twenty values."""
    X = read_table(path).X
    found = [
        c.name for c in X if not c.null_count() and 2 <= c.n_unique() <= 20 and c.value_counts()["count"].min() > 1
    ]
    return found[-1] if found else None


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_a_table_runs(name, tmp_path):
    runs(*catalogued()[name], tmp_path, 15.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", RAW_SAMPLE)
def test_a_raw_file_runs(name, tmp_path):
    target = a_target(raw_files()[name])
    assert target is not None
    runs(raw_files()[name], target, tmp_path, 15.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["penguins", "wine"])
def test_a_table_is_explored(name, tmp_path):
    explores(Path(catalogue()[name]["path"]), tmp_path, 30.0)


@pytest.mark.tables
@pytest.mark.parametrize("name", catalogue())
def test_every_table_is_explored_within_the_budget(name, tmp_path):
    seconds = explores(Path(catalogue()[name]["path"]), tmp_path, BUDGET)
    print(f"explore {name}: {seconds:.1f} s")
    assert seconds <= OVERRUN * BUDGET


@pytest.mark.tables
@pytest.mark.parametrize("name", catalogued())
def test_every_table_runs_within_its_budget(name, tmp_path):
    seconds = runs(*catalogued()[name], tmp_path, BUDGET)
    print(f"{name}: {seconds:.1f} s")
    assert seconds <= OVERRUN * BUDGET


@pytest.mark.tables
@pytest.mark.parametrize("name", raw_files())
def test_every_raw_file_runs(name, tmp_path):
    try:
        target = a_target(raw_files()[name])
    except InputError:
        pytest.skip("read_table wants to be told more about this file")
    if target is None:
        pytest.skip("no column of classes")
    runs(raw_files()[name], target, tmp_path, BUDGET)
