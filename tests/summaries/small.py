"""Summaries of small arrays, NaN for missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.data.view import view_of_array
from foldwise.summaries import LogMoments, Moments, Values
from foldwise.summaries.log_moments import log_moments_of
from foldwise.summaries.moments import moments_of
from foldwise.summaries.passes import ThreadShare
from foldwise.summaries.values import values_of


def accept(rows: Any, names: Any, row: int) -> None:
    """A check that refuses nothing."""


def array_of(cells: Any) -> Any:
    return np.ascontiguousarray(cells, dtype=np.float64)


def numbers_of(cells: Any) -> Any:
    array = array_of(cells)
    return view_of_array(array).numbers(range(array.shape[1]))


def small_moments(cells: Any, y: Any, n_classes: int, weights: Any = None) -> Moments:
    return moments_of(numbers_of(cells), ThreadShare.of(y, n_classes, weights))


def small_log_moments(cells: Any, y: Any, n_classes: int, weights: Any = None) -> LogMoments:
    return log_moments_of(numbers_of(cells), ThreadShare.of(y, n_classes, weights), accept)


def small_values(cells: Any, y: Any, n_classes: int, weights: Any = None) -> Values:
    array = array_of(cells)
    return values_of(view_of_array(array), range(array.shape[1]), ThreadShare.of(y, n_classes, weights), accept)
