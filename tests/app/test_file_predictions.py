"""Predictions of files: the same as of the table in memory, however it is cut; nothing half-written."""

from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest

from foldwise import CostMatrix, NaiveBayes, open_model
from foldwise.app import file_predictions
from foldwise.app.file_predictions import predict_file
from foldwise.app.unknown_categories import known_levels
from foldwise.data.reading import batches
from foldwise.errors import FoldwiseTypeError, InputError
from tests.app.runs import COSTS, TABLE, folder_of, pipeline
from tests.slow import slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("runs") / "run", pipeline("naive_bayes"), TABLE.X)


@pytest.fixture(scope="module")
def costly(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("runs") / "run", pipeline("naive_bayes"), TABLE.X, costs=COSTS)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "new.csv"
    TABLE.X.with_columns(name=pl.Series([f"n{i}" for i in range(120)])).write_csv(path)
    return path


def test_what_is_written(run, table, tmp_path):
    done = predict_file(run, table, tmp_path / "out.csv", keep=["name"])
    found = pl.read_csv(tmp_path / "out.csv")
    assert found.columns == [
        "name",
        *(f"predicted_{one}" for one in ("class", "p_down", "p_up", "decision", "expected_cost")),
    ]
    proba = open_model(run / "model.foldwise").predict_proba(TABLE.X)
    np.testing.assert_allclose(found.select("predicted_p_down", "predicted_p_up").to_numpy(), proba, rtol=1e-12)
    assert found["predicted_class"].to_list() == found["predicted_decision"].to_list()
    np.testing.assert_allclose(found["predicted_expected_cost"], 1 - proba.max(axis=1), atol=1e-12)
    assert found["name"][7] == "n7"
    assert done.n_rows == 120
    assert done.decisions == dict(found["predicted_decision"].value_counts().iter_rows())
    assert not done.notes
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "out.csv"]


def test_decisions_by_cost(costly, table, tmp_path):
    predict_file(costly, table, tmp_path / "out.csv")
    found = pl.read_csv(tmp_path / "out.csv")
    expected = -found["predicted_p_up"] + 3 * found["predicted_p_down"]
    np.testing.assert_array_equal(found["predicted_decision"] == "buy", expected < 0)
    np.testing.assert_allclose(found["predicted_expected_cost"], np.minimum(expected, 0), atol=1e-9)
    other = CostMatrix.from_dict({"run": {"up": 1, "down": 1}})
    predict_file(costly, table, tmp_path / "out.csv", costs=other)
    assert set(pl.read_csv(tmp_path / "out.csv")["predicted_decision"]) == {"run"}
    with pytest.raises(InputError, match="the class 'down' is not in the cost matrix"):
        predict_file(costly, table, tmp_path / "out.csv", costs=CostMatrix.from_dict({"run": {"up": 1}}))


ENDINGS = ("csv", "tsv", "parquet", "jsonl")
PAIRS = [("csv", "parquet"), ("csv", "tsv"), ("parquet", "csv"), ("jsonl", "jsonl")]


@pytest.mark.parametrize(
    ("given", "ending"),
    [
        *PAIRS,
        *slow(*(pair for pair in itertools.product(("csv", "parquet", "jsonl"), ENDINGS) if pair not in PAIRS)),
    ],
)
def test_the_same_in_batches(run, tmp_path, monkeypatch, ending, given):
    monkeypatch.setattr(batches, "TAIL", 100)
    frame = TABLE.X.drop("day").with_columns(day=TABLE.X["day"]) if given != "jsonl" else TABLE.X
    path = tmp_path / f"new.{given}"
    if given == "jsonl":  # which knows no dates
        model = NaiveBayes().fit(TABLE.X.drop("day"), TABLE.y)
        run = folder_of(tmp_path / "run", model, TABLE.X.drop("day"))
        frame = TABLE.X.drop("day")
        frame.write_ndjson(path)
    else:
        (frame.write_csv if given == "csv" else frame.write_parquet)(path)
    predict_file(run, path, tmp_path / f"whole.{ending}")
    monkeypatch.setattr(file_predictions, "ROWS", 7)
    told = []
    predict_file(run, path, tmp_path / f"parts.{ending}", block=1000, watch=told.append)
    assert len(told) > 10
    assert told[-1] == 120
    read = {"parquet": pl.read_parquet, "jsonl": pl.read_ndjson, "tsv": lambda p: pl.read_csv(p, separator="\t")}
    whole, parts = (read.get(ending, pl.read_csv)(tmp_path / f"{name}.{ending}") for name in ("whole", "parts"))
    assert whole.height == 120
    for one, other in zip(whole, parts, strict=True):
        if one.dtype.is_float():
            np.testing.assert_allclose(one, other, rtol=1e-9)
        else:
            assert one.to_list() == other.to_list()


