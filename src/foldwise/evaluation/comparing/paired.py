"""Tests of two models on the same splits of one table: the corrected t-test and its Bayesian counterpart.

Their input is the difference in score on each split; nothing is fitted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from foldwise.arrays import Floats
from foldwise.data.arguments import at_least_zero
from foldwise.errors import InputError
from foldwise.evaluation.estimates import StudentSpread, check_level
from foldwise.evaluation.intervals import corrected_error
from foldwise.evaluation.plotting import axes


@dataclass(frozen=True)
class TTest:
    """The result of a two-sided t-test that a mean difference is 0.

    Attributes
    ----------
    difference : float
        The mean difference.
    error : float
        Its standard error.
    t : float
        The t statistic.
    freedom : int
        Degrees of freedom.
    p : float
        The p-value.
    """

    difference: float
    error: float
    t: float
    freedom: int
    p: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Compute the confidence interval of the difference.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level.

        Returns
        -------
        tuple of float
            Lower and upper limit.
        """
        check_level(level)
        return StudentSpread(self.error, self.freedom).between(self.difference, level)


def corrected_t_test(differences: Any, test_share: float) -> TTest:
    """Test the difference of two models by the corrected resampled t-test.

    Parameters
    ----------
    differences : array-like of shape (n_splits,)
        Differences in score of two models, one per split.
    test_share : float
        Test rows divided by training rows: 1/9 for ten folds, however often repeated. 0 gives the plain paired t-test.

    Returns
    -------
    TTest
        The difference, its standard error, and the p-value.

    Notes
    -----
    t = mean / √((1/J + n_test/n_train) · variance), with J splits and J - 1 degrees of freedom.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error.

    Examples
    --------
    >>> from foldwise.evaluation import corrected_t_test
    >>> test = corrected_t_test([0.02, 0.03, -0.01, 0.04, 0.02], test_share=1 / 4)
    >>> print(f"t = {test.t:.3f}, p = {test.p:.3f}")
    t = 1.594, p = 0.186
    """
    d = checked_differences(differences)
    share = at_least_zero("test_share", test_share, "pass test rows divided by training rows: 1/9 for ten folds.")
    mean, error = float(np.mean(d)), float(corrected_error(d, share))
    if error == 0:  # all differences are equal
        return TTest(mean, 0.0, float(np.copysign(np.inf, mean)) if mean else 0.0, len(d) - 1, 0.0 if mean else 1.0)
    t = mean / error
    return TTest(mean, error, t, len(d) - 1, float(2 * stats.t.sf(abs(t), len(d) - 1)))


