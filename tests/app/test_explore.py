"""`explore`: planted answers are found, the clock is kept, rows stay private, and bad tables get one sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import foldwise
from foldwise.app.exploring.answers import ExploredTable, QuestionAnswer, cell_text
from foldwise.app.exploring.asking import QUESTIONS, Question, QuestionLoop
from foldwise.app.exploring.clustering import ask_clusters
from foldwise.app.exploring.run import run_explore
from foldwise.app.timing import Clock
from foldwise.app.workers.executors import InProcessExecutor
from foldwise.app.workers.jobs import JobFailure
from foldwise.errors import InputError
from tests.app.command_line import ask, refused
from tests.app.fakes import FakeTime

SECRET = "Xanthippe"


def planted(n: int = 240, seed: int = 0) -> pl.DataFrame:
    """Three groups in two columns, a category that follows one of them, an identifier, and one typing error."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1, 2], n // 3)
    length = np.array([0.0, 8.0, 0.0])[group] + rng.normal(size=n)
    weight = np.array([0.0, 0.0, 8.0])[group] + rng.normal(size=n)
    height = rng.normal(170, 8, size=n)
    height[17] = 1740.0
    return pl.DataFrame(
        {
            "name": [f"{SECRET}-{i}" for i in range(n)],
            "length": length,
            "weight": weight,
            "height": height,
            "kind": np.where(group == 2, "heavy", "light"),
        }
    )


def explored(table, budget=60.0, rows=True, **more):
    return run_explore(table, budget=budget, rows=rows, seed=0, n_jobs=None, executor=InProcessExecutor(), **more)


@pytest.fixture(scope="module")
def found():
    return explored(planted())


def test_planted_clusters_are_found_and_described(found):
    clusters = found.facts["clusters"]
    assert clusters["k"] == 3
    assert [card["size"] for card in clusters["cards"]] == [80, 80, 80]
    assert {card["contrasts"][0]["column"] for card in clusters["cards"]} <= {"length", "weight", "kind"}
    assert all(card["rule"] for card in clusters["cards"])
    assert "3 clusters, of 80, 80 and 80 rows" in found.facts["headline"]["words"][0]


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table, pl.DataFrame])
def test_rows_are_a_frame_of_the_library_of_the_table(found, make, monkeypatch):
    monkeypatch.setattr("foldwise.app.exploring.run.run_explore", lambda table, **options: found)
    given = make(planted().to_dict(as_series=False))
    rows = foldwise.explore(given).rows
    assert type(rows) is type(given)
    assert list(rows["cluster"]) == list(make(found.rows.to_dict(as_series=False))["cluster"])


def test_the_typing_error_is_an_outlier_with_its_cell(found):
    first = found.facts["outliers"]["rows"][0]
    assert (first["row"], first["cells"][0]["column"], first["cells"][0]["value"]) == (17, "height", "1740")
    assert found.rows["outlier"][17]


def test_the_other_questions_are_answered(found):
    facts = found.facts
    assert any("kind = heavy" in (rule["then"], *rule["if"]) for rule in facts["associations"]["rules"])
    assert facts["factors"]["n"] >= 1
    assert len(facts["map"]["x"]) == 240
    assert len(facts["map"]["clusters"]) == 240
    assert {color["name"] for color in facts["map"]["colors"]} == {"length", "weight", "height", "kind"}
    assert len(facts["ranking"]["central"]) == 5
    assert 17 in [one["row"] for one in facts["ranking"]["influential"]]


def test_identifiers_are_left_out_and_named(found):
    assert "'name' identifies rows and is left out." in found.facts["audit"]["notes"]
    assert "name" not in [one["column"] for card in found.facts["clusters"]["cards"] for one in card["contrasts"]]


def test_the_model_assigns_rows_as_the_file_says(found, tmp_path):
    folder = found.save(tmp_path / "out")
    planted().write_csv(tmp_path / "table.csv")
    code, out, error = ask("predict", folder, tmp_path / "table.csv", "-o", tmp_path / "said.csv")
    assert code == 0, error
    assert "240 rows assigned to clusters (1: 80, 2: 80, 3: 80)" in out
    said, written = pl.read_csv(tmp_path / "said.csv"), pl.read_csv(folder / "rows.csv")
    assert said.columns == ["predicted_cluster"]
    assert said["predicted_cluster"].to_list() == written["cluster"].to_list() == found.rows["cluster"].to_list()
    code, out, _ = ask("predict", folder, tmp_path / "table.csv", "-o", tmp_path / "said.csv", "--json")
    assert json.loads(out)["clusters"] == {"1": 80, "2": 80, "3": 80}


def test_a_model_of_clusters_is_not_explained(found, tmp_path):
    folder = found.save(tmp_path / "out")
    planted().write_csv(tmp_path / "table.csv")
    assert "cannot explain single rows" in refused("explain", folder, tmp_path / "table.csv", "--row", 0)


