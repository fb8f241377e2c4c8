"""The command line: what it prints, where it writes, how it ends; bad input at each door is one sentence and 2."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
import types
import zipfile

import polars as pl
import pytest
from typer.testing import CliRunner

from foldwise.app.cli.commands import app
from foldwise.app.cli.output import ProgressLine
from tests.app.command_line import WEATHER, ask, refused
from tests.app.runs import TABLE
from tests.slow import slow

HEAVY = {"numpy", "sklearn", "polars", "narwhals", "numba", "scipy", "rich", "pydantic", "joblib", "pandas"}


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


@pytest.mark.parametrize(
    "unbuffered", ["", *slow("1")]
)  # Python notices the closed pipe at its end, or while it prints
@pytest.mark.parametrize("arguments", [["inspect", WEATHER], ["version"], ["fit", "--help"]])
def test_a_reader_that_has_gone_ends_the_program_quietly(arguments, unbuffered):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "foldwise.app.cli", *arguments],
        stdout=writing,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_is_not_a_bug(monkeypatch):
    from foldwise.app.cli import inspect as command

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(command, "inspect", full)
    assert refused("inspect", WEATHER).startswith("the output cannot be written: no space left on device. Hint: free")


def test_progress_that_nobody_reads_does_not_end_a_run(monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    with ProgressLine(True) as progress:
        progress.show("reading", "reading")
        progress.show("trying models", "trying models")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--missing", "outlook=1", "windy=2"],
            "unexpected argument 'windy=2' after --missing outlook=1. Hint: repeat the option for each value, "
            "--missing outlook=1 --missing windy=2, or quote a value with blanks, --missing 'outlook=1 windy=2'.",
        ),
        (["--drop", "outlook", "windy"], "--drop outlook --drop windy, or quote a value with blanks"),
        (["--target=play", "golf"], "after --target play. Hint: quote a value with blanks, --target 'play golf'."),
        (["--models", "knn", "naive_bayes"], "separate several values with commas, --models knn,naive_bayes."),
        (["--quiet", "other.csv"], "unexpected argument 'other.csv'. Hint: the command takes TABLE."),
    ],
)
@pytest.mark.parametrize("table_first", [True, False])
def test_an_argument_too_many_is_explained(arguments, words, table_first):
    given = [WEATHER, *arguments] if table_first else [*arguments, WEATHER]
    if arguments[0] == "--quiet" and not table_first:
        words = f"unexpected argument '{WEATHER}'. Hint: the command takes TABLE."
    assert words in refused("fit", *given)


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
        one_column = refused("inspect", "t.csv", "--target", "b", "--separator", ";")
        assert "the whole header was read as one column. Leave --separator out, or pass another." in one_column
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
            (("--models", "knn"), "needs at least two different models, got 'knn'."),
            (("--models", "knn,knn"), "needs at least two different models, got 'knn' and 'knn'."),
            (("--models", "knn,nobody"), "no model called 'nobody'"),
            (("--models", "knn,naive_bayes", "--cv", "many"), "--cv must be a number of folds (at least 2)"),
            (("--models", "knn,naive_bayes", "--metric", "best"), "there is no metric called 'best'"),
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
        assert "at most 2, the number of rows of the largest class, got 10 folds" in words
        (here / "t.csv").write_text("x,y\n1,a\n2,a\n3,a\n")
        assert "the target 'y' has the same value in all rows" in refused(
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
        assert "--out must be a file in an existing folder" in refused("report", "run", "-o", "no/r.html")


def test_archives_are_named_and_counted(tmp_path):
    with zipfile.ZipFile(tmp_path / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", "a,b\n1,2\n")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n3,4\n")
    assert "is a ZIP archive, which is not read. Hint: unpack it" in refused("inspect", tmp_path / "flights.csv.zip")
    assert ask("inspect", tmp_path)[1].splitlines()[-1] == "1 file not read: flights.csv.zip"
    assert json.loads(ask("inspect", tmp_path, "--json")[1])["not_read"] == ["flights.csv.zip"]


def test_rows_without_a_quantity_are_said_to_be_left_out(tmp_path):
    (tmp_path / "t.csv").write_text("a,wage\n" + "".join(f"{i},{'' if i == 3 else i * 1.5}\n" for i in range(30)))
    out = ask("inspect", tmp_path / "t.csv", "--target", "wage")[1]
    assert "rows without a value, which are left out" in out
    assert "--drop-unlabeled" not in out
