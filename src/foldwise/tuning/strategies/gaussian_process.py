"""A Gaussian process with a Matérn-5/2 kernel, whose hyperparameters are the most probable ones given the data.

One length scale per column, with a prior that grows with the square root of their number (Hvarfner et al. 2024, arXiv
2402.02229); signal variance, noise variance, a constant mean, and two numbers per ordered column that warp it. All
gradients are analytic. Only numpy and scipy are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize

from foldwise.arrays import Bools, Floats
from foldwise.tuning.strategies.unit_encoding import UnitEncoding
from foldwise.tuning.strategies.warping import kumaraswamy, kumaraswamy_slopes

ROOT5 = np.sqrt(5.0)
LENGTH_CENTER, LENGTH_SPREAD = np.sqrt(2.0), np.sqrt(3.0)  # of log length, for one column
SIGNAL_SPREAD = 1.0  # of the log signal variance, around 0: scores have variance 1
NOISE_CENTER, NOISE_SPREAD = -7.0, 2.0  # of the log noise variance
MOST_STEPS = 40  # of the search for hyperparameters
SMOOTH_NOISE = -2.0  # log noise variance of the second start
WARP_SPREAD = 0.25  # of the logs of the warping parameters, around 0, which changes nothing
BOUNDS = {"length": (-4.0, 6.0), "signal": (-4.0, 5.0), "noise": (-13.8, 0.0), "mean": (-3.0, 3.0), "warp": (-1.5, 1.5)}
JITTER = 1e-8  # of the signal variance: repeated rows are allowed


@dataclass(frozen=True)
class Hyperparameters:
    """The hyperparameters of a process, as logarithms except for the mean."""

    lengths: Floats  # one per column
    signal: float
    noise: float
    mean: float
    warp_a: Floats  # one per ordered column
    warp_b: Floats

    def to_vector(self) -> Floats:
        return np.concatenate([self.lengths, [self.signal, self.noise, self.mean], self.warp_a, self.warp_b])

    @classmethod
    def from_vector(cls, vector: Floats, n_columns: int) -> Hyperparameters:
        lengths, (signal, noise, mean), warps = np.split(vector, [n_columns, n_columns + 3])
        a, b = np.split(warps, 2)
        return cls(lengths, float(signal), float(noise), float(mean), a, b)

    @classmethod
    def start(cls, encoding: UnitEncoding) -> Hyperparameters:
        """Lengths at the mode of their prior, no warping."""
        n = len(encoding.columns)
        flat = np.zeros(len(encoding.ordered))
        length = LENGTH_CENTER - LENGTH_SPREAD**2 + 0.5 * np.log(max(n, 1))
        return cls(np.full(n, length), 0.0, -5.0, 0.0, flat, flat)


def matern(squares: Floats, signal: float) -> tuple[Floats, Floats]:
    """The kernel, and its derivative by the squared distance."""
    scaled = ROOT5 * np.sqrt(squares)
    decay = signal * np.exp(-scaled)
    return (1 + scaled + scaled**2 / 3) * decay, (-5 / 6) * (1 + scaled) * decay


def square_distances(left: Floats, right: Floats) -> Floats:
    """Squared distances between rows."""
    found: Floats = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :] - 2 * left @ right.T
    return np.maximum(found, 0.0)


def warped_rows(encoding: UnitEncoding, rows: Floats, found: Hyperparameters) -> Floats:
    """Rows whose ordered columns are warped."""
    warped = rows.copy()
    at = encoding.ordered
    warped[:, at] = kumaraswamy(rows[:, at], np.exp(found.warp_a), np.exp(found.warp_b))
    return warped


@dataclass(frozen=True)
class ProcessPosterior:
    """The process after rows and their scores were seen."""

    encoding: UnitEncoding
    hyperparameters: Hyperparameters
    rows: Floats
    active: Bools
    scores: Floats

    @cached_property
    def _scales(self) -> Floats:
        """The inverse length scale of each feature."""
        return np.exp(-self.hyperparameters.lengths)[self.encoding.groups]

    @cached_property
    def _features(self) -> Floats:
        return self._to_features(self.rows, self.active)

    @cached_property
    def signal(self) -> float:
        return float(np.exp(self.hyperparameters.signal))

    def _to_features(self, rows: Floats, active: Bools) -> Floats:
        warped = warped_rows(self.encoding, rows, self.hyperparameters)
        return self.encoding.features(warped, active) * self._scales

    @cached_property
    def _factor(self) -> Floats:
        kernel, _ = matern(square_distances(self._features, self._features), self.signal)
        return cholesky(kernel, float(np.exp(self.hyperparameters.noise)) + JITTER * self.signal)

    @cached_property
    def _inverse(self) -> Floats:
        return inverse_of(self._factor)

    @cached_property
    def _weights(self) -> Floats:
        return self._inverse @ (self.scores - self.hyperparameters.mean)

    def predict(self, rows: Floats, active: Bools) -> tuple[Floats, Floats]:
        """The mean and standard deviation of the score without noise."""
        kernel, _ = matern(square_distances(self._to_features(rows, active), self._features), self.signal)
        mean = self.hyperparameters.mean + kernel @ self._weights
        variance = self.signal - np.einsum("ij,ij->i", kernel @ self._inverse, kernel)
        return mean, np.sqrt(np.maximum(variance, 1e-12 * self.signal))

    def covariance(self, rows: Floats, active: Bools) -> tuple[Floats, Floats]:
        """The joint mean and covariance of the scores of rows, without noise."""
        features = self._to_features(rows, active)
        kernel, _ = matern(square_distances(features, self._features), self.signal)
        own, _ = matern(square_distances(features, features), self.signal)
        return self.hyperparameters.mean + kernel @ self._weights, own - kernel @ self._inverse @ kernel.T

    def predict_with_slopes(self, row: Floats, active: Bools) -> tuple[float, float, Floats, Floats]:
        """The mean and standard deviation for one row, and their derivatives by its ordered columns."""
        rows, on = row[None, :], active[None, :]
        found = self.hyperparameters
        features = self._to_features(rows, on)
        gaps = features - self._features
        kernel, slope = matern((gaps**2).sum(axis=1), self.signal)
        solved = self._inverse @ kernel
        variance = self.signal - float(kernel @ solved)
        deviation = float(np.sqrt(max(variance, 1e-12 * self.signal)))
        by_feature = (2 * self._scales) * (np.stack([slope * self._weights, slope * solved]) @ gaps)
        warped = warped_rows(self.encoding, rows, found)
        both = np.repeat(warped, 2, axis=0)
        by_row = self.encoding.features_to_rows(both, np.repeat(on, 2, axis=0), by_feature)
        at = self.encoding.ordered
        by_row[:, at] *= kumaraswamy_slopes(rows[:, at], np.exp(found.warp_a), np.exp(found.warp_b))[0]
        mean = found.mean + float(kernel @ self._weights)
        return mean, deviation, by_row[0], -by_row[1] / deviation

    def with_believed(self, rows: Floats, active: Bools) -> ProcessPosterior:
        """The process as if rows had been scored with their present mean."""
        mean, _ = self.predict(rows, active)
        return ProcessPosterior(
            self.encoding,
            self.hyperparameters,
            np.concatenate([self.rows, rows]),
            np.concatenate([self.active, active]),
            np.concatenate([self.scores, mean]),
        )


def cholesky(kernel: Floats, noise: float) -> Floats:
    """The lower factor of the kernel with noise on its diagonal; more noise where it is needed."""
    while True:
        noisy = kernel.copy()
        noisy.flat[:: len(kernel) + 1] += noise
        factor, failed = lapack.dpotrf(noisy, lower=1, clean=1)
        if not failed:
            return np.asarray(factor)
        noise *= 10


def inverse_of(factor: Floats) -> Floats:
    """The inverse of the matrix whose lower factor is given."""
    half, _ = lapack.dpotri(factor, lower=1)
    lower = np.tril(half, -1)
    return np.asarray(lower + lower.T + np.diag(half.diagonal()))


@dataclass(frozen=True)
class NegativeLogPosterior:
    """How improbable hyperparameters are, given scored rows, with its gradient."""

    encoding: UnitEncoding
    rows: Floats
    active: Bools
    scores: Floats
    with_priors: bool = True

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """The value and the gradient for a vector of hyperparameters."""
        encoding, at = self.encoding, self.encoding.ordered
        found = Hyperparameters.from_vector(vector, len(encoding.columns))
        a, b = np.exp(found.warp_a), np.exp(found.warp_b)
        warped = warped_rows(encoding, self.rows, found)
        scales = np.exp(-found.lengths)[encoding.groups]
        features = encoding.features(warped, self.active) * scales
        signal, noise = float(np.exp(found.signal)), float(np.exp(found.noise))
        kernel, slope = matern(square_distances(features, features), signal)
        factor = cholesky(kernel, noise + JITTER * signal)
        inverse = inverse_of(factor)
        centered = self.scores - found.mean
        weights = inverse @ centered
        value = 0.5 * float(centered @ weights) + float(np.log(factor.diagonal()).sum())
        value += 0.5 * len(centered) * np.log(2 * np.pi)

        by_kernel = 0.5 * (inverse - np.outer(weights, weights))
        trace = float(by_kernel.trace())
        by_square = by_kernel * slope
        # the derivative by each scaled feature: squared distances depend on pairs of rows
        by_feature = 4 * (by_square.sum(axis=1)[:, None] * features - by_square @ features)
        by_length = -np.bincount(encoding.groups, (by_feature * features).sum(axis=0), minlength=len(encoding.columns))
        by_number = encoding.features_to_rows(warped, self.active, by_feature * scales)[:, at]
        _, slope_a, slope_b = kumaraswamy_slopes(self.rows[:, at], a, b)
        gradient = np.concatenate(
            [
                by_length,
                [float((by_kernel * kernel).sum()) + JITTER * signal * trace, noise * trace, -float(weights.sum())],
                (by_number * slope_a).sum(axis=0),
                (by_number * slope_b).sum(axis=0),
            ]
        )
        if self.with_priors:
            penalty, slopes = self.prior(found)
            return value + penalty, gradient + slopes
        return value, gradient

    def prior(self, found: Hyperparameters) -> tuple[float, Floats]:
        """The negative logarithm of the prior, without its constant, and its gradient."""
        center = LENGTH_CENTER + 0.5 * np.log(max(len(found.lengths), 1))
        lengths = (found.lengths - center) / LENGTH_SPREAD
        signal, noise = found.signal / SIGNAL_SPREAD, (found.noise - NOISE_CENTER) / NOISE_SPREAD
        warps = np.concatenate([found.warp_a, found.warp_b]) / WARP_SPREAD
        squares = float(lengths @ lengths) + signal**2 + noise**2 + found.mean**2 + float(warps @ warps)
        slopes = np.concatenate(
            [
                # + 1: the density of the length, not of its logarithm
                lengths / LENGTH_SPREAD + 1,
                [signal / SIGNAL_SPREAD, noise / NOISE_SPREAD, found.mean],
                warps / WARP_SPREAD,
            ]
        )
        return 0.5 * squares + float(found.lengths.sum()), slopes


def fit_process(
    encoding: UnitEncoding, rows: Floats, active: Bools, scores: Floats, *, warp: bool = True
) -> Hyperparameters:
    """The most probable hyperparameters, by L-BFGS-B from two starts."""
    n, n_ordered = len(encoding.columns), len(encoding.ordered)
    start = Hyperparameters.start(encoding).to_vector()
    limits = [BOUNDS["length"]] * n + [BOUNDS["signal"], BOUNDS["noise"], BOUNDS["mean"]]
    limits += [BOUNDS["warp"] if warp else (0.0, 0.0)] * (2 * n_ordered)
    objective = NegativeLogPosterior(encoding, rows, active, scores)
    smooth = start.copy()  # what the other start takes for detail may be noise
    smooth[:n] += 1.5
    smooth[n + 1] = SMOOTH_NOISE
    found: list[Any] = [
        minimize(objective, one, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": MOST_STEPS})
        for one in (start, smooth)
    ]
    return Hyperparameters.from_vector(min(found, key=lambda one: float(one.fun)).x, n)


def subset(n_rows: int, scores: Floats, most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows for hyperparameters: all, or the best half of `most` and a random choice of the others."""
    if n_rows <= most:
        return np.arange(n_rows)
    order = np.argsort(-scores, kind="stable")
    best, others = order[: most // 2], order[most // 2 :]
    return np.sort(np.concatenate([best, rng.choice(others, most - len(best), replace=False)]))
