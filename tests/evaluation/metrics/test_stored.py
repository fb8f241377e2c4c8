"""Metrics of stored predictions against scikit-learn's functions, and the names by which they are found."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as peer

from foldwise.errors import InputError
from foldwise.evaluation import CostMatrix
from foldwise.evaluation.metrics import (
    METRICS,
    SESSION_METRICS,
    class_metric,
    cost_metric,
    find_metric,
    pinball_metric,
    value_metric,
)
from foldwise.folds import Need

OF_CLASSES = [name for name, metric in METRICS.items() if metric.need != Need.VALUES]
OF_VALUES = [name for name, metric in METRICS.items() if metric.need == Need.VALUES]


def drawn(n_classes: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), 200)
    codes = np.array([rng.choice(n_classes, p=row) for row in proba])
    return codes, proba, rng.uniform(0.5, 2.0, 200)


def expected(name, codes, proba, weights):
    """scikit-learn's answer."""
    two = proba.shape[1] == 2
    labels, weighed = proba.argmax(axis=1), {"sample_weight": weights}
    rate, _, average = name.partition("_")
    if rate in ("f1", "precision", "recall"):
        return getattr(peer, f"{rate}_score")(codes, labels, average=average or "binary", zero_division=0.0, **weighed)
    if name.startswith("roc_auc"):
        if two:
            return peer.roc_auc_score(codes, proba[:, 1], **weighed)
        average = "weighted" if name.endswith("weighted") else "macro"
        return peer.roc_auc_score(codes, proba, multi_class="ovr", average=average, **weighed)
    if name == "brier_score":
        if two:
            return peer.brier_score_loss(codes, proba[:, 1], **weighed)
        return np.average(((proba - np.eye(proba.shape[1])[codes]) ** 2).sum(axis=1), weights=weights)
    if name == "log_loss":
        return peer.log_loss(codes, proba, **weighed)
    function = peer.matthews_corrcoef if name == "matthews_corrcoef" else getattr(peer, f"{name}_score")
    return function(codes, labels, **weighed)


TWO_CLASSES = [name for name in OF_CLASSES if METRICS[name].two_classes]
MANY_CLASSES = [(name, n) for name in OF_CLASSES for n in ([2] if name in TWO_CLASSES else [2, 4])]