@dataclass(frozen=True)
class Posterior:
    """The posterior distribution of a difference in score: a Student's t around the mean difference.

    Attributes
    ----------
    mean : float
        The mean difference.
    error : float
        The scale of the distribution.
    freedom : int
        Degrees of freedom.
    rope : float
        Region of practical equivalence: smaller differences count as none.
    """

    mean: float
    error: float
    freedom: int
    rope: float

    @property
    def better(self) -> float:
        """Probability that the first model is better by more than the rope."""
        return self._beyond(1)

    @property
    def worse(self) -> float:
        """Probability that the first model is worse by more than the rope."""
        return self._beyond(-1)

    @property
    def equal(self) -> float:
        """Probability that the difference lies within the rope."""
        return max(0.0, 1 - self.better - self.worse)

    def _beyond(self, sign: int) -> float:
        mean = sign * self.mean
        if self.error == 0:
            return 0.5 if mean == self.rope == 0 else float(mean > self.rope)
        return float(stats.t.sf(self.rope, self.freedom, mean, self.error))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Compute the credible interval of the difference.

        Parameters
        ----------
        level : float, default 0.95
            Probability that the difference lies in the interval.

        Returns
        -------
        tuple of float
            Lower and upper limit.
        """
        check_level(level)
        return StudentSpread(self.error, self.freedom).between(self.mean, level)

    def plot(self, ax: Any = None, names: tuple[str, str] = ("first", "second")) -> Any:
        """Plot the density of the difference, with the rope and the three probabilities.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default None
            Axes to draw on; None creates a new figure.
        names : tuple of str, default ("first", "second")
            Names of the two models.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        ax = axes(ax, (7.0, 3.5))
        half = max(4.5 * self.error, 1.5 * self.rope, 1e-12)
        x = np.unique([*np.linspace(self.mean - half, self.mean + half, 600), -self.rope, self.rope])
        density = stats.t.pdf(x, self.freedom, self.mean, self.error) if self.error > 0 else np.zeros(len(x))
        regions = [
            (x <= -self.rope, "C1", self.worse, f"{names[0]} is worse"),
            (abs(x) <= self.rope, "0.6", self.equal, f"Equal within ±{self.rope:g}"),
            (x >= self.rope, "C0", self.better, f"{names[0]} is better"),
        ]
        for part, color, share, label in regions:
            label = f"{label}: {share:.1%}"
            ax.fill_between(x[part], density[part], color=color, alpha=0.5, linewidth=0, label=label)
        if self.error > 0:
            ax.plot(x, density, color="0.3", linewidth=1)
        else:
            ax.axvline(self.mean, color="0.3")
        for edge in {-self.rope, self.rope}:
            ax.axvline(edge, color="0.3", linewidth=0.8, linestyle=":")
        ax.set_ylim(bottom=0)
        ax.set_yticks([])
        ax.set_xlabel(f"Difference in score (positive if {names[0]} is better than {names[1]})")
        ax.set_ylabel("Posterior density")
        ax.legend(loc="best", frameon=False)
        return ax


def correlated_bayesian_t(differences: Any, test_share: float, rope: float = 0.01) -> Posterior:
    """Compare two models by the Bayesian correlated t-test.

    Parameters
    ----------
    differences : array-like of shape (n_splits,)
        Differences in score, first model minus second, one per split.
    test_share : float
        Test rows divided by training rows: 1/9 for ten folds, however often repeated.
    rope : float, default 0.01
        Region of practical equivalence: smaller differences count as none.

    Returns
    -------
    Posterior
        The probabilities that the first model is better, practically equal or worse.

    References
    ----------
    Benavoli, Corani, Demšar and Zaffalon (2017), Time for a change: a tutorial for comparing multiple classifiers
    through Bayesian analysis.

    Examples
    --------
    >>> from foldwise.evaluation import correlated_bayesian_t
    >>> found = correlated_bayesian_t([0.02, 0.03, -0.01, 0.04, 0.02], test_share=1 / 4, rope=0.01)
    >>> print(f"better {found.better:.3f}, equal {found.equal:.3f}, worse {found.worse:.3f}")
    better 0.765, equal 0.198, worse 0.038
    """
    test = corrected_t_test(differences, test_share)
    return Posterior(test.difference, test.error, test.freedom, check_rope(rope))


def holm(p_values: Sequence[float] | Floats) -> Floats:
    """Adjust p-values for multiple tests by Holm's method (1979).

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        The p-values.

    Returns
    -------
    ndarray of shape (n_tests,)
        Adjusted p-values. Rejecting those below 0.05 makes any false rejection at most 5% likely.

    Examples
    --------
    >>> from foldwise.evaluation.comparing import holm
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1.0)


def check_rope(rope: float) -> float:
    """Return the rope as a number of at least 0."""
    return at_least_zero("rope", rope, "pass the largest difference in score that does not matter, such as 0.01.")


def checked_differences(differences: Any) -> Floats:
    """Return differences as an array of at least two finite numbers."""
    try:
        d = np.asarray(differences, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"differences must be numbers: {error}.") from None
    if d.ndim != 1 or len(d) < 2:
        raise InputError(f"differences must be a list of at least two numbers, got the shape {d.shape}.")
    if not np.isfinite(d).all():
        index = int(np.flatnonzero(~np.isfinite(d))[0])
        raise InputError(f"differences must be finite, but entry {index} is {d[index]}.")
    return d
