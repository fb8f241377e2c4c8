"""Errors of proportions and areas: against formulas, loops over pairs, and draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from foldwise.evaluation.row_parts import area_parts, mean_parts, recall_parts
from foldwise.evaluation.shares import ShareSpread, wilson_bounds


@pytest.mark.parametrize(("k", "n"), [(0, 30), (3, 30), (29, 30), (58, 100), (100, 100)])
def test_bounds_are_those_of_wilson(k, n):
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    found = ShareSpread((k / n,), (float(n),)).between(k / n, 0.95)
    np.testing.assert_allclose(found, (expected.low, expected.high), atol=1e-12)


def test_bounds_hold_the_share_and_move_with_the_number_of_rows():
    low, high = wilson_bounds(np.array([0.0, 1.0]), np.array([50.0, 50.0]), 1.96)
    assert low[0] == 0.0
    assert high[1] == 1.0
    assert 0.9 < low[1] < 0.95
    wide, narrow = (ShareSpread((0.9,), (n,)).between(0.9, 0.95) for n in (50.0, 5000.0))
    assert wide[0] < narrow[0] < 0.9 < narrow[1] < wide[1]


def test_more_variance_is_fewer_rows():
    spread = ShareSpread((0.8, 0.6), (100.0, 50.0), inflation=1.3)
    assert spread.widened(0.01).error == pytest.approx(np.sqrt(spread.error**2 + 0.01))


def delong(score, positive):
    """The variance by the loops of DeLong, DeLong and Clarke-Pearson."""
    found, lost = score[positive], score[~positive]
    right = (found[:, None] > lost[None]) + 0.5 * (found[:, None] == lost[None])
    return right.mean(), right.mean(axis=1).var(ddof=1) / len(found) + right.mean(axis=0).var(ddof=1) / len(lost)


def test_the_variance_of_an_area_is_delongs_and_folds_are_averaged():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=120)
    score = np.round(rng.normal(size=120) + truth, 1)
    proba = np.stack([-score, score], axis=1)
    fold = np.arange(120) % 3
    each = [delong(score[fold == k], truth[fold == k] == 1) for k in range(3)]
    found = area_parts(truth, proba, np.ones(120), fold)
    assert found.shares[0] == pytest.approx(np.mean([value for value, _ in each]))
    assert (found.parts**2).sum() == pytest.approx(np.sum([variance for _, variance in each]) / 9)
    assert found.spread().error == pytest.approx(np.sqrt((found.parts**2).sum()))


def test_a_weight_of_two_is_a_row_twice():
    rng = np.random.default_rng(1)
    truth, score, times = rng.integers(2, size=60), rng.normal(size=60), rng.integers(1, 4, size=60)
    proba, fold = np.stack([-score, score], axis=1), np.zeros(60, dtype=np.intp)
    rows = np.repeat(np.arange(60), times)
    weighted = area_parts(truth, proba, times.astype(float), fold)
    repeated = area_parts(truth[rows], proba[rows], np.ones(len(rows)), fold[rows])
    assert weighted.shares[0] == pytest.approx(repeated.shares[0])
    grouped = repeated.spread(rows)
    assert grouped.error == pytest.approx(weighted.spread().error, rel=0.05)


def test_several_classes_are_averaged_as_scikit_learn_does():
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=90)
    proba = rng.dirichlet([1, 1, 1], 90) + 0.3 * np.eye(3)[truth]
    proba /= proba.sum(axis=1, keepdims=True)
    fold = np.zeros(90, dtype=np.intp)
    assert area_parts(truth, proba, np.ones(90), fold).shares[0] == pytest.approx(
        roc_auc_score(truth, proba, multi_class="ovr")
    )
    by_weight = area_parts(truth, proba, np.ones(90), fold, by_weight=True)
    assert by_weight.shares[0] == pytest.approx(roc_auc_score(truth, proba, multi_class="ovr", average="weighted"))


def test_balanced_accuracy_has_the_binomial_variance_of_its_classes():
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1, 2], [80, 15, 5])
    hits = (rng.random(100) < 0.7).astype(float)
    found = recall_parts(truth, hits, np.ones(100))
    labels = np.where(hits > 0, truth, (truth + 1) % 3)
    assert np.mean(found.shares) == pytest.approx(balanced_accuracy_score(truth, labels))
    variances = [p * (1 - p) / n for p, n in zip(found.shares, (80, 15, 5), strict=True)]
    assert (found.parts**2).sum() == pytest.approx(sum(variances) / 9)


def test_without_an_error_the_rows_of_a_group_count_as_one():
    found = mean_parts(np.ones(60), np.ones(60))
    assert found.spread().sizes == pytest.approx((60.0,))
    assert found.spread(np.arange(60) // 3).sizes == pytest.approx((20.0,))
    truth = np.arange(60) % 2
    perfect = area_parts(truth, np.eye(2)[truth], np.ones(60), np.zeros(60, dtype=np.intp))
    low, high = perfect.spread().between(1.0, 0.95)
    assert 0.9 < low < 0.97
    assert high == 1.0


def test_intervals_of_areas_hold_the_truth():
    rng = np.random.default_rng(4)
    truth_area = float(stats.norm.cdf(2.0 / np.sqrt(2)))
    held = 0
    for _ in range(300):
        truth = rng.integers(2, size=100)
        score = rng.normal(size=100) + 2.0 * truth
        found = area_parts(truth, np.stack([-score, score], axis=1), np.ones(100), np.arange(100) % 5)
        low, high = found.spread().between(found.shares[0], 0.95)
        held += low <= truth_area <= high
    assert 0.92 <= held / 300 <= 0.99


def test_one_class_in_every_fold_has_no_area():
    assert area_parts(np.zeros(4, dtype=int), np.full((4, 2), 0.5), np.ones(4), np.arange(4) % 2) is None
