"""What is computed elsewhere, for speed or with more detail, equals the metric of the registry."""

from __future__ import annotations

import inspect
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import get_scorer, get_scorer_names

from foldwise import reliability
from foldwise.ensembles import select_greedily
from foldwise.evaluation import scored_rows
from foldwise.evaluation.calibration_bins import binned, equal_widths
from foldwise.evaluation.metrics import METRICS, find_metric, value_metric
from foldwise.evaluation.metrics.metric import Metric
from foldwise.evaluation.metrics.probabilities import log_losses_of_logs
from foldwise.evaluation.metrics.scoring import metric_behind, sign_and_title
from foldwise.evaluation.plotting import score_label
from foldwise.evaluation.prediction_curves import prediction_facts
from foldwise.evaluation.row_parts import area_parts, placements
from foldwise.evaluation.scored_rows import ScoredRows
from foldwise.folds import Need


def drawn(n_classes, n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    proba = np.round(rng.dirichlet(np.ones(n_classes), n_rows), 2)  # with ties
    proba /= proba.sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(n_classes, p=row) for row in proba])
    return codes, proba, rng.uniform(0.5, 2.0, n_rows)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_log_losses_of_logarithms_are_those_of_probabilities(n_classes):
    codes, proba, _ = drawn(n_classes)
    proba[:3] = np.eye(n_classes)[0]  # certain, and right or wrong
    proba[3] = np.eye(n_classes)[(codes[3] + 1) % n_classes]
    codes[:3] = [0, 0, 1]
    with np.errstate(divide="ignore"):
        found = log_losses_of_logs(np.log(proba[np.arange(len(codes)), codes]))
    np.testing.assert_allclose(found, METRICS["log_loss"].by_row(codes, proba), rtol=1e-12, atol=1e-15)
    assert found.max() == pytest.approx(36.04, abs=0.01)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["neg_log_loss", "neg_brier_score", "accuracy"])
def test_scores_of_the_greedy_selection_are_those_of_the_registry(name, n_classes, weighted):
    codes, _, weights = drawn(n_classes)
    weights = weights if weighted else None
    members = np.stack([drawn(n_classes, seed=seed)[1] for seed in range(1, 5)])
    found = select_greedily(members, codes, metric=name, rounds=5, sample_weight=weights)
    metric = find_metric(name)
    for turn, score in enumerate(found.scores):
        together = members[found.order[: turn + 1]].mean(axis=0)
        assert score == pytest.approx(metric.signed(metric(codes, together, weights)), abs=1e-12)


def test_squared_errors_of_the_greedy_selection_are_those_of_the_registry(rng):
    truth, members = rng.normal(size=80), rng.normal(size=(4, 80))
    found = select_greedily(members, truth, rounds=4)
    for turn, score in enumerate(found.scores):
        together = members[found.order[: turn + 1]].mean(axis=0)
        assert score == pytest.approx(-value_metric("mse")(truth, together), abs=1e-12)


def test_the_greedy_selection_does_not_depend_on_the_unit(rng):
    truth = rng.normal(size=80)
    members = truth + rng.normal(size=(4, 80)) * [[2.0], [0.5], [1.0], [0.4]]
    large, small = (select_greedily(members * unit, truth * unit) for unit in (1.0, 1e-8))
    assert small.order.tolist() == large.order.tolist()
    assert large.order[0] == 3


@pytest.mark.parametrize("name", [one.name for one in METRICS.values() if one.squared])
def test_what_ranks_as_the_squared_error_does(name, rng):
    truth, models = rng.normal(size=50), rng.normal(size=(20, 50))
    errors = [value_metric("mse")(truth, one) for one in models]
    scores = [METRICS[name].signed(METRICS[name](truth, one)) for one in models]
    assert np.argsort(scores).tolist() == np.argsort(errors)[::-1].tolist()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "n_classes"), [("roc_auc", 2), ("roc_auc_ovr", 2), ("roc_auc_ovr", 4), ("roc_auc_ovr_weighted", 4)]
)
def test_the_parts_of_an_area_belong_to_the_area_of_the_registry(name, n_classes, weighted):
    codes, proba, given = drawn(n_classes)
    weights = given if weighted else np.ones(len(codes))
    one_fold = np.zeros(len(codes), dtype=np.intp)
    area = METRICS[name](codes, proba, weights)
    parts = METRICS[name].row_parts(codes, proba, weights, one_fold)
    assert parts.shares == (pytest.approx(area, abs=1e-12),)
    assert parts.parts.sum() == pytest.approx(0.0, abs=1e-12)


