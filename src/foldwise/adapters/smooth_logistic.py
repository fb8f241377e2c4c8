"""The out-of-fold log loss of scikit-learn's `LogisticRegression` as a smooth function of C.

Notes
-----
The coefficients w(λ) minimize Σ s_i · loss_i + ½ Σ λ_j w_j², with λ_j = factor_j / C. With H the Hessian there, the
implicit function theorem gives d loss / d log λ_j = -(H⁻¹ ∂loss/∂w)_j · λ_j w_j: one linear solve per split.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import log_softmax
from sklearn.utils.class_weight import compute_class_weight

from foldwise.adapters.smooth_penalties import LinearLoss, dense, weights_of
from foldwise.arrays import Floats
from foldwise.errors import InputError
from foldwise.evaluation.metrics.probabilities import LARGEST_LOG_LOSS
from foldwise.tuning.smooth_losses import FoldTables, codes_among

MOST_DENSE = 2_000  # coefficients up to which the Hessian is built; beyond, conjugate gradients multiply by it
CHUNK_CELLS = 1 << 20
MOST_NEWTON = 100  # steps


def smooth_names(estimator: Any) -> frozenset[str]:
    """C, unless an L1 penalty makes the loss have kinks, or liblinear penalizes the intercept."""
    l2 = estimator.penalty in ("deprecated", "l2") and not estimator.l1_ratio
    return frozenset({"C"}) if l2 and estimator.solver != "liblinear" else frozenset()


def open_smooth_loss(estimator: Any, folds: Sequence[FoldTables], names: Sequence[str]) -> LinearLoss:
    """The mean out-of-fold log loss."""
    opened = [LogisticFold.of(estimator, fold) for fold in folds]
    return LinearLoss(opened, "C", float(estimator.C), inverse=True)


class LogisticFold:
    """One split: the fit by Newton's method, which starts from the last solution, and the test loss."""

    def __init__(self, Z: Floats, Y: Floats, weight: Floats, Z_test: Floats, codes: Any, intercept: bool) -> None:
        self.Z, self.Y, self.weight = Z, Y, weight  # (n, p), (n, m) with m = 1 for two classes, (n,)
        self.Z_test, self.codes, self.intercept = Z_test, codes, intercept  # code -1: not among the training rows
        self.n_columns = Z.shape[1] - intercept
        self.theta = np.zeros((Y.shape[1], Z.shape[1]))

    @classmethod
    def of(cls, estimator: Any, fold: FoldTables) -> LogisticFold:
        """Read the rows of a split."""
        classes, codes = np.unique(fold.y_train, return_inverse=True)
        if len(classes) < 2:
            raise InputError(
                f"logistic regression needs at least two classes in each training set, got only {classes[0]!r}.",
                "use fewer or stratified folds.",
            )
        weight = weights_of(fold, estimator)
        if estimator.class_weight is not None:
            by_class = compute_class_weight(
                estimator.class_weight, classes=classes, y=fold.y_train, sample_weight=weight
            )
            weight = weight * by_class[codes]
        tables = [dense(fold.X_train), dense(fold.X_test)]
        if estimator.fit_intercept:
            tables = [np.column_stack([table, np.ones(len(table))]) for table in tables]
        Y = np.eye(len(classes))[codes][:, 1 if len(classes) == 2 else 0 :]
        return cls(tables[0], Y, weight, tables[1], codes_among(classes, fold.y_test), bool(estimator.fit_intercept))

    def loss_and_gradient(self, penalty: Floats) -> tuple[float, Floats]:
        """Compute the test loss and its derivatives by the logarithms of the penalties (d,)."""
        whole = np.append(penalty, 0.0) if self.intercept else penalty  # (p,)
        solve = self._fit(whole)
        log_p = log_probabilities(self.Z_test @ self.theta.T)
        losses = np.where(self.codes < 0, LARGEST_LOG_LOSS, -log_p[np.arange(len(log_p)), self.codes])
        residual = np.exp(log_p) - np.eye(log_p.shape[1])[self.codes]
        residual[losses >= LARGEST_LOG_LOSS] = 0.0  # clipped: constant
        by_theta = residual[:, -self.Y.shape[1] :].T @ self.Z_test / len(losses)
        by_penalty = -(solve(by_theta) * whole * self.theta).sum(axis=0)
        return float(losses.clip(max=LARGEST_LOG_LOSS).mean()), by_penalty[: self.n_columns]

    def _fit(self, penalty: Floats) -> Callable[[Floats], Floats]:
        """Minimize the training loss. Returns the product with the inverse Hessian at the minimum."""
        theta = self.theta
        value = self._objective(theta, penalty)
        for _ in range(MOST_NEWTON):
            P = np.exp(log_probabilities(self.Z @ theta.T))[:, -self.Y.shape[1] :]
            gradient = ((P - self.Y) * self.weight[:, None]).T @ self.Z + penalty * theta
            solve = self._solver(P, penalty)
            step = solve(gradient)
            gain = float((gradient * step).sum())
            if gain <= 1e-14 * max(1.0, abs(value)):
                break
            size = 1.0
            while (lower := self._objective(theta - size * step, penalty)) > value - 1e-4 * size * gain and size > 1e-8:
                size /= 2
            if lower >= value:
                break  # rounding errors
            theta, value = theta - size * step, lower
        self.theta = theta
        return solve

    def _objective(self, theta: Floats, penalty: Floats) -> float:
        log_p = log_probabilities(self.Z @ theta.T)
        if self.Y.shape[1] == 1:
            chosen = np.where(self.Y[:, 0] > 0, log_p[:, 1], log_p[:, 0])
        else:
            chosen = (log_p * self.Y).sum(axis=1)
        return float(-(self.weight * chosen).sum() + 0.5 * (penalty * theta**2).sum())

    def _solver(self, P: Floats, penalty: Floats) -> Callable[[Floats], Floats]:
        """The product with the inverse Hessian at probabilities P (n, m)."""
        shape = self.theta.shape
        if self.theta.size > MOST_DENSE:
            return self._iterative_solver(P, penalty)
        m, p = shape
        flat = np.zeros((m * p, m * p))
        for rows in row_chunks(len(P), m * p):  # Σ s (diag(P) - PPᵀ) ⊗ ZZᵀ, in few large products
            Z, part, weight = self.Z[rows], P[rows], self.weight[rows]
            G = (part[:, :, None] * Z[:, None, :]).reshape(len(Z), m * p)
            flat -= G.T @ (weight[:, None] * G)
            for a in range(m):
                at = slice(a * p, (a + 1) * p)
                flat[at, at] += Z.T @ ((weight * part[:, a])[:, None] * Z)
        flat[np.diag_indices(m * p)] += np.tile(penalty, m)
        H = flat.reshape(m, p, m, p)
        if self.intercept and m > 1:
            # adding a number to all intercepts changes nothing, so this direction has no curvature of its own
            H[:, -1, :, -1] += 1.0
        flat[np.diag_indices(m * p)] += 1e-14 * np.trace(flat) / (m * p)  # columns that are constant
        factor = cho_factor(flat, lower=True, overwrite_a=True)
        return lambda v: np.asarray(cho_solve(factor, v.ravel())).reshape(shape)

    def _iterative_solver(self, P: Floats, penalty: Floats) -> Callable[[Floats], Floats]:
        shape = self.theta.shape
        shared = self.intercept and shape[0] > 1

        def product(flat: Floats) -> Floats:
            V = flat.reshape(shape)
            U = self.Z @ V.T  # (n, m)
            U = self.weight[:, None] * P * (U - (P * U).sum(axis=1, keepdims=True))
            out = U.T @ self.Z + penalty * V
            if shared:
                out[:, -1] += V[:, -1].sum()
            return np.asarray(out.ravel())

        diagonal = ((self.weight[:, None] * P * (1 - P)).T @ self.Z**2 + penalty).ravel() + 1e-12
        size = self.theta.size
        H = LinearOperator((size, size), matvec=product, dtype=np.float64)
        M = LinearOperator((size, size), matvec=lambda v: v / diagonal, dtype=np.float64)
        return lambda v: np.asarray(cg(H, v.ravel(), rtol=1e-10, maxiter=10 * size, M=M)[0]).reshape(shape)


def row_chunks(n_rows: int, width: int) -> list[slice]:
    """Slices of rows, so that a table of this width takes a few MB."""
    size = max(1, CHUNK_CELLS // width)
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def log_probabilities(scores: Floats) -> Floats:
    """Log-probabilities (n, K) from scores (n, m), where m is 1 for two classes."""
    if scores.shape[1] > 1:
        return np.asarray(log_softmax(scores, axis=1))
    return -np.logaddexp(0.0, np.hstack([scores, -scores]))
