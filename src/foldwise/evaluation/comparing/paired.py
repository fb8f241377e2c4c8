"""Two models on the same splits of one table: the corrected t-test and its Bayesian counterpart.

Nothing here fits or splits anything: differences of scores go in, one a split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from foldwise.data.arguments import at_least_zero
from foldwise.errors import InputError
from foldwise.evaluation.estimates import check_level
from foldwise.evaluation.intervals import corrected_error
from foldwise.evaluation.plotting import axes

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TTest:
    """A t-test that a mean difference is 0, against both sides."""

    difference: float
    error: float  # the standard error of the difference
    t: float
    freedom: int
    p: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the true difference lies, in this share of cases."""
        check_level(level)
        half = float(stats.t.ppf(0.5 + level / 2, self.freedom)) * self.error
        return self.difference - half, self.difference + half


def corrected_t_test(differences: Any, test_share: float) -> TTest:
    """The corrected resampled t-test of Nadeau and Bengio (2003).

    Parameters
    ----------
    differences : of the scores of two models, one a split
    test_share : test rows to training rows: 1/9 in ten folds, however often repeated; 0 is the plain paired t-test

    Notes
    -----
    t = mean / √((1/J + n_test/n_train) · variance), J - 1 degrees of freedom.

    >>> from foldwise.evaluation import corrected_t_test
    >>> test = corrected_t_test([0.02, 0.03, -0.01, 0.04, 0.02], test_share=1 / 4)
    >>> print(f"t = {test.t:.3f}, p = {test.p:.3f}")
    t = 1.594, p = 0.186
    """
    d = checked_differences(differences)
    share = at_least_zero("test_share", test_share, "it is test rows to training rows: 1/9 in ten folds.")
    mean, error = float(np.mean(d)), float(corrected_error(d, share))
    if error == 0:  # all differences alike
        return TTest(mean, 0.0, float(np.copysign(np.inf, mean)) if mean else 0.0, len(d) - 1, 0.0 if mean else 1.0)
    t = mean / error
    return TTest(mean, error, t, len(d) - 1, float(2 * stats.t.sf(abs(t), len(d) - 1)))


@dataclass(frozen=True)
class Posterior:
    """What is believed of a difference after the splits: Student's distribution about the mean difference."""

    mean: float
    error: float
    freedom: int
    rope: float  # differences up to this count as none

    @property
    def better(self) -> float:
        """The probability that the first model is better by more than the rope."""
        return self._beyond(1)

    @property
    def worse(self) -> float:
        """The probability that the first model is worse by more than the rope."""
        return self._beyond(-1)

    @property
    def equal(self) -> float:
        """The probability that the difference lies within the rope."""
        return max(0.0, 1 - self.better - self.worse)

    def _beyond(self, sign: int) -> float:
        mean = sign * self.mean
        if self.error == 0:
            return 0.5 if mean == self.rope == 0 else float(mean > self.rope)
        return float(stats.t.sf(self.rope, self.freedom, mean, self.error))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The credible interval of the difference."""
        return TTest(self.mean, self.error, 0.0, self.freedom, 1.0).interval(level)

    def plot(self, ax: Any = None, names: tuple[str, str] = ("first", "second")) -> Any:
        """Draw the density, with the rope and the three probabilities; gives the axes."""
        ax = axes(ax, (7.0, 3.5))
        half = max(4.5 * self.error, 1.5 * self.rope, 1e-12)
        x = np.unique([*np.linspace(self.mean - half, self.mean + half, 600), -self.rope, self.rope])
        if self.error > 0:
            density = stats.t.pdf(x, self.freedom, self.mean, self.error)
            for part, color in [(x <= -self.rope, "C1"), (abs(x) <= self.rope, "0.6"), (x >= self.rope, "C0")]:
                ax.fill_between(x[part], density[part], color=color, alpha=0.5, linewidth=0)
            ax.plot(x, density, color="0.3", linewidth=1)
        else:
            ax.axvline(self.mean, color="0.3")
        for place in {-self.rope, self.rope}:
            ax.axvline(place, color="0.3", linewidth=0.8, linestyle=":")
        ax.set_ylim(bottom=0)
        ax.set_yticks([])
        ax.set_xlabel(f"{names[0]} - {names[1]}")
        told = [(self.worse, f"{names[0]} worse"), (self.equal, f"within ±{self.rope:g}")]
        title = ", ".join(f"{what} {share:.1%}" for share, what in [*told, (self.better, f"{names[0]} better")])
        ax.set_title(title, fontsize="medium")
        return ax


def correlated_bayesian_t(differences: Any, test_share: float, rope: float = 0.01) -> Posterior:
    """The Bayesian correlated t-test (Benavoli, Corani, Demšar & Zaffalon 2017).

    Parameters
    ----------
    differences : of the scores of two models, first minus second, one a split
    test_share : test rows to training rows: 1/9 in ten folds, however often repeated
    rope : the region of practical equivalence: differences up to this count as none

    >>> from foldwise.evaluation import correlated_bayesian_t
    >>> found = correlated_bayesian_t([0.02, 0.03, -0.01, 0.04, 0.02], test_share=1 / 4, rope=0.01)
    >>> print(f"better {found.better:.3f}, equal {found.equal:.3f}, worse {found.worse:.3f}")
    better 0.765, equal 0.198, worse 0.038
    """
    test = corrected_t_test(differences, test_share)
    return Posterior(test.difference, test.error, test.freedom, check_rope(rope))


def holm(p_values: Sequence[float] | Floats) -> Floats:
    """P values adjusted by Holm (1979): with all of them looked at, one below 0.05 is false in 5 % of cases at most.

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
    """The rope as a number of at least 0."""
    return at_least_zero("rope", rope, "it is the difference in score that does not matter, such as 0.01.")


def checked_differences(differences: Any) -> Floats:
    """Differences as an array of at least two numbers."""
    try:
        d = np.asarray(differences, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("differences must be numbers, one a split.", f"what came: {error}") from None
    if d.ndim != 1 or len(d) < 2:
        raise InputError(f"a test needs the differences of at least two splits, got shape {d.shape}.")
    if not np.isfinite(d).all():
        place = int(np.flatnonzero(~np.isfinite(d))[0])
        raise InputError(
            f"the difference on split {place} is {d[place]}.", "compare on splits where both have a score."
        )
    return d
