"""The verdict: a model is called better than the baseline, or best, only where the corrected test says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from foldwise.app.facts import make_facts
from foldwise.app.leaderboard import leaderboard
from foldwise.app.timing import RunTimes
from foldwise.app.verdict import verdict_p
from foldwise.report.summary import summary_text
from tests.app.fakes import made_up_result

TIMES = RunTimes(20.0, 18.0, (("reading", 1.0), ("trying models", 17.0)))


def facts_of(strength):
    result = made_up_result(strength)
    return make_facts(result, leaderboard(result), [], TIMES)


def test_good_models_are_clearly_better():
    facts = facts_of({"naive_bayes": 2.0, "decision_tree": 1.9, "logistic_regression": 0.1})
    head = facts["headline"]
    assert (head["verdict"]["final"], head["verdict"]["best"]) == (True, True)
    assert head["words"][0].startswith("The final model is clearly better than the baseline")
    assert any("Best single model: naive Bayes. Statistically tied with it: decision tree." in w for w in head["words"])
    lines = summary_text(facts).splitlines()
    assert lines[2].startswith("  The final model is clearly better than the baseline")


@pytest.mark.parametrize("strength", [0.0, 0.05])
def test_noise_is_not_better_and_nothing_is_called_best(strength):
    facts = facts_of({"naive_bayes": strength, "decision_tree": strength, "logistic_regression": strength})
    head = facts["headline"]
    assert (head["verdict"]["final"], head["verdict"]["best"]) == (False, False)
    assert head["words"][0].startswith("No model is clearly better than the baseline")
    assert not any("Best single model" in words for words in head["words"])
    assert "No model is clearly better than the baseline" in summary_text(facts).splitlines()[2]


def test_clearly_worse_is_not_better():
    head = facts_of({"naive_bayes": -2.0, "decision_tree": -2.0})["headline"]
    assert (head["verdict"]["final"], head["verdict"]["best"]) == (False, False)


def test_the_only_model_is_not_called_best():
    head = facts_of({"naive_bayes": 2.0})["headline"]
    assert head["verdict"]["final"]
    assert not any("best" in words.lower() for words in head["words"])


def test_without_a_p_value_nothing_is_clear(monkeypatch):
    result = made_up_result({"naive_bayes": 2.0, "decision_tree": 1.9})
    rows = leaderboard(result)
    monkeypatch.setattr("foldwise.app.verdict.paired_test", lambda *_: None)
    head = make_facts(result, [*rows[:-1], replace(rows[-1], p=None)], [], TIMES)["headline"]
    assert head["verdict"] == {"final": False, "best": False, "p": None}
    assert verdict_p(None) in head["words"][0]
