"""Facts of predictions against scikit-learn, against plain loops, and against the house's own reliability."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from foldwise import CostMatrix, reliability
from foldwise.errors import InputError
from foldwise.evaluation.prediction_curves import (
    CLASSES_COUNTED,
    OTHERS,
    POINTS,
    Ranking,
    prediction_facts,
    thinned,
)
from foldwise.evaluation.shares import wilson_bounds


def drawn(rng: np.random.Generator, n: int, n_classes: int, ties: bool = False) -> tuple[Any, Any]:
    """Probabilities and truths that come from them; with ties many rows are given the same."""
    proba = rng.dirichlet(np.full(n_classes, 0.7), n)
    if ties:
        proba = np.round(proba * 5 + 0.5)
        proba /= proba.sum(axis=1, keepdims=True)
    truth = np.array([rng.choice(n_classes, p=row) for row in proba])
    return truth, proba


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_areas_are_those_of_scikit_learn(rng: np.random.Generator, ties: bool, weighted: bool) -> None:
    truth, proba = drawn(rng, 700, 3, ties)
    weights = rng.integers(0, 4, 700).astype(float) if weighted else None
    facts = prediction_facts(truth, proba, ["a", "b", "c"], weights=weights)
    for c, (roc, pr) in enumerate(zip(facts["roc"], facts["precision_recall"], strict=True)):
        area = metrics.roc_auc_score(truth == c, proba[:, c], sample_weight=weights)
        assert roc["area"] == pytest.approx(area, abs=1e-12)
        precision = metrics.average_precision_score(truth == c, proba[:, c], sample_weight=weights)
        assert pr["area"] == pytest.approx(precision, abs=1e-12)


def test_with_folds_curve_and_area_are_means_over_folds(rng: np.random.Generator) -> None:
    truth, proba = drawn(rng, 300, 2)
    folds = np.arange(300) % 3
    proba[folds == 1] = proba[folds == 1] ** 4 / (proba[folds == 1] ** 4).sum(axis=1, keepdims=True)
    [curve] = prediction_facts(truth, proba, ["a", "b"], folds=folds)["roc"]
    each = [metrics.roc_auc_score(truth[folds == k], proba[folds == k, 1]) for k in range(3)]
    assert curve["area"] == pytest.approx(np.mean(each))
    assert np.trapezoid(curve["y"], curve["x"]) == pytest.approx(np.mean(each), abs=0.01)
    assert (curve["x"][0], curve["y"][0], curve["x"][-1], curve["y"][-1]) == (0.0, 0.0, 1.0, 1.0)


def test_points_lie_on_the_curves_of_scikit_learn(rng: np.random.Generator) -> None:
    truth, proba = drawn(rng, 150, 2)
    facts = prediction_facts(truth, proba, ["no", "yes"])
    x, y, _ = metrics.roc_curve(truth, proba[:, 1], drop_intermediate=False)
    assert {(round(a, 6), round(b, 6)) for a, b in zip(x, y, strict=True)} == set(
        zip(facts["roc"][0]["x"], facts["roc"][0]["y"], strict=True)
    )
    precision, recall, _ = metrics.precision_recall_curve(truth, proba[:, 1])
    curve = facts["precision_recall"][0]
    known = {(round(a, 6), round(b, 6)) for a, b in zip(recall, precision, strict=True)}
    assert set(zip(curve["x"][1:], curve["y"][1:], strict=True)) <= known


def test_long_curves_are_thinned_and_keep_their_shape(rng: np.random.Generator) -> None:
    truth, proba = drawn(rng, 20_000, 2)
    facts = prediction_facts(truth, proba, ["no", "yes"])
    for curve, x, y in (("roc", "x", "y"), ("precision_recall", "x", "y"), ("lift", "share", "captured")):
        points = facts[curve][0]
        assert 150 < len(points[x]) == len(points[y]) <= POINTS
        assert points[x][-1] == 1.0
    roc = facts["roc"][0]
    assert np.trapezoid(roc["y"], roc["x"]) == pytest.approx(roc["area"], abs=1e-3)


def test_thinning_keeps_both_ends() -> None:
    x = np.concatenate([np.zeros(5000), np.linspace(0, 1, 10)])
    y = np.linspace(0, 1, 5010)
    kept = thinned(x=x, y=y)
    assert len(kept["x"]) <= POINTS
    assert (kept["x"][0], kept["y"][0], kept["x"][-1], kept["y"][-1]) == (0.0, 0.0, 1.0, 1.0)


def test_of_two_classes_the_positive_one_is_drawn(rng: np.random.Generator) -> None:
    truth, proba = drawn(rng, 200, 2)
    assert [curve["class"] for curve in prediction_facts(truth, proba, ["no", "yes"])["roc"]] == ["yes"]
    asked = prediction_facts(truth, proba, ["no", "yes"], positive="no")
    assert [curve["class"] for curve in asked["roc"]] == ["no"]
    assert asked["roc"][0]["area"] == pytest.approx(metrics.roc_auc_score(truth == 0, proba[:, 0]))


def test_of_many_classes_the_six_most_frequent_are_drawn(rng: np.random.Generator) -> None:
    truth = np.repeat(np.arange(9), [5, 50, 6, 40, 30, 7, 60, 35, 45])
    proba = rng.dirichlet(np.ones(9), len(truth))
    facts = prediction_facts(truth, proba, [f"c{i}" for i in range(9)])
    for curve in ("roc", "precision_recall", "calibration", "lift"):
        assert [entry["class"] for entry in facts[curve]] == ["c1", "c3", "c4", "c6", "c7", "c8"]


def test_confusion_is_that_of_scikit_learn(rng: np.random.Generator) -> None:
    truth, proba = drawn(rng, 300, 4)
    facts = prediction_facts(truth, proba, list("abcd"))["confusion"]
    assert facts["counts"] == metrics.confusion_matrix(truth, proba.argmax(axis=1)).tolist()
    assert facts["classes"] == facts["predicted"] == list("abcd")


@pytest.mark.parametrize("weighted", [False, True])
def test_recall_and_precision_of_classes_are_those_of_scikit_learn(rng: np.random.Generator, weighted: bool) -> None:
    truth, proba = drawn(rng, 300, 4)
    proba[:, 3] = 0.0  # never predicted
    weights = rng.integers(1, 4, 300).astype(float) if weighted else None
    rates = prediction_facts(truth, proba, list("abcd"), weights=weights)["confusion"]["rates"]
    labels = proba.argmax(axis=1)
    found = metrics.precision_recall_fscore_support(truth, labels, sample_weight=weights, zero_division=np.nan)
    assert [one["class"] for one in rates] == list("abcd")
    assert rates[3]["precision"] is None
    for name, expected in zip(("precision", "recall", "rows"), (found[0], found[1], found[3]), strict=True):
        values = [np.nan if one[name] is None else one[name] for one in rates]
        np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_actions_that_are_not_classes_have_no_rates(rng: np.random.Generator) -> None:
    truth, proba = drawn(rng, 50, 2)
    costs = CostMatrix.from_dict({"buy": {"no": 1, "yes": 0}, "wait": {"no": 0, "yes": 1}})
    assert prediction_facts(truth, proba, ["no", "yes"], costs=costs)["confusion"]["rates"] == []


def test_rare_classes_of_very_many_become_one(rng: np.random.Generator) -> None:
    n_classes = CLASSES_COUNTED + 12
    truth, proba = drawn(rng, 3000, n_classes)
    facts = prediction_facts(truth, proba, [f"c{i}" for i in range(n_classes)])["confusion"]
    counts = np.array(facts["counts"])
    assert facts["classes"][-1] == facts["predicted"][-1] == OTHERS
    assert counts.shape == (CLASSES_COUNTED + 1, CLASSES_COUNTED + 1)
    assert counts.sum() == 3000


@pytest.mark.parametrize("n_classes", [2, 4])
def test_calibration_error_is_that_of_reliability(rng: np.random.Generator, n_classes: int) -> None:
    truth, proba = drawn(rng, 500, n_classes)
    facts = prediction_facts(truth, proba, list(range(n_classes)))
    assert facts["calibration_error"] == pytest.approx(reliability(truth, proba).ece, abs=1e-12)


def test_calibration_bins_hold_all_rows_and_intervals_hold_their_share(rng: np.random.Generator) -> None:
    truth, proba = drawn(rng, 500, 2, ties=True)
    curve = prediction_facts(truth, proba, ["no", "yes"])["calibration"][0]
    assert sum(curve["counts"]) == 500
    came = np.average(curve["observed"], weights=curve["counts"])
    assert came == pytest.approx((truth == 1).mean(), abs=1e-5)
    for low, observed, high in zip(curve["low"], curve["observed"], curve["high"], strict=True):
        assert 0 <= low <= observed <= high <= 1


def test_wilsons_interval_of_a_textbook() -> None:
    # 81 of 263, Newcombe (1998), Statistics in Medicine 17, 857-872, table I: 0.2553 to 0.3662
    low, high = wilson_bounds(np.array([81 / 263]), np.array([263.0]), 1.96)
    assert (round(float(low[0]), 4), round(float(high[0]), 4)) == (0.2553, 0.3662)


def test_lift_by_a_plain_loop(rng: np.random.Generator) -> None:
    truth, proba = drawn(rng, 100, 2)
    curve = prediction_facts(truth, proba, ["no", "yes"])["lift"][0]
    order = np.argsort(-proba[:, 1])
    for k, (share, captured, times) in enumerate(zip(curve["share"], curve["captured"], curve["lift"], strict=True), 1):
        found = sum(truth[i] == 1 for i in order[:k])
        assert (share, captured) == (round(k / 100, 6), round(found / (truth == 1).sum(), 6))
        assert times == pytest.approx(captured / share, abs=1e-4)


@pytest.mark.parametrize("positive", ["sick", "well"])
def test_cost_curve_by_a_plain_loop(rng: np.random.Generator, positive: str) -> None:
    truth, proba = drawn(rng, 150, 2, ties=True)
    costs = CostMatrix.from_dict({"treat": {"sick": 1, "well": 3}, "wait": {"sick": 9, "well": 0}})
    classes = ["sick", "well"]
    curve = prediction_facts(truth, proba, classes, positive=positive, costs=costs)["cost"]
    place = classes.index(positive)
    act, rest = (0, 1) if positive == "sick" else (1, 0)
    for threshold, cost in zip(curve["threshold"][::9], curve["cost"][::9], strict=True):
        actions = np.where(proba[:, place] >= threshold, act, rest)
        assert cost == pytest.approx(costs.costs[actions, truth].mean(), abs=1e-8)
    expected = costs.expected(
        np.column_stack([[curve["chosen"]], [1 - curve["chosen"]]]), [positive, classes[1 - place]]
    )
    assert expected[0, 0] == pytest.approx(expected[0, 1])  # at the threshold both actions cost the same


def test_costs_decide_and_their_means_are_realized(rng: np.random.Generator) -> None:
    truth, proba = drawn(rng, 200, 3)
    classes = ["a", "b", "c"]
    matrix = {
        "a": {"a": 0, "b": 4, "c": 1},
        "b": {"a": 2, "b": 0, "c": 5},
        "c": {"a": 1, "b": 1, "c": 0},
        "ask": {"a": 0.8, "b": 0.8, "c": 0.8},
    }
    costs = CostMatrix.from_dict(matrix)
    facts = prediction_facts(truth, proba, classes, costs=costs)
    plain = {"actions": list(costs.actions), "classes": list(costs.truths), "matrix": costs.costs.tolist()}
    assert prediction_facts(truth, proba, classes, costs=plain) == facts
    assert facts["confusion"]["predicted"] == ["a", "b", "c", "ask"]
    assert facts["cost"] is None  # of more than two classes there is no one threshold
    decided = costs.decide(proba, classes).action
    names = np.array(classes)[truth]
    assert facts["expected_cost"]["chosen"] == pytest.approx(costs.realized(decided, names).mean())
    likeliest = np.array(classes)[proba.argmax(axis=1)]
    assert facts["expected_cost"]["most_probable"] == pytest.approx(costs.realized(likeliest, names).mean())
    constants = [costs.realized([action] * 200, names).mean() for action in costs.actions]
    assert facts["expected_cost"]["best_constant"] == pytest.approx(min(constants))


def test_predicted_replaces_the_most_probable_class(rng: np.random.Generator) -> None:
    truth, proba = drawn(rng, 50, 2)
    facts = prediction_facts(truth, proba, ["no", "yes"], predicted=["yes"] * 50)
    assert facts["confusion"]["counts"] == [[0, int((truth == 0).sum())], [0, int((truth == 1).sum())]]


def test_weights_are_frequencies(rng: np.random.Generator) -> None:
    truth, proba = drawn(rng, 120, 2)
    weights = rng.integers(1, 4, 120)
    rows = np.repeat(np.arange(120), weights)
    facts = prediction_facts(truth, proba, ["no", "yes"], weights=weights)
    repeated = prediction_facts(truth[rows], proba[rows], ["no", "yes"])
    for part in ("confusion", "roc", "precision_recall", "lift"):
        assert facts[part] == repeated[part]
    assert facts["calibration_error"] == pytest.approx(repeated["calibration_error"])


def test_a_class_that_never_came_has_no_curve() -> None:
    facts = prediction_facts([0, 0, 0], [[0.6, 0.4], [0.9, 0.1], [0.3, 0.7]], ["no", "yes"])
    assert facts["roc"][0] == {"class": "yes", "x": [], "y": [], "area": None}
    json.dumps(facts, allow_nan=False)


def test_equal_scores_are_one_step() -> None:
    ranking = Ranking.by(np.array([0.5, 0.5, 0.2]), np.array([1.0, 0.0, 1.0]), np.ones(3))
    assert ranking.all.tolist() == [2.0, 3.0]
    assert ranking.found.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("truth", "proba", "more"),
    [
        ([0, 1], [[0.5, 0.5]], {}),
        ([], np.zeros((0, 2)), {}),
        ([0, 2], [[0.5, 0.5], [0.5, 0.5]], {}),
        (["no", "yes"], [[0.5, 0.5], [0.5, 0.5]], {}),
        ([0, 1], [[0.5, 0.5], [0.5, 0.5]], {"positive": "maybe"}),
        ([0, 1], [[0.5, 0.5], [0.5, 0.5]], {"weights": [1.0, -1.0]}),
    ],
)
def test_what_does_not_belong_together_is_refused(truth: Any, proba: Any, more: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        prediction_facts(truth, proba, ["no", "yes"], **more)
