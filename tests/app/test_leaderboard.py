"""The leaderboard of a run whose predictions are made up, so that it is known which model is how good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foldwise.app.leaderboard import LEVEL, LeaderboardRow, leaderboard, with_ties
from foldwise.evaluation.comparing.paired import holm
from tests.app.fakes import made_up_result

STRENGTH = {"naive_bayes": 2.0, "decision_tree": 1.9, "logistic_regression": 0.1, "linear_svm": None}


@pytest.fixture(scope="module")
def result():
    return made_up_result(STRENGTH)


@pytest.fixture(scope="module")
def rows(result):
    return leaderboard(result)


def test_models_are_ranked_then_come_failures_then_the_baseline(rows):
    assert [row.name for row in rows] == [
        "naive_bayes",
        "decision_tree",
        "logistic_regression",
        "linear_svm",
        "baseline",
    ]
    values = [row.estimate.value for row in rows if row.estimate is not None]
    assert values[:3] == sorted(values[:3])  # log loss
    assert (rows[3].status, rows[3].why, rows[3].estimate) == ("failed", "ValueError: it cannot", None)


def test_estimates_are_of_the_honest_predictions_of_each_model(rows, result):
    tested = result.final.selection.tested
    for row in rows[:3]:
        losses = -np.log(row.honest.predicted[np.arange(len(row.honest.index)), tested.truth[row.honest.index]])
        assert row.estimate.value == pytest.approx(losses.mean())
        assert len(row.folds) == len(tested.scored)


def test_the_baseline_predicts_class_frequencies(rows):
    assert rows[-1].estimate.value == pytest.approx(np.log(2), abs=1e-3)
    assert rows[-1].honest.predicted.std(axis=0).max() < 0.01


def test_the_close_second_is_tied_and_noise_is_not(rows):
    assert [row.tied for row in rows[:3]] == [True, True, False]
    assert not rows[-1].tied
    assert rows[0].p is None
    assert rows[2].p < LEVEL < rows[1].p


def test_weights_are_those_of_the_final_model(rows, result):
    assert sum(row.weight for row in rows) == pytest.approx(1.0)
    for row in rows:
        own = [w for i, w in result.final.weights.items() if result.final.selection.candidates[i].model == row.name]
        assert row.weight == pytest.approx(sum(own))


def test_p_values_are_adjusted_for_all_comparisons():
    rows = [LeaderboardRow(name, name) for name in "abcd"]
    rows = [replace(row, p=p) for row, p in zip(rows, [None, 0.04, 0.001, None], strict=True)]
    found = with_ties(rows)
    assert [row.p for row in found] == [None, *holm([0.04, 0.001]).tolist(), None]
    assert [row.tied for row in found] == [True, False, False, False]
    assert with_ties(rows[:1])[0].tied
