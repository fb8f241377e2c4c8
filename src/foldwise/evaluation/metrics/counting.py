"""Confusion matrices of all settings at once: the compiled loops behind metrics of labels.

Labels have the shape (settings, rows), often as a transposed view of a (rows, settings) array. Each memory layout has
its own loop, so that memory is read sequentially. Rows are added in order, as in scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.arrays import Codes, Ints

Amounts = NDArray[Any]  # integers, or weights

STRETCH = 255  # rows counted in one byte before the counts are summed


def count_right(labels: Codes, truth: Codes, n_classes: int) -> Ints:  # (settings,)
    """Count the correct labels of each setting."""
    labels, truth = comparable(labels, truth, n_classes)
    if by_rows(labels):
        return np.asarray(_right_by_rows(labels.T, truth))
    return np.asarray(_right_by_settings(labels, truth))


def count_pairs(labels: Codes, truth: Codes, n_classes: int) -> Ints:  # (settings, truth, label)
    """Count rows by true and predicted class."""
    return weigh_pairs(labels, truth, n_classes, np.ones(len(truth), dtype=np.int64))


def weigh_pairs(labels: Codes, truth: Codes, n_classes: int, weights: Amounts) -> Amounts:  # (settings, truth, label)
    """Sum the weights of rows by true and predicted class."""
    labels, truth = comparable(labels, truth, n_classes)
    sums = np.zeros((len(labels), n_classes, n_classes), dtype=weights.dtype)
    if by_rows(labels):
        _add_by_rows(labels.T, truth, weights, sums)
    else:
        _add_by_settings(labels, truth, weights, sums)
    return sums


def comparable(labels: Codes, truth: Codes, n_classes: int) -> tuple[Codes, Codes]:
    """Convert labels and truth to one type and to one of the two layouts."""
    if n_classes > 1 << 8 * labels.itemsize - 1:  # the integer type of the labels may be too small for a true class
        labels = labels.astype(np.int64)
    if not (labels.flags.c_contiguous or labels.T.flags.c_contiguous):
        labels = np.ascontiguousarray(labels)
    return labels, np.ascontiguousarray(truth, dtype=labels.dtype)


def by_rows(labels: Codes) -> bool:
    """Whether the settings of a row are adjacent in memory."""
    return not labels.flags.c_contiguous


@njit(nogil=True, cache=True)
def _right_by_rows(labels: Codes, truth: Codes) -> Ints:
    n_rows, n_settings = labels.shape
    right = np.zeros(n_settings, np.int64)
    few = np.zeros(n_settings, np.uint8)  # one instruction handles many bytes
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
