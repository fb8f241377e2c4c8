"""Ties: scores that agree within the tolerance have the same rank, and the first of them is chosen."""

from __future__ import annotations

import numpy as np
import pytest

from foldwise.folds.protocol import Labels, TargetValues
from foldwise.folds.tolerance import first_best, ranks, tie_unit
from tests.searches import tied_ranks


def test_the_first_of_tied_scores_wins():
    assert first_best([0.3, 0.9 - 1e-12, 0.9, 0.9 + 1e-12]) == 1
    assert first_best([0.3, 0.9 - 1e-8, 0.9, 0.9 + 1e-12]) == 2
    assert first_best(-np.array([1e6, 1e6 + 1e-6, 1e6 - 1e-6])) == 0  # relative to large scores
    assert first_best([np.nan, 0.1, 0.2, np.nan]) == 2
    assert first_best([np.nan, -np.inf]) == 0  # no score is a number that can win
    assert first_best([[0.1, 0.2], [0.2, 0.1], [0.2, 0.2 + 1e-13]]).tolist() == [1, 0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_the_first_best_score_is_the_first_of_rank_one(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(6, size=40) / 5 + rng.uniform(-1e-12, 1e-12, size=40)
    scores[rng.integers(40, size=3)] = np.nan
    found = ranks(scores)
    np.testing.assert_array_equal(found, tied_ranks(scores))
    assert first_best(scores) == found.argmin()


def test_failed_settings_come_last_however_large_the_scores_are():
    assert ranks([np.nan, -1e12, -2e12, np.nan]).tolist() == [3, 1, 2, 3]
    assert ranks([np.nan, np.nan]).tolist() == [1, 1]
    assert ranks([-np.inf, -1.0, np.nan]).tolist() == [2, 1, 3]


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1.0, 1e7])
def test_the_unit_of_a_quantity_does_not_matter(scale):
    """Squared errors in kilometers instead of millimeters are not all tied."""
    errors = np.array([2.0, 1.5, 1.0, 1.0 - 1e-12, 1.2]) * scale**2
    unit = tie_unit(TargetValues(np.array([-1.0, 0.0, 2.0]) * scale))
    assert first_best(-errors, unit) == 2
    assert ranks(-errors, unit).tolist() == [5, 4, 1, 1, 3]


def test_errors_that_are_rounding_only_are_tied():
    """Perfect predictions: the errors are far below the standard deviation of the target."""
    values = np.arange(10.0)
    assert first_best([-3e-28, -1e-29, -2e-28], tie_unit(TargetValues(values))) == 0


def test_classes_have_no_unit():
    assert tie_unit(Labels(np.array([0, 1]), np.array([0, 1, 1]))) == tie_unit(None) == 1.0
    assert tie_unit(TargetValues(np.array([1.0, 3.0, 100.0])), np.array([0, 1])) == 1.0
