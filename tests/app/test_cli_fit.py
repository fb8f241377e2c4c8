"""`foldwise fit`: what is passed on, shown and written, and runs behind the command line."""

from __future__ import annotations

import io
import json
import os
import sys
import types
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from foldwise.app.cli import output
from foldwise.app.cli.fit import line_of, run_folder_for
from foldwise.app.progress import RunProgress
from foldwise.errors import InputError
from tests.app.command_line import WEATHER, ask, refused
from tests.app.fakes import fake_runs
from tests.app.runs import TABLE


class TestFit:
    """With a run that is not one, so that only the command is tested."""

    @pytest.fixture
    def asked(self, monkeypatch):
        asked = {}

        class Run:
            def __init__(self):
                self.facts = {"title": "weather", "task": {"target": "play"}, "headline": {"value": float("nan")}}

            def write(self, folder):
                (folder / "run.json").write_text("{}")

            def __str__(self):
                return "weather: 14 rows"

        def recorded(record, **options):
            asked.update(vars(record.config), **options, table=record.table, force=record.replaces)
            for second in range(3):
                options["watch"](RunProgress("racing", second, 10.0, 4, 2, "naive Bayes 0.7", ("knn",)))
            record.save(Run())
            return Run()

        module = types.ModuleType("foldwise.app.run")
        module.recorded = recorded
        monkeypatch.setitem(sys.modules, "foldwise.app.run", module)
        return asked

    def test_what_is_passed_on_and_shown(self, asked, here):
        (here / "t.csv").write_text("a,y\n1,2\n")
        code, out, error = ask(
            *(
                "fit",
                "t.csv",
                "--target",
                "y",
                "--budget",
                "5m",
                "--models",
                "knn, naive_bayes",
                "--metric",
                "accuracy",
            ),
            *("--seed", 3, "--groups", "g", "--time", "t", "--weights", "w", "--positive", "yes", "--no-rows"),
            *("--jobs", 2, "--out", "deep/run", "--cv", "4"),
        )
        assert code == 0
        assert out == "weather: 14 rows\n\nreport  deep/run/report.html\nmodel   deep/run/model.foldwise\n"
        assert error.count("\n") == 1  # one line a phase, where no terminal is
        assert "10 s left · racing · 2 settings tried · best on the first fold: naive Bayes 0.7 · fitting: knn" in error
        expected = {
            "table": "t.csv", "target": "y", "budget": "5m", "models": ["knn", "naive_bayes"], "metric": "accuracy",
            "seed": 3, "groups": "g", "time": "t", "weights": "w", "positive": "yes", "rows": False, "n_jobs": 2,
            "cv": "4",
        }  # fmt: skip
        assert expected.items() <= asked.items()
        assert asked["costs"] is None
        assert asked["command"].startswith("foldwise")
        assert asked["clock"].started > 0

    def test_the_configuration_that_inspect_writes_is_passed_on(self, asked, here):
        (here / "t.txt").write_text(
            "id;day;zip;y\n" + "".join(f"{k};{1 + k % 28}.02.2024;0{k % 5};-9\n" for k in range(40))
        )
        options = ("--missing", "y=-99", "--drop", "id", "--kind", "zip=categorical")
        assert ask("inspect", "t.txt", "--target", "y", *options, "--write-config", "c.toml")[0] == 0
        code, _, error = ask("fit", "t.txt", "--config", "c.toml", "--test", "t.txt", "--cv", "4", "--quiet")
        assert code == 0, error
        assert (asked["target"], asked["task"], asked["cv"]) == ("y", "classification", "4")
        assert asked["test"] == Path("t.txt")
        assert asked["reading"] == {
            "missing_values": {"y": ["-99"]},
            "kinds": {"day": "date:%d.%m.%Y", "zip": "categorical"},
            "drop": ["id"],
        }

    def test_json_and_quiet(self, asked, here):
        (here / "t.csv").write_text("a,y\n1,2\n")
        (here / "t.csv.gz").write_text("")
        code, out, error = ask("fit", "t.csv", "--target", "y", "--json")
        assert (code, error) == (0, "")
        said = json.loads(out)
        assert said["run"] == "t-run"
        assert said["report"] == os.path.join("t-run", "report.html")
        assert said["headline"] == {"value": None}
        assert ask("fit", "t.csv", "--target", "y", "--quiet") == (0, "", "")
        assert (here / "t-run-2" / "run.json").is_file()
        assert ask("fit", "t.csv.gz", "--target", "y", "--quiet")[0] == 0
        assert (here / "t-run-3").is_dir()

    def test_what_is_there_is_not_written_over(self, asked, here):
        (here / "t.csv").write_text("a,y\n1,2\n")
        (here / "mine").mkdir()
        (here / "mine" / "thesis.txt").write_text("years of work")
        assert "is not empty and not a run folder" in refused(
            "fit", "t.csv", "--target", "y", "--out", "mine", "--force"
        )
        assert "is a file" in refused("fit", "t.csv", "--target", "y", "--out", "mine/thesis.txt", "--force")
        ask("fit", "t.csv", "--target", "y", "--out", "run")
        assert "already contains a run. Hint: choose another folder, or pass --force" in refused(
            "fit", "t.csv", "--target", "y", "--out", "run"
        )
        assert ask("fit", "t.csv", "--target", "y", "--out", "run", "--force")[0] == 0
        assert asked["force"]
        (here / "empty").mkdir()
        assert ask("fit", "t.csv", "--target", "y", "--out", "empty")[0] == 0
        assert sorted(path.name for path in here.iterdir()) == ["empty", "mine", "run", "t.csv"]

    def test_a_missing_file_is_seen_at_once(self, asked, here):
        assert "file 't.csv' does not exist" in refused("fit", "t.csv", "--target", "y")
        assert asked == {}

    def test_a_run_folder_is_not_a_table(self, asked, here):
        (here / "run").mkdir()
        (here / "run" / "run.json").write_text("{}")
        error = refused("fit", "run", "--target", "y")
        assert error.startswith("'run' is a run folder, not a table. Hint: pass the table, or --resume run without")
        assert "pass the run first, then the table." in refused("predict", "run", "run")
        assert "is a run folder, not a table." in refused("compare", "run", "--target", "y", "--models", "knn,mlp")

    def test_a_target_is_wanted(self):
        code, _, error = ask("fit", WEATHER)
        assert code == 2
        assert "--target" in error


