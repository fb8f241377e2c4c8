"""Runs whose target is a quantity: model, honest estimate, report, model file, and bad input."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from foldwise import open_model, predict_file
from foldwise.app.blend import ValueBlend
from foldwise.app.estimates import honest_estimate
from foldwise.app.examples import example_facts
from foldwise.app.explaining import explain
from foldwise.app.selection import CandidateSet, HonestPredictions, OutOfFoldRows, choose_weights, select
from foldwise.app.task import make_task
from foldwise.errors import InputError
from foldwise.evaluation.metrics import value_metric
from foldwise.evaluation.scored_rows import ScoredRows
from foldwise.report import render
from tests.app.command_line import ask, refused
from tests.app.fakes import fake_fit
from tests.app.test_examples import finished

RMSE = value_metric()
MODELS = ["ridge", "decision_tree", "knn"]


def quantities(n_rows=200, seed=0):
    """A target with noise of standard deviation 1, which depends on a number and a category."""
    rng = np.random.default_rng(seed)
    number, kind = rng.normal(size=n_rows), rng.choice(["a", "b", "c"], n_rows)
    y = 50 + 4 * number + np.where(kind == "b", 3.0, 0.0) + rng.normal(size=n_rows)
    group = rng.integers(0, 25, n_rows)
    columns = {"number": number, "kind": kind, "noise": rng.normal(size=n_rows), "group": group}
    return pl.DataFrame({**columns, "when": np.arange(n_rows), "weight": rng.uniform(0.5, 2, n_rows), "y": y})


TABLE = quantities()
FEATURES = ["number", "kind", "noise"]


@pytest.fixture(scope="module")
def run():
    return fake_fit(TABLE.select(*FEATURES, "y"), target="y", budget=8, models=MODELS, rows=True)


class TestRun:
    def test_the_model_predicts_values_and_the_estimate_is_that_of_new_rows(self, run):
        new = quantities(5_000, seed=1)
        predicted = run.predict(new)
        truth = new["y"].to_numpy()
        low, high = run.estimate.on_test(len(truth))
        assert isinstance(run.model, ValueBlend)
        assert predicted.shape == (5_000,)
        assert low <= root_mean_squared_error(truth, predicted) <= high
        assert 0.9 < run.estimate.value < 1.4  # the noise alone has 1

    def test_the_facts_are_those_of_the_held_out_predictions(self, run):
        facts = run.facts
        assert facts["task"]["task"] == "regression"
        assert facts["task"]["metric"] == "root_mean_squared_error"
        assert facts["task"]["classes"] == []
        assert "the mean" in facts["headline"]["words"][0]
        assert facts["headline"]["verdict"]["final"] is True
        assert facts["leaderboard"][-1]["title"] == "baseline (mean)"
        assert {one["metric"] for one in facts["headline"]["others"]} >= {"mean_absolute_error", "r2"}
        deviation = TABLE["y"].std()
        assert facts["headline"]["baseline"]["value"] == pytest.approx(deviation, rel=0.05)

    def test_the_report_shows_observed_values_residuals_and_the_largest_errors(self, run):
        page = render(run.facts)
        for words in ("Observed against predicted", "Residuals by column", "Errors by size", "largest errors"):
            assert words in page
        assert "class frequencies" not in page.split("<h2>Glossary")[0]
        largest = run.facts["predictions"]["largest"]
        sizes = [abs(one["observed"] - one["predicted"]) for one in largest]
        assert sizes == sorted(sizes, reverse=True)
        first = run.facts["examples"][0]
        assert first["row"] == largest[0]["row"]
        assert first["truth"] == pytest.approx(TABLE["y"][first["row"]])

    def test_the_largest_error_of_all_is_worked_through(self):
        result = finished(TABLE.select(*FEATURES, "y"), ("ridge",), 8.0)
        honest, tested = result.final.selection.honest, result.final.selection.tested
        worst = np.abs(honest.predicted - tested.truth[honest.index]).argmax()
        examples = example_facts(result, seconds=3.0)
        assert examples[0]["row"] == tested.rows[honest.index[worst]]
        for one in examples:
            together = one["base"] + sum(cell["contribution"] for cell in one["cells"])
            assert together == pytest.approx(one["total"])
            assert one["total"] == pytest.approx(one["predicted"], rel=1e-6)

    def test_the_report_says_that_the_mean_is_predicted(self):
        skewed = TABLE.select(*FEATURES, y=(pl.col("y") / 8).exp())
        found = fake_fit(skewed, target="y", budget=8, models=["ridge"])
        decides = found.facts["final"]["decides"]
        assert "expected value of the target" in decides
        [member] = found.facts["final"]["members"][:1]
        assert ("smearing" in decides) == (member["settings"].get("transform", "none") != "none")

    def test_the_run_folder_predicts_its_own_table(self, run, tmp_path):
        folder = run.save(tmp_path / "run")
        TABLE.write_csv(tmp_path / "table.csv")
        done = predict_file(folder, tmp_path / "table.csv", tmp_path / "out.csv", keep=["group"])
        out = pl.read_csv(tmp_path / "out.csv")
        assert out.columns == ["group", "predicted_value"]
        np.testing.assert_allclose(out["predicted_value"], run.predict(TABLE), rtol=1e-9)
        assert done.predicted == pytest.approx(
            (out["predicted_value"].min(), out["predicted_value"].mean(), out["predicted_value"].max())
        )
        model = open_model(folder / "model.foldwise")
        assert model.task == "regression"
        [found] = explain(model, TABLE[:1], TABLE, n_samples=400)
        assert found.base + found.values.sum() == pytest.approx(run.predict(TABLE[:1])[0])
        assert found.classes == ()

    def test_no_rows_of_data_are_shown_if_they_must_not(self):
        found = fake_fit(TABLE.select(*FEATURES, "y"), target="y", budget=8, models=["ridge"], rows=False)
        assert "points" not in found.facts["predictions"]
        assert "largest" not in found.facts["predictions"]
        assert found.facts["examples"] == []
        assert "Residuals against predictions" in render(found.facts)

    @pytest.mark.parametrize(
        "option", [{"groups": "group"}, {"time": "when"}, {"weights": "weight"}, {"metric": "mae"}]
    )
    def test_groups_time_weights_and_other_metrics(self, option):
        columns = [*FEATURES, "y", *(name for name in option.values() if name in TABLE.columns)]
        found = fake_fit(TABLE.select(columns), target="y", budget=8, models=["ridge", "decision_tree"], **option)
        assert found.estimate.value < 0.5 * found.facts["headline"]["baseline"]["value"]
        assert np.isfinite(found.predict(TABLE)).all()

    def test_a_separate_test_table_is_scored_once(self):
        new = quantities(300, seed=2).select(*FEATURES, "y")
        found = fake_fit(TABLE.select(*FEATURES, "y"), target="y", budget=8, models=["ridge"], test=new)
        scores = {one["metric"]: one["value"] for one in found.facts["headline"]["test"]["scores"]}
        truth, predicted = new["y"].to_numpy(), found.predict(new)
        assert scores["root_mean_squared_error"] == pytest.approx(root_mean_squared_error(truth, predicted))
        assert scores["mean_absolute_error"] == pytest.approx(mean_absolute_error(truth, predicted))
        assert scores["r2"] == pytest.approx(r2_score(truth, predicted))

    def test_whole_numbers_are_a_quantity_if_the_user_says_so(self):
        table = TABLE.select(*FEATURES, y=(pl.col("y") / 5).round().cast(pl.Int64))
        assert make_task(table, "y").n_classes > 1
        assert make_task(table, "y", task="regression").is_quantity
        found = fake_fit(table, target="y", budget=8, models=["ridge"], task="regression")
        assert found.facts["task"]["metric"] == "root_mean_squared_error"
        assert not any("taken as classes" in words for words in found.facts["audit"]["warnings"])

    def test_the_report_says_how_to_change_the_task(self):
        table = quantities().with_columns(y=pl.Series(np.arange(200) % 6))
        options = {"target": "y", "budget": 8, "models": ["decision_tree"]}
        words = "'y' contains 6 different whole numbers, which were taken as classes. If 'y' is a quantity, run again"
        assert any(words in one for one in fake_fit(table, **options).facts["audit"]["warnings"])
        chosen = fake_fit(table, **options, task="classification")
        assert not any("taken as classes" in one for one in chosen.facts["audit"]["warnings"])


NUMBERS = np.random.default_rng(0).normal(size=100)


@pytest.mark.parametrize(
    ("y", "asked", "says"),
    [
        (np.full(100, 2.5), {}, "the target 'y' has the same value in all rows: 2.5"),
        (np.full(100, 3.0), {}, r"the target 'y' has the same value in all rows: 3\.0\."),
        (np.where(NUMBERS > 2, np.inf, NUMBERS), {}, "'y' is infinite in"),
        (
            [f"{x:.3f}" if i else "broken" for i, x in enumerate(NUMBERS)],
            {},
            "most values .* are numbers, but text was found in 1 row",
        ),
        (["a", "b"] * 50, {"task": "regression"}, "must contain numbers, but 'y' contains text in 100 of 100 rows"),
        (NUMBERS * 1e300, {}, "too large"),
        (NUMBERS, {"task": "guess"}, "task must be 'classification' or 'regression'"),
        (NUMBERS, {"metric": "log_loss"}, "log loss is a classification metric, but the task is regression"),
        (NUMBERS, {"metric": "mean_gamma_deviance"}, "needs true values above 0"),
        (NUMBERS, {"costs": {"a": {"a": 0}}}, "costs= describes classes"),
        (NUMBERS, {"positive": "a"}, "positive= describes classes"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(y, asked, says):
    table = pl.DataFrame({"x": NUMBERS, "y": y})
    with pytest.raises(InputError, match=says):
        fake_fit(table, target="y", budget=5, **asked)


def test_rows_without_a_value_are_left_out():
    task = make_task(pl.DataFrame({"x": NUMBERS, "y": [None, None, *NUMBERS[2:]]}), "y")
    assert task.n_unlabeled == 2
    np.testing.assert_array_equal(task.y, NUMBERS[2:])


def test_three_rows_are_too_few():
    with pytest.raises(InputError, match="at least 8 rows, got 3"):
        make_task(pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [0.5, 1.5, 2.5]}), "y")


def stacked(n_rows=300, n_members=5, n_folds=5, seed=0):
    """Out-of-fold values of members with independent errors of different sizes."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n_rows)
    values = truth + rng.normal(size=(n_members, n_rows)) * np.linspace(0.5, 2, n_members)[:, None]
    fold = np.arange(n_rows) * n_folds // n_rows
    tested = OutOfFoldRows(np.arange(n_rows), fold, truth, None, n_folds, False, False)
    every = np.arange(n_members)
    among = CandidateSet(
        tuple(SimpleNamespace(predicted=one) for one in values), every, dict.fromkeys(range(n_folds), every)
    )
    return tested, among, values


