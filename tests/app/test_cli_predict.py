"""`foldwise predict` and `foldwise explain`: what they say of a table, and models and tables that are refused."""

from __future__ import annotations

import json
import os
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from foldwise import NaiveBayes
from foldwise.models import catalogue, outline
from tests.app.command_line import ask, refused
from tests.app.runs import COSTS, TABLE, folder_of, pipeline
from tests.models.tables import table_of


class TestPredict:
    def test_without_costs_mistakes_are_told(self, bayes_run, new):
        code, out, _ = ask("predict", bayes_run, new, "-o", "out.csv")
        assert code == 0
        found = re.fullmatch(
            r"120 rows predicted \((\w+: \d+, )+\w+: \d+\), expected error rate: (\S+)%", out.split("\n")[0]
        )
        wrong = 100 * pl.read_csv("out.csv")["predicted_expected_cost"].mean()
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
        assert pl.read_parquet("out.parquet").columns[:3] == ["size", "city", "predicted_class"]
        assert ask("predict", tree_run, new, "-o", "out.csv", "--quiet") == (0, "", "")
        assert "--json needs an output file" in refused("predict", tree_run, new, "--json")

    def test_a_model_file_alone_and_other_costs(self, tree_run, new, here):
        (here / "costs.csv").write_text("action,up,down\nrun,1,1\n")
        assert ask("predict", tree_run / "model.foldwise", new, "-o", "out.csv", "--costs", "costs.csv")[0] == 0
        assert set(pl.read_csv("out.csv")["predicted_decision"]) == {"run"}
        (here / "costs.csv").write_text("action,up\nrun,1\n")
        error = refused("predict", tree_run, new, "--costs", "costs.csv")
        assert "the class 'down' is not in the cost matrix" in error
        assert "In the file, classes begin in the second column: the first one contains the actions." in error
        assert "file 'none.csv' does not exist" in refused("predict", tree_run, new, "--costs", "none.csv")

    def test_columns_that_were_left_out_of_training_may_be_named_again(self, tree_run, new):
        """The columns of the model are found by name, so predictions are the same, and any column can be kept."""
        plain = ask("predict", tree_run, new, "-o", "plain.csv", "--quiet")
        numbered = TABLE.X.with_columns(note=pl.lit("x")).with_row_index("n", offset=100)
        numbered.write_csv(new)
        given = ("--drop", "note,gone", "--index", "n", "--keep", "n,note", "--quiet")
        assert ask("predict", tree_run, new, "-o", "named.csv", *given) == plain == (0, "", "")
        named = pl.read_csv("named.csv")
        assert named["n"].to_list() == list(range(100, 220))
        assert named["note"].to_list() == ["x"] * 120
        assert named.drop("n", "note").equals(pl.read_csv("plain.csv"))
        assert ask("predict", tree_run, new, "-o", "dropped.csv", "--drop", "size", "--quiet") == plain
        assert pl.read_csv("dropped.csv").equals(pl.read_csv("plain.csv"))  # a column of the model is needed

    def test_notes_about_the_table(self, tree_run, new):
        TABLE.X.with_columns(more=pl.lit(1), color=pl.lit("pink")).write_csv(new)
        code, _, error = ask("predict", tree_run, new, "-o", "out.csv")
        assert code == 0
        assert "foldwise: note: column 'more' was ignored, because the model was trained without it.\n" in error
        assert "120 cells of 'color' contain categories that do not occur in the training data: 'pink'" in error

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda X: X.drop("size"), "lacks the column 'size', with which the model was trained"),
            (lambda X: X.with_columns(size=pl.lit("tall")), "on numbers in 'size', but row 0 contains 'tall'"),
            (lambda X: X[:0], "has no rows"),
        ],
    )
    def test_tables_that_do_not_fit(self, tree_run, new, change, words):
        change(TABLE.X).write_csv(new)
        sentence = refused("predict", tree_run, new, "-o", "out.csv")
        assert words in sentence
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
        assert lines[0] == "row 17 of new.csv (row numbers start at 0)"
        assert "contribution of each column to the log-odds of 'up'" in out
        assert all(len(line) <= 80 for line in lines)
        first = next(i for i, line in enumerate(lines) if line.startswith("column ")) + 1
        number = [float(line[37:45]) for line in lines[first:]]
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


