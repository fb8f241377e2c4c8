"""Facts about training rows from which linear models are solved: one Gram matrix per training set.

A model with an intercept needs the centered Gram matrix, a model without one the Gram matrix about zero. With more
columns than rows, the products of rows are smaller and serve the same purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.folds.protocol import Labels, Rows, TargetValues
from foldwise.summaries.gram import Gram, chunk_rows, gram_of_chunk


@dataclass(frozen=True)
class LinearTable:
    """A table of finite numbers with its target and the weights of its rows."""

    X: Floats  # (n, d), in C order
    target: Labels | TargetValues
    weights: Floats | None  # (n,)

    @property
    def n_targets(self) -> int:
        """Return the number of target columns: one per class, or one quantity."""
        return len(self.target.classes) if isinstance(self.target, Labels) else 1

    def targets(self, rows: Rows) -> Floats:  # (rows, m)
        """Return the quantities of some rows, or one indicator per class."""
        if isinstance(self.target, Labels):
            codes: NDArray[np.int64] = self.target.codes[rows, None]
            return np.asarray(codes == np.arange(self.n_targets), dtype=np.float64)
        values: Floats = self.target.numbers[rows, None]
        return values

    def weights_of(self, rows: Rows, factors: Floats | None) -> Floats | None:
        """Return the weights of some rows, times these factors."""
        if self.weights is None:
            return factors
        return self.weights[rows] if factors is None else self.weights[rows] * factors

    def facts(self, train: Rows, factors: Floats | None = None, parts: Sequence[Gram] = ()) -> TrainingFacts | None:
        """Summarize the training rows; None if the model is left to a refit: too few rows, classes or weights.

        `parts` are summaries of disjoint parts of the training rows, if these are known.
        """
        weights, d = self.weights_of(train, factors), self.X.shape[1]
        if len(train) < 2 or (weights is not None and not weights.sum() > 0):
            return None
        present = None
        if isinstance(self.target, Labels):
            present = np.flatnonzero(np.bincount(self.target.codes[train], minlength=self.n_targets))
            if len(present) < 2:
                return None
        if d > len(train):
            return TrainingFacts.of_rows(self.X[train], self.targets(train), weights, present)
        total = reduce(add, parts) if parts else self.gram(train, weights)
        return TrainingFacts.of_gram(total, d, present)

    def gram(self, rows: Rows, weights: Floats | None) -> Gram:
        """Summarize the columns and targets of some rows."""
        d = self.X.shape[1]
        total, size = Gram.empty(d + self.n_targets), chunk_rows(d)
        for start in range(0, len(rows), size):
            some = slice(start, start + size)
            Z = np.empty((len(rows[some]), d + self.n_targets))
            Z[:, :d] = self.X[rows[some]]
            Z[:, d:] = self.targets(rows[some])
            total = total + gram_of_chunk(Z, None if weights is None else weights[some])
        return total


@dataclass(frozen=True)
class NormalEquations:
    """XᵀX, XᵀY and the sums of squares of Y, centered or not."""

    gram: Floats  # (d, d)
    moment: Floats  # (d, m)
    squares: Floats  # (m,)


@dataclass(frozen=True)
class TrainingFacts:
    """What all linear models of one training set share."""

    n_rows: int
    weight: float
    x_mean: Floats  # (d,)
    y_mean: Floats  # (m,)
    spread: Floats  # (m,): centered sums of squares of the targets
    products: Gram | None  # of the columns, then the targets
    rows: tuple[Floats, Floats, Floats] | None  # X, Y and the roots of weights, with more columns than rows
    present: NDArray[np.intp] | None  # the classes of a classification
    scale: float  # of the targets' deviations: indicators 0 and 1 become -1 and 1

    @classmethod
    def of_gram(cls, gram: Gram, d: int, present: NDArray[np.intp] | None) -> TrainingFacts:
        """Read a Gram matrix of columns and targets."""
        kept, scale = target_columns(present)
        if kept is not None:
            gram = gram.select([*range(d), *(d + kept)])
        mean, spread = gram.mean, np.diag(gram.products)[d:] * scale**2
        y_mean = mean[d:] if present is None else scale * mean[d:] - 1.0
        return cls(gram.rows, gram.weight, mean[:d], y_mean, spread, gram, None, present, scale)

    @classmethod
    def of_rows(cls, X: Floats, Y: Floats, weights: Floats | None, present: NDArray[np.intp] | None) -> TrainingFacts:
        """Keep the rows themselves: there are fewer rows than columns."""
        kept, scale = target_columns(present)
        if kept is not None:
            Y = scale * Y[:, kept] - 1.0
        w = np.ones(len(X)) if weights is None else weights
        total = float(w.sum())
        x_mean, y_mean = (w @ X) / total, (w @ Y) / total
        spread = w @ (Y - y_mean) ** 2
        return cls(len(X), total, x_mean, y_mean, spread, None, (X, Y, np.sqrt(w)[:, None]), present, 1.0)

    @property
    def n_columns(self) -> int:
        return len(self.x_mean)

    @property
    def n_bytes(self) -> int:
        """Return roughly how much memory the facts and their decompositions take."""
        return 24 * self.n_columns * (self.n_columns if self.rows is None else self.n_rows)

    @cached_property
    def centered(self) -> NormalEquations:
        """Return the equations of a model with an intercept."""
        assert self.products is not None
        d, found = self.n_columns, self.products.products
        gram, moment = np.ascontiguousarray(found[:d, :d]), self.scale * found[:d, d:]
        return NormalEquations(gram, moment, self.spread)

    @cached_property
    def about_zero(self) -> NormalEquations:
        """Return the equations of a model without an intercept."""
        inner = self.centered
        gram = inner.gram + np.multiply.outer(self.weight * self.x_mean, self.x_mean)
        moment = inner.moment + np.multiply.outer(self.weight * self.x_mean, self.y_mean)
        return NormalEquations(gram, moment, self.spread + self.weight * self.y_mean**2)

    def equations(self, fit_intercept: bool) -> NormalEquations:
        """Return the equations of a model with or without an intercept."""
        return self.centered if fit_intercept else self.about_zero

    def offset(self, fit_intercept: bool) -> float:
        """Return how many times larger targets are than their deviations, if no intercept removes their mean."""
        if fit_intercept:
            return 1.0
        spread = self.spread / self.weight
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.max(np.sqrt(1.0 + np.where(self.y_mean == 0, 0.0, self.y_mean**2 / spread))))

    def conditions(self, fit_intercept: bool, alphas: Floats) -> Floats:  # (settings,)
        """Return how much rounding errors may grow: the condition numbers of XᵀX + αI times the offset."""
        return self.offset(fit_intercept) * self.spectrum(fit_intercept).conditions(alphas)

    @cached_property
    def spectra(self) -> dict[bool, Spectrum]:
        """Return the decompositions that were computed so far, by `fit_intercept`."""
        return {}

    def spectrum(self, fit_intercept: bool) -> Spectrum:
        """Return the decomposition that serves all ridge penalties."""
        found = self.spectra.get(fit_intercept)
        return self.spectra.setdefault(fit_intercept, self._decompose(fit_intercept)) if found is None else found

    def _decompose(self, fit_intercept: bool) -> Spectrum:
        if self.rows is None:
            return Spectrum.of_equations(self.equations(fit_intercept))
        X, Y, roots = self.rows
        if fit_intercept:
            X, Y = X - self.x_mean, Y - self.y_mean
        return Spectrum.of_rows(roots * X, roots * Y)


def target_columns(present: NDArray[np.intp] | None) -> tuple[NDArray[np.intp] | None, float]:
    """Return the indicators that are targets (of two classes, only the second), and the factor of their deviations."""
    if present is None:
        return None, 1.0
    return (present[1:] if len(present) == 2 else present), 2.0


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of XᵀX, from which the ridge coefficients of every penalty follow.

    Notes
    -----
    With XᵀX = VΛVᵀ the coefficients are V(Λ + αI)⁻¹VᵀXᵀY. With more columns than rows, XXᵀ = UΛUᵀ is decomposed, and
    they are XᵀU(Λ + αI)⁻¹UᵀY.
    """

    values: Floats  # (r,), ascending
    axes: Floats  # (d, r): V, or XᵀU
    loads: Floats  # (r, m): VᵀXᵀY, or UᵀY
    least: float  # the smallest eigenvalue of XᵀX

    @classmethod
    def of_equations(cls, given: NormalEquations) -> Spectrum:
        """Decompose XᵀX."""
        values, axes = scipy.linalg.eigh(given.gram, driver="evd", check_finite=False)
        return cls(values, axes, axes.T @ given.moment, float(values[0]))

    @classmethod
    def of_rows(cls, X: Floats, Y: Floats) -> Spectrum:
        """Decompose XXᵀ, of which XᵀX has the eigenvalues and further zeros."""
        values, U = scipy.linalg.eigh(X @ X.T, driver="evd", check_finite=False)
        return cls(values, X.T @ U, U.T @ Y, 0.0)

    def conditions(self, alphas: Floats) -> Floats:  # (settings,)
        """Return the condition numbers of XᵀX + αI; infinite if it is singular."""
        low = self.least + alphas
        found: Floats = np.divide(self.values[-1] + alphas, low, out=np.full(len(alphas), np.inf), where=low > 0)
        return found

    def coefficients(self, alphas: Floats) -> Floats:  # (settings, m, d)
        """Return the coefficients of several penalties."""
        shrunk = self.loads.T / (self.values + alphas[:, None, None])  # (settings, m, r)
        found: Floats = shrunk @ self.axes.T
        return found