class TestSelection:
    def test_weights_beat_the_best_single_model(self):
        tested, _, values = stacked()
        chosen = choose_weights(values, tested.truth, None, RMSE)
        assert chosen.calibration is None
        assert chosen.weights.sum() == pytest.approx(1)
        alone = min(RMSE(tested.truth, one) for one in values)
        assert RMSE(tested.truth, chosen.predict(values)) < alone

    def test_members_are_selected_by_the_metric_itself(self):
        rng = np.random.default_rng(0)
        truth = rng.normal(size=400)
        # one member is off by a constant in few rows, the other a little everywhere
        rare = truth + np.where(rng.random(400) < 0.1, 6.0, 0.0)
        often = truth + rng.normal(size=400)
        by_mae = choose_weights(np.stack([rare, often]), truth, None, value_metric("mae"))
        by_rmse = choose_weights(np.stack([rare, often]), truth, None, RMSE)
        assert by_mae.weights[0] > by_rmse.weights[0]

    def test_the_selection_for_a_fold_does_not_look_at_it(self):
        tested, among, _ = stacked()
        before = select(among, tested, RMSE, 4).honest
        turned = tested.truth.copy()
        turned[tested.fold == 2] *= -3
        after = select(among, OutOfFoldRows(tested.rows, tested.fold, turned, None, 5, False, False), RMSE, 4).honest
        here = tested.fold[before.index] == 2
        np.testing.assert_array_equal(before.predicted[here], after.predicted[here])
        assert not np.array_equal(before.predicted[~here], after.predicted[~here])


