"""The run as a whole, on small tables with small budgets; and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import log_loss

import foldwise
from foldwise import open_model
from foldwise.app import final_model, selection
from foldwise.app.config import FitConfig
from foldwise.app.estimates import LEAKED
from foldwise.app.headline_facts import possible_gain
from foldwise.app.learning_gain import half_of
from foldwise.app.run import fit, run_fit
from foldwise.app.selection import EnsembleWeights
from foldwise.app.task import make_task
from foldwise.app.timing import Clock
from foldwise.decisions.calibration.temperature import Temperature
from foldwise.errors import InputError
from foldwise.evaluation.metrics import value_metric
from tests.app.fakes import FakeExecutor, FakeTime, fake_fit

QUICK = ["naive_bayes", "decision_tree"]


def wine(n_rows=178):
    X, y = load_wine(return_X_y=True, as_frame=True)
    frame = pl.from_pandas(X).with_columns(pl.Series("kind", [f"kind {k}" for k in y]))
    return frame.sample(n_rows, seed=0)


@pytest.fixture(scope="module")
def run():
    return fake_fit(wine(), target="kind", models=QUICK, rows=True)


def test_a_run_says_how_good_it_is(run):
    low, high = run.estimate.interval()
    assert low <= run.estimate.value <= high
    assert run.estimate.search_score is not None
    assert run.facts["headline"]["baseline"]["value"] > run.estimate.value  # log loss
    assert [line["model"] for line in run.facts["leaderboard"]][-1] == "baseline"
    assert {"naive_bayes", "decision_tree"} <= set(run.leaderboard["model"].to_list())
    assert max(map(len, str(run).splitlines())) <= 80
    json.dumps(run.facts)


def test_figures_of_a_run_agree_with_each_other(run):
    counts = np.array(run.facts["predictions"]["confusion"]["counts"])
    others = {one["metric"]: one["estimate"] for one in run.facts["headline"]["others"]}
    right = np.trace(counts) / counts.sum()
    leaked = LEAKED * max(0.0, others["accuracy"]["search_score"] - right)
    assert others["accuracy"]["value"] == pytest.approx(right - leaked)
    assert others["balanced_accuracy"]["value"] == pytest.approx(np.mean(np.diag(counts) / counts.sum(axis=1)))
    assert counts.sum() == run.facts["predictions"]["n"]
    assert run.facts["headline"]["estimate"]["value"] == run.estimate.value
    weights = [line["weight"] for line in run.facts["leaderboard"]]
    assert (
        sum(weights) == pytest.approx(sum(one["weight"] for one in run.facts["final"]["members"])) == pytest.approx(1)
    )
    assert sum(seconds for _, seconds in run.facts["made"]["phases"]) == pytest.approx(
        run.facts["made"]["seconds"], abs=1
    )


def test_the_model_predicts_names_of_classes(run):
    X = wine().drop("kind")
    assert set(run.predict(X)) <= {"kind 0", "kind 1", "kind 2"}
    np.testing.assert_allclose(run.predict_proba(X).sum(axis=1), 1.0)
    assert np.mean(run.predict(X) == wine()["kind"].to_numpy()) > 0.9


def test_a_run_is_written_whole_and_read_again(run, tmp_path):
    folder = run.save(tmp_path / "run")
    assert sorted(p.name for p in folder.iterdir()) == [
        "background.parquet",
        "held_out.parquet",
        "model.foldwise",
        "report.html",
        "run.json",
    ]
    X = wine().drop("kind")
    stored = open_model(folder / "model.foldwise")
    np.testing.assert_allclose(stored.predict_proba(X), run.predict_proba(X), atol=1e-12)
    assert "<html" in (folder / "report.html").read_text()
    with pytest.raises(InputError, match="already contains a run"):
        run.save(folder)
    run.save(folder, force=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty and not a run folder"):
        run.save(tmp_path / "other", force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "run"]


def test_rows_are_left_out_when_asked(tmp_path):
    found = fake_fit(wine(), target="kind", budget=6, models=["naive_bayes"])
    assert found.facts["examples"] == []
    assert not (found.save(tmp_path / "run") / "background.parquet").exists()


def test_rows_inside_a_model_are_told_of_when_none_were_to_be_kept():
    found = fake_fit(wine(), target="kind", budget=6, models=["knn"])
    assert any("contains rows of data" in words for words in found.facts["audit"]["warnings"])
    kept = fake_fit(wine(), target="kind", budget=6, models=["decision_tree"])
    assert not any("contains rows of data" in words for words in kept.facts["audit"]["warnings"])


def test_on_noise_a_run_says_so():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{j}": rng.normal(size=300) for j in range(8)}).with_columns(
        pl.Series("y", rng.choice(["a", "b"], 300))
    )
    found = fake_fit(
        frame, target="y", budget=8, models=["naive_bayes", "knn", "decision_tree"], metric="accuracy", n_jobs=2
    )
    low, high = found.estimate.interval()
    assert low < 0.55
    assert found.estimate.value < 0.58
    assert abs(found.facts["headline"]["others"][-1]["estimate"]["value"] - 0.5) < 0.1  # the area
    assert high > 0.44


def test_groups_stay_together_and_their_column_is_no_feature():
    rng = np.random.default_rng(1)
    person = np.repeat(np.arange(40), 8)
    label = rng.integers(2, size=40)[person]
    frame = pl.DataFrame(
        {
            "x": rng.normal(size=40)[person] + 0.01 * rng.normal(size=320),
            "person": person,
            "y": [f"c{k}" for k in label],
        }
    )
    alone = fake_fit(frame.drop("person"), target="y", budget=6, models=["knn"], metric="accuracy")
    kept = fake_fit(frame, target="y", groups="person", budget=6, models=["knn"], metric="accuracy")
    assert alone.estimate.value > 0.9  # persons are known again
    assert kept.estimate.value < 0.75
    assert kept.facts["task"]["groups"] == "person"
    assert kept.model.members[0]["prepare"].columns == ["x"]
    assert all(column["name"] != "person" for column in kept.facts["audit"]["columns"])


def test_time_tests_on_later_rows():
    n = 400
    frame = wine().sample(n, with_replacement=True, seed=1).with_columns(pl.Series("day", np.arange(n)))
    found = fake_fit(frame, target="kind", time="day", budget=6, models=["naive_bayes"])
    assert "order of day" in found.facts["task"]["splitter"]
    assert all(column["name"] != "day" for column in found.facts["audit"]["columns"])


def test_weights_and_costs_and_a_test():
    frame = wine().with_columns(pl.Series("w", np.random.default_rng(0).uniform(0.5, 2.0, 178)))
    costs = {
        "kind 0": {"kind 0": 0, "kind 1": 10, "kind 2": 10},
        "kind 1": {"kind 0": 1, "kind 1": 0, "kind 2": 1},
        "ask": {"kind 0": 2, "kind 1": 2, "kind 2": 2},
    }
    found = fake_fit(
        frame, target="kind", weights="w", costs=costs, test=frame.head(30), positive="kind 1", budget=8, models=QUICK
    )
    assert found.facts["task"]["metric"] == "cost"
    assert found.facts["task"]["weights"] == "w"
    assert found.facts["headline"]["test"]["n_rows"] == 30
    assert found.facts["predictions"]["expected_cost"] is not None
    assert "lowest expected cost" in found.facts["final"]["decides"]
    words = found.facts["headline"]["words"]
    assert words[1].startswith("On new data the decisions of the model should cost")
    assert words[2].startswith("If the model predicted the most probable class instead, it would be right")
    told = found.facts["predictions"]
    leaked = LEAKED * max(0.0, told["expected_cost"]["chosen"] - found.estimate.search_score)
    assert told["expected_cost"]["chosen"] + leaked == pytest.approx(found.estimate.value)
    assert told["confusion"]["predicted"][-1] == "ask"


def test_a_separate_test_is_told_with_its_weights_and_what_is_not_defined_in_it():
    frame = wine().with_columns(pl.Series("w", np.arange(178) % 3))
    one_class = frame.filter(pl.col("kind") == "kind 1").head(6).select(reversed(frame.columns))
    found = fake_fit(frame, target="kind", weights="w", test=one_class, budget=6, models=["decision_tree"])
    scores = {one["metric"]: one["value"] for one in found.facts["headline"]["test"]["scores"]}
    right = found.predict(one_class.drop("kind", "w")) == "kind 1"
    assert scores["accuracy"] == pytest.approx(np.average(right, weights=one_class["w"].to_numpy()))
    assert scores["roc_auc_ovr"] is None
    assert "separate test table (6 rows)" in str(found)
    # rows that weigh nothing were not learned from
    known = one_class.filter(pl.col("w") > 0).height
    assert f"{known} of the 6 rows of the separate test table also occur in the training table" in " ".join(
        str(found).split()
    )


def test_rows_of_a_class_never_seen_count_as_wrong_and_are_left_out_of_log_loss():
    frame = wine()
    test = frame[140:].with_columns(
        pl.when(pl.int_range(38) < 5).then(pl.lit("kind 9")).otherwise("kind").alias("kind")
    )
    found = fake_fit(frame[:140], target="kind", test=test, budget=6, models=["decision_tree"])
    told = found.facts["headline"]["test"]
    scores = {one["metric"]: one["value"] for one in told["scores"]}
    assert told["n_rows"] == 38
    assert told["n_unseen"] == 5
    assert scores["accuracy"] == pytest.approx((found.predict(test.drop("kind")) == test["kind"].to_numpy()).mean())
    known = test[5:]
    proba = found.predict_proba(known.drop("kind"))
    assert scores["log_loss"] == pytest.approx(log_loss(known["kind"].to_numpy(), proba, labels=found.model.classes_))
    assert "separate test table (38 rows, 5 of unseen classes)" in str(found)
    warned = [words for words in found.facts["audit"]["warnings"] if "does not contain: 'kind 9'" in words]
    assert warned[0].startswith("5 of the 38 rows of the separate test table have a class")
    with pytest.raises(InputError, match="all classes of the test table are unknown: 'kind 9'"):
        fake_fit(frame, target="kind", test=test[:5], budget=6, models=["decision_tree"])


def test_a_test_that_is_apart_is_not_warned_of():
    frame = wine()
    found = fake_fit(frame[:140], target="kind", test=frame[140:], budget=6, models=["decision_tree"])
    assert not any("separate test" in words for words in found.facts["audit"]["warnings"])


def test_members_that_were_not_fitted_in_time_are_not_said_to_be_in_the_model(monkeypatch):
    run_jobs = final_model.run_jobs

    def one_only(jobs, *rest):
        results, n_bytes = run_jobs(jobs, *rest)
        first = next(key for key in results if key.kind == "member")
        return {key: value for key, value in results.items() if key.kind != "member" or key == first}, n_bytes

    monkeypatch.setattr(final_model, "run_jobs", one_only)
    monkeypatch.setattr(
        selection,
        "choose_weights",
        lambda stack, *rest: EnsembleWeights(np.full(len(stack), 1 / len(stack)), Temperature(1.0)),
    )
    found = fake_fit(wine(), target="kind", models=["decision_tree", "naive_bayes"])
    assert len(found.model.members) == 1
    assert [one["weight"] for one in found.facts["final"]["members"]] == [1.0]
    assert found.facts["final"]["words"].endswith("fitted again on all 178 rows.")
    assert sum(line["weight"] for line in found.facts["leaderboard"]) == pytest.approx(1.0)
    assert any("could not be fitted on all rows in time" in words for words in found.facts["audit"]["warnings"])


def test_an_interrupt_keeps_what_is_done():
    def interrupt(progress):
        if progress.phase == "trying models" and progress.n_models > 300:
            raise KeyboardInterrupt

    found = fake_fit(wine(), target="kind", budget=600, models=QUICK, watch=interrupt)
    assert found.facts["made"]["interrupted"]
    assert found.facts["made"]["seconds"] < 100
    assert any("stopped early" in words for words in found.facts["headline"]["words"])
    assert found.predict(wine().drop("kind")).shape == (178,)


def test_whoever_watches_is_told_of_every_phase():
    seen = []
    fake_fit(wine(), target="kind", budget=5, models=["naive_bayes"], watch=seen.append)
    assert [*dict.fromkeys(one.phase for one in seen)] == [
        "reading",
        "checking the data",
        "trying models",
        "selecting",
        "fitting the final model",
        "writing the report",
    ]
    assert all(one.budget == 5 for one in seen)
    assert seen[-1].n_models > 0


def test_a_budget_that_is_too_short_is_refused_with_the_smallest_one_that_is_not():
    with pytest.raises(InputError, match=r"budget= must be at least [23] s for this table on this machine, got 1 s\."):
        fake_fit(wine(), target="kind", budget=1, models=["catboost"])
    assert fake_fit(wine(), target="kind", budget=2, models=["decision_tree"], seconds=0.02).facts


def test_much_time_spent_on_loading_is_told():
    time = FakeTime()
    clock = Clock(20.0, time(), time, time.sleep)
    time.sleep(9.0)
    config = FitConfig(target="kind", budget=20, n_jobs=1, rows=False)
    found = run_fit(wine(), config, executor=FakeExecutor(time, 2.0), clock=clock)
    assert any("Loading the libraries took 9.0 s of the 20 s." in one for one in found.facts["audit"]["warnings"])


def test_a_budget_that_was_not_kept_is_told():
    """Where jobs cannot be stopped, as in this process, one that is far slower than predicted overruns the budget."""
    found = fake_fit(wine(), target="kind", budget=8, models=QUICK, seconds=lambda job: 30.0)
    assert found.facts["made"]["seconds"] > 100
    assert any("more than its budget of 8 s" in words for words in found.facts["audit"]["warnings"])
    kept = fake_fit(wine(), target="kind", budget=8, models=QUICK, seconds=0.2)
    assert kept.facts["made"]["seconds"] <= 8
    assert not any("of its budget" in words for words in kept.facts["audit"]["warnings"])


def test_truth_values_and_numbers_as_classes():
    X, y = load_iris(return_X_y=True)
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"])
    found = fake_fit(frame.with_columns(pl.Series("y", y == 1)), target="y", budget=5, models=["naive_bayes"])
    assert found.model.classes_.tolist() == [False, True]
    found = fake_fit(frame.with_columns(pl.Series("y", y)), target="y", budget=5, models=["linear_svm"])
    assert found.model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(found.predict_proba(frame).sum(axis=1), 1.0)


def test_fit_is_a_name_of_the_package():
    assert foldwise.fit is fit


def table(**columns):
    return pl.DataFrame(columns)


NUMBERS = np.random.default_rng(0).normal(size=100)


@pytest.mark.parametrize(
    ("given", "asked", "says"),
    [
        (table(x=NUMBERS, y=[f"n{i % 41}" for i in range(100)]), {}, "too many distinct values for classes"),
        (table(x=NUMBERS, y=["a"] * 100), {}, "same value in all rows: 'a'"),
        (table(x=[1, 2, 3], y=["a", "b", "a"]), {}, "needs at least 8 rows"),
        (table(x=NUMBERS, z=["a", "b"] * 50), {}, "no column 'y'"),
        (table(x=NUMBERS, y=["a", None] * 50), {}, "'y' is missing in 50 of 100 rows"),
        (table(y=["a", "b"] * 50), {}, "no column except its target"),
        (table(x=NUMBERS, y=["a", "b"] * 50), {"groups": "z"}, "no column 'z', passed as groups="),
        (table(x=NUMBERS, y=["a", "b"] * 50), {"groups": "y"}, "is the target"),
        (table(x=NUMBERS, g=["one"] * 100, y=["a", "b"] * 50), {"groups": "g"}, "belong to one group"),
        (table(x=NUMBERS, w=["one"] * 100, y=["a", "b"] * 50), {"weights": "w"}, "must hold one number per row"),
        (table(x=NUMBERS, y=["a", "b"] * 50), {"positive": "c"}, "no class 'c'"),
        (table(x=NUMBERS, y=["a", "b"] * 50), {"metric": "speed"}, "unknown classification metric"),
        (table(x=NUMBERS, y=["a", "b"] * 50), {"models": ["oracle"]}, "no model called 'oracle'"),
        (table(x=NUMBERS, y=["a", "b"] * 50), {"budget": "soon"}, "budget"),
        (
            table(x=NUMBERS, y=["a", "b"] * 50),
            {"costs": {"a": {"a": 0}, "b": {"a": 1}}},
            "'b' is not in the cost matrix",
        ),
        (
            table(x=NUMBERS, y=["a", "b"] * 50),
            {"costs": {"a": {"a": 0, "b": 1, "c": 2}, "b": {"a": 1, "b": 0, "c": 2}}},
            "does not contain",
        ),
        (table(x=NUMBERS, y=["a", "b"] * 50), {"test": table(z=[1.0] * 20, y=["a", "b"] * 10)}, "it lacks .x."),
        (table(x=NUMBERS, y=["a", "b"] * 50), {"test": table(x=[1.0] * 20, y=["c"] * 20)}, "are unknown: 'c'"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(given, asked, says):
    with pytest.raises(InputError, match=says):
        fake_fit(given, target="y", **{"budget": 5, **asked})


def test_a_target_must_be_named():
    with pytest.raises(InputError, match="the column to predict was not given"):
        fake_fit(wine())


class Waiting(FakeExecutor):
    """As on a new machine: naive Bayes is compiled after so many seconds."""

    def __init__(self, time, ready):
        super().__init__(time)
        self.ready = ready

    def compiled(self, model):
        return model != "naive_bayes" or self.time() >= self.ready


def test_a_search_waits_for_what_is_compiled():
    run = fake_fit(wine(), target="kind", budget=8, models=["naive_bayes"], executor=lambda time: Waiting(time, 1.0))
    assert run.facts["leaderboard"][0]["model"] == "naive_bayes"
    assert run.facts["leaderboard"][0]["status"] == "ok"


def test_what_was_not_compiled_in_time_is_said():
    run = fake_fit(wine(), target="kind", budget=6, models=QUICK, executor=lambda time: Waiting(time, 1e9))
    lines = {line["model"]: line for line in run.facts["leaderboard"]}
    assert lines["decision_tree"]["status"] == "ok"
    assert lines["naive_bayes"]["status"] == "not finished"
    assert "still being compiled" in lines["naive_bayes"]["why"]


@pytest.mark.parametrize("labels", [["a", "b"], [0, 1]])
def test_rows_without_a_target_are_left_out_only_when_that_is_asked_for(labels, tmp_path):
    cells = [None if i % 10 == 3 else labels[i % 2] for i in range(60)]
    frame = pl.DataFrame({"x": range(60), "y": cells})
    frame.write_csv(tmp_path / "t.csv")
    for table in (frame, tmp_path / "t.csv"):
        with pytest.raises(InputError, match=r"missing in 6 of 60 rows.*drop_unlabeled"):
            make_task(table, "y")
        task = make_task(table, "y", drop_unlabeled=True)
        assert task.n_rows == 54
        assert task.n_unlabeled == 6
        assert task.classes.tolist() == labels
        assert task.table.X["x"].to_list() == [i for i in range(60) if i % 10 != 3]
        np.testing.assert_array_equal(task.y, [i % 2 for i in range(60) if i % 10 != 3])
    run = fake_fit(frame, target="y", budget=5, models=["decision_tree"], drop_unlabeled=True)
    assert "6 rows without a value in 'y' were dropped." in run.facts["audit"]["warnings"]


def looked_up(n_rows=900):
    """Classes that are known, but for some mistakes, of codes that were seen: every row more is worth something."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 150, n_rows)
    y = rng.integers(0, 2, 150)[code] ^ (rng.random(n_rows) < 0.15)
    return pl.DataFrame({"code": [f"c{c}" for c in code], "when": np.arange(n_rows), "y": y})


