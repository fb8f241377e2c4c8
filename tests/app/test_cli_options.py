"""Options that all commands share, the configuration file, and what is refused before anything is loaded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import get_scorer_names
from typer.main import get_command

import foldwise
from foldwise.app.cli import config_file, known_names
from foldwise.app.cli.commands import app
from foldwise.app.cli.table_options import OPTIONS
from foldwise.data.reading.declarations import STORED
from foldwise.evaluation.metrics.registry import ALIASES, METRICS
from foldwise.metric_names import METRICS_ELSEWHERE
from foldwise.models import catalogue
from foldwise.tuning.strategies import NAMED
from tests.app.command_line import WEATHER, ask, refused
from tests.data.workbooks import write_workbook

TABLE_FILE = Path(__file__).parents[2] / WEATHER
READING = {f"--{name.replace('_', '-')}" for name in OPTIONS} | {"--config"}
COMMANDS = ("fit", "inspect", "compare", "predict", "tune", "explore", "explain")
MESSY = """# exported
id;day;income;zip;score
7;31.01.2020;1,5;01067;0
9;01.02.2020;-999;01067;99
4;02.02.2020;2,5;10115;1
"""


@pytest.fixture
def messy(here):
    (here / "t.txt").write_text(MESSY)
    return here / "t.txt"


def inspected(*arguments):
    code, out, error = ask("inspect", *arguments, "--json")
    assert code == 0, error
    return json.loads(out)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_share_the_options_of_tables(command):
    found = {name for one in get_command(app).commands[command].params for name in one.opts}
    assert found >= READING
    assert {"--missing", "--kind", "--drop", "--index", "--names", "--separator", "--decimal", "--sheet"} <= READING
    assert command not in ("fit", "compare", "tune") or {"--cv", "--test"} <= found


class TestReading:
    def test_each_option_is_an_argument_of_read_table(self, messy):
        said = inspected(
            "t.txt", "--missing", "-999", "--missing", "score=99", "--kind", "zip=categorical", "--drop", "id"
        )
        columns = {one["column"]: one for one in said["columns"]}
        assert [*columns] == ["day", "income", "zip", "score"]
        assert columns["income"]["missing"] == columns["score"]["missing"] == pytest.approx(1 / 3)
        assert columns["zip"]["kind"] == "categorical"
        assert columns["day"]["kind"] == "date"

    def test_how_text_is_written(self, here):
        (here / "t.csv").write_text("x|y|\n1,5|'a'|\n2,5|'b'|\n")
        said = inspected("t.csv", "--separator", "|", "--decimal", ",", "--quote", "'", "--header", "yes")
        assert said["columns"][0]["type"] == "Float64"
        said = inspected("t.csv", "--separator", "|", "--skip-rows", "1", "--header", "no", "--names", "p,q,r")
        assert [one["column"] for one in said["columns"]] == ["p", "q", "r"]
        (here / "tabs.csv").write_text("x\ty\n1\t2\n3\t4\n")
        assert len(inspected("tabs.csv", "--separator", r"\t")["columns"]) == 2
        (here / "index.csv").write_text(",y\n0,a\n1,b\n2,c\n")
        assert len(inspected("index.csv", "--index", "none")["columns"]) == 2
        assert len(inspected("index.csv", "--index", "y", "--encoding", "utf-8")["columns"]) == 1

    def test_tables_of_databases_and_sheets(self, here):
        import sqlite3

        with sqlite3.connect("d.db") as base:
            base.execute("CREATE TABLE a (x INTEGER)")
            base.execute("CREATE TABLE b (x INTEGER, y INTEGER)")
            base.executemany("INSERT INTO b VALUES (?, ?)", [(1, 2), (3, 4)])
        assert refused("inspect", "d.db").endswith("Hint: pass --table to choose one.")
        assert len(inspected("d.db", "--table", "b")["columns"]) == 2
        write_workbook("two.xlsx", {"old": [["x"], [1], [2]], "new one": [["p", "q"], [3, "a"], [4, "b"], [5, "a"]]})
        assert [one["column"] for one in inspected("two.xlsx", "--sheet", "new one")["columns"]] == ["p", "q"]
        assert inspected("two.xlsx", "--sheet", "1")["rows"] == 3
        assert inspected("two.xlsx", "--sheet", "old")["rows"] == 2
        assert "sheet" in refused("inspect", "two.xlsx", "--sheet", "none")
        assert refused("inspect", TABLE_FILE, "--sheet", "1").startswith("--sheet does not apply to weather.csv")

    def test_a_name_with_a_comma_is_quoted(self, here):
        (here / "t.csv").write_text('"a, b",c\n1,2\n3,4\n')
        assert [one["column"] for one in inspected("t.csv", "--drop", '"a, b"')["columns"]] == ["c"]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--kind", "zip"), "--kind must be COLUMN=KIND, got 'zip'."),
            (("--kind", "zip=categorial"), "did you mean 'categorical'?"),
            (("--kind", "zip=categorical,id=text"), "Hint: repeat the option: --kind zip=categorical --kind id=text."),
            (("--kind", "day=date:%d/%m/%Y"), "Hint: pass --kind day=date:%d.%m.%Y, which fits all rows."),
            (("--kind", "day=datetime"), "did you mean 'date'?"),
            (("--kind", "zap=text"), "refers to column 'zap'"),
            (("--drop", "nobody"), "has no column 'nobody', passed as --drop."),
            (("--target", "scor"), "passed as --target. Hint: did you mean 'score'?"),
            (("--decimal", ";"), "--decimal must be '.' or ','"),
            (("--header", "some"), "--header must be yes, no or the number of header rows"),
            (("--skip-rows", "x"), "--skip-rows must be an integer"),
            (("--target", "score", "--drop", "score"), "'score' is the target, so it cannot be dropped."),
        ],
    )
    def test_bad_input(self, messy, arguments, words):
        assert words in refused("inspect", "t.txt", *arguments)


# an option, a value that the reader refuses, and words of the refusal, which only the reader can know
WRONG = {
    "--missing": ("nobody=1", "refers to column 'nobody'"),
    "--kind": ("nobody=text", "refers to column 'nobody'"),
    "--drop": ("nobody", "has no column 'nobody', passed as --drop."),
    "--index": ("nobody", "nobody"),
    "--names": ("a,b", "--names"),
    "--separator": (";;", "--separator must be a single ASCII character"),
    "--decimal": (";", "--decimal must be '.' or ','"),
    "--sheet": ("1", "--sheet does not apply to"),
    "--table": ("t", "--table does not apply to"),
}


PREDICTS = ("--missing", "--kind", "--drop", "--index")  # may name columns that only the training table has


@pytest.mark.parametrize("command", COMMANDS[:-1])
def test_every_command_passes_every_option_to_the_reader(command, tree_run, new):
    target = ("--target", "size")
    own = {
        "fit": (new, *target, "--quiet"),
        "inspect": (new,),
        "compare": (new, *target, "--models", "knn,decision_tree"),
        "predict": (tree_run, new),
        "tune": (new, *target, "--model", "knn"),
        "explore": (new, "--quiet"),
    }[command]
    for option, (value, words) in WRONG.items():
        if command == "predict" and option in PREDICTS:
            assert ask(command, *own, option, value)[0] == 0
        else:
            assert words in refused(command, *own, option, value)


class TestAdvice:
    def test_notes_name_the_option_that_follows(self, messy):
        pl.DataFrame({"Speaker Number": [k % 9 for k in range(90)], "y": [0, -999, 1] * 30}).write_csv("g.csv")
        out = " ".join(ask("inspect", "g.csv")[1].split())
        assert "pass --groups 'Speaker Number'" in out
        out = " ".join(ask("inspect", "t.txt")[1].split())
        assert "Pass --kind day=text to treat it as text instead" in out
        assert "=" not in "".join(part for part in out.split("--kind day=text"))

    def test_following_the_advice_works(self, here):
        (here / "t.csv").write_text("x,y\n" + "1,a\nn/k,b\n" * 4)
        words = refused("inspect", "t.csv", "--kind", "x=numeric")
        assert "add it to --missing, or pass --kind x=categorical." in words
        assert inspected("t.csv", "--kind", "x=numeric", "--missing", "n/k")["columns"][0]["missing"] == 0.5


class TestConfig:
    def test_options_come_from_the_file_and_the_command_line_wins(self, messy):
        (messy.parent / "c.toml").write_text(
            'target = "score"\nmodels = ["knn", "naive_bayes"]\nseed = 3\n'
            'drop = ["id"]\n[missing]\n"*" = [-999]\nscore = [99]\n[kind]\nzip = "categorical"\n'
        )
        said = inspected("t.txt", "--config", "c.toml", "--kind", "income=text", "--drop", "day")
        assert said["target"] == "score"
        assert {one["column"]: one["kind"] for one in said["columns"]} == {"income": "text", "zip": "categorical"}
        said = inspected("t.txt", "--config", "c.toml", "--target", "zip")
        assert said["target"] == "zip"

    def test_a_command_has_options_of_its_own(self, here):
        (here / "c.toml").write_text('target = "play"\ncv = 3\nmodels = "knn,naive_bayes"\n[compare]\ncv = "2x2"\n')
        code, out, error = ask("compare", TABLE_FILE, "--config", "c.toml", "--json")
        assert (code, error) == (0, "")
        assert json.loads(out)["splits"] == 4

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('traget = "y"', "c.toml sets 'traget', which is not an option. Hint: did you mean 'target'?"),
            ('[compare]\nbudget = "5s"', "sets 'budget', which is not an option"),
            ("compare = 1", "'compare' is a command, so its options must be in a section"),
            ("target = ", "c.toml is not a TOML file"),
            ("[target]\nx = 1", "only [kind] and [missing] may be sections"),
        ],
    )
    def test_bad_files(self, here, text, words):
        (here / "c.toml").write_text(text)
        code, out, error = ask("inspect", TABLE_FILE, "--config", "c.toml")
        assert (code, out) == (2, "")
        assert words in error

    def test_a_file_that_does_not_exist(self, here):
        code, _, error = ask("inspect", TABLE_FILE, "--config", "no.toml")
        assert code == 2
        assert "file 'no.toml' does not exist" in error

    def test_what_inspect_writes_reads_the_table_alike(self, messy):
        code, out, error = ask("inspect", "t.txt", "--missing", "-999", "--drop", "id", "--write-config", "c.toml")
        assert (code, error) == (0, "")
        assert out.endswith("config  c.toml\n")
        given = tomllib.loads((messy.parent / "c.toml").read_text())
        assert given["drop"] == ["id"]
        assert given["missing"] == {"*": ["-999"]}
        assert given["kind"] == {"day": "date:%d.%m.%Y", "income": "numeric", "zip": "categorical", "score": "numeric"}
        said = inspected("t.txt", "--config", "c.toml")
        assert [one["type"] for one in said["columns"]] == ["Date", "Float64", "String", "Int64"]
        assert "exists already" in refused("inspect", "t.txt", "--write-config", "c.toml")
        assert "#   foldwise fit t.txt --config c.toml" in (messy.parent / "c.toml").read_text()
        assert ask("inspect", "t.txt", "--write-config", "c.toml", "--force")[0] == 0

    def test_integers_that_look_ordinal_are_numbers_and_the_file_says_so(self, here):
        pl.DataFrame({"stars": [1, 2, 3, 4] * 10, "y": ["a", "b"] * 20}).write_csv("t.csv")
        assert ask("inspect", "t.csv", "--target", "y", "--write-config", "c.toml")[0] == 0
        written = '"stars" = "numeric"  # looks ordinal, but models use it as a number: integers from 1 to 4'
        assert written in (here / "c.toml").read_text()

    @pytest.mark.parametrize("command", COMMANDS)
    def test_all_options_of_a_command_can_be_in_the_file(self, here, command):
        """What typer reads from the file is what it reads from the command line."""
        one = get_command(app).commands[command]
        fixed = {"budget": "30s", "cv": "3", "models": "knn"}
        values = {}
        for option in one.params:
            name = next((name[2:] for name in option.opts if name.startswith("--")), None)
            if name is not None and name not in (*config_file.NOT_OPTIONS, *config_file.REPEATED):
                values[name] = True if option.is_flag else fixed.get(name, "7")
        lines = [f"{name} = {'true' if value is True else json.dumps(value)}" for name, value in values.items()]
        (here / "c.toml").write_text("\n".join([f"[{command}]", *lines]))
        typed = [word for name, value in values.items() for word in (f"--{name}", *([] if value is True else [value]))]
        places = ["t.csv"] if command in ("fit", "inspect", "compare", "tune", "explore") else ["run", "t.csv"]
        from_file, from_line = (
            one.make_context(command, [*places, *words]).params for words in (["--config", "c.toml"], typed)
        )
        assert len(values) > 12
        assert {**from_file, "config": None} == from_line

    def test_every_suggestion_is_an_option_when_its_mark_is_removed(self, here):
        rng = np.random.default_rng(0)
        frame = pl.DataFrame(
            {
                "code": [int(1000 + 37 * k) for k in rng.permutation(120)],
                "Speaker Number": [k % 9 for k in range(120)],
                "same": ["x"] * 120,
                "when": pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 4, 29), eager=True),
                "y": ["a", "b", None] * 40,
            }
        )
        frame.write_parquet("t.parquet")
        for target in ((), ("--target", "y")):
            assert ask("inspect", "t.parquet", *target, "--write-config", "c.toml", "--force")[0] == 0
            lines = (here / "c.toml").read_text().splitlines()
            marked = [k for k, line in enumerate(lines) if re.match(r'# ("[^"]+"|[a-z-]+) = ', line)]
            names = [lines[k].split(" = ")[0].removeprefix("# ") for k in marked]
            assert {"drop", "groups", "budget", "metric", "models", "cv", '"same"', '"when"'} <= {*names}
            assert ("target" in names) == (not target)
            assert ("drop-unlabeled" in names) == bool(target)
            for k, name in zip(marked, names, strict=True):
                if lines[k].endswith("= "):  # a name is to be filled in
                    continue
                others = [line for line in lines if not line.startswith(f"{name} = ")]
                at = others.index(lines[k])
                above = ["[missing]"] if "# [missing]" in others[at - 2 : at] else []
                changed = [*others[:at], *above, lines[k].removeprefix("# "), *others[at + 1 :]]
                (here / "changed.toml").write_text("\n".join(changed))
                config_file.options_of(here / "changed.toml", "fit")

    def test_names_cannot_break_the_file(self, here):
        nasty = ['a"b', "new\nline = 1", "x]\n[missing", "tab\t", "\x7f", "日本", "c\\d"]
        pl.DataFrame({name: [k, k + 1, 5] for k, name in enumerate(nasty)}).write_parquet("t.parquet")
        assert ask("inspect", "t.parquet", "--target", nasty[0], "--write-config", "c.toml")[0] == 0
        given = tomllib.loads((here / "c.toml").read_text())
        assert given["target"] == nasty[0]
        assert [*given["kind"]] == nasty[1:]
        assert inspected("t.parquet", "--config", "c.toml")["target"] == nasty[0]


class TestBeforeAnythingIsLoaded:
    def test_the_names_are_up_to_date(self):
        assert sorted(catalogue()) == known_names.MODELS
        found = {name: set(spec.tasks) for name, spec in catalogue().items()}
        assert sorted(name for name, tasks in found.items() if "classification" in tasks) == known_names.CLASS_MODELS
        assert sorted(name for name, tasks in found.items() if "regression" in tasks) == known_names.VALUE_MODELS
        assert (*known_names.CLASS_METRICS, *known_names.VALUE_METRICS) == tuple(METRICS)
        assert {METRICS[name].task for name in known_names.VALUE_METRICS} == {"regression"}
        short = {name for name in ALIASES if name not in METRICS and not name.startswith("neg_")}
        assert {*known_names.METRIC_ALIASES} == short
        assert {*known_names.SCORERS} == {*get_scorer_names()} - {*METRICS}
        assert {*METRICS_ELSEWHERE.values()} <= {*METRICS}
        assert tuple(NAMED) == known_names.STRATEGIES

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (
                ("fit", "--models", "knn,random_forrest"),
                "there is no model called 'random_forrest'. Hint: did you mean 'random_",
            ),
            (("compare", "--models", "KNN,naive-bayes"), "did you mean 'knn'?"),
            (("tune", "--model", "svm"), "did you mean 'rbf_svm'?"),
            (("fit", "--jobs", "0"), "--jobs must be at least 1, got 0."),
            (("fit", "--jobs", "-2"), "--jobs must be at least 1, got -2."),
            (("fit", "--cv", "2x5", "--time", "day"), "folds in order of time cannot be repeated, got"),
            (
                ("tune", "--model", "knn", "--cv", "2x5", "--time", "day"),
                "folds in order of time cannot be repeated, got",
            ),
            (("fit", "--cv", "0"), "--cv must be a number of folds (at least 2)"),
            (("fit", "--metric", "auk"), "there is no metric called 'auk'. Hint: did you mean 'roc_auc'?"),
            (("fit", "--metric", "AUC"), "did you mean 'roc_auc'? The metrics are log_loss,"),
            (("fit", "--metric", "average_precision"), "there is no metric called 'average_precision'."),
            (("fit", "--metric", "pinball_loss"), "there is no metric called 'pinball_loss'."),
            (("tune", "--model", "knn", "--metric", "logloss"), "did you mean 'log_loss'?"),
            (("compare", "--models", "knn,ridge", "--metric", "RMSE"), "did you mean 'root_mean_squared_error'?"),
            (("tune", "--model", "knn", "--strategy", "genetic"), "--strategy must be one of grid, design,"),
            (("tune", "--model", "knn", "--strategy", "optuna"), "pass tpe or cma-es, which are those of Optuna."),
            (("tune", "--model", "knn", "--strategy", "bayes"), "did you mean 'bayesian'?"),
            (("fit", "--task", "regresion"), "did you mean 'regression'?"),
            (("fit", "--budget", "1 day"), "--budget must be a duration such as '60s', got '1 day'."),
            (("explore", "--budget", "soon"), "--budget must be a duration such as '60s', got 'soon'."),
            (("explore", "--jobs", "0"), "--jobs must be at least 1, got 0."),
        ],
    )
    def test_refused(self, arguments, words):
        command, *rest = arguments
        target = () if command == "explore" else ("--target", "play")
        assert words in refused(command, "missing.csv", *target, *rest)  # before the table is looked for

    @pytest.mark.parametrize(
        ("words", "hint"),
        [
            (["fit", "--models", "knnn"], "did you mean 'knn'?"),
            (["compare", "--models", "knn,ridge", "--metric", "acuracy"], "did you mean 'accuracy'?"),
            (["tune", "--model", "knn", "--jobs", "0"], "--jobs must be at least 1"),
        ],
    )
    def test_nothing_heavy_is_loaded(self, words, hint):
        code = (
            "import sys; from foldwise.app.cli import main\n"
            f"sys.argv = ['foldwise', {words[0]!r}, 'missing.csv', '--target', 'play', *{words[1:]!r}]\n"
            "try: main()\n"
            "except SystemExit: print(*{name.split('.')[0] for name in sys.modules})"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert hint in done.stderr
        assert not {"numpy", "polars", "sklearn", "scipy"} & set(done.stdout.split())

    def test_version(self):
        assert ask("--version") == (0, f"foldwise {foldwise.__version__}\n", "")


class TestFolder:
    def test_one_line_per_table(self, here):
        (here / "a.csv").write_text("x,y\n1,a\n2,b\n3,a\n")
        (here / "b.jsonl").write_text('{"x": 1.5}\n{"x": 2.5}\n')
        (here / "page.csv").write_text("<!DOCTYPE html><html></html>")
        (here / "notes.md").write_text("# no table")
        code, out, error = ask("inspect", ".")
        assert (code, error) == (0, "")
        assert [line.split()[0] for line in out.splitlines() if not line.startswith(" ")] == [
            "file",
            "a.csv",
            "b.jsonl",
            "page.csv",
            "1",
        ]
        assert out.splitlines()[-1] == "1 file not read: notes.md"
        assert "cannot be read: page.csv is a web page" in " ".join(out.split())
        said = inspected(".")["files"]
        assert (said[0]["rows"], said[0]["columns"]) == (3, 2)
        assert "--target describes one table" in refused("inspect", ".", "--target", "y")
        (here / "empty").mkdir()
        assert "contains no table files" in refused("inspect", "empty")

    def test_sheets_and_tables_of_databases(self, here):
        import sqlite3

        pl.DataFrame({"x": [1, 2], "y": ["a", "b"]}).write_csv("a.csv")
        write_workbook(here / "book.xlsx", {"2023": [["x"], [1.5], [2.5]], "2024": [["p", "q"], [1, 2]], "empty": []})
        with sqlite3.connect("d.db") as base:
            base.execute("CREATE TABLE a (x INTEGER)")
            base.execute("CREATE TABLE b (x INTEGER, y INTEGER)")
            base.executemany("INSERT INTO b VALUES (?, ?)", [(1, 2), (3, 4)])
        found = {(one["file"], one.get("sheet") or one.get("table")): one for one in inspected(".")["files"]}
        assert [*found] == [
            *(("a.csv", None), ("book.xlsx", "2023"), ("book.xlsx", "2024"), ("book.xlsx", "empty")),
            *(("d.db", "a"), ("d.db", "b")),
        ]
        assert found["book.xlsx", "2024"]["columns"] == found["d.db", "b"]["columns"] == 2
        assert "contains no rows" in found["book.xlsx", "empty"]["error"]
        assert "book.xlsx · 2024" in ask("inspect", ".")[1]


class TestFolds:
    @pytest.mark.parametrize(
        ("cv", "splits"), [("3", 3), ("2x3", 6), ("holdout", 1), ("holdout:0.5", 1), ("holdout:30%", 1)]
    )
    def test_compare(self, here, cv, splits):
        rng = np.random.default_rng(0)
        pl.DataFrame({"x": rng.normal(size=60), "y": rng.integers(0, 2, 60)}).write_csv("t.csv")
        code, out, error = ask(
            *("compare", "t.csv", "--target", "y", "--models", "knn,decision_tree", "--json"), "--cv", cv
        )
        assert (code, error) == (0, "")
        assert json.loads(out)["splits"] == splits

    def test_a_published_split(self, here):
        """Models are trained on the table and scored on the test table, as scikit-learn does."""
        from sklearn.tree import DecisionTreeClassifier

        rng = np.random.default_rng(0)
        frame = pl.DataFrame({"x": rng.normal(size=90), "z": rng.normal(size=90)}).with_columns(
            y=pl.when(pl.col("x") + rng.normal(size=90) > 0).then(pl.lit("a")).otherwise(pl.lit("b"))
        )
        frame[:60].write_csv("train.csv")
        frame[60:].write_csv("test.csv")
        words = ("compare", "train.csv", "--target", "y", "--models", "decision_tree,naive_bayes", "--test", "test.csv")
        code, out, error = ask(*words, "--json")
        assert (code, error) == (0, "")
        scores = {one["model"]: one["score"] for one in json.loads(out)["models"]}
        table = foldwise.read_table("train.csv", target="y")
        model = catalogue()["decision_tree"].pipeline(foldwise.models.outline(table)).fit(table.X, table.y)
        tree = DecisionTreeClassifier(**model[-1].get_params()).fit(table.X.to_numpy(), table.y)
        assert scores["decision_tree"] == pytest.approx(tree.score(frame[60:, :2].to_numpy(), frame["y"][60:]))
        assert "no interval" in ask(*words)[1]
        assert "--test cannot be combined with --cv, --groups or --time" in refused(*words, "--cv", "5")


class TestFirstTries:
    """What a person types who knows scikit-learn or Weka."""

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("GaussianNB", "naive_bayes"),
            ("RandomForestClassifier", "random_forest"),
            ("HistGradientBoostingRegressor", "hist_gradient_boosting"),
            ("LGBMClassifier", "lightgbm"),
            ("hgb", "hist_gradient_boosting"),
            ("KNeighborsClassifier", "knn"),
            ("SVC", "rbf_svm"),
            ("IBk", "knn"),
            ("J48", "decision_tree"),
            ("JRip", "rule_list"),
            ("tree", "decision_tree"),
        ],
    )
    def test_names_of_other_libraries_are_understood(self, name, meant):
        assert f"did you mean {meant!r}" in refused("compare", WEATHER, "--target", "play", "--models", name)

    def test_no_model_and_too_many_workers_are_refused_before_the_table_is_read(self):
        words = "--models must name at least one model."
        assert refused("fit", "missing.csv", "--target", "play", "--models", "").startswith(words)
        assert "--jobs must be at most" in refused("fit", "missing.csv", "--target", "play", "--jobs", "100000")

    def test_models_separated_by_blanks(self):
        found = refused("compare", "missing.csv", "--target", "play", "--models", "knn naive_bayes")
        assert found == "models are separated by commas, got 'knn naive_bayes'. Hint: pass knn,naive_bayes."

    def test_a_fit_without_a_target_names_the_columns(self):
        found = refused("fit", TABLE_FILE)
        assert "the column to predict was not given. Hint: pass --target, one of 'outlook', " in found

    def test_holdout_and_a_test_table_are_refused_first(self):
        found = refused("fit", "missing.csv", "--target", "play", "--cv", "holdout", "--test", "missing.csv")
        assert found.startswith("--cv holdout and --test cannot be combined.")

    @pytest.mark.parametrize(
        "words", [("compare", "--models", "knn,naive_bayes"), ("tune", "--model", "naive_bayes", "--trials", "5")]
    )
    def test_rows_without_a_class_can_be_dropped_everywhere(self, here, words):
        (here / "t.csv").write_text("x,y\n" + "1.5,a\n2.5,b\n" * 20 + "3.5,\n")
        command, *rest = words
        found = refused(command, "t.csv", "--target", "y", *rest)
        assert (
            found == "the target 'y' is missing in 1 of 41 rows. Hint: pass --drop-unlabeled to leave these rows out."
        )
        assert ask(command, "t.csv", "--target", "y", *rest, "--drop-unlabeled", "--cv", "2", "--quiet")[0] == 0

    def test_two_tables_side_by_side(self, here):
        rows = [["x", "y", None, "z"], *([1.5 + k, k, None, k % 2] for k in range(5))]
        write_workbook(here / "two.xlsx", rows)
        code, out, error = ask("inspect", "two.xlsx")
        assert (code, error) == (0, "")  # fastexcel itself prints nothing
        assert "the column after 'y' is empty and has no name. If there are two tables side by side, pass --drop" in (
            " ".join(out.split())
        )

    def test_the_nearest_metric_is_named(self):
        found = refused("compare", TABLE_FILE, "--target", "play", "--metric", "ROC AUC", "--models", "knn,naive_bayes")
        assert "there is no metric called 'ROC AUC'. Hint: did you mean 'roc_auc'?" in found

    def test_the_example_of_a_kind_is_about_the_column(self):
        found = refused("fit", TABLE_FILE, "--target", "play", "--kind", "my zip")
        assert found.endswith("Hint: pass --kind 'my zip=categorical'.")

    def test_rows_without_a_target_come_with_the_option_that_drops_them(self, here):
        (here / "t.csv").write_text("x,y\n1.5,a\n2.5,b\n3.5,\n4.5,a\n")
        code, out, _ = ask("inspect", "t.csv", "--target", "y", "--write-config", "t.toml")
        assert code == 0
        assert "--drop-unlabeled leaves them out" in " ".join(out.split())
        assert "# drop-unlabeled = true  # 1 row has no value in the target\n" in (here / "t.toml").read_text()


def test_help_has_a_short_name():
    for arguments in (["-h"], ["fit", "-h"]):
        done = subprocess.run([sys.executable, "-m", "foldwise.app.cli", *arguments], capture_output=True, text=True)
        assert done.returncode == 0
        assert "Usage: foldwise" in done.stdout


def test_the_help_names_all_kinds():
    help_text = " ".join(ask("inspect", "--help")[1].split())
    words = help_text.partition("Kind of a column: ")[2].partition(". date:")[0]
    assert set(words.replace(" or ", ", ").split(", ")) - {""} == set(STORED)


def test_plain_names_of_metrics():
    assert {alias: ALIASES[alias] for alias in known_names.METRIC_ALIASES} == known_names.PLAIN_NAMES
