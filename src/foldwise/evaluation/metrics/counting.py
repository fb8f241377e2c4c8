"""How often each label was given to each truth, for all settings at once: the compiled loops under the label metrics.

Labels come as (settings, rows), often as the transposed view of a (rows, settings) array; each layout has its loop, so
that neighbors in memory are read together. Cells are added in the order of rows, as scikit-learn adds them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Codes = NDArray[np.integer[Any]]
Ints = NDArray[np.int64]
Amounts = NDArray[Any]  # whole numbers, or weights

STRETCH = 255  # rows counted in one byte before they are added up


def count_right(labels: Codes, truth: Codes, n_classes: int) -> Ints:  # (settings,)
    """How many labels of each setting are right."""
    labels, truth = comparable(labels, truth, n_classes)
    if by_rows(labels):
        return np.asarray(_right_by_rows(labels.T, truth))
    return np.asarray(_right_by_settings(labels, truth))


def count_pairs(labels: Codes, truth: Codes, n_classes: int) -> Ints:  # (settings, truth, label)
    """How many rows of each truth got each label."""
    return weigh_pairs(labels, truth, n_classes, np.ones(len(truth), dtype=np.int64))


def weigh_pairs(labels: Codes, truth: Codes, n_classes: int, weights: Amounts) -> Amounts:  # (settings, truth, label)
    """How much weight the rows of each truth have that got each label."""
    labels, truth = comparable(labels, truth, n_classes)
    sums = np.zeros((len(labels), n_classes, n_classes), dtype=weights.dtype)
    if by_rows(labels):
        _add_by_rows(labels.T, truth, weights, sums)
    else:
        _add_by_settings(labels, truth, weights, sums)
    return sums


def comparable(labels: Codes, truth: Codes, n_classes: int) -> tuple[Codes, Codes]:
    """Both in one type and in one of the two layouts."""
    if n_classes > 1 << 8 * labels.itemsize - 1:  # a truth may be beyond the type of the labels
        labels = labels.astype(np.int64)
    if not (labels.flags.c_contiguous or labels.T.flags.c_contiguous):
        labels = np.ascontiguousarray(labels)
    return labels, np.ascontiguousarray(truth, dtype=labels.dtype)


def by_rows(labels: Codes) -> bool:
    """Whether the settings of one row lie together."""
    return not labels.flags.c_contiguous


@njit(nogil=True, cache=True)
def _right_by_rows(labels: Codes, truth: Codes) -> Ints:
    n_rows, n_settings = labels.shape
    right = np.zeros(n_settings, np.int64)
    few = np.zeros(n_settings, np.uint8)  # bytes: many settings fit one instruction
    for start in range(0, n_rows, STRETCH):
        few[:] = 0
        for i in range(start, min(start + STRETCH, n_rows)):
            true = truth[i]
            for s in range(n_settings):
                few[s] += np.uint8(labels[i, s] == true)
        for s in range(n_settings):
            right[s] += few[s]
    return right


@njit(nogil=True, cache=True)
def _right_by_settings(labels: Codes, truth: Codes) -> Ints:
    n_settings, n_rows = labels.shape
    right = np.zeros(n_settings, np.int64)
    for s in range(n_settings):
        found = 0
        for i in range(n_rows):
            found += labels[s, i] == truth[i]
        right[s] = found
    return right


@njit(nogil=True, cache=True)
def _add_by_rows(labels: Codes, truth: Codes, amounts: Amounts, sums: Amounts) -> None:
    n_rows, n_settings = labels.shape
    for i in range(n_rows):
        true, amount = truth[i], amounts[i]
        for s in range(n_settings):
            sums[s, true, labels[i, s]] += amount


@njit(nogil=True, cache=True)
def _add_by_settings(labels: Codes, truth: Codes, amounts: Amounts, sums: Amounts) -> None:
    n_settings, n_rows = labels.shape
    for s in range(n_settings):
        for i in range(n_rows):
            sums[s, truth[i], labels[s, i]] += amounts[i]
