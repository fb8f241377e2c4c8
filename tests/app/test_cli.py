"""The command line: what it prints, where it writes, how it ends; bad input at each door is one sentence and 2."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import subprocess
import sys
import types
import zipfile

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from foldwise import NaiveBayes
from foldwise.app.cli import output
from foldwise.app.cli.commands import app
from foldwise.app.cli.fit import line_of, run_folder_for
from foldwise.app.progress import RunProgress
from foldwise.errors import InputError
from tests.app.runs import COSTS, TABLE, folder_of, pipeline

WEATHER = "examples/weather.csv"
HEAVY = {"numpy", "sklearn", "polars", "narwhals", "numba", "scipy", "rich", "pydantic", "joblib", "pandas"}


def ask(*arguments):
    """Run a command in this process: exit code, stdout, stderr."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def refused(*arguments):
    """The one sentence about what was given."""
    code, out, error = ask(*arguments)
    assert code == 2, error
    assert out == ""
    assert error.startswith("foldwise: ")
    assert error.count("\n") == 1
    return error.removeprefix("foldwise: ").strip()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture(scope="module")
def tree_run(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("runs") / "tree", pipeline("decision_tree"), TABLE.X, costs=COSTS)


@pytest.fixture(scope="module")
def bayes_run(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("runs") / "bayes", pipeline("naive_bayes"), TABLE.X, background=False)


@pytest.fixture
def new(here):
    TABLE.X.write_csv(here / "new.csv")
    return here / "new.csv"


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["explain", "--help"], []])
def test_help_loads_nothing_heavy(arguments):
    code = (
        "import sys; from foldwise.app.cli import main\n"
        f"sys.argv = ['foldwise', *{arguments!r}]\n"
        "try: main()\n"
        "except SystemExit as end: print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "typer" in loaded
    assert not HEAVY & loaded
    assert "Usage: foldwise" in done.stdout + done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_the_program_ends_with_its_exit_codes(here):
    def program(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "foldwise.app.cli", *arguments], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    code, error = program("inspect", "nothing.csv")
    assert code == 2
    assert error.startswith("foldwise: file 'nothing.csv' does not exist. Hint:")
    assert program("inspect", "--nonsense")[0] == 2
    assert program("nonsense")[0] == 2


def test_a_bug_keeps_its_traceback(monkeypatch):
    from foldwise.app.cli import inspect as command

    def broken(*args, **kwargs):
        raise RuntimeError("a bug")

    monkeypatch.setattr(command, "inspect", broken)
    done = CliRunner().invoke(app, ["inspect", WEATHER])
    assert done.exit_code == 1
    assert isinstance(done.exception, RuntimeError)


def test_interrupted_before_anything_was_done(monkeypatch):
    from foldwise.app.cli import inspect as command

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "inspect", interrupted)
    code, out, error = ask("inspect", WEATHER)
    assert (code, out) == (130, "")
    assert error == "foldwise: interrupted.\n"


class TestFit:
    """With a run that is not one, so that only the command is tested."""

    @pytest.fixture
    def asked(self, monkeypatch):
        asked = {}

        class Run:
            def __init__(self):
                self.facts = {"title": "weather", "task": {"target": "play"}, "headline": {"value": float("nan")}}

            def save(self, folder, *, force=False):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "run.json").write_text("{}")
                asked["force"] = force

            def __str__(self):
                return "weather: 14 rows"

        def run_fit(table, config, **options):
            asked.update(vars(config), **options, table=table)
            for second in range(3):
                options["watch"](RunProgress("racing", second, 10.0, 4, 2, "naive Bayes 0.7", ("knn",)))
            return Run()

        module = types.ModuleType("foldwise.app.run")
        module.run_fit = run_fit
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
            *("--jobs", 2, "--out", "deep/run"),
        )
        assert code == 0
        assert out == "weather: 14 rows\n\nreport  deep/run/report.html\nmodel   deep/run/model.foldwise\n"
        assert error.count("\n") == 1  # one line a phase, where no terminal is
        assert "10 s left · racing · 2 settings tried · best on the first fold: naive Bayes 0.7 · fitting: knn" in error
        expected = {
            "table": "t.csv", "target": "y", "budget": "5m", "models": ["knn", "naive_bayes"], "metric": "accuracy",
            "seed": 3, "groups": "g", "time": "t", "weights": "w", "positive": "yes", "rows": False, "n_jobs": 2,
        }  # fmt: skip
        assert expected.items() <= asked.items()
        assert asked["costs"] is None
        assert asked["command"].startswith("foldwise")
        assert asked["clock"].started > 0

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
        return ("fit", table, "--target", "y", "--budget", "15s", "--models", "naive_bayes,decision_tree", *more)

    def test_from_a_table_to_predictions_and_explanations(self, table, here):
        code, out, _ = ask(*self.fit(table))
        assert code == 0
        assert all(len(line) <= 80 for line in out.splitlines())
        run = here / "mixed-run"
        assert {"model.foldwise", "run.json", "report.html", "background.parquet"} == {p.name for p in run.iterdir()}
        assert ask("predict", run, table, "-o", "out.csv")[0] == 0
        assert pl.read_csv("out.csv").height == 120
        code, out, _ = ask("explain", run, table, "--row", 17)
        assert code == 0
        assert out.startswith("row 17 of mixed.csv\n")
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
        assert set(pl.read_csv("out.csv")["decision"]) <= {"buy", "wait"}

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("x,y\n" + "".join(f"{i},{i % 60}\n" for i in range(150)), "60 distinct"),
            ("x,y\n" + "".join(f"{i},n{i % 60}\n" for i in range(150)), "too many distinct values for classes: 60"),
            ("x,y\n" + "".join(f"{i},same\n" for i in range(50)), "all rows have the same 'y'"),
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
            ("action,up,down\nbuy,-1\n", "1 costs for 2 true classes"),
            ("action,up,down\nbuy,dear,3\n", "'dear'"),
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


