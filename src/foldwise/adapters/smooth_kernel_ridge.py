"""The out-of-fold squared error of scikit-learn's `KernelRidge` as a smooth function of alpha and gamma.

With targets of -1 and 1 this is a least-squares support vector machine without an intercept.

Notes
-----
a = (K + αI)⁻¹ y. With v = (K + αI)⁻¹ ∂loss/∂a, d loss / d log α = -α v·a, and a change dK of the training kernel adds
-v·dK·a. For exp(-γD), dK / d log γ = -γ D∘K.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances, pairwise_kernels

from foldwise.adapters.smooth_penalties import dense, weights_of
from foldwise.adapters.smooth_ridge import as_columns
from foldwise.arrays import Floats
from foldwise.errors import InputError
from foldwise.tuning.smooth_losses import FoldTables

DISTANCES = {  # kernels exp(-gamma · distance)
    "rbf": lambda A, B: euclidean_distances(A, B, squared=True),
    "laplacian": manhattan_distances,
}


def smooth_names(estimator: Any) -> frozenset[str]:
    """The penalty alpha, unless each target has its own, and gamma of kernels that are exp(-gamma · distance)."""
    kernel = estimator.kernel
    if np.ndim(estimator.alpha) or callable(kernel) or kernel == "precomputed":
        return frozenset()
    return frozenset({"alpha", "gamma"} if kernel in DISTANCES else {"alpha"})


def open_smooth_loss(estimator: Any, folds: Sequence[FoldTables], names: Sequence[str]) -> KernelRidgeLoss:
    """The mean out-of-fold squared error."""
    return KernelRidgeLoss(estimator, [KernelFold(estimator, fold) for fold in folds])


class KernelFold:
    """One split of kernel ridge regression."""

    def __init__(self, estimator: Any, fold: FoldTables) -> None:
        self.X, self.X_test = dense(fold.X_train), dense(fold.X_test)
        self.Y, self.Y_test = as_columns(fold.y_train), as_columns(fold.y_test)  # (n, m)
        self.root = np.sqrt(weights_of(fold, estimator))

    def loss_and_gradient(
        self, alpha: float, kernels: tuple[Floats, Floats]
    ) -> tuple[float, float, tuple[Floats, Floats]]:
        """Compute the test loss, its derivative by log alpha, and those by the cells of both kernels.

        `kernels` are those of training rows (n, n), and of test and training rows (t, n).
        """
        K, K_test = kernels
        A = K * self.root[:, None] * self.root
        A[np.diag_indices(len(A))] += alpha
        factor = cho_factor(A, lower=True)
        root = self.root[:, None]
        dual = root * cho_solve(factor, root * self.Y)  # (n, m)
        error = K_test @ dual - self.Y_test
        by_prediction = 2 * error / error.size
        # w.r.t. the dual coefficients before they are multiplied by the roots of the weights
        v = cho_solve(factor, root * (K_test.T @ by_prediction))
        unscaled = cho_solve(factor, root * self.Y)
        by_alpha = -alpha * float((v * unscaled).sum())
        return float(np.mean(error**2)), by_alpha, (-(root * v) @ dual.T, by_prediction @ dual.T)


class KernelRidgeLoss:
    """The mean loss over splits."""

    def __init__(self, estimator: Any, folds: Sequence[KernelFold]) -> None:
        self.estimator, self.folds = estimator, folds
        self.exponential = estimator.kernel in DISTANCES
        self._distances: list[tuple[Floats, Floats]] = []  # for factors of 1

    def loss_and_gradient(self, values: Mapping[str, float]) -> tuple[float, dict[str, float]]:
        alpha = float(values.get("alpha", self.estimator.alpha))
        answers = []
        if not self.exponential:
            for fold in self.folds:
                loss, by_alpha, _ = fold.loss_and_gradient(alpha, self._other_kernels(fold))
                answers.append((loss, by_alpha, 0.0))
        else:
            if not self._distances:
                measure = DISTANCES[self.estimator.kernel]
                self._distances = [(measure(fold.X, fold.X), measure(fold.X_test, fold.X)) for fold in self.folds]
            for fold, (D, D_test) in zip(self.folds, self._distances, strict=True):
                gamma = self._gamma(values, fold)
                kernels = np.exp(-gamma * D), np.exp(-gamma * D_test)
                loss, by_alpha, by_kernel = fold.loss_and_gradient(alpha, kernels)
                by_gamma = -gamma * sum(
                    float((G * K * d).sum()) for G, K, d in zip(by_kernel, kernels, (D, D_test), strict=True)
                )
                answers.append((loss, by_alpha, by_gamma))
        loss, by_alpha, by_gamma = np.mean(answers, axis=0).tolist()
        return loss, {"alpha": by_alpha, "gamma": by_gamma}

    def with_factors(self, values: Mapping[str, float], factors: Floats) -> tuple[float, dict[str, float], Floats]:
        """Compute the loss if the squared distance of each column is divided by its factor (RBF kernel only)."""
        if self.estimator.kernel != "rbf":
            raise InputError(
                f"penalty factors of KernelRidge are smooth with kernel='rbf' only, got {self.estimator.kernel!r}.",
                "pass kernel='rbf'.",
            )
        alpha, root = float(values.get("alpha", self.estimator.alpha)), np.sqrt(factors)
        answers, by_factor = [], []
        for fold in self.folds:
            gamma = self._gamma(values, fold)
            A, B = fold.X / root, fold.X_test / root
            D = euclidean_distances(A, A, squared=True), euclidean_distances(B, A, squared=True)
            kernels = np.exp(-gamma * D[0]), np.exp(-gamma * D[1])
            loss, by_alpha, by_kernel = fold.loss_and_gradient(alpha, kernels)
            cells = [G * K for G, K in zip(by_kernel, kernels, strict=True)]
            parts = [column_sums(W, left, A) for W, left in zip(cells, (A, B), strict=True)]  # of squared distances
            by_column = gamma * (parts[0] + parts[1])
            by_factor.append(by_column)
            answers.append((loss, by_alpha, -float(by_column.sum())))
        loss, by_alpha, by_gamma = np.mean(answers, axis=0).tolist()
        return loss, {"alpha": by_alpha, "gamma": by_gamma}, np.mean(by_factor, axis=0)

    def _gamma(self, values: Mapping[str, float], fold: KernelFold) -> float:
        own = self.estimator.gamma
        return float(values.get("gamma", 1.0 / fold.X.shape[1] if own is None else own))

    def _other_kernels(self, fold: KernelFold) -> tuple[Floats, Floats]:
        one = self.estimator
        options = {"gamma": one.gamma, "degree": one.degree, "coef0": one.coef0}
        options = {**options, **(one.kernel_params or {})}
        K, K_test = (
            pairwise_kernels(rows, fold.X, metric=one.kernel, filter_params=True, **options)
            for rows in (fold.X, fold.X_test)
        )
        return K, K_test


def column_sums(W: Floats, A: Floats, B: Floats) -> Floats:
    """Σ W_ik (A_ij - B_kj)² for each column j."""
    return np.asarray((W.sum(axis=1) @ A**2) + (W.sum(axis=0) @ B**2) - 2 * np.einsum("ij,ij->j", A, W @ B))
