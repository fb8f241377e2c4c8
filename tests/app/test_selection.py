"""The choice and what it is worth: against a plain loop, and on labels that nothing tells."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from sklearn.svm import LinearSVC

from foldwise.app.blend import member_proba
from foldwise.app.estimates import LEAKED, fold_scores, honest_estimate
from foldwise.app.search_state import SettingBatch
from foldwise.app.selection import (
    MOST_SOFTENED,
    CandidateSet,
    HonestPredictions,
    OutOfFoldRows,
    best_few,
    choose_softened,
    choose_weights,
    honest_model,
    honest_selection,
    pruned,
)
from foldwise.decisions.calibration import CalibrationData, ClassScores, fit_calibrator
from foldwise.evaluation.metrics import METRICS

LOG_LOSS = METRICS["log_loss"]


def stacked(n_rows=300, n_folds=5, n_members=8, seed=0, strength=0.0, eliminated=False, in_time=False):
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=n_rows)
    fold = np.sort(np.arange(n_rows) % n_folds)
    odds = rng.normal(size=(n_members, n_rows)) + strength * (2 * codes - 1)
    p = 1 / (1 + np.exp(-odds))
    proba = np.stack([1 - p, p], axis=2).astype(np.float32)
    stack = OutOfFoldRows(np.arange(n_rows), fold, codes, None, n_folds, in_time, eliminated)
    every = np.arange(n_members)
    kept = tuple(SimpleNamespace(predicted=one) for one in proba)
    return stack, CandidateSet(kept, every, dict.fromkeys(range(n_folds), every)), proba


def test_the_honest_predictions_are_those_of_a_choice_without_the_fold():
    stack, kept, proba = stacked(n_rows=MOST_SOFTENED + 5, strength=0.5)
    honest = honest_selection(stack, kept, LOG_LOSS, 4)
    assert honest.folds == (0, 1, 2, 3, 4)
    for fold in honest.folds:
        others, own = np.flatnonzero(stack.fold != fold), np.flatnonzero(stack.fold == fold)
        chosen = choose_weights(proba[:, others], stack.truth[others], None, LOG_LOSS, 4)
        mixed = np.tensordot(chosen.weights, proba[:, own].astype(np.float64), axes=1)
        odds = chosen.calibration.inverse * np.log(mixed)
        expected = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(honest.predicted[stack.fold[honest.index] == fold], expected, rtol=1e-9)
        np.testing.assert_array_equal(honest.chosen[fold].weights, chosen.weights)


def test_few_rows_of_noise_do_not_make_a_sure_model():
    new = np.random.default_rng(1).integers(2, size=4_000)
    losses = {"chosen": [], "softened": []}
    for seed in range(20):
        stack, _, proba = stacked(n_rows=30, n_members=20, seed=seed)
        unseen = stacked(n_rows=len(new), n_members=20, seed=100 + seed)[2]
        losses["chosen"].append(
            LOG_LOSS(new, choose_weights(proba, stack.truth, None, LOG_LOSS, 6).predict(unseen), None)
        )
        softened = choose_softened(proba, stack, list(range(5)), LOG_LOSS, 6)
        losses["softened"].append(LOG_LOSS(new, softened.predict(unseen), None))
    assert np.mean(losses["softened"]) < 0.72 < np.mean(losses["chosen"])


def test_good_models_of_few_rows_are_hardly_softened():
    stack, _, proba = stacked(n_rows=60, n_members=4, strength=1.5)
    plain = choose_weights(proba, stack.truth, None, LOG_LOSS, 6).calibration.inverse
    assert 0.7 * plain < choose_softened(proba, stack, list(range(5)), LOG_LOSS, 6).calibration.inverse <= plain


def test_few_rows_of_many_columns_are_doubted_more():
    def inverse(n_rows, n_columns):
        stack, _, proba = stacked(n_rows=n_rows, n_members=4, strength=0.5)
        stack = replace(stack, n_columns=n_columns)
        return choose_softened(proba, stack, list(range(5)), LOG_LOSS, 6).calibration.inverse

    assert inverse(30, 5_000) < 0.8 * inverse(30, 10)
    assert inverse(30, 30) == inverse(30, 10)  # only columns that outnumber the rows
    assert inverse(120, 5_000) == inverse(120, 10)  # rows enough


def test_labels_of_a_fold_do_not_change_what_is_said_of_it():
    stack, kept, _ = stacked(strength=0.5)
    before = honest_selection(stack, kept, LOG_LOSS, 4)
    turned = stack.truth.copy()
    turned[stack.fold == 2] = 1 - turned[stack.fold == 2]
    after = honest_selection(OutOfFoldRows(stack.rows, stack.fold, turned, None, 5, False, False), kept, LOG_LOSS, 4)
    here = stack.fold[before.index] == 2
    np.testing.assert_array_equal(before.predicted[here], after.predicted[here])
    assert not np.array_equal(before.predicted[~here], after.predicted[~here])


def test_in_time_a_choice_rests_on_earlier_folds_only():
    stack, kept, _ = stacked(strength=0.5, in_time=True)
    before = honest_selection(stack, kept, LOG_LOSS, 4)
    assert before.folds == (1, 2, 3, 4)
    turned = stack.truth.copy()
    turned[stack.fold >= 3] = 1 - turned[stack.fold >= 3]
    after = honest_selection(OutOfFoldRows(stack.rows, stack.fold, turned, None, 5, True, False), kept, LOG_LOSS, 4)
    early = stack.fold[before.index] <= 3
    np.testing.assert_array_equal(before.predicted[early], after.predicted[early])


def test_of_two_folds_in_time_the_first_is_chosen_by_and_the_second_is_scored():
    stack, kept, _ = stacked(strength=0.5, n_folds=2, in_time=True)
    assert honest_selection(stack, kept, LOG_LOSS, 4).folds == (1,)


def test_the_fold_that_dropped_settings_is_not_scored():
    assert stacked(eliminated=True)[0].scored == [1, 2, 3, 4]
    assert stacked(eliminated=False)[0].scored == [0, 1, 2, 3, 4]


def test_on_labels_that_nothing_tells_the_naive_score_is_too_good_and_the_honest_one_is_not():
    search_score, honest, held = [], [], 0
    for seed in range(40):
        stack, kept, proba = stacked(n_rows=150, n_members=12, seed=seed)
        chosen = choose_weights(proba, stack.truth, None, METRICS["accuracy"], 1)
        search_score.append(METRICS["accuracy"](stack.truth, chosen.predict(proba)))
        found = honest_selection(stack, kept, METRICS["accuracy"], 1)
        estimate = honest_estimate(found, stack, METRICS["accuracy"])
        honest.append(estimate.value)
        low, high = estimate.interval()
        held += low <= 0.5 <= high
    assert np.mean(search_score) > 0.54
    assert abs(np.mean(honest) - 0.5) < 0.015
    assert held >= 34


def test_an_estimate_is_the_mean_of_rows_and_as_wide_as_groups_make_it():
    stack, kept, _ = stacked(strength=0.7)
    found = honest_selection(stack, kept, LOG_LOSS, 3)
    plain = honest_estimate(found, stack, LOG_LOSS)
    losses = LOG_LOSS.by_row(stack.truth[found.index], found.predicted)
    assert plain.value == pytest.approx(losses.mean())
    assert plain.spread.error >= losses.std() / np.sqrt(len(losses)) * (1 - 1e-12)
    groups = np.arange(300) // 30
    wide = honest_estimate(found, stack, LOG_LOSS, groups=groups)
    means = np.bincount(groups[stack.rows[found.index]], losses - losses.mean()) / 300
    assert wide.spread.error >= np.sqrt((means**2).sum()) * (1 - 1e-12)
    assert len(fold_scores(found, stack, LOG_LOSS)) == 5


def test_a_fold_has_no_say_in_who_its_candidates_are():
    stack, slate, proba = stacked(strength=0.5)
    some = {**slate.without, 2: np.array([1, 4])}
    honest = honest_selection(stack, CandidateSet(slate.every, slate.final, some), LOG_LOSS, 4)
    others, own = np.flatnonzero(stack.fold != 2), np.flatnonzero(stack.fold == 2)
    chosen = choose_weights(proba[[1, 4]][:, others], stack.truth[others], None, LOG_LOSS, 4)
    here = stack.fold[honest.index] == 2
    np.testing.assert_allclose(honest.predicted[here], chosen.predict(proba[[1, 4]][:, own]), rtol=1e-12)
    assert best_few(np.array([0.1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]), [0, 1, 1, 1, 1, 1, 0], 6) == [1, 2, 3, 4, 6, 0]


def test_small_weights_are_left_out():
    np.testing.assert_allclose(pruned(np.array([0.5, 0.01, 0.49]), 3), [0.5 / 0.99, 0, 0.49 / 0.99])
    np.testing.assert_allclose(pruned(np.array([0.4, 0.3, 0.3]), 1), [1, 0, 0])


def rare_class(metric):
    """Three classes, one of which has two rows."""
    rng = np.random.default_rng(3)
    codes = np.r_[rng.integers(2, size=98), 2, 2]
    rng.shuffle(codes)
    proba = rng.dirichlet([1, 1, 1], 100) + 0.5 * np.eye(3)[codes]
    proba /= proba.sum(axis=1, keepdims=True)
    fold = np.arange(100) % 10
    stack = OutOfFoldRows(np.arange(100), fold, codes, None, 10, False, False)
    return (
        honest_estimate(HonestPredictions(np.arange(100), proba, tuple(range(10))), stack, METRICS[metric]),
        codes,
        proba,
    )


def test_scores_of_labels_are_those_of_the_confusion_matrix():
    for metric, score in (
        ("accuracy", accuracy_score),
        ("balanced_accuracy", balanced_accuracy_score),
        ("f1_macro", partial(f1_score, average="macro")),
    ):
        estimate, codes, proba = rare_class(metric)
        assert estimate.value == pytest.approx(score(codes, proba.argmax(axis=1)), rel=1e-12)


@pytest.mark.parametrize("metric", ["accuracy", "log_loss", "brier_score", "balanced_accuracy", "roc_auc", "f1"])
def test_rows_that_are_all_right_do_not_make_an_interval_of_no_width(metric):
    codes, fold = np.arange(20) % 2, np.arange(20) // 4
    proba = np.where(np.eye(2)[codes] > 0, 0.9, 0.1)
    stack = OutOfFoldRows(np.arange(20), fold, codes, None, 5, False, False)
    estimate = honest_estimate(HonestPredictions(np.arange(20), proba, tuple(range(5))), stack, METRICS[metric])
    low, high = estimate.interval()
    assert high - low > 0.05
    if metric == "accuracy":  # Clopper and Pearson say 0.83 of 20 right ones; other training rows may be worse
        assert 0.75 < low < 0.85
        assert high == 1.0


def scored_rows(n_rows, n_folds, right, seed=0):
    """Predictions of two classes, right with a given probability."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=n_rows)
    p = np.where(rng.random(n_rows) < right, 0.8, 0.2) + rng.uniform(-0.1, 0.1, n_rows)
    proba = np.where(np.eye(2)[codes] > 0, p[:, None], 1 - p[:, None])
    fold = np.arange(n_rows) % n_folds
    stack = OutOfFoldRows(np.arange(n_rows), fold, codes, None, n_folds, False, False)
    order = np.concatenate([np.flatnonzero(fold == k) for k in range(n_folds)])
    return HonestPredictions(order, proba[order], tuple(range(n_folds))), stack


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "roc_auc", "f1", "matthews_corrcoef", "log_loss"])
def test_many_rows_make_a_narrow_interval_even_in_two_folds(metric):
    estimate = honest_estimate(*scored_rows(20_000, 2, 0.95), METRICS[metric])
    low, high = estimate.interval()
    assert low < estimate.value < high
    assert high - low < 0.03


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "roc_auc", "f1", "log_loss"])
def test_rows_of_a_group_that_are_copies_make_the_interval_wider(metric):
    honest, stack = scored_rows(400, 4, 0.8)
    alone = honest_estimate(honest, stack, METRICS[metric])
    copies = np.repeat(np.arange(400), 4)
    many = OutOfFoldRows(np.arange(1600), stack.fold[copies], stack.truth[copies], None, 4, False, False)
    index = np.concatenate([np.flatnonzero(many.fold == k) for k in range(4)])
    proba = np.empty((400, 2))
    proba[honest.index] = honest.predicted
    repeated = HonestPredictions(index, proba[copies[index]], honest.folds)
    grouped = honest_estimate(repeated, many, METRICS[metric], groups=copies)
    assert grouped.value == pytest.approx(alone.value)
    assert grouped.spread.error == pytest.approx(alone.spread.error, rel=0.12)