class TestEstimates:
    @pytest.mark.parametrize("name", ["rmse", "mae", "r2", "median_absolute_error"])
    def test_the_standard_error_is_that_of_a_bootstrap(self, name):
        rng, metric = np.random.default_rng(0), value_metric(name)
        truth = rng.gamma(2.0, size=2_000)
        predicted = truth + rng.normal(size=2_000) * (0.5 + 0.3 * truth)
        rows = ScoredRows(truth, predicted, np.ones(2_000), np.zeros(2_000, dtype=np.intp), None)
        draws = rng.integers(0, 2_000, (400, 2_000))
        bootstrap = np.std([metric(truth[some], predicted[some]) for some in draws])
        # that of the median is a bootstrap of few draws
        assert rows.error(metric)[0] == pytest.approx(bootstrap, rel=0.25 if name == "median_absolute_error" else 0.1)

    def test_rows_of_a_group_that_repeat_each_other_count_once(self):
        rng = np.random.default_rng(0)
        truth, errors = np.repeat(rng.normal(size=100), 8), np.repeat(rng.normal(size=100), 8)
        fold = np.zeros(800, dtype=np.intp)
        alone = ScoredRows(truth, truth + errors, np.ones(800), fold, None).error(RMSE)[0]
        grouped = ScoredRows(truth, truth + errors, np.ones(800), fold, np.repeat(np.arange(100), 8)).error(RMSE)[0]
        assert grouped == pytest.approx(np.sqrt(8) * alone, rel=1e-9)

    def test_the_value_is_that_of_all_held_out_rows(self):
        tested, _, values = stacked()
        found = honest_estimate(HonestPredictions(np.arange(300), values[0], tuple(range(5))), tested, RMSE)
        assert found.value == pytest.approx(root_mean_squared_error(tested.truth, values[0]))
        low, high = found.interval()
        assert 0 < low < found.value < high
        wider = found.on_test(50)
        assert wider[0] < low
        assert wider[1] > high


