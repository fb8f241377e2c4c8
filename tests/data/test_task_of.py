"""The rule that decides between classes and a quantity."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise.data.target import task_of
from foldwise.errors import InputError


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["yes", "no"], "classification"),
        ([True, False], "classification"),
        (list(range(20)), "classification"),
        (list(range(21)), "regression"),
        ([1.0, 2.0, 2.0], "classification"),
        ([1.0, 2.5, 2.0], "regression"),
        ([1.0, None, 2.5], "regression"),
        ([1.0, float("nan"), 2.0], "classification"),
        ([f"row {i}" for i in range(50)], "classification"),
    ],
)
def test_more_than_20_numbers_or_decimals_are_a_quantity(y, task):
    for form in (y, np.array(y, dtype=object), pl.Series(y, strict=False)):
        assert task_of(form) == task


def test_the_task_can_be_chosen():
    assert task_of([1, 2, 3], "regression") == "regression"
    assert task_of(np.linspace(0, 1, 50), "classification") == "classification"
    with pytest.raises(InputError, match="task must be 'classification' or 'regression', got 'ranking'"):
        task_of([1, 2, 3], "ranking")
    with pytest.raises(InputError, match="the target y is None"):
        task_of(None)