def test_the_report_shows_every_answer_and_is_written_again(found, tmp_path):
    folder = found.save(tmp_path / "out")
    page = (folder / "report.html").read_text()
    for title in (
        "Map",
        "Clusters",
        "Outliers",
        "What occurs together",
        "Columns that vary together",
        "Central and influential rows",
    ):
        assert f"<h2>{title}</h2>" in page
    code, _, error = ask("report", folder, "-o", tmp_path / "again.html")
    assert code == 0, error
    assert (tmp_path / "again.html").read_text() == page


def test_rows_stay_private(tmp_path):
    folder = explored(planted(), rows=False).save(tmp_path / "out")
    for name in ("report.html", "run.json", "model.foldwise"):
        assert SECRET.encode() not in (folder / name).read_bytes()
        assert cell_text(planted()["length"][5]).encode() not in (folder / name).read_bytes()


def test_noise_has_no_clusters_and_no_model(tmp_path):
    table = pl.DataFrame(np.random.default_rng(1).normal(size=(300, 4)), schema=list("abcd"))
    found = explored(table)
    assert found.facts["headline"]["words"][0] == "There are no clusters: all rows form a single group."
    assert found.model is None
    assert found.rows["cluster"].unique().to_list() == [1]
    folder = found.save(tmp_path / "out")
    assert not (folder / "model.foldwise").exists()
    table.write_csv(tmp_path / "t.csv")
    assert "found no clusters" in refused("predict", folder, tmp_path / "t.csv")


@pytest.mark.parametrize("seed", range(4))
def test_unrelated_categories_are_no_clusters(seed):
    rng = np.random.default_rng(seed)
    shares = ([0.5, 0.5], [0.9, 0.1], [0.4, 0.3, 0.3], [0.25] * 4)
    columns = {f"c{j}": rng.choice([f"v{k}" for k in range(len(p))], 400, p=p) for j, p in enumerate(shares)}
    table = pl.DataFrame({**columns, "year": rng.integers(2007, 2010, 400), "size": rng.normal(size=400)})
    assert ask_clusters(table, np.arange(400), 0).facts["k"] == 1


def test_groups_that_differ_in_several_categories_are_clusters():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400)
    flips = rng.random((400, 8)) < 0.05
    table = pl.DataFrame({f"c{j}": np.where(group ^ flips[:, j], "yes", "no") for j in range(8)})
    answer = ask_clusters(table, np.arange(400), 0)
    assert answer.facts["k"] == 2
    agree = np.mean(answer.columns["cluster"] - 1 == group)
    assert max(agree, 1 - agree) > 0.98


@pytest.mark.parametrize("seed", range(2))
def test_groups_in_some_of_many_columns_are_clusters(seed):
    rng = np.random.default_rng(seed)
    group = np.arange(120) % 2
    X = rng.normal(size=(120, 1000))
    noise = pl.DataFrame(X.copy(), schema=[f"c{j}" for j in range(1000)])
    X[:, :50] += 2 * group[:, None]
    answer = ask_clusters(pl.DataFrame(X, schema=noise.columns), np.arange(120), 0)
    assert answer.facts["k"] == 2
    assert "principal components" in answer.facts["notes"][-1]
    assert len(set(zip(answer.columns["cluster"], group, strict=True))) == 2
    assert ask_clusters(noise, np.arange(120), 0).facts["k"] == 1


# time


@dataclass
class Pretending(InProcessExecutor):
    """Pretends to answer: every question takes as long as a function says, and is stopped at its limit."""

    time: FakeTime
    seconds: object

    def __post_init__(self):
        InProcessExecutor.__init__(self, self.time)
        self.limits = {}
        self.asked = []

    def start(self, key, job, limit):
        super().start(key, job, limit)
        self.limits[key] = limit

    def perform(self, job):
        self.asked.append((job.name, job.n_rows))
        taken, limit = self.seconds(job), self.limits[job.name]
        self.time.sleep(min(taken, limit))
        if taken > limit:
            return None
        return QuestionAnswer({"k": 1}, np.arange(job.n_rows))


def asking(n_rows, seconds, budget=20.0):
    time = FakeTime()
    table = ExploredTable.of(pl.DataFrame({"a": np.zeros(n_rows)}), 0)
    executor = Pretending(time, seconds)
    found = QuestionLoop(table, executor, Clock(budget, 0.0, time, time.sleep), budget, 0, lambda: None)
    found.run()
    return found, executor, time


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("n_rows", [300, 30_000, 1_000_000])
@pytest.mark.parametrize("first", [0.01, 1.0, 50.0])
def test_the_clock_is_kept_whatever_questions_cost(power, n_rows, first):
    found, executor, time = asking(n_rows, lambda job: first * (job.n_rows / 1000) ** power)
    assert time.now <= 20.0 + 1e-9
    if first <= 1.0:
        assert set(found.answered) == set(QUESTIONS)
    for name, (most, _) in QUESTIONS.items():
        sizes = [n for one, n in executor.asked if one == name]
        assert sizes == sorted(sizes)
        assert all(n <= min(most, n_rows) for n in sizes)


