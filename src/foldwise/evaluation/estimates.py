"""An estimate of a score: the figure, where the truth may lie, what a naive look says, and how it was obtained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from foldwise.data.arguments import whole_at_least
from foldwise.errors import InputError
from foldwise.evaluation.tables import number

Floats = NDArray[np.float64]


class Spread(Protocol):
    """How far an estimate may be off."""

    @property
    def error(self) -> float:
        """Its standard error."""

    def between(self, value: float, level: float) -> tuple[float, float]:
        """The ends of the interval around a value that holds the truth in this share of cases."""

    def widened(self, variance: float) -> Spread:
        """The same with an independent variance added."""


@dataclass(frozen=True)
class StudentSpread:
    """A standard error with degrees of freedom; infinitely many make it normal."""

    error: float
    freedom: float = np.inf

    def between(self, value: float, level: float) -> tuple[float, float]:
        half = float(stats.t.ppf(0.5 + level / 2, self.freedom)) * self.error
        return value - half, value + half

    def widened(self, variance: float) -> StudentSpread:
        return StudentSpread(float(np.sqrt(self.error**2 + variance)), self.freedom)


@dataclass(frozen=True)
class DrawnSpread:
    """Values drawn by a bootstrap: the interval is between their percentiles."""

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
    """What a model, or a whole search, is worth on new rows.

    Attributes
    ----------
    value : the estimate
    method : how it and its interval were obtained, in words
    naive : what a naive look at the same work says, such as the best score of a search; None where there is none
    spread : what intervals are made of
    row_variance : the variance of a single row's part in the score, the noise of a test; None where it is not known
    bounds : the least and the greatest value the score can take; intervals end there
    gain : how much greater the value may be (below 0: how much less) because the model learns from more rows than the
        tested ones; intervals reach so much further on that side

    >>> estimate = Estimate(0.861, "10-fold cross-validation", StudentSpread(0.009), naive=0.872, row_variance=0.12)
    >>> print(estimate)
    0.861 (0.843 to 0.879; naive 0.872)
    >>> "{:.2f} to {:.2f}".format(*estimate.on_test(200))
    '0.81 to 0.91'
    """

    value: float
    method: str
    spread: Spread
    naive: float | None = None
    row_variance: float | None = None
    bounds: tuple[float, float] = (-np.inf, np.inf)
    gain: float = 0.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the true value lies, in this share of cases. NaN where the work does not say."""
        check_level(level)
        return self._cut(self.spread.between(self.value, level))

    def on_test(self, n_rows: int, level: float = 0.95) -> tuple[float, float]:
        """Where the score on a future test set of so many rows will lie: the test's own noise comes on top."""
        check_level(level)
        n_rows = whole_at_least("n_rows", n_rows, 1)
        if self.row_variance is None:
            raise InputError(
                "how much one row's part in this score varies is not known.",
                "estimate a score that averages over rows, such as 'accuracy' or 'neg_log_loss'.",
            )
        return self._cut(self.spread.widened(self.row_variance / n_rows).between(self.value, level))

    def _cut(self, ends: tuple[float, float]) -> tuple[float, float]:
        low, high = np.clip((ends[0] + min(self.gain, 0.0), ends[1] + max(self.gain, 0.0)), *self.bounds)
        return float(low), float(high)

    def negated(self) -> Estimate:
        """The estimate of the score with the opposite sign; its spread must be symmetric, as Student's is."""
        naive, (low, high) = None if self.naive is None else -self.naive, self.bounds
        return replace(self, value=-self.value, naive=naive, bounds=(-high, -low), gain=-self.gain)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = self.interval()
        between = "" if np.isnan(low) else f"{number(low)} to {number(high)}"
        naive = "" if self.naive is None else f"naive {number(self.naive)}"
        beside = "; ".join(filter(None, (between, naive)))
        return f"{number(self.value)} ({beside})" if beside else number(self.value)

    def __repr__(self) -> str:
        return f"{self}, {self.method}"


def check_level(level: float) -> None:
    """Refuse a level that is no probability."""
    if not 0 < level < 1:
        raise InputError(f"the level of an interval lies between 0 and 1, got {level!r}.", "0.95 is 95 %.")
