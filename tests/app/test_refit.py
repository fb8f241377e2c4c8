"""`refit`: updated facts equal training on all rows, both models see the same held-out rows, bad input is refused."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from foldwise import check, open_model, predict_file, refit
from foldwise.app.blend import Blend
from foldwise.app.final_model import sums_of_all
from foldwise.app.refitting.learning import LabeledRows, fitted_again, updated
from foldwise.app.refitting.refit_folds import refit_folds
from foldwise.errors import InputError
from foldwise.evaluation.comparing.paired import corrected_t_test
from foldwise.models import catalogue, outline
from foldwise.report import render
from tests.app.command_line import ask, refused
from tests.app.fakes import fake_fit
from tests.app.test_check import people
from tests.models.tables import mixed, table_of


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


def test_a_booster_of_a_model_file_is_fitted_again(tmp_path):
    run = fake_fit(people(300, 0), target="y", models=["lightgbm"]).save(tmp_path / "run")
    found = refit(run, people(200, 2), out=tmp_path / "again")
    assert found.n_rows == 200
    new = people(50, 3).drop("y")
    assert not np.allclose(found.model.predict_proba(new), open_model(run / "model.foldwise").predict_proba(new))
    refit(tmp_path / "again", people(200, 4))  # and again from the new file
    with pytest.raises(InputError, match="it contains LightGBM, and of all classifiers only naive Bayes"):
        refit(run, people(200, 2), update=True)


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


def test_sets_that_are_not_carried_over_are_mentioned(tmp_path, bayes):
    run = fake_fit(people(300, 0), target="y", models=["naive_bayes"], coverage="90%").save(tmp_path / "run")
    words = "The prediction sets of the run are not carried over, because they were calibrated for the old model."
    assert words in " ".join(repr(refit(run, people(100, 6))).split())
    assert "carried over" not in repr(refit(bayes, people(100, 6)))


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
        (
            ["new.csv", "--update"],
            "cannot be updated without the old rows: it contains logistic regression, and of all",
        ),
        (
            ["new.csv", "--update"],
            "Hint: leave --update out and pass the old rows as --with, or fit with --models naive",
        ),
        (["new.csv", "--forget", "few.csv"], "Hint: leave --forget out and pass the remaining old rows as --with, or"),
        (
            ["new.csv", "--forget", "few.csv", "--with", "new.csv"],
            "--with cannot be combined with --forget. Hint: leave",
        ),
        (["new.csv", "--update", "--with", "few.csv"], "--with cannot be combined with --update. Hint: leave one of"),
        (["few.csv"], "refit needs at least 20 new rows, got 10."),
        (["unlabeled.csv"], "the table has no column 'y', the target of the model."),
        (["gaps.csv"], "has no label"),
        (["other.csv"], "a class that the model does not know: 'maybe'"),
        (["one.csv"], "every class needs at least two new rows, but 'no' has fewer."),
        (["new.csv", "--with", "blank.csv"], "--with: the table has no rows."),
        (["narrow.csv"], "the table lacks the column 'x1'"),
        (["new.csv", "--with", "none.csv"], "file 'none.csv' does not exist."),
        (["new.csv", "--out", "new.csv"], "is a file, not a folder"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(logistic, here, arguments, words):
    new = people(50, 0)
    tables = {"new": new, "few": new[:10], "unlabeled": new.drop("y"), "narrow": new.drop("x1"), "blank": new[:0]}
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


def special(n_rows, seed):
    """A class with columns for groups, time and weights, and rows of weight 0."""
    frame = people(n_rows, seed)
    rng = np.random.default_rng(seed)
    day = rng.permutation(n_rows)
    return frame.with_columns(
        school=pl.Series([f"s{seed}-{k // 12}" for k in day]),
        day=pl.Series(day + 1_000 * seed),
        weight=pl.Series(rng.choice([0.0, 1.0, 5.0], n_rows)),
    )


@pytest.fixture(scope="module")
def special_run(tmp_path_factory):
    columns = {"groups": "school", "time": "day", "weights": "weight"}
    made = fake_fit(special(400, 0), target="y", models=["naive_bayes"], **columns)
    return made.save(tmp_path_factory.mktemp("special") / "run")


def test_groups_time_and_weights_of_the_run_are_those_of_the_refit(special_run, tmp_path):
    new, old = special(300, 1), special(400, 0)
    found = refit(special_run, new, old=old, out=tmp_path / "again")
    assert (found.n_rows, found.n_old_rows) == tuple((one["weight"] > 0).sum() for one in (new, old))
    assert found.n_folds == 5
    assert refit(tmp_path / "again", special(300, 2)).n_folds == 5  # the new folder names the columns, too
    assert refit(tmp_path / "again" / "model.foldwise", special(300, 2)).n_folds == 5
    with pytest.raises(InputError, match="no column 'school', which the run uses as groups"):
        refit(special_run, new.drop("school"))


def test_weighted_facts_are_updated_and_forgotten_to_the_law(special_run):
    new, old = special(300, 1), special(400, 0)
    found = refit(special_run, new, update=True, forget=old[:100]).model
    blend = open_model(special_run / "model.foldwise").model
    rows = pl.concat([old[100:], new]).filter(pl.col("weight") > 0)
    labeled = LabeledRows(rows.drop("y"), (rows["y"] == "yes").to_numpy().astype(int), rows.select(weights="weight"))
    by_law = np.log(fitted_again(blend, labeled).predict_proba(rows))
    np.testing.assert_allclose(np.log(found.predict_proba(rows)), by_law, rtol=1e-10, atol=1e-10)


def test_no_fold_learns_from_a_test_group_or_from_later_rows():
    rng = np.random.default_rng(0)
    n_old, n_new = 200, 120
    group, day = rng.integers(0, 200, n_old + n_new), rng.permutation(n_old + n_new)
    frame = pl.DataFrame({"groups": group, "time": day})
    y = rng.integers(0, 2, n_old + n_new)
    X = pl.DataFrame({"x": y})
    old, new = (LabeledRows(X[some], y[some], frame[some]) for some in (slice(0, n_old), slice(n_old, None)))
    for named in ({"groups": "school"}, {"time": "day"}, {"groups": "school", "time": "day"}):
        folds = refit_folds(new, old, named, 2, 0, check=False)
        tested = np.concatenate([fold.test for fold in folds])
        assert len(set(tested.tolist())) == len(tested)
        assert (len(tested) == n_new) == ("time" not in named)
        for fold in folds:
            learned, test = np.concatenate([fold.old, n_old + fold.train]), n_old + fold.test
            assert len(fold.old) > 0
            if "groups" in named:
                assert not set(group[learned]) & set(group[test])
            if "time" in named:
                assert day[learned].max() < day[test].min()


def test_rows_are_forgotten_by_the_command(bayes, here):
    new, gone = people(100, 7), people(600, 0)[:50]
    new.write_csv("new.csv")
    gone.write_csv("gone.csv")
    code, out, error = ask("refit", bayes, "new.csv", "--forget", "gone.csv", "--json")
    assert code == 0, error
    assert json.loads(out)["forgotten_rows"] == 50
    kept = pl.concat([people(600, 0)[50:], new])
    labeled = LabeledRows(kept.drop("y"), (kept["y"] == "yes").to_numpy().astype(int))
    by_law = np.log(fitted_again(open_model(bayes / "model.foldwise").model, labeled).predict_proba(kept))
    found = np.log(open_model("new-refit/model.foldwise").model.predict_proba(kept))
    np.testing.assert_allclose(found, by_law, rtol=1e-10, atol=1e-10)
    new.with_columns(x0=pl.col("x0") + 100).write_csv("never.csv")
    words = refused("refit", bayes, "new.csv", "--forget", "never.csv", "--out", "other")
    assert "the rows of --forget cannot be removed from the model: column 'x0', class 'no': without these" in words
    assert not (here / "other").exists()


def test_rows_to_forget_that_are_also_new_are_reported(bayes, here):
    new, gone = people(100, 7), people(600, 0)[:50]
    pl.concat([new, gone[:7]]).write_csv("new.csv")
    gone.write_csv("gone.csv")
    code, _, error = ask("refit", bayes, "new.csv", "--forget", "gone.csv", "--quiet")
    assert code == 0, error
    assert error == (
        "foldwise: note: 7 of the 50 rows of --forget are also in the new table. The new model learns them again. To "
        "forget them, remove them from the new table.\n"
    )
    new.write_csv("new.csv")
    assert ask("refit", bayes, "new.csv", "--forget", "gone.csv", "--quiet", "--out", "other")[2] == ""


@pytest.mark.parametrize(("n_shared", "is_reported"), [(0, False), (2, False), (30, True)])
def test_new_rows_that_are_also_old_are_reported(logistic, here, n_shared, is_reported):
    new, old = people(100, 7), people(200, 0)
    new.write_csv("new.csv")
    pl.concat([old, new[:n_shared]]).write_csv("old.csv")
    code, _, error = ask("refit", logistic, "new.csv", "--with", "old.csv", "--quiet")
    assert code == 0, error
    words = "30 of the 100 new rows are also in the table of old rows. The scores of the new model are therefore too "
    words += "optimistic. Pass only other rows as --with."
    assert error == (f"foldwise: note: {words}\n" if is_reported else "")


def test_an_equal_row_with_another_class_is_another_row():
    X = pl.DataFrame({"a": [1, 2, None], "b": ["x", "y", None]})
    rows = LabeledRows(X, np.array([0, 1, 1]))
    assert rows.n_also_in(rows) == 3
    assert rows.n_also_in(LabeledRows(X.with_columns(pl.col("a").cast(pl.Float64)), np.array([0, 0, 1]))) == 2


def prices(n_rows: int, seed: int) -> pl.DataFrame:
    """A quantity with gaps, and a category of which new rows have another level."""
    rng = np.random.default_rng(seed)
    rooms = rng.integers(1, 8, n_rows)
    place = rng.choice(["north", "south"] if seed == 0 else ["north", "south", "center"], n_rows)
    area = pl.Series(20.0 * rooms + rng.normal(0, 5, n_rows))
    price = 1_000 + 200 * rooms + 50 * (place == "north") + rng.normal(0, 90, n_rows)
    gaps = pl.Series(rng.random(n_rows) < 0.1)
    return pl.DataFrame({"rooms": rooms, "place": place, "area": area.zip_with(~gaps, area * None), "price": price})


@pytest.fixture(scope="module")
def linear(tmp_path_factory):
    made = fake_fit(prices(500, 0), target="price", models=["ridge", "linear_regression"], rows=True)
    return made.save(tmp_path_factory.mktemp("refitted") / "run")


def test_linear_models_learn_and_forget_rows_to_the_law(linear, here):
    new, gone = prices(200, 1), prices(500, 0)[:100]
    new.write_csv("new.csv")
    gone.write_csv("gone.csv")
    code, out, error = ask("refit", linear, "new.csv", "--forget", "gone.csv", "--json")
    assert code == 0, error
    assert (json.loads(out)["update"], json.loads(out)["forgotten_rows"]) == (True, 100)
    rows = pl.concat([prices(500, 0)[100:], new])
    labeled = LabeledRows(rows.drop("price"), rows["price"].to_numpy())
    by_law = fitted_again(open_model(linear / "model.foldwise").model, labeled).predict(rows)
    found = open_model("new-refit/model.foldwise").model
    np.testing.assert_allclose(found.predict(rows), by_law, rtol=1e-10)
    again = refit("new-refit", prices(50, 2), update=True)  # the new file has sums, too
    assert again.n_rows == 50


def test_sums_of_a_sample_are_not_kept():
    table = prices(100, 0)
    X, y = table.drop("price"), table["price"].to_numpy()
    member = catalogue()["ridge"].suited("regression").pipeline(outline(table_of(X, y))).fit(X, y)

    def kept(large, rows):
        task = SimpleNamespace(large=large, y=y, weights=None)
        setup = SimpleNamespace(task=task, samples=SimpleNamespace(refit=lambda rung: rows), X=X)
        one = SimpleNamespace(batch=SimpleNamespace(rung=0))
        return sums_of_all(setup, [member], [one]) is not None

    assert kept(None, None)
    assert not kept(None, np.arange(50))  # the members saw some of the rows
    assert not kept("a table of a database", None)  # the members may be trained on more rows later


def test_a_model_without_stored_rows_has_no_sums_to_update(here):
    path = fake_fit(prices(200, 0), target="price", models=["ridge"], rows=False).save(here / "private")
    assert open_model(path / "model.foldwise").model.sums is None
    prices(50, 1).write_csv("new.csv")
    words = refused("refit", path, "new.csv", "--update")
    assert "cannot be updated without the old rows: its file contains no sums" in words
    assert "--with" in words
