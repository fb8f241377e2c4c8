"""Cached logarithms are bitwise equal to those of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from foldwise.folds.sums import CountLogs


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("most", [5, 40, 5000])  # 40 and 5000: below and beyond what is remembered
def test_logarithms_of_counts_are_those_of_numpy(whole, most, rng):
    alpha = np.array([1e-300, 1e-3, 0.5, 1.0, 77.7, 1e9])
    logs = CountLogs(alpha)
    for _ in range(5):
        counts = rng.integers(0, most, (21, 3)).astype(float) + (0.0 if whole else 0.25)
        lines, index = logs.of(counts, whole=whole)
        np.testing.assert_array_equal(lines[index], np.log(counts[:, :, None] + alpha))


def test_a_count_of_nothing_without_smoothing_is_impossible():
    lines, index = CountLogs(np.array([0.0])).of(np.zeros((2, 2)), whole=True)
    assert (lines[index] == -np.inf).all()