class TestPredict:
    def test_without_costs_mistakes_are_told(self, bayes_run, new):
        code, out, _ = ask("predict", bayes_run, new, "-o", "out.csv")
        assert code == 0
        found = re.fullmatch(
            r"120 rows predicted \((\w+: \d+, )+\w+: \d+\), expected error rate: (\S+)%", out.split("\n")[0]
        )
        wrong = 100 * pl.read_csv("out.csv")["expected_cost"].mean()
        assert float(found[2]) == pytest.approx(wrong, abs=0.06)

    def test_what_is_said(self, tree_run, new):
        code, out, error = ask("predict", tree_run, new, "-o", "out.csv")
        assert (code, error) == (0, "")
        first, place = out.splitlines()
        assert re.fullmatch(r"120 rows predicted \(wait: \d+, buy: \d+\), expected cost per row: -0\.\d+", first)
        assert place == "out.csv"
        code, out, _ = ask("predict", tree_run, new, "-o", "out.parquet", "--json", "--keep", "size,city")
        said = json.loads(out)
        assert said["rows"] == 120 == sum(said["decisions"].values())
        assert pl.read_parquet("out.parquet").columns[:3] == ["size", "city", "class"]
        assert ask("predict", tree_run, new, "-o", "out.csv", "--quiet") == (0, "", "")
        assert "--json needs an output file" in refused("predict", tree_run, new, "--json")

    def test_a_model_file_alone_and_other_costs(self, tree_run, new, here):
        (here / "costs.csv").write_text("action,up,down\nrun,1,1\n")
        assert ask("predict", tree_run / "model.foldwise", new, "-o", "out.csv", "--costs", "costs.csv")[0] == 0
        assert set(pl.read_csv("out.csv")["decision"]) == {"run"}
        (here / "costs.csv").write_text("action,up\nrun,1\n")
        assert "the class 'down' is not in the cost matrix" in refused("predict", tree_run, new, "--costs", "costs.csv")
        assert "file 'none.csv' does not exist" in refused("predict", tree_run, new, "--costs", "none.csv")

    def test_notes_about_the_table(self, tree_run, new):
        TABLE.X.with_columns(more=pl.lit(1), color=pl.lit("pink")).write_csv(new)
        code, _, error = ask("predict", tree_run, new, "-o", "out.csv")
        assert code == 0
        assert "foldwise: note: column 'more' was ignored, because the model was trained without it.\n" in error
        assert "120 cells of 'color' contain categories that the training data did not: 'pink'" in error

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda X: X.drop("size"), "lacks the column 'size', with which the model was trained"),
            (lambda X: X.with_columns(size=pl.lit("tall")), "contains 'tall', which is not a number"),
            (lambda X: X[:0], "contains no rows"),
        ],
    )
    def test_tables_that_do_not_fit(self, tree_run, new, change, words):
        change(TABLE.X).write_csv(new)
        sentence = refused("predict", tree_run, new, "-o", "out.csv")
        assert words in sentence or "has no rows" in sentence
        assert list(new.parent.iterdir()) == [new]

    def test_models_that_are_none(self, tree_run, new, here):
        def evil(path):
            class Bomb:
                def __reduce__(self):
                    return (os.mkdir, ("opened",))

            path.write_bytes(pickle.dumps(Bomb()))

        evil(here / "model.foldwise")
        assert "is not a model file but a pickle" in refused("predict", "model.foldwise", new, "-o", "out.csv")
        (here / "run").mkdir()
        assert "is not a run folder" in refused("predict", "run", new, "-o", "out.csv")
        evil(here / "run" / "model.foldwise")
        assert "but a pickle" in refused("predict", "run", new, "-o", "out.csv")
        with (
            zipfile.ZipFile(tree_run / "model.foldwise") as packed,
            zipfile.ZipFile("changed.foldwise", "w") as out,
        ):
            for name in packed.namelist():
                out.writestr(name, packed.read(name) + (b" " if name == "manifest.json" else b""))
            out.comment = packed.comment
        assert "was changed after it was written" in refused("predict", "changed.foldwise", new, "-o", "out.csv")
        assert "run 'nothing' does not exist" in refused("predict", "nothing", new, "-o", "out.csv")
        assert not (here / "opened").exists()
        assert not (here / "out.csv").exists()