def test_an_estimate_is_lowered_by_a_share_of_what_the_selection_seems_to_gain():
    honest, stack = scored_rows(400, 4, 0.8)
    plain = honest_estimate(honest, stack, METRICS["accuracy"])
    lower = honest_estimate(honest, stack, METRICS["accuracy"], search_score=plain.value + 0.02)
    assert lower.value == pytest.approx(plain.value - 0.02 * LEAKED)
    assert honest_estimate(honest, stack, METRICS["accuracy"], search_score=plain.value - 0.02).value == plain.value
    loss = honest_estimate(honest, stack, LOG_LOSS)
    higher = honest_estimate(honest, stack, LOG_LOSS, search_score=loss.value - 0.02)
    assert higher.value == pytest.approx(loss.value + 0.02 * LEAKED)


def test_leaderboard_rows_are_calibrated_by_the_other_folds():
    stack, _, proba = stacked(strength=1.0, n_members=3)
    sharp = np.stack([one**3 / (one**3).sum(axis=1, keepdims=True) for one in proba.astype(np.float64)])
    scores = {
        k: tuple(-LOG_LOSS(stack.truth[stack.of_fold(k)], one[stack.of_fold(k)]) for one in sharp) for k in range(5)
    }
    batch = SettingBatch(0, "m", ({}, {}, {}), 0.0, scores=scores)
    stored = SimpleNamespace(
        task=SimpleNamespace(is_quantity=False), out_of_fold=lambda batch, i: sharp[i].astype(np.float32)
    )
    found = honest_model(stack, [batch], stored)
    table = np.array([scores[k] for k in range(5)])
    assert found.setting == int(table.mean(axis=0).argmax())
    for fold in range(5):
        best = int(np.delete(table, fold, axis=0).mean(axis=0).argmax())
        others, own = stack.others(fold), stack.of_fold(fold)
        chosen = choose_weights(sharp[[best]][:, others].astype(np.float32), stack.truth[others], None, LOG_LOSS)
        expected = chosen.predict(sharp[[best]][:, own].astype(np.float32))
        np.testing.assert_allclose(found.honest.predicted[stack.fold[found.honest.index] == fold], expected, rtol=1e-6)
    before = honest_estimate(HonestPredictions(np.arange(300), sharp[0], tuple(range(5))), stack, LOG_LOSS)
    assert honest_estimate(found.honest, stack, LOG_LOSS).value < before.value


