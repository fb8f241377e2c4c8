"""`foldwise export`: files, the check, and what is refused."""

from __future__ import annotations

import json

import duckdb
import pytest

from foldwise import read_table
from foldwise.app.cli.export import EXPORTABLE
from foldwise.models import catalogue, outline
from tests.app.command_line import WEATHER, ask, refused
from tests.app.runs import folder_of

TABLE = read_table(WEATHER, target="play")


@pytest.fixture(scope="module")
def weather_run(tmp_path_factory):
    model = catalogue()["decision_tree"].pipeline(outline(TABLE)).fit(TABLE.X, TABLE.y)
    return folder_of(tmp_path_factory.mktemp("runs") / "weather", model, TABLE.X)


def test_the_query_and_its_check(weather_run, here):
    weather = TABLE.X.to_arrow()
    code, out, error = ask("export", weather_run, "--table", "weather", "--keep", "outlook", "-o", here / "tree.sql")
    assert code == 0, error
    assert out.splitlines()[:2] == [f"query  {here / 'tree.sql'}", f"check  {here / 'tree.check.sql'}"]
    with duckdb.connect() as connection:
        connection.register("weather", weather)
        found = connection.execute((here / "tree.sql").read_text()).fetchall()
        assert connection.execute((here / "tree.check.sql").read_text()).fetchall() == [(0,)]
    assert [row[0] for row in found] == weather["outlook"].to_pylist()
    assert {row[1] for row in found} == {"no", "yes"}


def test_json_and_an_untested_dialect(weather_run, here):
    code, out, error = ask("export", weather_run, "--dialect", "snowflake", "-o", here / "tree.sql", "--json")
    assert code == 0, error
    assert json.loads(out)["tested"] is False
    _, out, _ = ask("export", weather_run, "--dialect", "snowflake", "-o", here / "tree.sql")
    assert "Exports to snowflake have never been run" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--dialect", "oracle"), "--dialect must be 'duckdb', 'postgres'"),
        (("--to", "onnx", "--dialect", "mysql"), "--dialect does not apply to --to onnx. Hint: leave --dialect out."),
        (("--missing-text", "none"), "--missing-text does not apply to --to sql"),
        (("--to", "pickle"), "--to must be sql or onnx, got 'pickle'"),
        (("-o", "nowhere/model.sql"), "--out must be a file in an existing folder"),
    ],
)
def test_refused(weather_run, here, options, words):
    assert words in refused("export", weather_run, *options)
    assert list(here.glob("*.sql")) == []


def test_free_text_is_refused_by_name(tree_run, here):
    assert "contains free text, which cannot be exported to SQL" in refused("export", tree_run)


def test_onnx(weather_run, here):
    import onnxruntime

    code, out, error = ask("export", weather_run, "--to", "onnx", "-o", here / "tree.onnx")
    assert code == 0, error
    assert out.splitlines()[0] == f"graph  {here / 'tree.onnx'}"
    assert "onnxruntime and Python give the same predictions for" in out
    session = onnxruntime.InferenceSession(here / "tree.onnx")
    assert [one.name for one in session.get_inputs()] == TABLE.X.columns
    assert [one.name for one in session.get_outputs()] == ["predicted_class", "predicted_p"]
    _, out, _ = ask("export", weather_run, "--to", "onnx", "-o", here / "tree.onnx", "--json")
    assert json.loads(out)["checked_rows"] > 0


def test_the_text_of_missing_cells_in_onnx(weather_run, here):
    refusal = refused("export", weather_run, "--to", "onnx", "--missing-text", "sunny", "-o", here / "tree.onnx")
    assert refusal.endswith("Hint: export it with another --missing-text.")
    code, out, error = ask("export", weather_run, "--to", "onnx", "--missing-text", "none", "-o", here / "tree.onnx")
    assert code == 0, error
    assert 'missing text is "none".' in out


def test_dates_are_refused_by_name_in_onnx(tree_run, here):
    assert "contains dates, which cannot be exported to ONNX" in refused("export", tree_run, "--to", "onnx")
    assert list(here.glob("*.onnx")) == []


def test_a_model_that_cannot_be_exported_is_answered_with_models_to_train(tmp_path, here):
    model = catalogue()["knn"].pipeline(outline(TABLE)).fit(TABLE.X, TABLE.y)
    words = refused("export", folder_of(tmp_path / "near", model, TABLE.X))
    assert "cannot be exported to SQL. Hint: run fit again with --models and some of naive_bayes, logistic" in words
    assert "DummyClassifier" not in words
    assert {name for names in EXPORTABLE.values() for name in names} <= {*catalogue()}
