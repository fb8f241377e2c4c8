"""`foldwise inspect` writes a configuration, and `foldwise fit` uses it: on raw files, without Python.

One file with the fast suite if the real tables are there; all of them by `make tables`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.app.command_line import ask
from tests.tables import raw_files

# what a user would look at in the output of inspect, and the options that its advice names
TARGETS = {
    "AirQualityUCI_decimal_comma.csv": ("CO_HIGH", "--missing=-200"),
    "Concrete_Data.xlsx": ("Concrete compressive strength(MPa, megapascals)",),
    "ReutersCorn-test.arff": ("class-att",),
    "StarWars.csv": ("Gender / Response",),
    "Training Dataset.arff": ("Result",),
    "actions_under_antiquities_act.csv": ("action",),
    "adult-test.csv": ("x14",),
    "anneal.orig.arff": ("class",),
    "attrition_rownames.csv": ("Attrition", "--drop", "rownames"),
    "biopics.csv": ("type_of_subject",),
    "credit-g.arff": ("class",),
    "gdp_per_capita.csv": ("2015",),
    "german.data.txt": ("x20",),
    "hepatitis.arff": ("Class",),
    "kr-vs-k.dat": ("Game",),
    "labor.arff": ("class",),
    "mammography.csv": ("x6",),
    "penguins.arff": ("species",),
    "penguins_decimal_comma.csv": ("species",),
    "penguins_latin1.csv": ("species",),
    "penguins_no_names.csv": ("x0",),
    "penguins_raw.csv": ("Species", "--drop", "Comments"),
    "penguins_title.csv": ("species",),
    "penguins_utf16.tsv": ("species",),
    "pulitzer-circulation-data.csv": ("Daily Circulation, 2013",),
    "sms.tsv": ("x0",),
    "soybean.arff": ("class",),
    "spam_latin1.csv": ("v1",),
    "student-mat_requoted.csv": ("G3",),
    "titanic_train.csv": ("Survived", "--drop", "Name,Ticket"),
    "vote.arff": ("Class",),
    "weather.numeric.arff": ("play",),
    "wholesale.csv": ("Channel",),
    "wine_data.csv": ("x13",),
    "winequality-red.csv": ("quality",),
    "zoo.tab": ("type", "--drop", "name"),
}
FILES = {path.name: path for path in raw_files()}
BUDGET = 20.0


def command(*words: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "foldwise.app.cli", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=900, check=False)


def fitted(path: Path, config: Path, out: Path) -> dict:
    """Fit with the smallest budget that the machine allows: a refusal names it."""
    words = ("fit", path, "--config", config, "--models", "decision_tree", "--drop-unlabeled", "--out", out, "--json")
    budget = BUDGET
    for _ in range(4):
        done = command(*words, "--budget", f"{budget}s")
        least = re.search(r"must be at least (\d+) s", done.stderr)
        if done.returncode == 0 or least is None:
            break
        budget = 1.2 * float(least[1])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_raw_file_is_left_out():
    assert set(FILES) <= set(TARGETS)
    assert len(FILES) >= 6


@pytest.mark.parametrize(
    "name",
    ["penguins.arff", "penguins_decimal_comma.csv", "titanic_train.csv", "AirQualityUCI_decimal_comma.csv", "zoo.tab"],
)
def test_the_written_configuration_reads_alike(name, here):
    if name not in FILES:
        pytest.skip("the real tables are not there")
    target, *options = TARGETS[name]
    before = ask("inspect", FILES[name], "--target", target, *options, "--write-config", "c.toml", "--json")
    assert before[0] == 0, before[2]
    assert tomllib.loads(Path("c.toml").read_text())["target"] == target
    after = ask("inspect", FILES[name], "--config", "c.toml", "--json")
    assert after[0] == 0, after[2]
    columns = [
        [(one["column"], one["missing"]) for one in json.loads(said)["columns"]] for said in (before[1], after[1])
    ]
    assert columns[0] == columns[1]


@pytest.mark.tables
@pytest.mark.parametrize("name", FILES)
def test_inspect_then_fit_with_the_written_configuration(name, tmp_path):
    target, *options = TARGETS[name]
    said = command("inspect", FILES[name], "--target", target, *options, "--write-config", tmp_path / "c.toml")
    assert said.returncode == 0, said.stderr
    told = fitted(FILES[name], tmp_path / "c.toml", tmp_path / "run")
    estimate = told["headline"]["estimate"]
    assert estimate["value"] is not None
    predicted = command("predict", tmp_path / "run", FILES[name], "-o", tmp_path / "out.csv", "--keep", f'"{target}"')
    assert predicted.returncode == 0, predicted.stderr
    print(f"{name}: {estimate['title']} {estimate['value']:.3f}, baseline {told['headline']['baseline']['value']:.3f}")
