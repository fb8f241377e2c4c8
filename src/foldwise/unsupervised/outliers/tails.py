"""P-values of scores from their own upper tail, which is modeled as a generalized Pareto distribution.

The highest scores are not trusted: they enter the likelihood only as "above the others", so a few outliers do not
change the fit. Shape and scale are integrated out, so a short tail that is known badly gives larger p-values.

Notes
-----
Of n scores, K = min(n^⅔, 1000) form the tail, and the highest m = K/10 of them are censored. With threshold u below the
tail, T the highest score that is not censored and S the survival function of the generalized Pareto distribution,
the p-value of a score x > T is (m/n) E[S(x - u) / S(T - u)] over the posterior of shape and scale. The prior of the
shape is normal (0.1, 0.3²) between -0.5 and 2. The prior of the logarithm of the scale is flat.

References: Pickands, Annals of Statistics 3 (1975) 119-131. Coles, An Introduction to Statistical Modeling of Extreme
Values (2001).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from foldwise.arrays import Floats

FEWEST = 20  # scores; with fewer, ranks are all there is
LONGEST_TAIL = 1000
CENSORED = 10  # one of so many scores of the tail is censored
FEWEST_VALUES = 4
LARGEST_ATOM = 0.5
SHAPES = (-0.5, 2.0)
PRIOR = (0.1, 0.3)
LOG_SCALES = (-3.0, 3.0)
POINTS = 25  # per axis of the grid
SMALLEST = 1e-300


@dataclass(frozen=True, eq=False)
class ScoreTail:
    """Scores and the upper tail fitted to them.

    Attributes
    ----------
    scores : ndarray
        The scores in ascending order, without missing ones.
    n_censored : int
        How many of the highest scores the fit does not trust; 0 if no tail could be fitted and p-values are ranks.
    threshold, top : float
        Where the tail starts, and the highest score that is not censored.
    excesses : ndarray
        By how much the scores of the tail that are not censored exceed the threshold.
    spacing : float
        Distance of adjacent values of scores that take few different values, otherwise 0.
    """

    scores: Floats
    n_censored: int = 0
    threshold: float = 0.0
    top: float = np.inf
    excesses: Floats | None = None
    spacing: float = 0.0

    def p_values(self, scores: Floats) -> Floats:
        """Return the probability of a score at least as high; 1 where the score is missing (NaN)."""
        n = len(self.scores)
        p: Floats = np.ones(len(scores))
        present = ~np.isnan(scores)
        if not n or not present.any():
            return p
        below = np.searchsorted(self.scores, scores[present], side="left")
        p[present] = np.minimum(1.0, (1.0 + n - below) / (n + 1.0))
        if self.excesses is None:
            return p
        far = present & (np.nan_to_num(scores, nan=-np.inf) - self.spacing / 2 > self.top)
        if far.any():
            queries = scores[far] - self.spacing / 2 - self.threshold
            beyond = np.empty(len(queries))
            predict_beyond(self.excesses, self.top - self.threshold, float(self.n_censored), queries, beyond)
            p[far] = np.maximum(self.n_censored / n * beyond, SMALLEST)
        return p


def fit_tail(scores: Floats) -> ScoreTail:
    """Fit the upper tail of scores. If they are too few, or nearly all equal, p-values are ranks."""
    present = np.sort(scores[~np.isnan(scores)])
    n = len(present)
    n_tail = min(round(n ** (2 / 3)), LONGEST_TAIL)
    n_censored = max(n_tail // CENSORED, 1)
    if n < FEWEST:
        return ScoreTail(present)
    values, counts = np.unique(present[: n - n_censored], return_counts=True)
    if len(values) < FEWEST_VALUES or counts.max() > LARGEST_ATOM * n:
        return ScoreTail(present)
    smooth, spacing = present, 0.0
    if len(values) < n / 2:  # rounded values: spread each over the interval that was rounded to it
        spacing = float(np.diff(values).min())
        steps = np.random.default_rng(0).uniform(-spacing / 2, spacing / 2, n)
        smooth = np.sort(present + steps)
    threshold, top = float(smooth[n - n_tail - 1]), float(smooth[n - n_censored - 1])
    excesses = smooth[n - n_tail : n - n_censored] - threshold
    if not top > threshold or not np.isfinite(excesses).all():
        return ScoreTail(present)
    return ScoreTail(present, n_censored, threshold, top, np.ascontiguousarray(excesses), spacing)


@njit(nogil=True, cache=True)
def log_survival(y: float, shape: float, scale: float) -> Any:
    """Compute the log of the survival function of the generalized Pareto distribution."""
    if abs(shape) < 1e-9:
        return -y / scale
    z = 1.0 + shape * y / scale
    return -np.log(z) / shape if z > 0.0 else -np.inf


@njit(nogil=True, cache=True)
def log_posterior(excesses: Floats, top: float, n_censored: float, shape: float, scale: float) -> Any:
    """Compute the log-posterior of shape and scale up to a constant; scores above `top` are censored."""
    total = n_censored * log_survival(top, shape, scale) - len(excesses) * np.log(scale)
    if total == -np.inf:
        return total
    for y in excesses:
        total += (1.0 + shape) * log_survival(y, shape, scale)
    return total - 0.5 * ((shape - PRIOR[0]) / PRIOR[1]) ** 2


@njit(nogil=True, cache=True)
def predict_beyond(excesses: Floats, top: float, n_censored: float, queries: Floats, out: Floats) -> None:
    """Fill `out` with the probability that a score above `top` also exceeds each query."""
    unit = n_censored * top
    for excess in excesses:
        unit += excess
    unit /= len(excesses)
    low_x, high_x, low_s, high_s = SHAPES[0], SHAPES[1], LOG_SCALES[0], LOG_SCALES[1]
    weights = np.empty((POINTS, POINTS))
    # a coarse grid finds where the posterior lies, a fine one integrates over it
    for stage in range(3):
        greatest = -np.inf
        for a in range(POINTS):
            shape = low_x + (high_x - low_x) * a / (POINTS - 1)
            for b in range(POINTS):
                scale = unit * np.exp(low_s + (high_s - low_s) * b / (POINTS - 1))
                weights[a, b] = log_posterior(excesses, top, n_censored, shape, scale)
                greatest = max(greatest, weights[a, b])
        total = mean_x = mean_s = square_x = square_s = 0.0
        for a in range(POINTS):
            shape = low_x + (high_x - low_x) * a / (POINTS - 1)
            for b in range(POINTS):
                log_scale = low_s + (high_s - low_s) * b / (POINTS - 1)
                weights[a, b] = np.exp(weights[a, b] - greatest)
                total += weights[a, b]
                mean_x += weights[a, b] * shape
                mean_s += weights[a, b] * log_scale
                square_x += weights[a, b] * shape**2
                square_s += weights[a, b] * log_scale**2
        if stage == 2:
            break
        # at least one step of this grid on either side, in case all weight lies on one point
        mean_x, mean_s = mean_x / total, mean_s / total
        wide_x = max(6.0 * np.sqrt(max(square_x / total - mean_x**2, 0.0)), 1.5 * (high_x - low_x) / (POINTS - 1))
        wide_s = max(6.0 * np.sqrt(max(square_s / total - mean_s**2, 0.0)), 1.5 * (high_s - low_s) / (POINTS - 1))
        low_x, high_x = max(SHAPES[0], mean_x - wide_x), min(SHAPES[1], mean_x + wide_x)
        low_s, high_s = max(LOG_SCALES[0], mean_s - wide_s), min(LOG_SCALES[1], mean_s + wide_s)
    for q in range(len(queries)):
        out[q] = 0.0
    for a in range(POINTS):
        shape = low_x + (high_x - low_x) * a / (POINTS - 1)
        for b in range(POINTS):
            scale = unit * np.exp(low_s + (high_s - low_s) * b / (POINTS - 1))
            weight = weights[a, b] / total
            if weight > 1e-14:
                at_top = log_survival(top, shape, scale)
                for q in range(len(queries)):
                    out[q] += weight * np.exp(log_survival(queries[q], shape, scale) - at_top)
