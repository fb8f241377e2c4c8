"""The facts of a report agree with the result they are made of, and JSON holds them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from foldwise.app import table_facts
from foldwise.app.facts import make_facts, nomogram_facts, scored_folds, short_value, shown_trials
from foldwise.app.headline_facts import procedure_estimate
from foldwise.app.leaderboard import leaderboard
from foldwise.app.timing import RunTimes
from foldwise.evaluation.metrics import class_metric
from foldwise.models.feature_selection import SelectInformative
from foldwise.report import render
from tests.app.fakes import made_up_result

TIMES = RunTimes(20.0, 18.0, (("reading", 1.0), ("trying models", 17.0)))


@pytest.fixture(scope="module")
def result():
    return made_up_result({"naive_bayes": 1.5, "logistic_regression": 1.0, "decision_tree": None})


@pytest.fixture(scope="module")
def facts(result):
    return make_facts(result, leaderboard(result), [], TIMES)


def test_json_holds_them(facts):
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_the_headline_is_the_estimate(result, facts):
    estimate = procedure_estimate(result, result.setup.metric)
    low, high = estimate.interval()
    told = facts["headline"]["estimate"]
    assert (told["value"], told["low"], told["high"], told["search_score"]) == (
        estimate.value,
        low,
        high,
        estimate.search_score,
    )
    assert {one["metric"] for one in facts["headline"]["others"]} == {"accuracy", "balanced_accuracy", "roc_auc"}


def test_the_confusion_matrix_is_of_the_honest_predictions(result, facts):
    honest = result.final.selection.honest
    counts = np.zeros((2, 2), int)
    np.add.at(counts, (result.final.selection.tested.truth[honest.index], honest.predicted.argmax(axis=1)), 1)
    assert facts["predictions"]["confusion"]["counts"] == counts.tolist()


def test_what_was_tried_is_counted(result, facts):
    state = result.search
    assert facts["made"]["n_settings"] == state.n_settings
    assert facts["made"]["n_models"] == state.n_models
    assert sum(one["n_settings"] for one in facts["leaderboard"]) == state.n_settings
    trials = {one["model"]: one["trials"] for one in facts["searches"]}
    assert trials["decision_tree"] == []
    scores = [one["score"] for one in trials["logistic_regression"]]
    batches = state.of_model("logistic_regression")
    assert sorted(scores) == pytest.approx(sorted(-one.mean_score(0) for one in batches if one.scores))


def test_the_final_model_is_told_with_its_weights(result, facts):
    members = facts["final"]["members"]
    assert [one["weight"] for one in members] == sorted(result.final.weights.values(), reverse=True)
    assert facts["importance"] == [
        {"column": "x", "mean": pytest.approx(0.15), "low": pytest.approx(0.05), "high": pytest.approx(0.25)}
    ]


def test_top_and_section_name_the_same_member_even_if_weights_are_tied(result, facts):
    tied = replace(result, final=replace(result.final, weights={0: 0.5, 1: 0.5}))
    for model in ("naive_bayes", "logistic_regression"):
        measured = replace(tied, final=replace(tied.final, importance_model=model))
        told = make_facts(measured, leaderboard(measured), [], TIMES)
        title = measured.setup.specs[model].title
        assert f"one setting of {title}. This setting has 50% of the weight" in told["importance_of"]
        assert f"(for one setting of {title}, which has 50% of the weight)" in render(told)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"interrupted": True}, "stopped early"),
        (
            {"final": {"missing": ("kNN", "kNN", "SVM")}},
            "3 selected settings (2 of kNN, 1 of SVM) could not be fitted on all rows in time.",
        ),
        ({"times": replace(TIMES, elapsed=23.0)}, "took 23 s, more than its budget of 20 s"),
        ({"times": replace(TIMES, elapsed=23.0)}, "For a shorter run, choose faster models."),
    ],
)
def test_what_went_wrong_is_told(result, change, words):
    changed = replace(result, interrupted=change.get("interrupted", False))
    changed = replace(changed, final=replace(result.final, **change.get("final", {})))
    facts = make_facts(changed, leaderboard(changed), [], change.get("times", TIMES))
    told = " ".join([*facts["headline"]["words"], *facts["audit"]["warnings"]])
    assert words in told
    assert words not in " ".join(make_facts(result, leaderboard(result), [], TIMES)["audit"]["warnings"])


def test_a_budget_too_short_for_most_models_is_told():
    strength = {"naive_bayes": 1.5, **dict.fromkeys(["logistic_regression", "decision_tree"])}
    result = made_up_result(strength)
    facts = make_facts(result, leaderboard(result), [], TIMES)
    assert any("Only 1 of 3 models finished all folds in time" in words for words in facts["audit"]["warnings"])
    assert "Not evaluated: decision tree, logistic regression (ValueError: it cannot)." in facts["audit"]["warnings"]


def test_a_chosen_model_without_a_result_is_named_although_most_have_one():
    result = made_up_result({"naive_bayes": 1.5, "logistic_regression": 1.0, "decision_tree": None})
    warnings = make_facts(result, leaderboard(result), [], TIMES)["audit"]["warnings"]
    assert "Not evaluated: decision tree (ValueError: it cannot)." in warnings


def test_the_area_of_the_curve_is_the_area_of_the_headline(result, facts):
    [curve] = facts["predictions"]["roc"]
    [headline] = [one for one in facts["headline"]["others"] if one["metric"] == "roc_auc"]
    assert curve["area"] == pytest.approx(headline["estimate"]["value"], abs=1e-12)
    assert facts["predictions"]["area_of"] == "folds"


def test_a_class_that_is_never_predicted_is_a_warning(result, facts):
    selection = result.final.selection
    proba = np.tile([0.6, 0.4], (len(selection.honest.index), 1))
    changed = replace(selection, honest=replace(selection.honest, predicted=proba))
    never = table_facts.never_predicted(replace(result, final=replace(result.final, selection=changed)))
    n_rows = int((selection.tested.truth[selection.honest.index] == 1).sum())
    assert never == [f"The class 'yes' is never predicted, although {n_rows} held-out rows have it."]
    assert table_facts.never_predicted(result) == []


def test_folds_that_are_not_scored_are_stated(result, facts):
    tested = replace(result.final.selection.tested, eliminated=True)
    selection = replace(result.final.selection, tested=tested)
    words = scored_folds(replace(result, final=replace(result.final, selection=selection)))
    assert (
        words == "Settings with a weak score on fold 1 were not tried further, so fold 1 is left out of the estimates."
    )
    tested = replace(tested, eliminated=False)
    selection = replace(selection, tested=tested)
    assert scored_folds(replace(result, final=replace(result.final, selection=selection))) == ""


def test_the_nomogram_is_hidden_where_naive_bayes_is_worse_than_the_baseline():
    result = made_up_result({"naive_bayes": -1.0, "logistic_regression": 1.0})
    result = replace(result, final=replace(result.final, bayes=object()))
    facts = nomogram_facts(result, leaderboard(result))
    assert facts["hidden"] == "naive Bayes predicts worse probabilities than the baseline on this table"
    result = made_up_result({"naive_bayes": None, "logistic_regression": 1.0})
    result = replace(result, final=replace(result.final, bayes=object()))
    assert "not scored on every fold" in nomogram_facts(result, leaderboard(result))["hidden"]


def test_long_lists_of_notes_are_cut():
    assert table_facts.few(["a"] * 31) == ["a"] * 31
    assert table_facts.few(["a"] * 100) == [*["a"] * 30, "There are 70 more like these."]


def test_values_of_settings_are_short():
    assert short_value(0.123456) == "0.123"
    assert short_value(SelectInformative(("a", "b"), share=0.35)) == "35% of the columns"
    assert short_value({"a": "kde", "b": "kde"}) == "kde"
    assert short_value(None) == "None"


def test_the_best_setting_is_shown_however_many_were_tried():
    metric = class_metric("log_loss", np.array(["a", "b"]))
    trials = [{"folds": 10, "at": float(i), "score": 1 - i / 1000} for i in range(500)]
    lucky = {"folds": 1, "at": 0.0, "score": 0.1}  # on a single fold, so not the best
    shown = shown_trials([lucky, *trials], metric.signed)
    assert len(shown) == 400
    assert shown[-1] == trials[-1]
    assert lucky not in shown
    assert shown_trials([], metric.signed) == []