def test_every_question_is_asked_about_all_rows_if_there_is_time():
    found, _, _ = asking(30_000, lambda job: 1e-3)
    rows = {name: one.n_rows for name, one in found.progress.items()}
    assert rows == {name: min(most, 30_000) for name, (most, _) in QUESTIONS.items()}


def test_an_interrupt_keeps_the_answers_so_far():
    def seconds(job):
        if job.name == "clusters":
            raise KeyboardInterrupt
        return 0.1

    found, _, _ = asking(500, seconds)
    assert found.interrupted
    assert set(found.answered) == {"factors", "map", "associations"}


def test_a_failure_is_reported_and_the_others_go_on():
    time = FakeTime()
    table = ExploredTable.of(pl.DataFrame({"a": np.zeros(50)}), 0)

    class Failing(Pretending):
        def perform(self, job):
            return JobFailure("not enough memory") if job.name == "map" else super().perform(job)

    executor = Failing(time, lambda job: 0.1)
    found = QuestionLoop(table, executor, Clock(9.0, 0.0, time, time.sleep), 9.0, 0, lambda: None)
    found.run()
    assert found.progress["map"].failure == "not enough memory"
    assert set(found.answered) == set(QUESTIONS) - {"map"}


def test_a_sample_keeps_the_numbers_of_its_rows():
    table = ExploredTable.of(pl.DataFrame({"a": np.arange(5000)}), 3)
    frame, rows = table.sample(1000)
    assert frame["a"].to_list() == rows.tolist() == sorted(set(rows.tolist()))
    larger = set(table.sample(4000)[1].tolist())
    assert set(rows.tolist()) <= larger


# bad input


def test_a_budget_that_is_too_short_names_the_smallest_possible():
    with pytest.raises(InputError, match="must be at least"):
        explored(planted(), budget=1.0)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"a": [1.0], "b": ["x"]}, "at least two rows"),
        ({"a": ["x"] * 9, "b": [1] * 9}, "all 9 rows are the same"),
        ({"a": [None] * 9}, "same"),
        ({}, "rows and columns"),
    ],
)
def test_a_table_without_anything_to_explore_gets_one_sentence(cells, words):
    with pytest.raises(InputError, match=words):
        explored(pl.DataFrame(cells))


def test_texts_alone_are_explored():
    rng = np.random.default_rng(0)
    words = ["red", "green", "house", "tree", "river", "apple", "quick", "slow", "bird", "stone", "light", "dark"]
    found = explored(pl.DataFrame({"text": [" ".join(rng.choice(words, 12)) for _ in range(60)]}))
    assert found.facts["clusters"]["k"] == 1
    assert "Texts were compared by their" in found.facts["clusters"]["notes"][0]
    assert "text" in found.facts["outliers"]["none"]


def test_one_column_is_explored():
    found = explored(pl.DataFrame({"a": np.random.default_rng(0).normal(size=100)}))
    assert found.facts["clusters"]["k"] == 1
    assert found.facts["outliers"]["n"] == 0
    assert found.facts["factors"]["none"].startswith("Factors need at least 2 columns")


def test_the_command_line_explores(tmp_path):
    planted().write_csv(tmp_path / "t.csv")
    code, out, error = ask("explore", tmp_path / "t.csv", "--budget", "60s", "--out", tmp_path / "o")
    assert code == 0, error
    assert "The rows form 3 clusters" in out
    assert max(map(len, out.split("\n\nreport")[0].splitlines())) <= 80
    assert {path.name for path in (tmp_path / "o").iterdir()} == {
        "model.foldwise", "report.html", "rows.csv", "run.json",
    }  # fmt: skip
    assert "already contains a run" in refused("explore", tmp_path / "t.csv", "--out", tmp_path / "o")


@pytest.mark.slow
def test_an_exploration_is_replaced_and_printed_as_json(tmp_path):
    planted().write_csv(tmp_path / "t.csv")
    (tmp_path / "o").mkdir()
    for name in ("run.json", "rows.csv"):
        (tmp_path / "o" / name).write_text("{}")
    words = ("explore", tmp_path / "t.csv", "--out", tmp_path / "o", "--json", "--budget", "60s")
    assert "already contains a run" in refused(*words)
    code, out, error = ask(*words, "--force")
    assert code == 0, error
    assert json.loads(out)["clusters"]["k"] == 3
    assert (tmp_path / "o" / "rows.csv").read_text() != "{}"


def test_a_question_says_what_it_is_about():
    assert Question("associations", 10, 0).model == "rules"


def test_explore_is_public():
    assert foldwise.explore is not None