class TestExplain:
    def test_contributions(self, tree_run, new):
        code, out, error = ask("explain", tree_run, new, "--row", 17, "--class", "up")
        assert (code, error) == (0, "")
        lines = out.splitlines()
        assert lines[0] == "row 17 of new.csv"
        assert "contribution of each column to the log-odds of 'up'" in out
        assert all(len(line) <= 80 for line in lines)
        number = [float(line[37:45]) for line in lines[6:]]
        assert sum(number[:-1]) == pytest.approx(number[-1], abs=0.01)
        code, out, _ = ask("explain", tree_run, new, "--row", 17, "--class", "up", "--json", "--samples", 80)
        said = json.loads(out)
        total = said["base"] + sum(column["contribution"] for column in said["columns"])
        assert total == pytest.approx(said["total"])
        assert said["about"] == "up"

    def test_the_worked_table_of_naive_bayes(self, bayes_run, new):
        code, out, _ = ask("explain", bayes_run, new, "--row", 0)
        assert code == 0
        model = pipeline("naive_bayes")
        assert out.split("\n", 1)[1].strip() == str(model[-1].explain(model[:-1].transform(TABLE.X[:1]))[0])
        said = json.loads(ask("explain", bayes_run, new, "--row", 0, "--json")[1])
        assert said["worked"]["predicted"] in ("up", "down")

    def test_without_training_rows(self, bayes_run, new):
        sentence = refused("explain", bayes_run, new, "--row", 0, "--class", "up")
        assert "none are stored with this model" in sentence
        assert "--background TABLE" in sentence
        code, out, _ = ask(
            "explain", bayes_run, new, "--row", 0, "--class", "up", "--background", new, "--samples", 240
        )
        assert code == 0
        assert "mean of 120 training rows" in out

    def test_rows_and_classes_that_are_not_there(self, tree_run, new):
        assert "has 120 rows, so there is no row 120" in refused("explain", tree_run, new, "--row", 120)
        assert "--row must not be negative" in refused("explain", tree_run, new, "--row", -1)
        unknown = refused("explain", tree_run, new, "--row", 1, "--class", "sideways")
        assert "does not know the class 'sideways'" in unknown

    def test_many_columns(self, here):
        rng = np.random.default_rng(0)
        X = pl.DataFrame({f"a column of a long name {i}": rng.normal(size=60) for i in range(30)})
        run = folder_of(here / "run", NaiveBayes().fit(X, ["a", "b", "c"] * 20), X)
        X.write_csv("new.csv")
        out = ask("explain", run, "new.csv", "--row", 2, "--class", "b", "--samples", 80)[1]
        assert "10 other columns" in out
        assert all(len(line) <= 80 for line in out.splitlines())


class TestInspect:
    def test_text(self):
        code, out, error = ask("inspect", WEATHER, "--target", "play")
        assert (code, error) == (0, "")
        assert out.startswith("Table 'weather': 14 rows, 4 columns, target 'play'\n")
        assert "outlook      categorical     none         3  3 categories" in out
        assert "separator" in out
        assert "Audit of table 'weather'" in out
        assert "Audit" not in ask("inspect", WEATHER)[1]

    def test_json(self):
        said = json.loads(ask("inspect", WEATHER, "--target", "play", "--json")[1])
        assert said["rows"] == 14
        assert [column["column"] for column in said["columns"]] == ["outlook", "temperature", "humidity", "windy"]
        assert {concern["check"] for concern in said["audit"]} == {"balance", "rare"}
        assert json.loads(ask("inspect", WEATHER, "--json")[1])["audit"] is None

    def test_bad_input(self, here):
        assert "file 'nothing.csv' does not exist" in refused("inspect", "nothing.csv")
        (here / "t.csv").write_text("a,b\n1,2\n")
        assert "has no column 'c'" in refused("inspect", "t.csv", "--target", "c")
        (here / "page.csv").write_text("<!DOCTYPE html><html></html>")
        assert "is a web page" in refused("inspect", "page.csv")


