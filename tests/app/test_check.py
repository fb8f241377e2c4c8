"""`check`: planted drifts are named first, unchanged rows are not alarming, and bad input leaves nothing behind."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from foldwise import check, open_model
from foldwise.app.reference import RunReference
from foldwise.errors import InputError
from foldwise.report import render
from tests.app.command_line import ask, refused
from tests.app.fakes import fake_fit


def people(n_rows, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 4))
    x[:, 0] += shift
    p = 1 / (1 + np.exp(-(1.5 * x[:, 0] - x[:, 1])))
    frame = pl.DataFrame({f"x{j}": x[:, j] for j in range(4)})
    frame = frame.with_columns(x3=pl.when(pl.Series(rng.uniform(size=n_rows) < 0.1)).then(None).otherwise("x3"))
    return frame.with_columns(
        city=pl.Series(rng.choice(["a", "b", "c"], n_rows)),
        y=pl.Series(np.where(rng.uniform(size=n_rows) < p, "yes", "no")),
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    made = fake_fit(people(1_000, 0), target="y", models=["logistic_regression"], slices="x0", rows=True)
    return made.save(tmp_path_factory.mktemp("checked") / "run")


@pytest.fixture(scope="module")
def drifted():
    new = people(1_500, 1, shift=1.0)
    return new.with_columns(city=pl.when(pl.col("x2") > 1).then(pl.lit("<i>z")).otherwise("city"), color=pl.lit("red"))


def test_unchanged_rows_are_not_alarming(run):
    found = check(run, people(800, 2), labels="y")
    assert not found.changed
    assert found.changed_columns == []
    assert found.predictions.ks < 0.1
    assert {one.metric for one in found.realized} >= {"log_loss", "accuracy"}
    assert found.realized[0].promise == pytest.approx(open_model(run / "model.foldwise").metadata["estimate"]["value"])


def test_planted_drifts_are_named_and_the_influential_one_comes_first(run, drifted):
    found = check(run, drifted)
    assert found.changed_columns == ["x0", "city"]
    assert found.columns[0].effect > 10 * found.columns[1].effect
    assert found.columns[1].unseen[0][0] == "<i>z"
    assert found.extra_columns == ("color",)
    assert found.to_frame()["changed"].to_list() == [True, True, False, False, False]
    assert max(map(len, repr(found).splitlines())) <= 80
    page = render(found.to_dict())
    assert "&lt;i&gt;z" in page
    assert "<i>z" not in page
    assert "&lt;i&gt;z" in found._repr_html_()


def test_the_command_prints_json_writes_a_page_and_exits_with_3(run, drifted, here):
    drifted.write_csv("new.csv")
    code, out, _ = ask("check", run, "new.csv", "--labels", "y", "--slices", "x0,city", "--json", "--report", "p.html")
    assert code == 3
    facts = json.loads(out)
    assert facts["changed_columns"] == ["x0", "city"]
    assert facts["slices"]["edges"]["x0"] == RunReference.of(open_model(run / "model.foldwise")).edges["x0"]
    shown = {"log_loss", "accuracy", "balanced_accuracy", "roc_auc", "brier_score", "calibration"}
    assert {one["metric"] for one in facts["slices"]["scores"]} == shown  # those of fit, and those to expect
    assert 'id="slices"' in (here / "p.html").read_text()
    people(500, 3).write_csv("same.csv")
    code, out, _ = ask("check", run, "same.csv")
    assert (code, out.splitlines()[0]) == (0, "same: 500 rows, no changes found")


def test_a_file_in_batches_gives_the_same_as_a_frame(run, here):
    new = people(2_000, 4)
    new.write_parquet("new.parquet")
    by_frame, by_file = (check(run, table).to_dict() for table in (new, "new.parquet"))
    assert {**by_file, "title": ""} == {**by_frame, "title": ""}


def test_a_missing_column_is_a_change_and_nothing_is_predicted(run):
    found = check(run, people(300, 5).drop("x1"))
    assert found.missing_columns == ("x1",)
    assert found.changed
    assert found.expected == ()
    assert "lacks the column 'x1'" in found.sentences()[0]


def test_a_relation_that_changed_is_seen_by_labels_only(run):
    new = people(1_500, 6).with_columns(y=pl.when(pl.col("y") == "yes").then(pl.lit("no")).otherwise(pl.lit("yes")))
    assert not check(run, new).changed
    found = check(run, new, labels="y")
    assert found.changed_columns == []
    assert found.is_worse
    assert repr(found).splitlines()[0] == "table: 1,500 rows, columns not changed, the model is worse"
    assert found.realized[0].within is False


def test_a_score_that_reads_like_the_end_of_the_expected_interval_is_not_outside(run):
    table = people(400, 5)
    found = check(run, table, labels="y")
    [real] = found.realized[:1]
    for value, told in ((0.6934, False), (0.75, True)):
        expected = tuple(replace(one, low=0.6925, high=0.6931) for one in found.expected)
        changed = replace(found, expected=expected, realized=(replace(real, value=value, within=False),))
        assert ("score was expected" in " ".join(changed.sentences())) == told


def test_rows_without_a_known_label_are_left_out(run):
    new = people(300, 7).with_columns(y=pl.Series([None, "maybe", *["yes", "no"] * 149]))
    found = check(run, new, labels="y")
    assert found.realized[0].n_rows == 298
    assert any("does not know: 'maybe'" in note for note in found.notes)
    assert any("no label" in note for note in found.notes)


def test_a_quantity_is_checked_in_its_own_units(tmp_path):
    rng = np.random.default_rng(8)

    def table(n, shift):
        x = rng.normal(shift, 1, n)
        return pl.DataFrame({"x": x, "z": rng.normal(size=n), "y": 3 * x + rng.normal(size=n)})

    path = fake_fit(table(600, 0), target="y", models=["ridge"]).save(tmp_path / "run")
    found = check(path, table(600, 1.0), labels="y")
    assert found.changed_columns == ["x"]
    assert found.expected[0].metric == "root_mean_squared_error"
    assert found.realized[0].within


def test_an_area_under_the_curve_can_be_expected(tmp_path):
    path = fake_fit(people(500, 9), target="y", models=["logistic_regression"], metric="roc_auc").save(tmp_path / "run")
    found = check(path, people(500, 10), labels="y")
    assert found.expected[0].metric == "roc_auc"
    assert found.realized[0].within


def test_the_reference_is_small(run):
    assert (run / "model.foldwise").stat().st_size < 40_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new.csv", "--labels", "z"], "the table has no column 'z', passed as --labels."),
        (
            ["new.csv", "--labels", "x0"],
            "column 'x0' must contain true classes, but no row contains one of 'no', 'yes'.",
        ),
        (["new.csv", "--slices", "x0"], "--slices needs labels, because scores are computed from true values."),
        (["new.csv", "--labels", "y", "--slices", "q"], "the table has no column 'q', passed as --slices."),
        (["none.csv"], "file 'none.csv' does not exist."),
        (["other.csv"], "the table has none of the columns of the model"),
        (["empty.csv"], "the table has no rows."),
        (["new.csv", "--report", "no/p.html"], "--report must be a file in an existing folder"),
        (["new.csv", "--report", "new.csv"], "--report is the table itself."),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(run, here, arguments, words):
    people(50, 0).write_csv("new.csv")
    pl.DataFrame({"a": [1, 2]}).write_csv("other.csv")
    (here / "empty.csv").write_text("x0,x1,x2,x3,city\n")
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    assert words in refused("check", run, *arguments)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_a_model_without_summaries_is_refused(bayes_run):
    with pytest.raises(InputError, match="contains no summaries of its training table"):
        check(bayes_run, people(20, 0))


def test_predictions_that_differ_although_no_column_changed_are_explained(run):
    new = check(run, people(600, 1))
    assert new.state == "not changed"
    assert not any("memorize" in one for one in new.sentences())
    assert new.predictions is not None
    found = replace(new, predictions=replace(new.predictions, psi=0.9, ks=0.4, p=1e-9, p_corrected=1e-8))
    assert not found.changed
    assert repr(found).splitlines()[0] == "table: 600 rows, columns not changed, predictions differ"
    assert any("(PSI 0.900), although no column changed. This is normal if" in one for one in found.sentences())
    assert "Columns not changed, predictions differ. 600 rows" in render(found.to_dict())


def test_predictions_of_a_tree_are_not_compared(tmp_path):
    rows = people(600, 0)
    run = fake_fit(rows, target="y", models=["decision_tree"]).save(tmp_path / "run")
    found = check(run, rows)
    assert found.predictions is None
    assert any("predictions were not compared with those of held-out training rows" in one for one in found.sentences())
    assert "no changes found" in repr(found).splitlines()[0]
    assert "Predictions compared" not in render(found.to_dict())


@pytest.mark.parametrize(
    ("value", "words"), [(0.1, "a worse score was expected"), (0.9, "a better score was expected")]
)
def test_an_actual_score_outside_the_expected_interval_is_explained(run, value, words):
    found = check(run, people(600, 1), labels="y")
    assert not any("score was expected" in one for one in found.sentences())
    first = replace(found.realized[0], value=value, within=False)  # a loss
    said = [one for one in replace(found, realized=(first,)).sentences() if "score was expected" in one]
    assert words in said[0]
    assert ("memorize" in said[0]) == (value == 0.1)


def test_cells_that_are_no_longer_numbers_are_reported(run, here):
    same = people(300, 5)
    text = same.with_columns(x1=pl.concat_str(pl.col("x1").cast(pl.String), pl.lit(" kg")))
    text.write_csv("text.csv")
    code, out, _ = ask("check", run, "text.csv", "--labels", "y", "--json")
    facts = json.loads(out)
    assert code == 3
    assert facts["sentences"][0].startswith("'x1': 300 of 300 cells are no longer numbers, for example '")
    assert facts["unreadable_columns"][0]["column"] == "x1"
    assert facts["rows_predicted"] == 0
    texts = pl.col("x1").cast(pl.String)
    one = same.with_columns(x1=pl.when(pl.int_range(300) == 7).then(pl.lit("n.a.")).otherwise(texts))
    found = check(run, one)
    assert found.changed
    assert found.sentences()[0] == "'x1': 1 of 300 cells is no longer a number: 'n.a.'."


def test_a_renamed_column_is_suggested(run):
    found = check(run, people(300, 5).rename({"x1": "X1"}))
    assert "It has 'X1': if that is 'x1' under another name, rename it." in found.sentences()


def test_what_is_compared_of_texts_is_said(run):
    found = check(run, people(100, 5))
    assert "number of characters" not in found.rule()
    text = replace(found, columns=(replace(found.columns[0], column="note", kind="length"),))
    assert text.rule().endswith("Of the texts in 'note', only the number of characters is compared, not the words.")


def test_cells_of_a_file_that_mean_missing_among_numbers_are_not_counted(run, here):
    cells = ["abc", "unknown", *map(str, people(300, 5)["x1"][2:])]
    people(300, 5).with_columns(pl.Series("x1", cells)).write_csv("new.csv")
    code, out, _ = ask("check", run, "new.csv", "--json")
    assert code == 3
    sentences = json.loads(out)["sentences"]
    assert sentences[0] == "'x1': 1 of 299 cells is no longer a number: 'abc'."
    assert any(one.startswith("Apart from these cells, none of the ") for one in sentences)
