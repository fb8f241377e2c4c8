"""Remembered logarithms are those taken anew, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from foldwise.folds.sums import CountLogs, PriorLogs


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("most", [5, 40, 5000])  # 40 and 5000: below and beyond what is remembered
def test_logarithms_of_counts_are_those_of_numpy(whole, most, rng):
    alpha = np.array([1e-300, 1e-3, 0.5, 1.0, 77.7, 1e9])
    logs = CountLogs(alpha)
    for _ in range(5):
        counts = rng.integers(0, most, (21, 3)).astype(float) + (0.0 if whole else 0.25)
        lines, place = logs.of(counts, whole=whole)
        np.testing.assert_array_equal(lines[place], np.log(counts[:, :, None] + alpha))


def test_a_count_of_nothing_without_smoothing_is_impossible():
    lines, place = CountLogs(np.array([0.0])).of(np.zeros((2, 2)), whole=True)
    assert (lines[place] == -np.inf).all()


def test_priors_are_made_once_for_each_key_and_few_are_kept():
    made = []

    def prior(i):
        made.append(i)
        return np.full((2, 1), float(i))

    logs = PriorLogs()
    for i in (1, 2, 1, 2):
        assert logs.of(bytes([i]), lambda i=i: prior(i))[0, 0] == i
    assert made == [1, 2]
    for i in range(100):
        logs.of(bytes([i]), lambda i=i: prior(i))
    assert len(logs._known) <= PriorLogs.MOST


def test_what_raises_is_asked_again():
    logs = PriorLogs()
    with pytest.raises(ZeroDivisionError):
        logs.of(b"x", lambda: 1 / 0)
    assert logs.of(b"x", lambda: np.ones((2, 1))).sum() == 2