def test_of_tied_settings_the_first_is_taken():
    """The best of the leaderboard, the candidates, and the best single member."""
    stack, _, proba = stacked(strength=1.0, n_members=3)
    means = np.array([0.3, 0.8 - 2e-12, 0.8, 0.8 + 2e-12])
    assert best_few(means, [0, 1, 2, 3], 2) == [1, 2]
    for order in ([1, 2, 3], [3, 2, 1]):
        scores = {k: tuple(means[order].tolist()) for k in range(5)}
        batch = SettingBatch(0, "m", ({}, {}, {}), 0.0, scores=scores)
        stored = SimpleNamespace(task=SimpleNamespace(is_quantity=False), out_of_fold=lambda batch, i: proba[i])
        assert honest_model(stack, [batch], stored).setting == 0
    shifted = proba[0].astype(np.float64) * np.array([1.0, 1 + 1e-12])[:, None, None]
    for two in (shifted, shifted[::-1]):
        assert choose_weights(two, stack.truth, None, LOG_LOSS, 1).weights.tolist() == [1.0, 0.0]


def test_the_model_of_a_fold_without_a_class_predicts_all_classes():
    """Decision values of three classes, and a calibration of four."""
    rng = np.random.default_rng(0)
    X, decision = rng.normal(size=(60, 3)), rng.normal(size=(60, 4))
    data = CalibrationData(ClassScores(decision, False), np.arange(60) % 4, np.ones(60))
    model = LinearSVC().fit(X, np.array([0, 1, 3])[np.arange(60) % 3])
    proba = member_proba(model, fit_calibrator("sigmoid", data)[1], X, 4)
    assert proba.shape == (60, 4)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