class TestCompare:
    def test_as_evaluation_compares(self, here):
        from sklearn.model_selection import RepeatedStratifiedKFold

        from foldwise import compare
        from foldwise.models import catalogue, outline

        TABLE.X.drop("day").with_columns(y=pl.Series(TABLE.y)).write_csv("t.csv")
        code, out, error = ask(
            "compare", "t.csv", "--target", "y", "--models", "decision_tree,naive_bayes", "--cv", "2x3"
        )
        assert (code, error) == (0, "")
        from foldwise import read_table

        table = read_table("t.csv", target="y")
        models = {name: catalogue()[name].pipeline(outline(table)) for name in ("decision_tree", "naive_bayes")}
        splits = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
        assert out.strip() == str(compare(models, table.X, table.y, cv=splits, scoring="accuracy")).strip()

    def test_json_groups_and_probabilities(self, here):
        groups = pl.Series([i // 4 for i in range(120)])
        TABLE.X.drop("day").with_columns(y=pl.Series(TABLE.y), who=groups).write_csv("t.csv")
        code, out, _ = ask(
            *("compare", "t.csv", "--target", "y", "--models", "linear_svm,naive_bayes", "--metric", "log_loss"),
            *("--groups", "who", "--cv", 3, "--json"),
        )
        assert code == 0
        said = json.loads(out)
        assert said["splits"] == 3
        assert said["metric"] == "log_loss"
        assert {model["model"] for model in said["models"]} == {"linear_svm", "naive_bayes"}
        assert all(model["score"] > 0 for model in said["models"])

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            (("--models", "knn"), "needs at least two models"),
            (("--models", "knn,nobody"), "no model called 'nobody'"),
            (("--models", "knn,naive_bayes", "--cv", "many"), "--cv must be a number of folds, at least 2"),
            (("--models", "knn,naive_bayes", "--metric", "best"), "unknown metric 'best'"),
            (("--models", "knn,naive_bayes", "--groups", "who"), "the table has no column 'who', passed as --groups"),
        ],
    )
    def test_bad_input(self, more, words):
        assert words in refused("compare", WEATHER, "--target", "play", *more)

    def test_too_few_rows(self, here):
        (here / "t.csv").write_text("x,y\n1,a\n2,b\n3,a\n")
        assert "Of 3 rows, only 1 belongs to class 'b'" in refused(
            "compare", "t.csv", "--target", "y", "--models", "knn,naive_bayes"
        )
        words = refused("compare", "t.csv", "--target", "y", "--models", "knn,naive_bayes", "--cv", "10")
        assert "at most the number of rows of the largest class, 2, got 10 folds" in words
        (here / "t.csv").write_text("x,y\n1,a\n2,a\n3,a\n")
        assert "all rows have the same 'y'" in refused(
            "compare", "t.csv", "--target", "y", "--models", "knn,naive_bayes"
        )

    def test_a_target_that_is_a_quantity(self, here):
        (here / "t.csv").write_text("x,y\n" + "".join(f"{i % 5},{i * 1.5}\n" for i in range(50)))
        words = refused("compare", "t.csv", "--target", "y", "--models", "knn,naive_bayes")
        assert "a quantity" in words


class TestReport:
    def test_bad_input(self, here):
        (here / "run").mkdir()
        assert "is not a run folder" in refused("report", "run")
        (here / "run" / "run.json").write_text("[1")
        assert "cannot be read" in refused("report", "run")
        (here / "run" / "run.json").write_text("[1]")
        assert "must be in format 1, got" in refused("report", "run")

    def test_written_anew(self, here, monkeypatch):
        module = types.ModuleType("foldwise.report")
        module.render = lambda facts: f"<html>{facts['title']}</html>"
        monkeypatch.setitem(sys.modules, "foldwise.report", module)
        (here / "run").mkdir()
        (here / "run" / "run.json").write_text('{"format": 1, "title": "t"}')
        assert ask("report", "run")[1] == f"{os.path.join('run', 'report.html')}\n"
        assert (here / "run" / "report.html").read_text() == "<html>t</html>"
        assert json.loads(ask("report", "run", "-o", "r.html", "--json")[1]) == {"report": "r.html"}
        assert sorted(path.name for path in here.iterdir()) == ["r.html", "run"]
        assert "is not a file in an existing folder" in refused("report", "run", "-o", "no/r.html")