def test_intervals_allow_for_rows_that_only_the_final_model_learns_from():
    run = fake_fit(looked_up().drop("when"), target="y", budget=8, models=["naive_bayes"], seconds=0.2)
    worth = run.estimate
    assert -0.2 < worth.gain < -0.005  # log loss: less is better
    plain = worth.spread.between(worth.value, 0.95)
    assert worth.interval() == pytest.approx((plain[0] + worth.gain, plain[1]))
    assert worth.on_test(50)[0] < worth.interval()[0]
    assert "The final model learns from all rows, so its log loss may be better by up to" in worth.method
    in_time = fake_fit(looked_up(), target="y", budget=8, models=["naive_bayes"], time="when")
    assert in_time.estimate.gain == 0.0


def test_a_possible_gain_is_at_most_what_is_missing_to_a_perfect_score():
    rmse, r2 = value_metric("root_mean_squared_error"), value_metric("r2")
    assert possible_gain(rmse, 0.5, -0.1) == -0.1
    assert possible_gain(rmse, 0.086, -0.097) == -0.086
    assert possible_gain(r2, 0.9, 0.3) == pytest.approx(0.1)


def test_half_of_the_rows():
    train, codes = np.arange(10, 50), np.arange(60) % 3
    rows = half_of(train, codes, None, 0)
    assert set(rows) < set(train)
    np.testing.assert_array_equal(np.bincount(codes[rows]), -(-np.bincount(codes[train]) // 2))
    groups = np.arange(60) // 4
    rows = half_of(train, codes, groups, 0)
    assert set(groups[rows]).isdisjoint(groups[np.setdiff1d(train, rows)])
    assert 18 <= len(rows) <= 24


@pytest.mark.parametrize("groups", [np.arange(900) % 2, np.repeat([0, 1, 2], [600, 10, 290])])
def test_groups_that_cannot_be_halved_say_nothing_of_learning(groups):
    frame = looked_up().drop("when").with_columns(g=groups)
    run = fake_fit(frame, target="y", budget=8, models=["naive_bayes"], groups="g")
    assert np.isfinite(run.estimate.gain)
    assert abs(run.estimate.gain) < 0.3
    assert np.isfinite(run.estimate.interval()).all()


def test_rows_of_no_weight_are_not_unlabeled():
    frame = wine().with_columns(w=pl.Series(np.arange(178) % 10 > 0).cast(pl.Float64))
    assert make_task(frame, "kind", weights="w").n_unlabeled == 0
    nothing = frame.with_columns(kind=pl.lit(None, dtype=pl.String))
    with pytest.raises(InputError, match="column 'kind' is empty"):
        make_task(nothing, "kind", drop_unlabeled=True)
