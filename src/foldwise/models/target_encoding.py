"""Target encoding: codes of categories become smoothed class rates of their rows.

Training rows are encoded by other rows: each of a few folds by the rest. Otherwise a rare category would reveal its own
label. (scikit-learn's `TargetEncoder` fails or warns where a class has fewer rows than folds.)
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.data.target import encode_target

Floats = NDArray[np.float64]


class ClassRateEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode each column of codes as one column per class but the first: (n_c + smooth·P(c)) / (n + smooth).

    Missing values are a category of their own; an unknown category has the class rates of all rows. `fit_transform`
    encodes each of `cv` folds by the others; the rows of each class are assigned to folds in turn.
    """

    def __init__(self, *, smooth: float = 10.0, cv: int = 5) -> None:
        self.smooth = smooth
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:
        """Count classes in each category."""
        cells = np.asarray(X, dtype=np.float64)
        target = encode_target(y, len(cells))
        self.n_features_in_ = cells.shape[1]
        self.n_classes_ = len(target.classes)
        self.values_: list[Floats] = []
        self.counts_: list[Floats] = []
        for column in cells.T:
            values, codes = np.unique(column, return_inverse=True)  # NaN is one value
            self.values_.append(values)
            self.counts_.append(count(codes, target.codes, len(values), self.n_classes_))
        self.totals_ = np.bincount(target.codes, minlength=self.n_classes_).astype(np.float64)
        return self

    def transform(self, X: Any) -> Floats:
        """The class rates among all training rows."""
        check_is_fitted(self)
        cells = np.asarray(X, dtype=np.float64)
        rates = [self._rates(counts, self.totals_) for counts in self.counts_]
        places = [value_indices(column, values) for column, values in zip(cells.T, self.values_, strict=True)]
        return np.hstack([table[place][:, 1:] for table, place in zip(rates, places, strict=True)])

    def fit_transform(self, X: Any, y: Any) -> Floats:
        """The class rates of each row's category among the rows of the other folds."""
        self.fit(X, y)
        cells, classes = np.asarray(X, dtype=np.float64), encode_target(y, len(X)).codes
        fold = assign_folds(classes, self.cv)
        out = np.empty((len(cells), self.n_features_in_, self.n_classes_ - 1))
        places = [value_indices(column, values) for column, values in zip(cells.T, self.values_, strict=True)]
        for k in range(self.cv):
            rows = np.flatnonzero(fold == k)
            if not rows.size:
                continue
            own = np.bincount(classes[rows], minlength=self.n_classes_)
            for j, (place, counts) in enumerate(zip(places, self.counts_, strict=True)):
                others = counts - count(place[rows], classes[rows], len(counts), self.n_classes_)
                out[rows, j] = self._rates(others, self.totals_ - own)[place[rows], 1:]
        return out.reshape(len(cells), -1)

    def _rates(self, counts: Floats, totals: Floats) -> Floats:  # (values + 1, classes), the last for unknown values
        prior = (totals + 1.0) / (totals.sum() + len(totals))
        known = (counts + self.smooth * prior) / (counts.sum(axis=1, keepdims=True) + self.smooth)
        return np.vstack([known, prior])


def count(codes: NDArray[Any], classes: NDArray[np.int64], n_values: int, n_classes: int) -> Floats:
    """Rows of each value and class."""
    flat = np.bincount(codes.reshape(-1) * n_classes + classes, minlength=n_values * n_classes)
    return flat.reshape(n_values, n_classes).astype(np.float64)


def value_indices(column: Floats, values: Floats) -> NDArray[np.intp]:
    """The index of each cell among sorted values, NaN last; len(values) where it is not among them."""
    place: NDArray[np.intp] = np.minimum(np.searchsorted(values, column), max(len(values) - 1, 0))
    found = values[place]
    known = (found == column) | (np.isnan(found) & np.isnan(column))
    return np.where(known, place, len(values))


def assign_folds(classes: NDArray[np.int64], n_folds: int) -> NDArray[np.int64]:
    """A fold for each row: the rows of each class in turn."""
    order = np.argsort(classes, kind="stable")
    fold = np.empty(len(classes), dtype=np.int64)
    fold[order] = np.arange(len(classes)) % n_folds
    return fold
