"""Profiles and shifts: equal to SciPy on all cells, mergeable over batches, small, and safe to read from a file."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from foldwise.errors import InputError
from foldwise.evaluation.drift.expected import ScoreReference, simulated_score
from foldwise.evaluation.drift.moving import moved_back, moved_numbers
from foldwise.evaluation.drift.profiles import ColumnCounts, ColumnProfile, profile_column, profiles_of
from foldwise.evaluation.drift.shifts import corrected_shifts, homogeneity, shift_of
from foldwise.evaluation.metrics import class_metric, value_metric


def shifted(before, now, **options):
    counts = ColumnCounts(profile_column(before, **options))
    counts.add(now)
    return shift_of(counts)


def test_few_different_numbers_give_the_distance_and_p_value_of_scipy():
    rng = np.random.default_rng(0)
    before, now = rng.integers(0, 50, 800), rng.integers(5, 55, 600)
    found = shifted(pl.Series("x", before), pl.Series("x", now))
    peer = stats.ks_2samp(before, now, method="asymp")
    assert found.ks == pytest.approx(peer.statistic, abs=1e-12)
    assert found.p == pytest.approx(peer.pvalue, rel=1e-6)


def test_the_distance_from_quantiles_is_nearly_that_of_all_cells_and_never_larger():
    rng = np.random.default_rng(1)
    before, now = rng.normal(size=5_000), rng.normal(0.2, 1, 4_000)
    found = shifted(pl.Series("x", before), pl.Series("x", now))
    peer = stats.ks_2samp(before, now).statistic
    assert peer - 0.011 <= found.ks <= peer + 1e-12


def test_categories_are_tested_as_scipy_does():
    before, now = pl.Series("c", ["a"] * 60 + ["b"] * 40), pl.Series("c", ["a"] * 30 + ["b"] * 50)
    found = shifted(before, now)
    assert found.p == pytest.approx(stats.chi2_contingency([[60, 40], [30, 50]], correction=False)[1])
    assert homogeneity(np.array([3, 5]), np.array([0, 0])) == 1.0


def test_batches_add_up():
    rng = np.random.default_rng(2)
    before = pl.Series("x", rng.normal(size=500))
    now = pl.Series("x", [None, float("nan"), *rng.normal(size=300)])
    at_once, in_parts = (ColumnCounts(profile_column(before)) for _ in range(2))
    at_once.add(now)
    for start in range(0, 302, 50):
        in_parts.add(now[start : start + 50])
    assert shift_of(at_once) == shift_of(in_parts)
    assert at_once.n_missing == 2


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", [1.5, None, 3.0, 3.0, float("inf")]),
        pl.Series("c", ["a", "b", None, "a"]),
        pl.Series("b", [True, False, None]),
        pl.Series("d", ["2020-01-01", "2021-05-05", None]).str.to_date(),
        pl.Series("t", [f"text number {i}" * (i % 3 + 1) for i in range(60)]),
        pl.Series("n", [None, None], dtype=pl.Float64),
    ],
)
def test_a_profile_survives_json_and_the_same_cells_are_no_change(column):
    profile = profile_column(column)
    again = ColumnProfile.of_dict(json.loads(json.dumps(profile.to_dict())))
    assert again.to_dict() == profile.to_dict()
    counts = ColumnCounts(again)
    counts.add(column)
    (found,), _ = corrected_shifts([shift_of(counts)])
    assert found.psi == pytest.approx(0.0, abs=1e-12)
    assert found.js == pytest.approx(0.0, abs=1e-7)
    assert not found.changed
    np.testing.assert_array_equal(counts.bins, profile.bins)


def test_a_private_profile_names_no_rare_category_and_no_extreme_number():
    column = pl.Series("c", ["common"] * 50 + ["Jane Doe"])
    assert profile_column(column, private=True).levels == ("common",)
    numbers = pl.Series("x", [*range(1_000), 999_999])
    assert profile_column(numbers, private=True).grid.max() < 1_000


def test_unseen_categories_and_missing_cells_are_counted():
    before = pl.Series("c", ["a", "b"] * 500)
    found = shifted(before, pl.Series("c", ["a", "b"] * 200 + ["z"] * 100 + [None] * 100))
    assert found.unseen == (("z", 100),)
    assert found.missing_now == pytest.approx(1 / 6)
    (found,), _ = corrected_shifts([found])
    assert found.changed


@pytest.mark.parametrize(
    "given",
    [
        None,
        "text",
        [1],
        [{"name": "x", "kind": "number", "rows": 3, "missing": 0, "grid": [2, 1], "below": [1, 3]}],
        [{"name": "x", "kind": "number", "rows": 3, "missing": 9, "grid": [1, 2], "below": [1, 3]}],
        [{"name": "x", "kind": "category", "rows": 3, "missing": 0, "levels": ["a"], "counts": [9], "others": 0}],
        [{"name": "x", "kind": "other", "rows": 3, "missing": 0, "grid": [1], "below": [3]}],
    ],
)
def test_a_damaged_profile_is_refused(given):
    with pytest.raises(InputError, match="damaged"):
        profiles_of(given)


def test_a_column_that_is_moved_back_has_its_training_distribution():
    rng = np.random.default_rng(3)
    before = pl.Series("x", rng.normal(size=2_000))
    now = pl.Series("x", [*rng.normal(3, 2, 1_500), *[None] * 500])
    moved = moved_back(now, profile_column(before), rng)
    assert moved.null_count() == 0
    assert stats.ks_2samp(before, moved).statistic < 0.03
    order = np.argsort(now.drop_nulls().to_numpy())
    assert (np.diff(moved[:1_500].to_numpy()[order]) >= 0).all()
    colors = pl.Series("c", ["red"] * 700 + ["blue"] * 200 + [None] * 100)
    changed = pl.Series("c", ["red"] * 100 + ["green"] * 300 + ["blue"] * 600)
    counts = moved_back(changed, profile_column(colors), rng).value_counts()
    assert dict(counts.iter_rows()) == pytest.approx({"red": 700, "blue": 200, None: 100}, abs=40)
    flags = moved_back(pl.Series("b", [True] * 50), profile_column(pl.Series("b", [True, False] * 50)), rng)
    assert flags.dtype == pl.Boolean


def test_the_expected_loss_of_a_calibrated_model_covers_the_real_one():
    rng = np.random.default_rng(4)
    metric, hits = class_metric("log_loss", np.array([0, 1])), 0
    for _ in range(60):
        p = rng.beta(2, 2, 1_000)
        reference = ScoreReference.of_rows(metric, (rng.uniform(size=1_000) < p).astype(int), np.stack([1 - p, p], 1))
        new = rng.beta(4, 2, 800)
        expected = ScoreReference.of_dict(reference.to_dict()).expect(metric, np.stack([1 - new, new], 1))
        real = metric((rng.uniform(size=800) < new).astype(int), np.stack([1 - new, new], 1))
        hits += expected.low <= real <= expected.high
    assert hits >= 52  # 95% of 60 are 57; fewer than 52 have a probability of 0.4%


def test_a_model_that_is_too_sure_does_not_promise_too_much():
    rng = np.random.default_rng(5)
    metric = class_metric("log_loss", np.array([0, 1]))
    p = rng.beta(2, 2, 5_000)
    odds = 3 * np.log(p / (1 - p))
    sure = 1 / (1 + np.exp(-odds))
    proba, y = np.stack([1 - sure, sure], 1), (rng.uniform(size=5_000) < p).astype(int)
    expected = ScoreReference.of_rows(metric, y[:2_500], proba[:2_500]).expect(metric, proba[2_500:])
    real = metric(y[2_500:], proba[2_500:])
    assert expected.low <= real <= expected.high
    naive = -(proba * np.log(proba)).sum(axis=1).mean()
    assert naive < expected.low


def test_errors_of_a_quantity_are_expected_by_bins_of_the_prediction():
    rng = np.random.default_rng(6)
    metric = value_metric("rmse")
    predicted = rng.uniform(0, 10, 4_000)
    y = predicted + rng.normal(size=4_000) * (1 + predicted)  # larger values have larger errors
    reference = ScoreReference.of_rows(metric, y, predicted)
    new = rng.uniform(8, 10, 3_000)
    real = metric(new + rng.normal(size=3_000) * (1 + new), new)
    found = reference.expect(metric, new)
    assert found.low <= real <= found.high
    assert found.value > 1.3 * metric(y, predicted)


def test_an_area_is_expected_by_drawing_labels():
    rng = np.random.default_rng(7)
    p = rng.beta(2, 2, 2_000)
    proba, metric = np.stack([1 - p, p], 1), class_metric("roc_auc", np.array([0, 1]))
    found = simulated_score(metric, proba, rng)
    assert found.low <= metric((rng.uniform(size=2_000) < p).astype(int), proba) <= found.high


@pytest.mark.parametrize("kind", [pl.Time(), pl.Duration("ms"), pl.Date(), pl.Datetime("ns", "Europe/Berlin")])
def test_dates_times_and_durations_are_profiled_and_moved(kind):
    days = pl.Series("t", np.arange(1, 41) * (1 if kind == pl.Date else 10**9)).cast(kind)
    profile = profile_column(days)
    assert (profile.kind, profile.n_missing) == ("number", 0)
    moved = moved_numbers(days, profile, np.random.default_rng(0))
    assert moved.dtype == kind
    assert moved.is_sorted()
    assert days.min() <= moved.min() <= moved.max() <= days.max()