def test_columns_are_read_as_the_model_knows_them(tmp_path):
    """A column of text whose cells look like numbers in this file, and codes with leading zeros."""
    X = pl.DataFrame({"rooms": ["1", "2.50", "3+", "007"] * 10, "n": [1, 2, 3, 4] * 10})
    run = folder_of(tmp_path / "run", NaiveBayes().fit(X, ["a", "b", "c", "d"] * 10), X)
    (tmp_path / "new.csv").write_text("rooms,n\n2.50,2\n2.50,2\n")
    predict_file(run, tmp_path / "new.csv", tmp_path / "out.csv")
    assert pl.read_csv(tmp_path / "out.csv")["predicted_class"].to_list() == ["b", "b"]
    (tmp_path / "new.csv").write_text("rooms,n\n007,4\n1,1\n")
    predict_file(run, tmp_path / "new.csv", tmp_path / "out.csv")
    assert pl.read_csv(tmp_path / "out.csv")["predicted_class"].to_list() == ["d", "a"]


@pytest.mark.parametrize("name", ["naive_bayes", "knn", "decision_tree", "logistic_regression"])
def test_categories_that_are_new_are_noted(tmp_path, name):
    run = folder_of(tmp_path / "run", pipeline(name), TABLE.X)
    assert known_levels(open_model(run / "model.foldwise").model)["color"] == {"red", "green", "blue"}
    path = tmp_path / "new.csv"
    TABLE.X.with_columns(color=pl.when(pl.int_range(120) < 3).then(pl.lit("pink")).otherwise("color")).write_csv(path)
    done = predict_file(run, path, tmp_path / "out.csv")
    assert done.n_rows == 120
    assert [note.text for note in done.notes.about("categories")] == [
        "3 cells of 'color' contain categories that do not occur in the training data: 'pink'. They were treated as "
        "unknown."
    ]


def test_extra_columns_are_noted_but_not_the_target(run, table, tmp_path):
    frame = pl.read_csv(table).with_columns(y=pl.lit("up"), more=pl.lit(1))
    frame.write_csv(table)
    done = predict_file(run, table, tmp_path / "out.csv")
    assert [note.text for note in done.notes] == [
        "columns 'name', 'more' were ignored, because the model was trained without them."
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop("size", "city"), "lacks the columns 'size', 'city'"),
        (
            lambda frame: frame.with_columns(size=pl.lit("tall")),
            "the model was trained on numbers in 'size', but row 0 contains 'tall'",
        ),
        (lambda frame: frame[:0], "has no rows"),
    ],
)
def test_a_table_that_does_not_fit_leaves_nothing(run, table, tmp_path, change, message):
    change(pl.read_csv(table)).write_csv(table)
    with pytest.raises(InputError, match=message):
        predict_file(run, table, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == [table]


def test_an_old_file_stays_until_the_new_one_is_whole(run, table, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join([*lines, lines[1].replace(lines[1].split(",")[0], "tall", 1)]))
    with pytest.raises(InputError, match="tall"):
        predict_file(run, table, out, block=1000)
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "out.csv"]


def test_places_that_cannot_be_written_to(run, table, tmp_path):
    for out, message in (
        ("out.xyz", "must end in .csv"),
        ("no/out.csv", "is in a folder that does not exist"),
        ("new.csv", "is the table itself"),
    ):
        with pytest.raises(InputError, match=message):
            predict_file(run, table, tmp_path / out)
    with pytest.raises(InputError, match="keep= names 'predicted_class'"):
        predict_file(run, table, tmp_path / "out.csv", keep=["predicted_class"])
    with pytest.raises(InputError, match="keep= must name columns of the table, got 'nobody'"):
        predict_file(run, table, tmp_path / "out.csv", keep=["nobody"])
    with pytest.raises(InputError, match="keep= must be a list of names, got the text 'id'"):
        predict_file(run, table, tmp_path / "out.csv", keep="id")


