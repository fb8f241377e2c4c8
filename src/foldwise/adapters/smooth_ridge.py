"""The out-of-fold squared error of scikit-learn's `Ridge` and `RidgeClassifier` as a smooth function of alpha.

The target of the classifier is 1 for the class and -1 for the others, as in its own fit.

Notes
-----
w = A⁻¹ XᵀSy with A = XᵀSX + diag(λ), so d loss / d log λ_j = -(A⁻¹ ∂loss/∂w)_j · λ_j w_j.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import is_classifier
from sklearn.utils.class_weight import compute_sample_weight

from foldwise.adapters.smooth_penalties import LinearLoss, dense, weights_of
from foldwise.arrays import Floats
from foldwise.tuning.smooth_losses import FoldTables


def smooth_names(estimator: Any) -> frozenset[str]:
    """The penalty alpha, unless coefficients must be positive, which makes the loss have kinks."""
    return frozenset() if estimator.positive or np.ndim(estimator.alpha) else frozenset({"alpha"})


def open_smooth_loss(estimator: Any, folds: Sequence[FoldTables], names: Sequence[str]) -> LinearLoss:
    """The mean out-of-fold squared error."""
    opened = [RidgeFold.of(estimator, fold) for fold in folds]
    return LinearLoss(opened, "alpha", float(estimator.alpha), inverse=False)


class RidgeFold:
    """One split: centered training rows times the roots of their weights, and centered test rows."""

    def __init__(self, X: Floats, Y: Floats, X_test: Floats, Y_test: Floats) -> None:
        self.X, self.Y, self.X_test, self.Y_test = X, Y, X_test, Y_test  # targets (n, m)
        self.n_columns = X.shape[1]
        self.wide = X.shape[1] > X.shape[0]
        self.gram = np.empty((0, 0)) if self.wide else X.T @ X
        self.moment = X.T @ Y

    @classmethod
    def of(cls, estimator: Any, fold: FoldTables) -> RidgeFold:
        """Read the rows of a split."""
        weight = weights_of(fold, estimator)
        if is_classifier(estimator):
            classes = np.unique(fold.y_train)
            Y, Y_test = (signs(y, classes) for y in (fold.y_train, fold.y_test))
            if estimator.class_weight is not None:
                weight = weight * compute_sample_weight(estimator.class_weight, fold.y_train)
        else:
            Y, Y_test = (as_columns(y) for y in (fold.y_train, fold.y_test))
        X, X_test = dense(fold.X_train), dense(fold.X_test)
        if estimator.fit_intercept:
            centers = [np.average(part, axis=0, weights=weight) for part in (X, Y)]
            X, X_test, Y, Y_test = X - centers[0], X_test - centers[0], Y - centers[1], Y_test - centers[1]
        root = np.sqrt(weight)[:, None]
        return cls(root * X, root * Y, X_test, Y_test)

    def loss_and_gradient(self, penalty: Floats) -> tuple[float, Floats]:
        """Compute the test loss and its derivatives by the logarithms of the penalties (d,)."""
        column = penalty[:, None]
        if self.wide:  # Woodbury: A⁻¹ = Λ⁻¹ - Λ⁻¹Xᵀ(I + XΛ⁻¹Xᵀ)⁻¹XΛ⁻¹
            scaled = self.X / penalty
            inner = cho_factor(np.eye(len(self.X)) + scaled @ self.X.T, lower=True)

            def solve(V: Floats) -> Floats:
                return V / column - scaled.T @ cho_solve(inner, scaled @ V)
        else:
            factor = cho_factor(self.gram + np.diag(penalty), lower=True)

            def solve(V: Floats) -> Floats:
                return np.asarray(cho_solve(factor, V))

        w = solve(self.moment)
        error = self.X_test @ w - self.Y_test
        by_w = 2 * self.X_test.T @ error / error.size
        return float(np.mean(error**2)), -(solve(by_w) * column * w).sum(axis=1)


def signs(y: Any, classes: Any) -> Floats:
    """1 for the class and -1 for the others, in one column per class, or in one for two classes."""
    found = np.where(np.asarray(y)[:, None] == classes, 1.0, -1.0)
    return found[:, 1:] if len(classes) == 2 else found


def as_columns(y: Any) -> Floats:
    """Targets as an array (n, m)."""
    values = np.asarray(y, dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values
