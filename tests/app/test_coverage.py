"""Coverage of a run: calibrated by the crossed choice or by rows set aside, measured, shown and written."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

from foldwise import open_model
from foldwise.app.config import FitConfig
from foldwise.app.coverage import CoverageRule, coverage_level, scores_of, set_aside
from foldwise.app.coverage_facts import crossed_hits, independent_rows, measured, too_few
from foldwise.app.file_predictions import predict_file
from foldwise.app.task import make_task
from foldwise.decisions.conformal.levels import quantile_of, set_text
from foldwise.errors import InputError
from foldwise.report import render
from tests.app.command_line import ask
from tests.app.fakes import fake_fit, made_up_result


def classes(rng, n_rows=240):
    y = rng.integers(0, 3, n_rows)
    frame = pl.DataFrame({"a": rng.normal(size=n_rows) + y, "b": rng.normal(size=n_rows)})
    return frame.with_columns(y=pl.Series(np.array(["<b>", "no", "yes"])[y]))


def quantity(rng, n_rows=240):
    x = rng.normal(size=n_rows)
    return pl.DataFrame({"x": x, "noise": rng.normal(size=n_rows), "y": 3 * x + rng.normal(size=n_rows)})


@pytest.fixture(scope="module")
def class_run():
    table = classes(np.random.default_rng(0))
    return fake_fit(table, target="y", models=["naive_bayes"], coverage="90%", rows=True), table


@pytest.fixture(scope="module")
def guaranteed_run():
    table = quantity(np.random.default_rng(0))
    return fake_fit(table, target="y", models=["ridge"], coverage=0.8, guarantee=True), table


def test_the_rule_rests_on_the_crossed_choice():
    result = made_up_result({"naive_bayes": 1.5, "logistic_regression": 1.0}, coverage=0.8)
    from foldwise.app.coverage_facts import coverage_facts, coverage_rule

    rule, selection = coverage_rule(result), result.final.selection
    honest = selection.honest
    truth = selection.tested.truth[honest.index]
    scores = np.sort(1 - honest.predicted[np.arange(len(truth)), truth])
    assert rule == CoverageRule(0.8, False, scores[math.ceil(0.8 * (len(truth) + 1)) - 1], len(truth))
    facts = coverage_facts(result, rule)
    assert facts["on_selecting_rows"] == pytest.approx(
        quantile_of(np.sort(1 - selection.optimistic[np.arange(len(truth)), truth]), 0.8)
    )
    fold, hits = selection.tested.fold[honest.index], 0
    for k in np.unique(fold):  # each fold is covered by the quantile of the others
        hits += (
            scores_of(truth, honest.predicted)[fold == k]
            <= quantile_of(np.sort(scores_of(truth, honest.predicted)[fold != k]), 0.8) + 1e-10
        ).sum()
    assert facts["measured"]["value"] == pytest.approx(hits / len(truth))
    assert facts["measured"]["low"] < facts["measured"]["value"] < facts["measured"]["high"]
    assert sum(one["n"] for one in facts["by_class"]) == sum(one["n"] for one in facts["by_bin"]) == len(truth)


def test_without_coverage_there_is_none():
    result = made_up_result({"naive_bayes": 1.5})
    from foldwise.app.coverage_facts import coverage_facts, coverage_rule

    assert coverage_rule(result) is None
    assert coverage_facts(result, None) is None


def test_sets_of_a_run(class_run, tmp_path):
    run, table = class_run
    sets = run.predict_set(table)
    np.testing.assert_array_equal(sets, 1 - run.predict_proba(table) <= run.coverage.quantile + 1e-10)
    with pytest.raises(InputError, match="classes have no intervals"):
        run.predict_interval(table)
    run.save(tmp_path / "run")
    stored = open_model(tmp_path / "run" / "model.foldwise").metadata
    assert CoverageRule.of_metadata(stored) == run.coverage
    table.write_csv(tmp_path / "new.csv")
    predict_file(tmp_path / "run", tmp_path / "new.csv", tmp_path / "out.csv")
    found = pl.read_csv(tmp_path / "out.csv")
    assert found.columns[-3:] == [
        "predicted_decision",
        "predicted_expected_cost",
        "predicted_set",
    ]  # costs and sets side by side
    names = run.model.classes_.tolist()
    expected = ["|".join(n for n, inside in zip(names, row, strict=True) if inside) for row in sets]
    assert found["predicted_set"].fill_null("").to_list() == expected
    code, out, _ = ask("explain", str(tmp_path / "run"), str(tmp_path / "new.csv"), "--row", "5")
    assert code == 0
    assert f"set: {expected[5].replace('|', ', ') or 'empty'}" in out
    assert "(90% coverage, measured, not guaranteed)" in out
    told = json.loads(ask("explain", str(tmp_path / "run"), str(tmp_path / "new.csv"), "--row", "5", "--json")[1])
    assert told["set"] == [n for n, inside in zip(names, sets[5], strict=True) if inside]
    with pytest.raises(InputError, match="keep= names 'predicted_set', which the output already contains"):
        predict_file(tmp_path / "run", tmp_path / "new.csv", tmp_path / "out.csv", keep=["predicted_set"])


def test_the_report_says_what_holds(class_run, guaranteed_run):
    page = render(class_run[0].facts)
    assert "Prediction sets with 90% coverage" in page
    assert "Measured, not guaranteed" in page
    assert "By true class" in page
    assert "<b>" not in page.split('id="coverage"')[1].split("</section>")[0]  # a class is called <b>
    for words in ("1 − α", "1 − 2α", "slightly less than 1 − 2α", "marginal coverage", "exchangeable", "groups"):
        assert words in page
    assert "coverage (not guaranteed): measured coverage" in " ".join(str(class_run[0]).split())
    page = render(guaranteed_run[0].facts)
    assert "Prediction intervals with 80% coverage" in page
    assert "Guaranteed: 48 rows were set aside before the search" in page
    assert "By predicted value" in page
    assert "guaranteed by 48 rows that were set aside" in " ".join(str(guaranteed_run[0]).split())


def test_intervals_of_a_run(guaranteed_run, tmp_path):
    run, table = guaranteed_run
    ends = run.predict_interval(table)
    np.testing.assert_allclose(ends.mean(axis=1), run.predict(table))
    np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * run.coverage.quantile)
    with pytest.raises(InputError, match="a quantity has no sets"):
        run.predict_set(table)
    run.save(tmp_path / "run")
    table.write_csv(tmp_path / "new.csv")
    predict_file(tmp_path / "run", tmp_path / "new.csv", tmp_path / "out.parquet")
    found = pl.read_parquet(tmp_path / "out.parquet")
    assert found.columns == ["predicted_value", "predicted_low", "predicted_high"]
    np.testing.assert_allclose(found.select("predicted_low", "predicted_high").to_numpy(), ends)


def test_rows_set_aside_are_never_learned(guaranteed_run):
    run, table = guaranteed_run
    aside = run.task.aside
    assert len(aside.y) == 48
    assert run.task.n_rows == 192
    assert run.facts["final"]["words"].endswith("fitted again on all 192 training rows.")
    rows = np.flatnonzero(np.isin(table["x"].to_numpy(), aside.X["x"].to_numpy()))
    changed = table["y"].to_numpy().copy()
    changed[rows] += 50
    other = fake_fit(
        table.with_columns(y=pl.Series(changed)), target="y", models=["ridge"], coverage=0.8, guarantee=True
    )
    np.testing.assert_allclose(other.predict(table), run.predict(table))
    residuals = np.abs(aside.y - run.predict(aside.X))
    assert run.coverage.quantile == pytest.approx(np.sort(residuals)[math.ceil(0.8 * 49) - 1])


def test_whole_groups_are_set_aside(rng):
    table = quantity(rng).with_columns(g=pl.Series(np.repeat(np.arange(30), 8)))
    task = make_task(table, "y", groups="g")
    kept = set_aside(task, 0.8, 0)
    assert len(kept.aside.y) == 6  # one row of each of a fifth of the groups
    assert kept.n_rows == 24 * 8
    assert kept.groups.max() == 23
    assert kept.outline.n_rows == kept.n_rows


def test_a_rare_class_is_not_set_aside(rng):
    table = classes(rng, 60).with_columns(y=pl.Series(["rare", *(["no", "yes"] * 30)][:60]))
    for seed in range(8):
        kept = set_aside(make_task(table, "y"), 0.9, seed)
        assert (kept.y == task_code(kept, "rare")).sum() == 1


def task_code(task, label):
    return task.classes.tolist().index(label)


def test_too_few_rows_are_said():
    rule = CoverageRule.of_scores(0.95, True, np.arange(10.0))
    assert rule.quantile == math.inf
    assert "needs at least 19 calibration rows, but there are 10. Intervals are therefore infinite" in too_few(rule)
    assert rule.sets(np.array([[0.0, 1.0]])).all()
    assert np.isinf(rule.intervals(np.zeros(2))).all()
    assert CoverageRule.of_metadata({"coverage": json.loads(json.dumps(rule.to_metadata()))}) == rule
    run = fake_fit(quantity(np.random.default_rng(1), 30), target="y", models=["ridge"], coverage=0.99, guarantee=True)
    assert any("Intervals are therefore infinite" in words for words in run.facts["audit"]["warnings"])
    assert "Intervals are therefore infinite" in render(run.facts)
    json.dumps(run.facts, allow_nan=False)


def test_a_separate_test_table_is_covered(rng):
    run = fake_fit(quantity(rng), target="y", models=["ridge"], coverage=0.9, test=quantity(rng, 200))
    assert run.facts["coverage"]["test"]["n"] == 200
    assert 0.8 < run.facts["coverage"]["test"]["value"] < 0.97
    assert "separate test table" in render(run.facts)


@pytest.mark.parametrize("coverage", [0, 1, 90, -0.5, "0", "1", "90", "100%", "0%", "much", "nan"])
def test_coverage_must_be_a_share(coverage):
    with pytest.raises(InputError, match="coverage must be"):
        FitConfig(target="y", coverage=coverage)


def test_coverage_as_text():
    assert coverage_level("90%") == coverage_level("0.9") == coverage_level(0.9) == 0.9
    assert coverage_level("99.5 %") == 0.995


def test_a_guarantee_needs_a_coverage_and_no_time():
    with pytest.raises(InputError, match="guarantee=True needs a coverage"):
        FitConfig(target="y", guarantee=True)
    with pytest.raises(InputError, match="cannot be combined with time="):
        FitConfig(target="y", guarantee=True, coverage=0.9, time="when")
    with pytest.raises(InputError, match="leaves too few to learn from"):
        fake_fit(quantity(np.random.default_rng(0), 10), target="y", models=["ridge"], coverage=0.9, guarantee=True)


def test_options_of_the_command_line(here):
    (here / "t.csv").write_text("a,y\n1,2\n")
    for options, words in (
        (("--coverage", "90"), "--coverage must be above 0% and below 100%, got '90'. Hint: write 90%."),
        (("--coverage", "1.2"), "--coverage must be above 0% and below 100%, got '1.2'. Hint: write 0.9 or 90%."),
        (("--guarantee",), "--guarantee needs a coverage to guarantee. Hint: pass --coverage 0.9."),
    ):
        code, _, error = ask("fit", "t.csv", "--target", "y", *options)
        assert code == 2
        assert words in error


def test_cells_of_sets():
    assert set_text([True, False, True], ["a", "b", "c"]) == "a|c"
    assert set_text([False, False], ["a", "b"]) == ""
    assert json.loads(set_text([True, True], ["a|b", "c"])) == ["a|b", "c"]


def test_measured_shares(rng):
    hits = rng.random(400) < 0.9
    found = measured(hits, np.ones(400))
    assert found["low"] < hits.mean() < found["high"]
    group = np.repeat(np.arange(20), 20)
    assert independent_rows(hits, np.arange(400)) == pytest.approx(400, rel=0.01)
    alike = np.repeat(rng.random(20) < 0.7, 20)  # rows of a group are all alike
    assert independent_rows(alike, group) == pytest.approx(20, rel=0.1)


def test_a_damaged_rule_is_refused():
    with pytest.raises(InputError, match="the coverage in the model file is not valid"):
        CoverageRule.of_metadata({"coverage": {"level": "x"}})
    assert CoverageRule.of_metadata({}) is None


def test_an_unknown_class_is_in_no_set():
    assert scores_of(np.array([0, 2]), np.array([[0.7, 0.3], [0.5, 0.5]])).tolist() == [pytest.approx(0.3), np.inf]


def test_hits_are_crossed(rng):
    from foldwise.app.coverage import CalibrationSample

    values = np.concatenate([np.zeros(50), rng.normal(size=50) * 100])
    sample = CalibrationSample(values, np.zeros(100), np.repeat([0, 1], 50), None)
    hits = crossed_hits(sample, 0.8)
    assert hits[:50].all()  # by the large errors of the other part
    assert not hits[50:].any()