def test_to_standard_output(run, table, capfdbinary):
    predict_file(run, table, "-")
    assert capfdbinary.readouterr().out.startswith(b"predicted_class,predicted_p_down,")


def test_labels_of_numbers(tmp_path):
    X = pl.DataFrame({"x": [0.0, 1.0, 2.0] * 10})
    run = folder_of(tmp_path / "run", NaiveBayes().fit(X, [3, 7, 11] * 10), X)
    X.write_csv(tmp_path / "new.csv")
    predict_file(run, tmp_path / "new.csv", tmp_path / "out.jsonl")
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert first["predicted_class"] == first["predicted_decision"] == 3


def test_text_that_a_spreadsheet_would_execute_is_made_harmless(tmp_path):
    X = pl.DataFrame({"x": [0.0, 1.0] * 10, "=note": ['=HYPERLINK("http://x")', "-5"] * 10})
    run = folder_of(tmp_path / "run", NaiveBayes().fit(X.select("x"), ["@b", "a"] * 10), X.select("x"))
    X.write_csv(tmp_path / "new.csv")
    predict_file(run, tmp_path / "new.csv", tmp_path / "safe.csv", keep=["=note"])
    predict_file(run, tmp_path / "new.csv", tmp_path / "raw.csv", keep=["=note"], raw=True)
    predict_file(run, tmp_path / "new.csv", tmp_path / "safe.parquet", keep=["=note"])
    safe, raw = (pl.read_csv(tmp_path / f"{name}.csv", infer_schema=False) for name in ("safe", "raw"))
    assert safe.columns[:3] == ["'=note", "predicted_class", "predicted_p_@b"]
    assert safe["'=note"].to_list()[:2] == ['\'=HYPERLINK("http://x")', "-5"]
    assert set(safe["predicted_class"]) == {"'@b", "a"}
    assert raw["=note"].to_list() == X["=note"].to_list()
    assert set(raw["predicted_class"]) == {"@b", "a"}
    assert pl.read_parquet(tmp_path / "safe.parquet")["=note"].to_list() == X["=note"].to_list()


def test_a_frame_in_memory_is_refused_with_what_predicts_it(run, tmp_path):
    with pytest.raises(FoldwiseTypeError, match=r"path of a file, got DataFrame.*open_model\(path\).predict\(frame\)"):
        predict_file(run, TABLE.X, tmp_path / "out.csv")
    with pytest.raises(InputError, match=r"'run' is a folder, not a model file. Hint: open '.*model.foldwise'"):
        open_model(run)


def test_an_option_that_has_no_effect_is_neither_advised_nor_accepted(run, table, tmp_path):
    frame = pl.read_csv(table).with_columns(size=pl.concat_str("size", pl.lit(" cm")))
    frame.write_csv(table)
    reading = {"missing_values": {"size": frame["size"].unique().to_list()}}
    assert predict_file(run, table, tmp_path / "out.csv", reading=reading).n_rows == 120
    with pytest.raises(InputError, match="it contained numbers when the model was trained"):
        predict_file(run, table, tmp_path / "out.csv", reading={"kinds": {"size": "categorical"}})


def test_a_row_is_counted_from_the_start_of_the_file(run, table, tmp_path):
    frame = pl.read_csv(table).with_columns(pl.col("size").cast(pl.String))
    frame[100, "size"] = "tall"
    frame.write_csv(table)
    with pytest.raises(InputError, match="row 100 contains 'tall'"):
        predict_file(run, table, tmp_path / "out.csv", block=500)


def test_a_column_in_other_capitals_is_suggested(run, table, tmp_path):
    pl.read_csv(table).rename({"size": "Size"}).write_csv(table)
    with pytest.raises(InputError, match="is 'Size' the column 'size'"):
        predict_file(run, table, tmp_path / "out.csv")


def test_kept_cells_are_copied_as_they_are_written(run, table, tmp_path):
    amounts = [f"${i}.50" for i in range(120)]
    pl.read_csv(table).with_columns(price=pl.Series(amounts), rate=pl.lit("0%"), code=pl.lit("007")).write_csv(table)
    predict_file(run, table, tmp_path / "out.csv", keep=["price", "rate", "code"])
    found = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert found["price"].to_list() == amounts
    assert found.select("rate", "code").row(0) == ("0%", "007")
    predict_file(run, table, tmp_path / "out.parquet", keep=["price"])
    assert pl.read_parquet(tmp_path / "out.parquet")["price"].dtype.is_numeric()
