"""Target encoding: replace categories with smoothed class rates, or with smoothed means of a quantity.

The training rows of each fold are encoded with the rates of the other folds. Otherwise a rare category would reveal its
own label. scikit-learn's `TargetEncoder` fails or warns if a class has fewer rows than folds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.data.target import encode_target, number_target
from foldwise.folds.rows import dealt_folds


class SmoothedEncoder(TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of both encoders; `values_` holds the sorted values of each column."""

    values_: list[Floats]

    def __init__(self, *, smooth: float = 10.0, cv: int = 5) -> None:
        self.smooth = smooth
        self.cv = cv

    @abstractmethod
    def tables(self) -> list[Floats]:  # (values + 1, outputs) each
        """Return what each value of a column is encoded as; the last row is for unknown values."""

    def transform(self, X: Any) -> Floats:
        """Encode each category by all training rows."""
        check_is_fitted(self)
        indices = self._indices(np.asarray(X, dtype=np.float64))
        return np.hstack([table[index] for table, index in zip(self.tables(), indices, strict=True)])

    def _indices(self, cells: Floats) -> list[NDArray[np.intp]]:
        """Return the index of each cell among the values of its column."""
        return [value_indices(column, values) for column, values in zip(cells.T, self.values_, strict=True)]


class ClassRateEncoder(SmoothedEncoder):
    """Encode each column of codes as one column per class but the first: (n_c + smooth·P(c)) / (n + smooth).

    Missing values are a category of their own, and unknown categories get the class rates of all rows. `fit_transform`
    encodes each of `cv` folds with the rates of the others; the rows of each class are assigned to folds in turn.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Count the classes of each category."""
        cells = np.asarray(X, dtype=np.float64)
        target = encode_target(y, len(cells))
        self.n_features_in_ = cells.shape[1]
        self.n_classes_ = len(target.classes)
        self.values_ = []
        self.counts_: list[Floats] = []
        for column in cells.T:
            values, codes = np.unique(column, return_inverse=True)  # NaN is one value
            self.values_.append(values)
            self.counts_.append(count(codes, target.codes, len(values), self.n_classes_))
        self.totals_ = np.bincount(target.codes, minlength=self.n_classes_).astype(np.float64)
        return self

    def tables(self) -> list[Floats]:
        """Return the class rates of each value, without those of the first class."""
        return [self._rates(counts, self.totals_)[:, 1:] for counts in self.counts_]

    def fit_transform(self, X: Any, y: Any) -> Floats:
        """Return the class rates of each category among the rows of the other folds."""
        self.fit(X, y)
        cells, classes = np.asarray(X, dtype=np.float64), encode_target(y, len(X)).codes
        fold = dealt_folds(classes, self.cv)
        out = np.empty((len(cells), self.n_features_in_, self.n_classes_ - 1))
        indices = self._indices(cells)
        for k in range(self.cv):
            rows = np.flatnonzero(fold == k)
            if not rows.size:
                continue
            own = np.bincount(classes[rows], minlength=self.n_classes_)
            for j, (index, counts) in enumerate(zip(indices, self.counts_, strict=True)):
                others = counts - count(index[rows], classes[rows], len(counts), self.n_classes_)
                out[rows, j] = self._rates(others, self.totals_ - own)[index[rows], 1:]
        return out.reshape(len(cells), -1)

    def _rates(self, counts: Floats, totals: Floats) -> Floats:  # (values + 1, classes), the last for unknown values
        prior = (totals + 1.0) / (totals.sum() + len(totals))
        known = (counts + self.smooth * prior) / (counts.sum(axis=1, keepdims=True) + self.smooth)
        return np.vstack([known, prior])


class MeanEncoder(SmoothedEncoder):
    """Encode each column of codes as the mean of the target: (sum + smooth·mean) / (n + smooth).

    Missing values are a category of their own, and unknown categories get the mean of all rows. `fit_transform` encodes
    each of `cv` folds with the means of the others; rows are assigned to folds in turn, in the order of the target.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Sum the target over the rows of each category."""
        cells = np.asarray(X, dtype=np.float64)
        truth = number_target(y, len(cells))
        self.n_features_in_ = cells.shape[1]
        self.mean_ = float(truth.mean())
        self.values_ = []
        self.counts_: list[Floats] = []
        self.sums_: list[Floats] = []  # of differences from the mean, so that nothing cancels
        for column in cells.T:
            values, codes = np.unique(column, return_inverse=True)  # NaN is one value
            codes = codes.reshape(-1)
            self.values_.append(values)
            self.counts_.append(summed(codes, np.ones(len(codes)), len(values)))
            self.sums_.append(summed(codes, truth - self.mean_, len(values)))
        return self

    def tables(self) -> list[Floats]:
        """Return the smoothed mean of each value."""
        return [self._means(*pair)[:, None] for pair in zip(self.sums_, self.counts_, strict=True)]

    def fit_transform(self, X: Any, y: Any) -> Floats:
        """Return the smoothed mean of each category among the rows of the other folds."""
        self.fit(X, y)
        cells = np.asarray(X, dtype=np.float64)
        errors = number_target(y, len(cells)) - self.mean_
        fold = dealt_folds(errors, self.cv)
        out = np.empty((len(cells), self.n_features_in_))
        for j, (index, values) in enumerate(zip(self._indices(cells), self.values_, strict=True)):
            for k in range(self.cv):
                own, others = fold == k, fold != k
                counts = summed(index[others], np.ones(int(others.sum())), len(values))
                sums = summed(index[others], errors[others], len(values))
                center = float(errors[others].mean()) if others.any() else 0.0
                out[own, j] = self._means(sums, counts, center)[index[own]]
        return out

    def _means(self, sums: Floats, counts: Floats, center: float = 0.0) -> Floats:  # (values + 1,), last: unknown
        known = (sums + self.smooth * center) / (counts + self.smooth)
        return self.mean_ + np.append(known, center)


def summed(codes: NDArray[Any], amounts: Floats, n_values: int) -> Floats:
    """Sum amounts over the rows of each value."""
    return np.bincount(codes, amounts, minlength=n_values).astype(np.float64)


def count(codes: NDArray[Any], classes: NDArray[np.int64], n_values: int, n_classes: int) -> Floats:
    """Count the rows of each value and class."""
    flat = np.bincount(codes.reshape(-1) * n_classes + classes, minlength=n_values * n_classes)
    return flat.reshape(n_values, n_classes).astype(np.float64)


def value_indices(column: Floats, values: Floats) -> NDArray[np.intp]:
    """Return the index of each cell among sorted values, NaN last; len(values) for other values."""
    index: NDArray[np.intp] = np.minimum(np.searchsorted(values, column), max(len(values) - 1, 0))
    found = values[index]
    known = (found == column) | (np.isnan(found) & np.isnan(column))
    return np.where(known, index, len(values))