class TestCommandLine:
    def test_a_comparison_and_a_search(self, here):
        TABLE.select(*FEATURES, "group", "y").write_csv("t.csv")
        code, out, _ = ask("compare", "t.csv", "--target", "y", "--models", "ridge,mean", "--cv", "5", "--json")
        assert code == 0
        facts = json.loads(out)
        assert facts["metric"] == "root_mean_squared_error"
        assert facts["models"][0]["model"] == "ridge"
        given = ("--model", "ridge", "--strategy", "random", "--trials", "4", "--groups", "group", "-o", "m.foldwise")
        code, out, _ = ask("tune", "t.csv", "--target", "y", *given, "--json")
        assert code == 0
        assert 0.8 < json.loads(out)["estimate"]["value"] < 1.5
        code, out, _ = ask("predict", "m.foldwise", "t.csv", "-o", "out.csv")
        assert code == 0
        assert "200 rows predicted (" in out
        assert "mean" in out

    def test_bad_input_leaves_nothing_behind(self, here):
        (here / "t.csv").write_text("x,y\n" + "".join(f"{i},2.5\n" for i in range(50)))
        words = refused("fit", "t.csv", "--target", "y", "--budget", "5s", "--quiet")
        assert "the target 'y' has the same value in all rows" in words
        assert [path.name for path in here.iterdir()] == ["t.csv"]
