"""Logarithms of smoothed counts for many settings, computed once for all training sets.

Training sets of one table have most of their small counts in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from foldwise.arrays import Floats, Ints
from foldwise.folds.caches import KeyedCache


class CountLogs:
    """log(count + alpha) for every setting."""

    def __init__(self, alpha: Floats) -> None:
        self.alpha = alpha  # (S,)
        self._known = np.empty((0, len(alpha)))  # row n: of the count n

    def of(self, counts: Floats, *, whole: bool) -> tuple[Floats, Ints]:  # (n, S), the shape of counts
        """Logarithms, and the index of each count among them. `whole` means that all counts are integers."""
        if whole:
            most = int(counts.max()) + 1
            if most <= counts.size:  # a table of all counts up to the largest is not larger than the counts
                known = self._known
                if len(known) < most:  # two threads may do this at the same time with the same result
                    self._known = known = self._logs(np.arange(float(most)))
                return known, counts.astype(np.int64)
        return self._logs(counts.reshape(-1)), np.arange(counts.size).reshape(counts.shape)

    def _logs(self, counts: Floats) -> Floats:
        sums = counts[:, None] + self.alpha
        with np.errstate(divide="ignore"):
            return np.log(sums, out=sums)


class BatchLogs(ABC):
    """The logarithms of a batch of settings, which all training sets share."""

    @property
    @abstractmethod
    def alpha(self) -> Floats:  # (S,)
        """The amount that each setting adds to counts."""

    @cached_property
    def logs(self) -> CountLogs:
        """Logarithms of counts plus alpha."""
        return CountLogs(self.alpha)

    @cached_property
    def prior_logs(self) -> KeyedCache[Floats]:
        """Logarithms of priors, by training set."""
        return KeyedCache(most=16)
