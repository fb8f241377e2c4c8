"""`refit`: updated facts equal training on all rows, both models see the same held-out rows, bad input is refused."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from foldwise import check, open_model, predict_file, refit
from foldwise.app.blend import Blend
from foldwise.app.refitting.learning import LabeledRows, fitted_again, updated
from foldwise.errors import InputError
from foldwise.evaluation.comparing.paired import corrected_t_test
from foldwise.models import catalogue, outline
from foldwise.report import render
from tests.app.command_line import ask, refused
from tests.app.fakes import fake_fit
from tests.app.test_check import people
from tests.models.tables import mixed


@pytest.fixture(scope="module")
def bayes(tmp_path_factory):
    made = fake_fit(people(600, 0), target="y", models=["naive_bayes"], rows=True)
    return made.save(tmp_path_factory.mktemp("refitted") / "run")


@pytest.fixture(scope="module")
def logistic(tmp_path_factory):
    made = fake_fit(people(600, 0), target="y", models=["logistic_regression"], rows=True)
    return made.save(tmp_path_factory.mktemp("refitted") / "run")


@pytest.mark.parametrize("numbers", ["gaussian", "kde", "binned"])
def test_updated_facts_equal_training_on_all_rows_to_the_law(numbers):
    table = mixed(240)
    about = outline(table)
    member = catalogue()["naive_bayes"].pipeline(about)
    families = dict.fromkeys(about.columns("number"), numbers)
    texts = dict.fromkeys(about.columns("text"), "text")
    member.set_params(model__families={**families, **texts})
    codes = np.unique(table.y, return_inverse=True)[1]
    first, second = (LabeledRows(table.X[a:b], codes[a:b]) for a, b in ((0, 150), (150, 240)))
    labels = np.unique(table.y).tolist()
    empty = Blend([member], [1.0], [None], None, [0.5] * len(labels), 0.0, labels)
    old = fitted_again(empty, first)
    everything = fitted_again(empty, second.joined(first))
    new = updated(old, second)
    by_law = np.log(everything.predict_proba(table.X))
    found = np.log(new.predict_proba(table.X))
    np.testing.assert_array_less(np.abs(found - by_law), 1e-10 * np.maximum(1, np.abs(by_law)) + 1e-15)
    assert new.prior == pytest.approx(everything.prior, rel=1e-12)
    again = updated(new, None, second)
    before = np.log(old.predict_proba(table.X))
    np.testing.assert_allclose(np.log(again.predict_proba(table.X)), before, rtol=1e-8, atol=1e-9)


def test_both_models_are_scored_on_the_same_rows_by_the_corrected_test(logistic):
    new = people(400, 1, shift=0.5)
    found = refit(logistic, new, seed=3)
    differences = [old - fresh for old, fresh in found.fold_scores]  # log loss: lower is better
    test = corrected_t_test(differences, (400 / 10) / (400 * 9 / 10))
    assert found.difference == pytest.approx(test.difference)
    assert found.p == pytest.approx(test.p)
    assert found.old[0] == pytest.approx(np.mean([old for old, _ in found.fold_scores]))
    assert found.verdict == "tied"
    assert max(map(len, repr(found).splitlines())) <= 80
    assert 'id="refit"' in render(found.to_dict())


def test_a_relation_that_changed_makes_the_new_model_better(logistic):
    flipped = people(400, 2).with_columns(y=pl.when(pl.col("y") == "yes").then(pl.lit("no")).otherwise(pl.lit("yes")))
    found = refit(logistic, flipped)
    assert found.verdict == "better"
    assert found.difference > 0


def test_old_rows_are_learned_from_but_not_tested_on(logistic):
    found = refit(logistic, people(60, 3), old=people(600, 0))
    assert (found.n_rows, found.n_old_rows, found.metadata["rows"]) == (60, 600, 660)
    assert len(found.fold_scores) == found.n_folds


def test_the_command_writes_a_folder_that_predict_check_and_refit_take(bayes, here):
    people(200, 4).write_csv("new.csv")
    code, out, error = ask("refit", bayes, "new.csv", "--update", "--json")
    assert code == 0, error
    facts = json.loads(out)
    assert facts["update"] is True
    assert sorted(path.name for path in (here / "new-refit").iterdir()) == ["model.foldwise", "report.html", "run.json"]
    assert predict_file("new-refit", "new.csv", "predicted.csv").n_rows == 200
    assert not check("new-refit", people(300, 5), labels="y").changed
    assert open_model("new-refit/model.foldwise").metadata["estimate"]["value"] == pytest.approx(facts["new"]["value"])
    assert refit("new-refit", people(100, 6)).n_rows == 100


def test_forgetting_what_was_learned_gives_the_old_model(bayes):
    new = people(100, 7)
    added = refit(bayes, new, update=True).model
    old = open_model(bayes / "model.foldwise").model
    X = new.drop("y")
    rows = LabeledRows(X, (new["y"] == "yes").to_numpy().astype(int))
    back = updated(added, None, rows)
    np.testing.assert_allclose(back.predict_proba(X), old.predict_proba(X), rtol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new.csv", "--update"], "only models that are sums over rows can be updated"),
        (["few.csv"], "refit needs at least 20 new rows, got 10."),
        (["unlabeled.csv"], "the table has no column 'y', the target of the model."),
        (["gaps.csv"], "rows have no label"),
        (["other.csv"], "a class that the model does not know: 'maybe'"),
        (["one.csv"], "every class needs at least two new rows, but 'no' has fewer."),
        (["narrow.csv"], "the table lacks the column 'x1'"),
        (["new.csv", "--with", "none.csv"], "file 'none.csv' does not exist."),
        (["new.csv", "--out", "new.csv"], "is a file, not a folder"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(logistic, here, arguments, words):
    new = people(50, 0)
    tables = {"new": new, "few": new[:10], "unlabeled": new.drop("y"), "narrow": new.drop("x1")}
    tables["gaps"] = new.with_columns(y=pl.Series([None, *new["y"][1:]]))
    tables["other"] = new.with_columns(y=pl.Series(["maybe", *new["y"][1:]]))
    tables["one"] = new.with_columns(y=pl.lit("yes"))
    for name, table in tables.items():
        table.write_csv(f"{name}.csv")
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    assert words in refused("refit", logistic, *arguments)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_old_rows_and_updates_exclude_each_other(bayes):
    with pytest.raises(InputError, match="cannot be combined"):
        refit(bayes, people(50, 0), old=people(50, 1), update=True)


def test_a_run_with_groups_is_refused(tmp_path):
    frame = people(300, 0).with_columns(school=pl.Series(np.arange(300) % 30))
    path = fake_fit(frame, target="y", models=["naive_bayes"], groups="school").save(tmp_path / "run")
    with pytest.raises(InputError, match="groups"):
        refit(path, frame)