@pytest.mark.parametrize(("name", "n_classes"), MANY_CLASSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_class_metrics_are_those_of_scikit_learn(name, n_classes, weighted):
    codes, proba, given = drawn(n_classes)
    weights = given if weighted else None
    value = expected(name, codes, proba, weights)
    assert METRICS[name](codes, proba, weights) == pytest.approx(value, abs=1e-12)


def test_metrics_of_a_positive_class_are_refused_for_more_than_two():
    assert TWO_CLASSES == ["roc_auc", "f1", "precision", "recall"]
    for name in ("f1", "precision", "recall"):
        with pytest.raises(InputError, match=f"'{name}' needs two classes, but there are 4 classes"):
            class_metric(name, np.arange(4))
    codes, proba, weights = drawn(4)
    assert class_metric("roc_auc", np.arange(4))(codes, proba, weights) == pytest.approx(
        expected("roc_auc_ovr", codes, proba, weights), abs=1e-12
    )


@pytest.mark.parametrize("name", OF_VALUES)
@pytest.mark.parametrize("weighted", [False, True])
def test_value_metrics_are_those_of_scikit_learn(rng, name, weighted):
    truth, values = rng.exponential(size=80) + 0.1, rng.exponential(size=80) + 0.1
    weights = rng.exponential(size=80) if weighted else None
    function = getattr(peer, "r2_score" if name == "r2" else name)
    assert METRICS[name](truth, values, weights) == pytest.approx(function(truth, values, sample_weight=weights))


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_signs_are_those_of_scikit_learn(metric):
    """A scorer's name begins with `neg_` where lower is better, and a search sees the opposite sign."""
    assert metric.scorer.startswith("neg_") == (not metric.greater_is_better)
    low, high = metric.bounds
    assert SESSION_METRICS[metric.scorer].bounds == ((low, high) if metric.greater_is_better else (-high, -low))
    assert metric.signed(2.0) == (2.0 if metric.greater_is_better else -2.0)


@pytest.mark.parametrize("metric", [one for one in METRICS.values() if one.averages_rows], ids=lambda one: one.name)
def test_a_metric_is_the_mean_of_its_rows(rng, metric):
    codes, proba, weights = drawn(3)
    given = (rng.exponential(size=60), rng.exponential(size=60)) if metric.need == Need.VALUES else (codes, proba)
    assert metric(*given) == pytest.approx(metric.by_row(*given).mean())
    weights = weights[: len(given[0])]
    assert metric(*given, weights) == pytest.approx(np.average(metric.by_row(*given), weights=weights))


def test_brier_is_not_doubled_for_two_classes():
    codes, proba = np.array([1, 0]), np.array([[0.4, 0.6], [0.8, 0.2]])
    assert METRICS["brier_score"](codes, proba) == pytest.approx((0.16 + 0.04) / 2)


def test_f1_is_that_of_the_positive_class():
    codes, proba, _ = drawn(2)
    labels = proba.argmax(axis=1)
    classes = np.array(["no", "yes"])
    assert class_metric("f1", classes)(codes, proba) == pytest.approx(peer.f1_score(codes, labels))
    of_first = class_metric("f1", classes, positive=0)
    assert of_first(codes, proba) == pytest.approx(peer.f1_score(codes, labels, pos_label=0))
    with pytest.raises(InputError, match=r"3 classes.*'f1_macro'"):
        class_metric("f1", np.arange(3))
    assert class_metric("roc_auc", np.arange(3)).name == "roc_auc_ovr"


def test_the_area_of_one_class_is_not_defined():
    _, proba, _ = drawn(2)
    assert np.isnan(METRICS["roc_auc"](np.zeros(200, dtype=np.int64), proba))
    codes, proba, _ = drawn(3)
    rest = codes != 2
    assert 0 < METRICS["roc_auc_ovr"](codes[rest], proba[rest]) < 1  # of the classes that are there


def test_cost_is_what_the_matrix_says():
    codes, proba, _ = drawn(3)
    classes = np.array(["a", "b", "c"])
    costs = CostMatrix.from_dict(
        {"a": {"a": 0, "b": 5, "c": 1}, "b": {"a": 2, "b": 0, "c": 9}, "wait": {"a": 1, "b": 1, "c": 1}}
    )
    metric = cost_metric(costs, classes)
    expected = costs.realized(costs.decide(proba, classes).action, classes[codes]).mean()
    assert metric(codes, proba) == pytest.approx(expected)
    assert metric.bounds == (0.0, 9.0)
    assert class_metric(None, classes, costs).name == "cost"


def test_aliases():
    for alias, name in (("neg_log_loss", "log_loss"), ("brier", "brier_score"), ("auc", "roc_auc"), ("r2", "r2")):
        assert find_metric(alias) is METRICS[name]
    assert class_metric("neg_brier_score", np.arange(2)) is METRICS["brier_score"]


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_pinball_losses_are_those_of_scikit_learn(rng, quantile):
    truth, values, weights = rng.normal(size=80), rng.normal(size=80), rng.exponential(size=80)
    metric = find_metric(f"pinball_loss_{quantile}")
    expected = peer.mean_pinball_loss(truth, values, sample_weight=weights, alpha=quantile)
    assert metric(truth, values, weights) == pytest.approx(expected)
    assert not metric.greater_is_better
    with pytest.raises(InputError, match="between 0 and 1, got 2"):
        pinball_metric(2.0)


def test_metrics_of_quantities_have_short_names_and_a_default():
    assert value_metric().name == value_metric("auto").name == value_metric("rmse").name == "root_mean_squared_error"
    assert value_metric("neg_mean_absolute_error").name == value_metric("mae").name == "mean_absolute_error"
    assert value_metric("pinball_loss_0.25").name == "pinball_loss_0.25"
    with pytest.raises(InputError, match="unknown regression metric 'speed'"):
        value_metric("speed")
    with pytest.raises(InputError, match="accuracy is a classification metric, but the task is regression"):
        value_metric("accuracy")


def test_deviances_of_impossible_predictions_are_infinite():
    truth, values = np.array([1.0, 2.0]), np.array([[1.0, 1.0], [-1.0, 1.0]])
    for name in ("mean_poisson_deviance", "mean_gamma_deviance"):
        assert np.isfinite(METRICS[name](truth, values[0]))
        assert METRICS[name](truth, values[1]) == np.inf


def test_metrics_say_which_targets_they_suit():
    signed, counts = np.array([-1.0, 0.5, 2.0]), np.array([0.0, 1.0, 2.0])
    for metric in METRICS.values():
        if "deviance" not in metric.name and "percentage" not in metric.name:
            assert metric.check_target(signed) == []
    with pytest.raises(InputError, match="needs true values at least 0, but the target contains -1"):
        METRICS["mean_poisson_deviance"].check_target(signed)
    assert METRICS["mean_poisson_deviance"].check_target(counts) == []
    with pytest.raises(InputError, match="needs true values above 0, but the target contains 0"):
        METRICS["mean_gamma_deviance"].check_target(counts)
    (warning,) = value_metric("mape").check_target(counts)
    assert warning.startswith("1 of 3 true values are 0 or close to 0.")
    assert value_metric("mape").check_target(counts + 1) == []


def test_unknown_metrics_are_refused():
    with pytest.raises(InputError, match="unknown metric 'speed'"):
        find_metric("speed")
    with pytest.raises(InputError, match=r"'auroc'.*did you mean 'roc_auc'"):
        class_metric("auroc", [0, 1])
    with pytest.raises(InputError, match="unknown classification metric 'speed'"):
        class_metric("speed", np.array(["a", "b"]))
    with pytest.raises(InputError, match="root mean squared error is a regression metric, but the task is class"):
        class_metric("rmse", np.array(["a", "b"]))
    with pytest.raises(InputError, match="needs costs"):
        class_metric("cost", np.array(["a", "b"]))