def test_where_a_run_is_written(here):
    assert str(run_folder_for(None, here / "a.b.csv", False)) == "a.b-run"
    (here / "x").write_text("")
    with pytest.raises(InputError, match="is a file"):
        run_folder_for(here / "x", here / "t.csv", False)


def test_a_line_of_progress():
    line = line_of(RunProgress("reading", 1.0, 60.0, 0, 0, "", ()))
    assert line.endswith("59 s left · reading")
    line = line_of(RunProgress("searching", 1.0, 60.0, 2, 3, "", ("naive_bayes", "naive_bayes", "knn")))
    assert line.endswith("fitting: naive_bayes ×2, knn")
    assert output.plain({"a": (np.float64("nan"), -np.inf, 1)}) == {"a": [None, None, 1]}


def test_live_progress_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with output.ProgressLine() as progress:
        progress.show("half of it", "a")
        progress.show("all of it", "a")
    assert "half of it" in screen.getvalue()
    assert "all of it" in screen.getvalue()


class TestFitForReal:
    """The run itself, behind the command line."""

    @pytest.fixture
    def table(self, tmp_path):
        path = tmp_path / "mixed.csv"
        TABLE.X.with_columns(y=pl.Series(TABLE.y)).write_csv(path)
        return path

    def fit(self, table, *more):
        return ("fit", table, "--target", "y", "--budget", "6s", "--models", "naive_bayes,decision_tree", *more)

    def test_from_a_table_to_predictions_and_explanations(self, table, here):
        with fake_runs(0.4):
            code, out, _ = ask(*self.fit(table))
        assert code == 0
        assert all(len(line) <= 80 for line in out.splitlines())
        run = here / "mixed-run"
        result = {"model.foldwise", "run.json", "report.html", "background.parquet", "held_out.parquet"}
        record = {"options.json", "progress.json", "trials.sqlite", ".lock"}
        assert {path.name for path in run.iterdir()} == result | record
        assert ask("predict", run, table, "-o", "out.csv")[0] == 0
        assert pl.read_csv("out.csv").height == 120
        code, out, _ = ask("explain", run, table, "--row", 17)
        assert code == 0
        assert out.startswith("row 17 of mixed.csv (row numbers start at 0)\n")
        assert ask("report", run, "-o", "again.html")[0] == 0
        assert (here / "again.html").stat().st_size > 1000

    @pytest.mark.slow
    def test_json_costs_and_no_rows(self, table, here):
        (here / "costs.csv").write_text("action,up,down\nbuy,-1,3\nwait,0,0\n")
        code, out, _ = ask(*self.fit(table, "--costs", "costs.csv", "--no-rows", "--json", "--out", "run"))
        assert code == 0
        assert json.loads(out)["task"]["costs"]["actions"] == ["buy", "wait"]
        assert not (here / "run" / "background.parquet").exists()
        assert ask("predict", "run", table, "-o", "out.csv")[0] == 0
        assert set(pl.read_csv("out.csv")["predicted_decision"]) <= {"buy", "wait"}

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("x,y\n" + "".join(f"{i},n{i % 60}\n" for i in range(150)), "too many distinct values for classes: 60"),
            ("x,y\n" + "".join(f"{i},same\n" for i in range(50)), "the target 'y' has the same value in all rows"),
            ("x,y\n1,a\n2,b\n3,a\n", "3 rows"),
            ("x,z\n1,a\n2,b\n3,a\n", "no column 'y'"),
            ("", "contains no"),
        ],
    )
    def test_tables_that_cannot_be_learned_from(self, here, text, words):
        (here / "t.csv").write_text(text)
        assert words in refused("fit", "t.csv", "--target", "y", "--budget", "5s", "--quiet")
        assert [path.name for path in here.iterdir()] == ["t.csv"]

    @pytest.mark.parametrize(
        ("costs", "words"),
        [
            ("action,up,sideways\nbuy,-1,3\n", "sideways"),
            ("action,up,down\nbuy,-1\n", "1 cost for 2 true classes"),
            ("action,up,down\nbuy,dear,3\n", "'dear'"),
            ("up,down\n0,5\n1,0\n", "the first one contains the actions"),
            (None, "costs.csv"),
        ],
    )
    def test_costs_that_do_not_match(self, table, here, costs, words):
        if costs is not None:
            (here / "costs.csv").write_text(costs)
        assert words in refused(*self.fit(table, "--costs", "costs.csv", "--quiet"))
        assert not (here / "mixed-run").exists()

    @pytest.mark.parametrize(
        "more",
        [
            ("--budget", "soon"),
            ("--models", "no_such_family"),
            ("--metric", "no_such_metric"),
            ("--groups", "nobody"),
            ("--positive", "sideways"),
            ("--test", "nothing.csv"),
        ],
    )
    def test_options_that_mean_nothing(self, table, here, more):
        assert more[1] in refused(*self.fit(table, "--quiet", *more))
        assert list(here.iterdir()) == []
