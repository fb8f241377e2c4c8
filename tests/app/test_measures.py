"""Scores of stored probabilities against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as peer

from foldwise.app.measures import MEASURES, cost_measure, measure_of
from foldwise.errors import InputError
from foldwise.evaluation import CostMatrix


def drawn(n_classes: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), 200)
    codes = np.array([rng.choice(n_classes, p=row) for row in proba])
    return codes, proba, rng.uniform(0.5, 2.0, 200)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_scikit_learn(n_classes, weighted):
    codes, proba, given = drawn(n_classes)
    weights = given if weighted else None
    said = proba.argmax(axis=1)
    expected = {
        "log_loss": peer.log_loss(codes, proba, sample_weight=weights),
        "accuracy": peer.accuracy_score(codes, said, sample_weight=weights),
        "balanced_accuracy": peer.balanced_accuracy_score(codes, said, sample_weight=weights),
        "f1": peer.f1_score(codes, said, average="macro", sample_weight=weights),
    }
    if n_classes == 2:
        expected["roc_auc"] = peer.roc_auc_score(codes, proba[:, 1], sample_weight=weights)
        expected["brier"] = 2 * peer.brier_score_loss(codes, proba[:, 1], sample_weight=weights)
    elif not weighted:
        expected["roc_auc"] = peer.roc_auc_score(codes, proba, multi_class="ovr")
    for name, value in expected.items():
        assert MEASURES[name](codes, proba, weights) == pytest.approx(value, abs=1e-12), name


def test_the_area_of_one_class_is_not_defined():
    _, proba, _ = drawn(2)
    assert np.isnan(MEASURES["roc_auc"](np.zeros(200, dtype=np.int64), proba))


def test_cost_is_what_the_matrix_says():
    codes, proba, _ = drawn(3)
    classes = np.array(["a", "b", "c"])
    costs = CostMatrix.from_dict(
        {"a": {"a": 0, "b": 5, "c": 1}, "b": {"a": 2, "b": 0, "c": 9}, "wait": {"a": 1, "b": 1, "c": 1}}
    )
    measure = cost_measure(costs, classes)
    expected = costs.realised(costs.decide(proba, classes).action, classes[codes]).mean()
    assert measure(codes, proba) == pytest.approx(expected)
    assert measure_of(None, costs, classes).name == "cost"


def test_unknown_metrics_are_refused():
    with pytest.raises(InputError, match="no metric 'speed'"):
        measure_of("speed", None, np.array(["a", "b"]))
    with pytest.raises(InputError, match="needs costs"):
        measure_of("cost", None, np.array(["a", "b"]))