VALUES = table_of(TABLE.X, np.linspace(0, 1, 120))


def test_missing_values_and_kinds_of_the_training_table_are_known(here, tmp_path):
    about = {"missing_values": {"size": ["-999"]}, "kinds": {"day": "date:%d/%m/%Y"}}
    run = folder_of(tmp_path / "known", pipeline("decision_tree"), TABLE.X, reading=about)
    frame = TABLE.X[:20].with_columns(size=pl.Series([-999.0] * 20), day=pl.Series(["05/06/2020"] * 20))
    frame.write_csv("coded.csv")
    frame.with_columns(size=None, day=pl.Series(["2020-06-05"] * 20)).write_csv("plain.csv", separator=";")
    frame.with_columns(size=pl.lit("gone")).write_csv("gone.csv")
    for name, options in {
        "coded": (),
        "plain": ("--separator", ";", "--kind", "day=date"),
        "gone": ("--missing", "gone"),
    }.items():
        code, _, error = ask("predict", run, f"{name}.csv", "-o", f"{name}-out.csv", *options, "--quiet")
        assert code == 0, error
    said = [pl.read_csv(f"{name}-out.csv").drop("predicted_class") for name in ("coded", "plain", "gone")]
    assert said[0].equals(said[1])
    assert said[0].equals(said[2])
    assert "--separator must be a single ASCII character" in refused("predict", run, "plain.csv", "--separator", ";;")


def test_a_column_called_class_is_kept(here, tree_run, new):
    pl.read_csv(new).with_columns(pl.lit("own").alias("class")).write_csv("own.csv")
    code, _, error = ask("predict", tree_run, "own.csv", "-o", "out.csv", "--keep", "class", "--quiet")
    assert code == 0, error
    out = pl.read_csv("out.csv")
    assert out["class"].unique().to_list() == ["own"]
    assert "predicted_class" in out.columns


def test_the_columns_of_predictions_are_documented(here, tree_run, new):
    """The prefix, and each name after it."""
    text = (Path(__file__).parents[2] / "docs" / "reference" / "file-formats.md").read_text()
    value_run = folder_of(
        here / "value", catalogue()["mean"].pipeline(outline(VALUES)).fit(VALUES.X, VALUES.y), VALUES.X
    )
    for run, classes in ((tree_run, ("up", "down")), (value_run, ())):
        assert ask("predict", run, new, "-o", "out.csv", "--quiet")[0] == 0
        found = pl.read_csv("out.csv").columns
        assert all(name.startswith("predicted_") for name in found)
        of_classes = {f"predicted_p_{name}" for name in classes}
        assert of_classes <= {*found}
        for name in {*found} - of_classes:
            assert f"| `{name}` |" in text
    assert "| `predicted_p_…` |" in text


def test_explain_shows_decisions_and_several_rows(new, tmp_path):
    run = folder_of(tmp_path / "run", pipeline("naive_bayes"), TABLE.X, costs=COSTS)
    code, out, _ = ask("explain", run, new, "--row", 1, "--row", 2)
    assert code == 0
    assert [line.split()[1] for line in out.splitlines() if line.startswith("row ")] == ["1", "2"]
    assert out.count("decision: ") == 2
    first, second = json.loads(ask("explain", run, new, "--row", 1, "--row", 2, "--json")[1])
    assert (first["row"], second["row"]) == (1, 2)
    assert first["decision"] in ("buy", "wait")
    assert first["expected_cost"] <= 0