def test_the_mean_of_influence_values_is_the_area():
    codes, proba, weights = drawn(2)
    positive = codes == 1
    found = placements(proba[:, 1], positive, weights)
    for side in (positive, ~positive):
        area = np.average(found[side], weights=weights[side])
        assert area == pytest.approx(METRICS["roc_auc"](codes, proba, weights), abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", [one.name for one in METRICS.values() if one.row_parts is not None])
def test_a_score_with_parts_is_the_mean_of_its_proportions(name, n_classes):
    if METRICS[name].two_classes:
        n_classes = 2
    codes, proba, weights = drawn(n_classes)
    found = METRICS[name].row_parts(codes, proba, weights, np.zeros(len(codes), dtype=np.intp))
    assert np.mean(found.shares) == pytest.approx(METRICS[name](codes, proba, weights), abs=1e-12)


def test_a_metric_of_ones_own_brings_its_standard_error():
    """A new metric is one entry: nothing outside of the registry knows metrics by their names."""
    codes, proba, weights = drawn(2)
    rows = ScoredRows(codes, proba, weights, np.zeros(len(codes), dtype=np.intp), None)
    gini = Metric("gini", "Gini coefficient", True, (-1.0, 1.0), Need.PROBA, scores=METRICS["roc_auc"].scores)
    assert rows.parts(gini) is None
    assert rows.parts(replace(gini, row_parts=area_parts)).shares == rows.parts(METRICS["roc_auc"]).shares
    assert rows.variance(gini) is None
    of_rows = replace(gini, influence=lambda truth, predicted, share: predicted[:, 1] - share @ predicted[:, 1])
    share = weights / weights.sum()
    moved = proba[:, 1] - share @ proba[:, 1]
    assert rows.variance(of_rows) == pytest.approx(share @ moved**2)
    assert rows.error(of_rows)[0] == pytest.approx(np.sqrt(((share * moved) ** 2).sum()))
    assert ".name" not in inspect.getsource(scored_rows)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_calibration_error_has_one_definition(n_classes, weighted):
    codes, proba, given = drawn(n_classes)
    weights = given if weighted else None
    facts = prediction_facts(codes, proba, list(range(n_classes)), weights=weights)
    label = proba.argmax(axis=1) == codes
    score, observed = (proba[:, 1], codes == 1) if n_classes == 2 else (proba.max(axis=1), label)
    gap, share = 0.0, np.ones(len(codes)) if weights is None else weights
    for low, high in pairwise(np.linspace(0, 1, 11)):  # bins (low, high], by hand
        here = (score > low) & (score <= high) | ((low == 0) & (score == 0))
        gap += abs((share * (score - observed))[here].sum()) / share.sum()
    assert facts["calibration_error"] == pytest.approx(gap, abs=1e-9)
    if not weighted:
        assert reliability(codes, proba).ece == pytest.approx(gap, abs=1e-9)


def test_a_weight_of_two_is_a_row_twice_and_one_score_is_one_bin(rng):
    score, observed, times = rng.random(60), rng.integers(2, size=60).astype(float), rng.integers(0, 3, size=60)
    weighed = binned(score, observed, equal_widths(7), times.astype(float))
    copied = binned(np.repeat(score, times), np.repeat(observed, times), equal_widths(7))
    np.testing.assert_allclose(weighed.predicted, copied.predicted)
    np.testing.assert_allclose(weighed.weights, copied.rows)
    assert weighed.error == pytest.approx(copied.error)
    same = binned(np.full(4, 0.5), np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.5]))
    assert (same.rows.tolist(), same.observed.tolist(), same.error) == ([4], [0.75], 0.25)


@pytest.mark.parametrize("name", get_scorer_names())
def test_signs_of_scorers_are_those_of_scikit_learn(name):
    """Scorers that the registry does not have are known by scikit-learn's prefix, which one function reads."""
    assert sign_and_title(name)[0] == get_scorer(name)._sign
    assert metric_behind(name)[1] == (get_scorer(name)._sign > 0)


def test_signs_and_titles_are_those_of_the_metric():
    assert sign_and_title("pinball_loss_0.9") == (-1, "pinball loss of the 0.9 quantile")
    assert sign_and_title("log_loss") == sign_and_title("neg_log_loss") == (-1, "log loss")
    assert sign_and_title("neg_max_error") == (-1, "max_error")
    gain = Metric("neg_gain", "gain", True, (0.0, 1.0), Need.PROBA, scores=METRICS["accuracy"].scores)
    assert sign_and_title(gain) == (1, "gain")
    assert sign_and_title(replace(gain, greater_is_better=False)) == (-1, "gain")
    assert sign_and_title("minus the mean cost by CostMatrix(...)") == (-1, "mean cost")
    assert score_label("pinball_loss_0.9") == "Negative pinball loss of the 0.9 quantile (higher is better)"
    assert score_label("neg_max_error") == "Negative max_error (higher is better)"
    assert score_label("my score") == "My score (higher is better)"
