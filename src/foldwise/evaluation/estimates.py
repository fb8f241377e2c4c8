"""`Estimate`: an estimated score with its confidence interval, and how both were obtained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import stats

from foldwise.arrays import Floats
from foldwise.data.arguments import whole_at_least
from foldwise.data.html import html_table
from foldwise.errors import InputError
from foldwise.evaluation.tables import interval_text, number

SEARCH_SCORE = "search score (optimistic)"


class Spread(Protocol):
    """The uncertainty of an estimate."""

    @property
    def error(self) -> float:
        """Its standard error."""

    def between(self, value: float, level: float) -> tuple[float, float]:
        """Return the limits of the confidence interval around a value."""

    def widened(self, variance: float) -> Spread:
        """Return the spread with an independent variance added."""


@dataclass(frozen=True)
class StudentSpread:
    """A standard error with degrees of freedom; if they are infinite, the distribution is normal."""

    error: float
    freedom: float = np.inf

    def between(self, value: float, level: float) -> tuple[float, float]:
        half = float(stats.t.ppf(0.5 + level / 2, self.freedom)) * self.error
        return value - half, value + half

    def widened(self, variance: float) -> StudentSpread:
        return StudentSpread(float(np.sqrt(self.error**2 + variance)), self.freedom)


@dataclass(frozen=True)
class DrawnSpread:
    """Bootstrap values; the interval lies between their percentiles."""

    draws: Floats

    @property
    def error(self) -> float:
        return float(np.std(self.draws, ddof=1))

    def between(self, value: float, level: float) -> tuple[float, float]:
        low, high = np.quantile(self.draws, [0.5 - level / 2, 0.5 + level / 2])
        return float(low), float(high)

    def widened(self, variance: float) -> StudentSpread:
        return StudentSpread(float(np.sqrt(self.error**2 + variance)))


@dataclass(frozen=True, repr=False)
class Estimate:
    """The estimated score of a model, or of a whole search, on new data.

    Attributes
    ----------
    value : float
        The estimate.
    method : str
        How the estimate and its interval were obtained.
    spread : Spread
        The uncertainty, from which intervals are computed.
    search_score : float or None
        The best score of a search, which is optimistic because the setting was selected by it; None without a search.
    row_variance : float or None
        Variance of one row's contribution to the score; None if it is not known.
    bounds : tuple of float
        The lowest and highest possible score; intervals are clipped to them.
    gain : float
        How much the score may increase because the final model is trained on more rows than the models that were
        tested; negative for a decrease. Intervals are extended by it on that side.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, estimate
    >>> result = estimate(NaiveBayes(), *load_iris(return_X_y=True), cv=10)
    >>> print(result)
    0.953 (95% interval 0.907 to 1.000)
    >>> "{:.2f} to {:.2f}".format(*result.on_test(200))
    '0.90 to 1.00'
    """

    value: float
    method: str
    spread: Spread
    search_score: float | None = None
    row_variance: float | None = None
    bounds: tuple[float, float] = (-np.inf, np.inf)
    gain: float = 0.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Compute the confidence interval of the score on new data.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level.

        Returns
        -------
        tuple of float
            Lower and upper limit; NaN if the interval is not defined, as with a single split.
        """
        check_level(level)
        return self._clipped(self.spread.between(self.value, level))

    def on_test(self, n_rows: int, level: float = 0.95) -> tuple[float, float]:
        """Predict the interval in which the score on a future test set will lie.

        It is wider than `interval`, because a finite test set adds its own noise.

        Parameters
        ----------
        n_rows : int
            Number of rows of the test set.
        level : float, default 0.95
            Probability that the score lies in the interval.

        Returns
        -------
        tuple of float
            Lower and upper limit.
        """
        check_level(level)
        n_rows = whole_at_least("n_rows", n_rows, 1)
        if self.row_variance is None:
            raise InputError(
                "on_test needs a score that is a mean over rows, but the variance per row of this score is not known.",
                "estimate a score such as 'accuracy' or 'neg_log_loss'.",
            )
        return self._clipped(self.spread.widened(self.row_variance / n_rows).between(self.value, level))

    def _clipped(self, ends: tuple[float, float]) -> tuple[float, float]:
        low, high = np.clip((ends[0] + min(self.gain, 0.0), ends[1] + max(self.gain, 0.0)), *self.bounds)
        return float(low), float(high)

    def negated(self) -> Estimate:
        """Return the estimate of the score with the opposite sign.

        Returns
        -------
        Estimate
            The estimate. Its spread must be symmetric, as Student's t is, or know the sign of its losses.
        """
        score, (low, high) = None if self.search_score is None else -self.search_score, self.bounds
        return replace(self, value=-self.value, search_score=score, bounds=(-high, -low), gain=-self.gain)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        interval = interval_text(*self.interval())
        text = number(self.value) + (f" (95% interval {interval})" if interval else "")
        return text if self.search_score is None else f"{text}, {SEARCH_SCORE} {number(self.search_score)}"

    def __repr__(self) -> str:
        return f"{self}, {self.method}"

    def _repr_html_(self) -> str:
        heads = ["estimate", "95% interval", *([] if self.search_score is None else [SEARCH_SCORE])]
        cells = [number(self.value), interval_text(*self.interval()), number(self.search_score)]
        return html_table("Expected score on new data", heads, [cells[: len(heads)]], [self.method])


def check_level(level: float) -> None:
    """Raise an error for a level that is not between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1, got {level!r}.", "pass 0.95 for a 95% interval.")
